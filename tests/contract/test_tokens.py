"""`/v1/tokens` and `/v1/audit` on the wire, by real tokens; and event streams, which end with theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from baton.domain.clock import rfc3339
from baton.domain.roles import Role
from baton.domain.tokens import EVERY_NAMESPACE, TEXT, Wish
from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House, before_each_call, calls_of
from tests.unit.manual_clock import MIDNIGHT


class Someone:
    """Who shows a token, which is looked at anew with each request."""

    def __init__(self, api: Lambdas, text: str) -> None:
        self.api = api
        self.text = text
        self.id = text.removeprefix("bt_")[:-33]

    def ask(self, method: str, path: str, body: Any = None, **how: Any) -> Answer:
        return self.api.call(method, path, body, authorizer=self.api.vouched(self.text), **how)

    def make(self, role: str, **body: Any) -> Someone:
        answer = self.ask("POST", "/v1/tokens", {"role": role, **body})
        assert answer.status == 201, answer
        return Someone(self.api, answer.json["secret"])


@pytest.fixture
def everywhere(api: Lambdas) -> Someone:
    """The admin of all namespaces, in `default`."""
    wish = Wish(namespace=EVERY_NAMESPACE, role=Role.ADMIN)
    return Someone(api, api.runtime.tokens.create(wish, by=None).text)


@pytest.fixture
def mine(everywhere: Someone) -> Someone:
    """An admin of one namespace."""
    return everywhere.make("admin", namespace="mine")


def listed(by: Someone, **query: Any) -> list[str]:
    return [each["id"] for each in by.ask("GET", "/v1/tokens", query=query).json["tokens"]]


# Make


def test_a_token_is_told_with_all_there_is_and_its_secret_once(mine: Someone):
    until = "2026-01-01T00:00:01.000Z"
    body = {"role": "driver", "workflows": ["a", "b", "a"], "description": "π", "expires_at": until}
    answer = mine.ask("POST", "/v1/tokens", body)
    assert answer.status == 201
    made = answer.json
    assert TEXT.fullmatch(made["secret"])
    assert made["token"] == {
        "id": made["secret"].removeprefix("bt_")[:-33],
        "namespace": "mine",
        "role": "driver",
        "workflows": ["a", "b"],
        "description": "π",
        "created_at": "2026-01-01T00:00:00.000Z",
        "created_by": mine.id,
        "expires_at": until,
        "used_at": None,
    }
    shown = mine.ask("GET", "/v1/tokens")
    assert made["token"] in shown.json["tokens"]
    assert made["secret"][-32:].encode() not in shown.body


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ["body", "role"]),
        ({"role": "king"}, ["body", "role"]),
        ({"role": "Admin"}, ["body", "role"]),
        ({"role": None}, ["body", "role"]),
        ({"role": "viewer", "namespace": "A"}, ["body", "namespace"]),
        ({"role": "viewer", "namespace": "**"}, ["body", "namespace"]),
        ({"role": "viewer", "namespace": "mine\n"}, ["body", "namespace"]),
        ({"role": "viewer", "workflows": ["a"]}, ["body", "workflows"]),
        ({"role": "operator", "workflows": ["a"]}, ["body", "workflows"]),
        ({"role": "driver", "workflows": []}, ["body", "workflows"]),
        ({"role": "driver", "workflows": ["a"] * 33}, ["body", "workflows"]),
        ({"role": "driver", "workflows": ["a b"]}, ["body", "workflows", 0]),
        ({"role": "driver", "description": "a\nb"}, ["body", "description"]),
        ({"role": "driver", "description": "d" * 257}, ["body", "description"]),
        ({"role": "driver", "expires_at": "2025-12-31T23:59:59.999Z"}, ["body", "expires_at"]),
        ({"role": "driver", "expires_at": "2026-01-01T00:00:00.000Z"}, ["body", "expires_at"]),
        ({"role": "driver", "expires_at": "tomorrow"}, ["body", "expires_at"]),
        ({"role": "driver", "secret": "s"}, ["body", "secret"]),
    ],
)
def test_a_bad_wish_is_refused_by_its_field(mine: Someone, body: Any, loc: list[Any]):
    answer = mine.ask("POST", "/v1/tokens", body)
    assert (answer.status, answer.loc) == (400, loc)
    assert listed(mine) == [mine.id]


@pytest.mark.parametrize("namespace", ["yours", "*", "default"])
def test_an_admin_of_one_namespace_is_none_of_another(mine: Someone, namespace: str):
    assert mine.ask("POST", "/v1/tokens", {"role": "viewer", "namespace": namespace}).slug == "forbidden"
    assert mine.ask("GET", "/v1/tokens", query={"namespace": namespace}).slug == "forbidden"
    assert mine.make("viewer", namespace="mine").ask("GET", "/v1/runs").status == 200


def test_an_admin_of_all_makes_tokens_where_it_says_or_acts(everywhere: Someone):
    for body, header, expected in (
        ({}, "", "default"),
        ({}, "there", "there"),
        ({"namespace": "here"}, "there", "here"),
        ({"namespace": "*"}, "there", "*"),
    ):
        answer = everywhere.ask("POST", "/v1/tokens", {"role": "viewer", **body}, baton_namespace=header)
        assert answer.json["token"]["namespace"] == expected
    assert listed(everywhere, namespace="*") != listed(everywhere)


# Revoke


def test_a_revoked_token_is_nobody(mine: Someone):
    viewer = mine.make("viewer")
    assert viewer.ask("GET", "/v1/runs").status == 200
    assert mine.ask("DELETE", f"/v1/tokens/{viewer.id}").status == 204
    assert viewer.ask("GET", "/v1/runs").slug == "unauthenticated"
    assert mine.ask("DELETE", f"/v1/tokens/{viewer.id}").slug == "not-found"


def test_an_admin_may_revoke_itself(mine: Someone):
    assert mine.ask("DELETE", f"/v1/tokens/{mine.id}").status == 204
    assert mine.ask("GET", "/v1/tokens").status == 401


def test_only_who_is_of_all_namespaces_revokes_what_is_of_another(mine: Someone, everywhere: Someone):
    yours = everywhere.make("admin", namespace="yours")
    absent = mine.ask("DELETE", "/v1/tokens/yours_aaaaaaaa")
    for foreign in (yours.id, everywhere.id):
        answer = mine.ask("DELETE", f"/v1/tokens/{foreign}")
        assert (answer.status, answer.body) == (404, absent.body)
    assert everywhere.ask("DELETE", f"/v1/tokens/{yours.id}").status == 404  # it acts in default
    assert yours.ask("GET", "/v1/runs").status == 200
    for header in ("yours", ""):
        target = yours if header else everywhere
        path = f"/v1/tokens/{target.id}"
        assert everywhere.ask("DELETE", path, baton_namespace=header).status == 204
        assert target.ask("GET", "/v1/runs").status == 401


@pytest.mark.parametrize("id_", ["x", "mine_", "mine_AAAAAAAA", "*_aaaaaaaa", "a%0Ab", "mine_aaaaaaa1", "é"])
def test_what_can_be_no_tokens_id_is_none(mine: Someone, id_: str):
    answer = mine.ask("DELETE", f"/v1/tokens/{id_}")
    assert answer.body == mine.ask("DELETE", "/v1/tokens/mine_aaaaaaaa").body
    assert answer.slug == "not-found"


def test_who_made_and_revoked_is_told_the_newest_first_and_in_their_namespace(
    mine: Someone, everywhere: Someone, house: House
):
    viewer = mine.make("viewer")
    house.clock.advance(1)
    mine.ask("DELETE", f"/v1/tokens/{viewer.id}")
    said = mine.ask("GET", "/v1/audit").json["audit"]
    assert said[0] == {
        "at": "2026-01-01T00:00:01.000Z",
        "action": "token.revoked",
        "subject": viewer.id,
        "by": mine.id,
    }
    made = {(each["action"], each["subject"], each["by"]) for each in said[1:]}
    assert made == {("token.created", mine.id, everywhere.id), ("token.created", viewer.id, mine.id)}
    assert everywhere.ask("GET", "/v1/audit").json == {"audit": []}


# Streams


@pytest.fixture
def viewer(mine: Someone) -> Someone:
    made = mine.make("viewer", expires_at="2026-01-01T00:00:40.000Z")
    assert mine.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "r"}).status == 201
    return made


def at(seconds: float) -> int:
    """So long after a test's time began."""
    return MIDNIGHT + round(seconds * 1000)


