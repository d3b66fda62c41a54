"""The CDK app: `cdk deploy -c stage=NAME`, or `make synth` for the templates alone.

It builds what it deploys where that is missing or stale: what is deployed is the checkout as it stands.
"""

import os
import sys

import aws_cdk as cdk

from infra.aws.stacks import build
from infra.packages.build import build as build_packages
from infra.packages.failed import Failed

CONTEXT = {
    # The tables' stack can't be changed so that the service loses what it uses. Said here, not in cdk.json
    # that the CLI alone reads: templates say the same whoever makes them.
    "@aws-cdk/core:defaultCrossStackReferences": "strong",
}


def main() -> str | None:
    """Synthesize into the folder that the CLI names, else `cdk.out`. What kept it from that."""
    try:
        if broken := build_packages().broken:
            raise Failed("; ".join(broken))
    except Failed as failure:
        return f"packages: {failure}"
    app = cdk.App(outdir=os.environ.get("CDK_OUTDIR", "cdk.out"), context=CONTEXT)
    build(app)
    app.synth()
    return None


if __name__ == "__main__":
    sys.exit(main())
