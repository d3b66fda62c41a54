"""The contract's rows of tokens, and of who did what."""

from __future__ import annotations

from baton.api import token_answers, token_models
from baton.api.operation import Answer, Operation
from baton.domain.roles import Role

TOKEN_OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="whoami",
        method="GET",
        path="/v1/whoami",
        function="tokens",
        role=Role.VIEWER,
        summary="Who asks: the role, the namespace, the token.",
        answers={200: Answer("It is you.", token_answers.Whoami)},
    ),
    Operation(
        id="createToken",
        method="POST",
        path="/v1/tokens",
        function="tokens",
        role=Role.ADMIN,
        summary="Make a token. Its secret is in the answer, this once; repeated it makes another one.",
        body=token_models.CreateToken,
        answers={201: Answer("It counts.", token_answers.Created)},
        problems=(413, 415),
    ),
    Operation(
        id="listTokens",
        method="GET",
        path="/v1/tokens",
        function="tokens",
        role=Role.ADMIN,
        summary="List tokens, by id, without their secrets.",
        query=token_models.NamespaceQuery,
        answers={200: Answer("One page.", token_answers.TokensPage)},
    ),
    Operation(
        id="revokeToken",
        method="DELETE",
        path="/v1/tokens/{token_id}",
        function="tokens",
        role=Role.ADMIN,
        summary="Revoke a token. Gateways may remember it for a minute.",
        answers={204: Answer("It counts no more.")},
        problems=(404,),
    ),
    Operation(
        id="listAudit",
        method="GET",
        path="/v1/audit",
        function="tokens",
        role=Role.ADMIN,
        summary="List who did what beside the runs' logs, the newest first.",
        query=token_models.NamespaceQuery,
        answers={200: Answer("One page.", token_answers.AuditPage)},
    ),
)
