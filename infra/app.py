"""The CDK app: `cdk deploy -c stage=NAME`, or `make synth` for the template alone."""

import os

import aws_cdk as cdk

from infra.aws.stacks import build

app = cdk.App(outdir=os.environ.get("CDK_OUTDIR", "cdk.out"))
build(app)
app.synth()
