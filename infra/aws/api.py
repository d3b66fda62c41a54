"""The HTTP API: the contract's routes, for whom the stage lets in, at most so many a second, each request
logged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.aws.log_groups import LogGroup
from infra.aws.stage import Stage
from infra.manifest import AUTHORIZER, Function

ACCESS_LOG: Mapping[str, str] = {
    "request_id": "$context.requestId",
    "at": "$context.requestTime",
    "route": "$context.routeKey",
    "status": "$context.status",
    "source_ip": "$context.identity.sourceIp",
    "user_agent": "$context.identity.userAgent",
    "answered_ms": "$context.responseLatency",
    "function_ms": "$context.integrationLatency",
    "function_error": "$context.integrationErrorMessage",
    "gateway_error": "$context.error.message",
    "bytes": "$context.responseLength",
}
"""Of each request one line of JSON. Neither paths nor queries nor bodies: run ids may be anyone's words."""

CALLER: Mapping[str, str] = {"tokens": "$context.authorizer.token_id", "iam": "$context.identity.userArn"}
"""Who called, by how callers are known: a token by its id. A header is never logged."""

SHOWN = "$request.header.Authorization"
"""By what the gateway remembers callers. To whom shows none it answers 401 itself, and asks nobody."""


class Api(Construct):
    """The gateway, in `http`; `url` is known before what serves it is there."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self._stage = stage
        self.http = apigateway.HttpApi(
            self,
            "http",
            api_name=stage.prefix,
            description=f"Baton ({stage.name})",
            create_default_stage=False,
        )
        self.access_log = LogGroup(self, "access", stage=stage)
        apigateway.CfnStage(
            self,
            "stage",
            api_id=self.http.api_id,
            stage_name="$default",
            auto_deploy=True,
            default_route_settings=apigateway.CfnStage.RouteSettingsProperty(
                detailed_metrics_enabled=True,
                throttling_rate_limit=stage.requests_per_second,
                throttling_burst_limit=stage.burst,
            ),
            access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=self.access_log.log_group_arn,
                format=json.dumps({**ACCESS_LOG, "caller": CALLER[stage.auth]}),
            ),
        )

    @property
    def url(self) -> str:
        """Where Baton serves, without a slash at its end."""
        return self.http.api_endpoint

    def serve(self, specs: Iterable[Function], called: Mapping[str, lambda_.IFunction]) -> None:
        """Add the routes of functions, and the one that all else takes."""
        authorizer = self._authorizer(called)
        for spec in specs:
            if not spec.routes and not spec.default:
                continue
            integration = integrations.HttpLambdaIntegration(spec.name, called[spec.name])
            for route in spec.routes:
                made = self._route(
                    route.key,
                    apigateway.HttpRouteKey.with_(route.path, apigateway.HttpMethod[route.method]),
                    integration,
                    None if route.open else authorizer,
                )
                if route.open:
                    _acknowledge_open(made, HEALTH_IS_OPEN)
            if spec.default:
                asked = authorizer if self._stage.auth == "iam" else None
                made = self._route("default", apigateway.HttpRouteKey.DEFAULT, integration, asked)
                if asked is None:
                    _acknowledge_open(made, DEFAULT_IS_OPEN)

    def _authorizer(self, called: Mapping[str, lambda_.IFunction]) -> apigateway.IHttpRouteAuthorizer:
        """Who says whether somebody may come."""
        stage = self._stage
        if stage.auth == "iam":
            return authorizers.HttpIamAuthorizer()
        return authorizers.HttpLambdaAuthorizer(
            AUTHORIZER,
            called[AUTHORIZER],
            response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
            identity_source=[SHOWN] if stage.authorizer_seconds else [],
            results_cache_ttl=cdk.Duration.seconds(stage.authorizer_seconds),
        )

    def _route(
        self,
        name: str,
        key: apigateway.HttpRouteKey,
        integration: integrations.HttpLambdaIntegration,
        authorizer: apigateway.IHttpRouteAuthorizer | None,
    ) -> apigateway.HttpRoute:
        return apigateway.HttpRoute(
            self, name, http_api=self.http, route_key=key, integration=integration, authorizer=authorizer
        )


HEALTH_IS_OPEN = (
    "Whether the service answers is everybody's business: load balancers and monitors ask unsigned. It reads "
    "nothing, and says nothing but that."
)
DEFAULT_IS_OPEN = (
    "That there is no such path, or that it takes another method, is in the contract that anybody may read. "
    "It reads nothing, and says nothing but that."
)


def _acknowledge_open(route: apigateway.HttpRoute, reason: str) -> None:
    cdk.Validations.of(route).acknowledge(cdk.Acknowledgment(id="AwsSolutions-APIG4", reason=reason))
