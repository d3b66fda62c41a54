"""Whether there is anybody who may make tokens in every namespace."""

from __future__ import annotations

from typing import Any

from baton.domain.clock import Millis
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE
from baton.store.schema import CATALOG
from baton.store.tokens import PREFIX, token_of
from infra.aws.doctor.finding import Finding, unwell, well


def admins(dynamodb: Any, table: str, now: Millis) -> Finding:
    """How many tokens there are of admins of every namespace that count."""
    pages = dynamodb.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="#whose = :every AND begins_with(#token, :prefix)",
        ExpressionAttributeNames={"#whose": CATALOG.hash_key.name, "#token": CATALOG.range_key.name},
        ExpressionAttributeValues={":every": {"S": EVERY_NAMESPACE}, ":prefix": {"S": PREFIX}},
    )
    tokens = [token_of(item) for page in pages for item in page["Items"]]
    count = sum(token.role == Role.ADMIN and token.good(now) for token in tokens)
    if count:
        return well("admins", f"{count} of every namespace")
    return unwell(
        "admins",
        "no token of an admin of every namespace counts",
        "make one: `make admin-token`, as infra/README.md has it",
    )
