"""The events that the gateway makes are those of API Gateway's payload format 2.0, field by field."""

import base64
import json

import pytest

from infra.local.events import HttpRequest, Malformed, answer_of, event_of
from infra.local.routing import Router
from infra.manifest import FUNCTIONS

ROUTER = Router(FUNCTIONS)
AT = 1583348638390  # the moment in the developer guide's example


def event(method="GET", path="/v1/runs/r", query="", headers=(), body=b""):
    request = HttpRequest(
        method=method,
        raw_path=path,
        raw_query=query,
        headers=[("host", "127.0.0.1:4437"), *headers],
        body=body,
        source_ip="127.0.0.1",
    )
    return event_of(
        request,
        ROUTER.match(method, path),
        request_id="id",
        at=AT,
        authorizer={"namespace": "*", "role": "admin"},
    )


def test_an_event_has_the_fields_of_the_developer_guide():
    made = event(headers=[("user-agent", "curl/8"), ("accept", "*/*")])
    assert made == {
        "version": "2.0",
        "routeKey": "GET /v1/runs/{id}",
        "rawPath": "/v1/runs/r",
        "rawQueryString": "",
        "headers": {
            "host": "127.0.0.1:4437",
            "user-agent": "curl/8",
            "accept": "*/*",
            "content-length": "0",
            "x-amzn-trace-id": "Root=1-5e5ffb9e-id",
            "x-forwarded-for": "127.0.0.1",
            "x-forwarded-port": "4437",
            "x-forwarded-proto": "http",
        },
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "authorizer": {"lambda": {"namespace": "*", "role": "admin"}},
            "domainName": "127.0.0.1:4437",
            "domainPrefix": "127",
            "http": {
                "method": "GET",
                "path": "/v1/runs/r",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "curl/8",
            },
            "requestId": "id",
            "routeKey": "GET /v1/runs/{id}",
            "stage": "$default",
            "time": "04/Mar/2020:19:03:58 +0000",
            "timeEpoch": AT,
        },
        "pathParameters": {"id": "r"},
        "isBase64Encoded": False,
    }


def test_what_is_empty_is_left_out_and_not_null():
    made = event(path="/v1/runs")
    assert not {"cookies", "queryStringParameters", "pathParameters", "body"} & set(made)


def test_the_path_and_its_parameters_are_decoded_and_an_encoded_slash_separates_nothing():
    made = event(path="/v1/runs/a%2Fb%20%C3%BC%7E")
    assert made["pathParameters"] == {"id": "a/b ü~"}
    assert made["rawPath"] == made["requestContext"]["http"]["path"] == "/v1/runs/a/b ü~"


def test_query_parameters_are_decoded_and_repeated_ones_joined_while_the_raw_string_stays():
    query = "state=failed&state=dead&tag=a%26b+c&workflow="
    made = event(path="/v1/runs", query=query)
    assert made["rawQueryString"] == query
    assert made["queryStringParameters"] == {"state": "failed,dead", "tag": "a&b c", "workflow": ""}


def test_repeated_headers_are_joined_and_those_of_the_connection_stay_behind():
    made = event(headers=[("accept", "a"), ("accept", "b"), ("connection", "keep-alive"), ("te", "trailers")])
    assert made["headers"]["accept"] == "a,b"
    assert not {"connection", "te"} & set(made["headers"])


def test_cookies_leave_the_headers_one_by_one():
    made = event(headers=[("cookie", "a=1; b=2"), ("cookie", "c=3")])
    assert made["cookies"] == ["a=1", "b=2", "c=3"]
    assert "cookie" not in made["headers"]


@pytest.mark.parametrize(
    ("content_type", "body", "encoded"),
    [
        ("application/json", b'{"a": "\xc3\xbc"}', False),
        ("Application/JSON; charset=utf-8", b"{}", False),
        ("text/csv", b"a,b", False),
        (None, b"{}", False),
        ("application/json", b"\xff\xfe", True),
        ("application/octet-stream", b"{}", True),
        ("application/x-www-form-urlencoded", b"a=1", True),
        ("image/png", b"\x89PNG", True),
    ],
)
def test_a_body_is_text_where_its_type_says_so_and_base64_otherwise(content_type, body, encoded):
    headers = [("content-type", content_type)] if content_type else []
    made = event("POST", "/v1/runs", headers=headers, body=body)
    assert made["isBase64Encoded"] is encoded
    assert made["body"] == (base64.b64encode(body).decode() if encoded else body.decode())
    assert made["headers"]["content-length"] == str(len(body))


@pytest.mark.parametrize(
    ("method", "path", "function", "key"),
    [
        ("POST", "/v1/runs", "start", "POST /v1/runs"),
        ("GET", "/v1/runs", "runs", "GET /v1/runs"),
        ("HEAD", "/v1/runs/x/stream", "stream", "HEAD /v1/runs/{id}/stream"),
        ("POST", "/v1/runs/x/stream", "append", "POST /v1/runs/{id}/stream"),
        ("PUT", "/v1/runs", "meta", "$default"),
        ("GET", "/v1/runs/", "meta", "$default"),
        ("GET", "/v1/runs//wait", "meta", "$default"),
        ("GET", "/nowhere", "meta", "$default"),
        ("OPTIONS", "/v1/runs", "meta", "$default"),
    ],
)
def test_a_request_goes_where_its_route_leads_and_else_to_the_default(method, path, function, key):
    match = ROUTER.match(method, path)
    assert (match.function.name, match.route_key) == (function, key)


def test_an_answer_of_format_2_keeps_its_status_headers_cookies_and_bytes():
    answer = answer_of(
        {
            "statusCode": 201,
            "headers": {"X-Number": 7, "X-Flag": True, "Content-Type": "image/png"},
            "cookies": ["a=1; Secure", "b=2"],
            "body": base64.b64encode(b"\x89PNG").decode(),
            "isBase64Encoded": True,
        }
    )
    assert answer.status == 201
    assert answer.body == b"\x89PNG"
    assert answer.headers == [
        ("x-number", "7"),
        ("x-flag", "true"),
        ("content-type", "image/png"),
        ("set-cookie", "a=1; Secure"),
        ("set-cookie", "b=2"),
    ]


def test_a_return_value_without_a_status_is_a_json_body():
    answer = answer_of({"hello": ["world"]})
    assert (answer.status, answer.headers) == (200, [("content-type", "application/json")])
    assert json.loads(answer.body) == {"hello": ["world"]}


@pytest.mark.parametrize("response", [{"statusCode": "what"}, {"statusCode": 200, "headers": 7}, object()])
def test_what_no_gateway_could_pass_on_is_told_apart(response):
    with pytest.raises(Malformed):
        answer_of(response)
