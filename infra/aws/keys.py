"""The keys that sign cursors and tails: made at deploy, seen by nobody, changed by hand."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.aws.stage import Stage

KEY_CHARACTERS = 44
"""Of letters and digits: read as base64 33 bytes, of some 260 bits that are chance."""


class SigningKeys(secretsmanager.Secret):
    """A secret in the spelling of `BATON_SIGNING_KEYS`: base64, with commas between keys, the newest last.
    Its name is CloudFormation's: one that was deleted keeps its own for weeks."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(
            scope,
            name,
            description=f"Baton ({stage.name}): what signs cursors and tails, newest last",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=KEY_CHARACTERS, exclude_punctuation=True, include_space=False
            ),
        )
        cdk.Validations.of(self).acknowledge(
            cdk.Acknowledgment(
                id="AwsSolutions-SMG4",
                reason="A new key must be known to all containers before the first signs with it: two steps "
                "with a deployment between them (infra/decisions/0024), which no rotation schedule takes.",
            )
        )
