"""What `baton doctor --aws` looks for in a stack is there under that name."""

import pytest

from infra.outputs import API_URL, DEFAULT_STACK, PARKED_QUEUE_URL

pytestmark = pytest.mark.aws


def test_the_stack_of_the_default_stage_tells_where_it_serves_and_what_it_puts_aside(tmp_path):
    # The CDK is in an environment of its own (`make synth`): the other tests collect this module without it.
    import aws_cdk as cdk
    from aws_cdk.assertions import Template

    from infra.aws.doctor.deployed import ALARM, AUTHORIZER, FUNCTION, MAPPING, SCHEDULE
    from infra.aws.stacks import build

    service = build(cdk.App(outdir=str(tmp_path))).service
    assert service.stack_name == DEFAULT_STACK
    template = Template.from_stack(service)
    assert {API_URL, PARKED_QUEUE_URL} <= set(template.find_outputs("*"))
    for kind in (ALARM, AUTHORIZER, FUNCTION, MAPPING, SCHEDULE):
        assert template.find_resources(kind), kind