def stream(who: Someone, house: House, *, seconds: float = 60) -> Iterator[tuple[float, bytes]]:
    """What an event stream says, each with how long after its beginning."""
    begun = house.clock.now()
    opened = who.api.stream(
        "/v1/runs/r/stream",
        query={"offset": "-1", "live": "sse"},
        authorizer=who.api.vouched(who.text),
        seconds=seconds,
    )
    assert opened.status == 200
    for said in opened.body:
        yield (house.clock.now() - begun) / 1000, said


def test_a_stream_ends_soon_after_its_token_was_revoked(mine: Someone, viewer: Someone, house: House):
    house.clock.plan(16, lambda: mine.ask("DELETE", f"/v1/tokens/{viewer.id}"))
    house.clock.plan(29, lambda: mine.ask("POST", "/v1/runs/r/stream", {"type": "heard"}))
    house.clock.plan(30, lambda: mine.ask("POST", "/v1/runs/r/stream", {"type": "unheard"}))
    said = list(stream(viewer, house))
    assert b"heard" in b"".join(text for _, text in said)
    assert b"unheard" not in b"".join(text for _, text in said)
    assert house.clock.now() == at(30)
    assert viewer.ask("GET", "/v1/runs/r/stream").status == 401


def test_also_when_events_flow_all_the_time(mine: Someone, viewer: Someone, house: House):
    def speak() -> None:
        mine.ask("POST", "/v1/runs/r/stream", {"type": "on"})
        house.clock.plan(0.5, speak)

    house.clock.plan(0.25, speak)
    house.clock.plan(20, lambda: mine.ask("DELETE", f"/v1/tokens/{viewer.id}"))
    said = list(stream(viewer, house))
    assert all(text != b":\n\n" for _, text in said)
    assert 29 <= said[-1][0] <= 30
    assert house.clock.now() <= at(30.5)


