"""The HTTP API: the contract's routes, let in by IAM, at most so many a second, each request logged."""

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
from infra.manifest import Function, Route

ACCESS_LOG: Mapping[str, str] = {
    "request_id": "$context.requestId",
    "at": "$context.requestTime",
    "route": "$context.routeKey",
    "status": "$context.status",
    "caller": "$context.identity.userArn",
    "source_ip": "$context.identity.sourceIp",
    "user_agent": "$context.identity.userAgent",
    "answered_ms": "$context.responseLatency",
    "function_ms": "$context.integrationLatency",
    "function_error": "$context.integrationErrorMessage",
    "gateway_error": "$context.error.message",
    "bytes": "$context.responseLength",
}
"""Of each request one line of JSON. Neither paths nor queries nor bodies: run ids may be anyone's words."""


class Api(Construct):
    """The gateway, in `http`; `url` is known before what serves it is there."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self.http = apigateway.HttpApi(
            self,
            "http",
            api_name=stage.prefix,
            description=f"Baton ({stage.name})",
            create_default_stage=False,
            default_authorizer=authorizers.HttpIamAuthorizer(),
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
                destination_arn=self.access_log.log_group_arn, format=json.dumps(ACCESS_LOG)
            ),
        )

    @property
    def url(self) -> str:
        """Where Baton serves, without a slash at its end."""
        return self.http.api_endpoint

    def serve(self, specs: Iterable[Function], called: Mapping[str, lambda_.IFunction]) -> None:
        """Add the routes of functions, and the one that all else takes."""
        for spec in specs:
            if not spec.routes and not spec.default:
                continue
            integration = integrations.HttpLambdaIntegration(spec.name, called[spec.name])
            for route in spec.routes:
                self._route(route, integration)
            if spec.default:
                apigateway.HttpRoute(
                    self,
                    "default",
                    http_api=self.http,
                    route_key=apigateway.HttpRouteKey.DEFAULT,
                    integration=integration,
                )

    def _route(self, route: Route, integration: integrations.HttpLambdaIntegration) -> None:
        method = apigateway.HttpMethod[route.method]
        made = apigateway.HttpRoute(
            self,
            route.key,
            http_api=self.http,
            route_key=apigateway.HttpRouteKey.with_(route.path, method),
            integration=integration,
            authorizer=apigateway.HttpNoneAuthorizer() if route.open else None,
        )
        if route.open:
            cdk.Validations.of(made).acknowledge(
                cdk.Acknowledgment(
                    id="AwsSolutions-APIG4",
                    reason="Whether the service answers is everybody's business: load balancers and monitors "
                    "ask unsigned. It reads nothing, and says nothing but that.",
                )
            )