def test_a_stream_ends_when_its_token_expires(viewer: Someone, house: House):
    list(stream(viewer, house))
    assert house.clock.now() == at(40)


def test_what_waits_ends_when_its_token_expires_and_takes_nothing_afterwards(
    mine: Someone, viewer: Someone, house: House
):
    driver = mine.make("driver", expires_at="2026-01-01T00:00:10.000Z")
    queue = {"workflow": "later", "run_id": "q", "mode": "queued"}
    house.clock.plan(11, lambda: mine.ask("POST", "/v1/runs", queue))
    claim = {"worker_id": "w", "workflows": ["later"], "wait_seconds": 20}
    assert driver.ask("POST", "/v1/claims", claim).json == {"runs": []}
    assert house.clock.now() == at(10)
    assert driver.ask("POST", "/v1/claims", claim).status == 401
    house.clock.advance(20)
    for path, query in (
        ("/v1/runs/r/wait", {"timeout_seconds": 25}),
        ("/v1/runs/r/stream", {"offset": "now", "live": "long-poll"}),
    ):
        reader = mine.make("viewer", expires_at=rfc3339(house.clock.now() + 2_000))
        begun = house.clock.now()
        assert reader.ask("GET", path, query=query).status in (200, 204)
        assert house.clock.now() == begun + 2_000


def test_a_store_that_can_not_tell_ends_no_stream(mine: Someone, viewer: Someone, house: House):
    opened = stream(mine, house)
    next(opened)
    catalog = house.settings.catalog_table

    def broken(_operation: str, request: Any) -> None:
        if request.get("TableName") == catalog:
            raise ReadTimeoutError(endpoint_url="dynamodb")

    with before_each_call(viewer.api.runtime, broken):
        list(opened)
    assert house.clock.now() == at(55)


@pytest.mark.parametrize(("token", "looks"), [(True, 3), (False, 0)])
def test_a_token_is_looked_at_once_a_pause_and_nothing_of_who_came_without_one(
    mine: Someone, viewer: Someone, house: House, token: bool, looks: int
):
    known = {**viewer.api.vouched(mine.text)}
    who = known if token else {name: value for name, value in known.items() if name != "token_id"}
    with calls_of(viewer.api.runtime) as calls:
        opened = viewer.api.stream(
            "/v1/runs/r/stream", query={"offset": "now", "live": "sse"}, authorizer=who
        )
        list(opened.body)
    asked = [request for operation, request in calls if operation == "GetItem"]
    assert house.clock.now() == at(55)
    assert len([each for each in asked if each["TableName"] == house.settings.catalog_table]) == looks


def test_who_shows_a_token_is_told_what_is_known_of_it(mine: Someone, everywhere: Someone):
    driver = mine.make(
        "driver", workflows=["a", "b"], description="nightly", expires_at="2027-01-01T00:00:00Z"
    )
    told = driver.ask("GET", "/v1/whoami").json
    token = told.pop("token")
    assert told == {"namespace": "mine", "role": "driver", "by": driver.id}
    assert (token["id"], token["workflows"], token["description"]) == (driver.id, ["a", "b"], "nightly")
    assert (token["expires_at"], token["created_by"]) == ("2027-01-01T00:00:00.000Z", mine.id)
    assert "secret" not in str(token)
    acting = everywhere.ask("GET", "/v1/whoami", baton_namespace="yours").json
    assert (acting["namespace"], acting["token"]["namespace"]) == ("yours", EVERY_NAMESPACE)


def test_who_came_without_a_token_is_told_that(api: Lambdas):
    told = {"namespace": "default", "role": "admin", "by": None, "token": None}
    assert api.call("GET", "/v1/whoami").json == told
    iam = {"namespace": "team", "role": "driver", "principal": "AIDAEXAMPLE"}
    answer = api.call("GET", "/v1/whoami", authorizer=iam)
    assert answer.json == {"namespace": "team", "role": "driver", "by": "AIDAEXAMPLE", "token": None}


def test_a_token_that_a_gateway_still_remembers_is_told_that_it_counts_no_more(mine: Someone, api: Lambdas):
    viewer = mine.make("viewer")
    remembered = api.vouched(viewer.text)
    mine.ask("DELETE", f"/v1/tokens/{viewer.id}")
    answer = api.call("GET", "/v1/whoami", authorizer=remembered)
    assert (answer.status, answer.slug) == (401, "unauthenticated")
