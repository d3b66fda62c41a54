"""Who is vouched for: what the authoriser said of an `Authorization` is remembered as API Gateway does."""

import httpx
import pytest

from infra.local import vouching
from infra.local.clock import HandClock
from infra.local.events import HttpRequest
from infra.local.routing import Router
from infra.local.testing import running_stack
from infra.local.vouching import EVERYONE, Asking, Vouching
from infra.manifest import AUTHORIZER, FUNCTIONS, function
from tests.unit.manual_clock import MIDNIGHT, ManualClock

ROUTER = Router(FUNCTIONS)
SECONDS = 60


class Authoriser:
    """Says of each header what stands in `says`, and keeps who asked."""

    def __init__(self):
        self.asked = []
        self.says = {}
        self.fails = None

    def __call__(self, of, event, request_id):
        assert of is function(AUTHORIZER)
        assert event["type"] == "REQUEST"
        assert event["identitySource"] == [event["headers"]["authorization"]]
        self.asked.append(event["identitySource"][0])
        if self.fails:
            raise self.fails
        return {"isAuthorized": True, "context": self.says.get(self.asked[-1], {})}


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def authoriser():
    return Authoriser()


@pytest.fixture
def door(authoriser, clock):
    """door(header, ...) -> what is told of who shows it."""
    asking = Asking(function(AUTHORIZER), authoriser, clock=clock, seconds=SECONDS)

    def told(shown, path="/v1/runs", method="GET"):
        headers = [] if shown is None else [("authorization", shown)]
        request = HttpRequest(method, path, "", headers, b"", "127.0.0.1")
        match = ROUTER.match(method, path)
        known = asking.known(request, match)
        return asking.ask(request, match, "id") if known is None else known

    return told


def test_it_is_asked_once_a_minute_and_header(door, authoriser, clock):
    authoriser.says = {"Bearer a": {"role": "viewer"}}
    for _ in range(3):
        assert door("Bearer a") == {"role": "viewer"}
    clock.advance(SECONDS - 0.001)
    assert door("Bearer a", "/v1/workflows", "GET") == {"role": "viewer"}
    assert authoriser.asked == ["Bearer a"]
    clock.advance(0.001)
    assert door("Bearer a") == {"role": "viewer"}
    assert authoriser.asked == ["Bearer a"] * 2


def test_a_revoked_token_is_let_in_no_longer_than_that(door, authoriser, clock):
    authoriser.says = {"Bearer a": {"role": "viewer"}}
    door("Bearer a")
    authoriser.says = {}
    clock.advance(SECONDS - 0.001)
    assert door("Bearer a") == {"role": "viewer"}
    clock.advance(0.001)
    assert door("Bearer a") == {}
    authoriser.says = {"Bearer a": {"role": "viewer"}}
    clock.advance(SECONDS - 0.001)
    assert door("Bearer a") == {}  # that it counts for nobody is remembered too


def test_what_was_said_of_one_header_is_said_of_no_other(door, authoriser):
    authoriser.says = {"Bearer a": {"role": "admin"}, "Bearer b": {"role": "viewer"}}
    likes = ["Bearer a", "Bearer b", "bearer a", "Bearer A", "Bearer a ", "Bearer  a", "Bearer ab", ""]
    for _ in range(2):
        told = [door(shown) for shown in likes]
        assert told == [{"role": "admin"}, {"role": "viewer"}] + [{}] * 6
    assert authoriser.asked == likes


def test_what_was_said_of_two_headers_is_said_of_neither_alone(authoriser, clock):
    asking = Asking(function(AUTHORIZER), authoriser, clock=clock, seconds=SECONDS)
    match = ROUTER.match("GET", "/v1/runs")
    headers = [("authorization", "Bearer a"), ("authorization", "Bearer b")]
    both, one = (
        HttpRequest("GET", "/v1/runs", "", sent, b"", "127.0.0.1") for sent in (headers, headers[:1])
    )
    authoriser.says = {"Bearer a": {"role": "admin"}}
    assert asking.ask(both, match, "id") == {}
    assert (asking.known(both, match), asking.known(one, match)) == ({}, None)
    assert asking.ask(one, match, "id") == asking.known(one, match) == {"role": "admin"}
    assert asking.known(both, match) == {}
    assert authoriser.asked == ["Bearer a,Bearer b", "Bearer a"]


@pytest.mark.parametrize(
    ("shown", "path"), [(None, "/v1/runs"), ("Bearer a", "/v1/health"), (None, "/v1/health")]
)
def test_of_nobody_and_for_what_is_open_nobody_is_asked(door, authoriser, shown, path):
    assert door(shown, path) == {}
    assert authoriser.asked == []


def test_what_no_route_is_for_is_nobodys_business(door, authoriser):
    assert door("Bearer a", "/nowhere") == {}
    assert authoriser.asked == []


def test_an_authoriser_that_fails_is_asked_again(door, authoriser):
    authoriser.fails = RuntimeError("broken on purpose")
    for _ in range(2):
        with pytest.raises(RuntimeError):
            door("Bearer a")
    authoriser.fails, authoriser.says = None, {"Bearer a": {"role": "viewer"}}
    assert door("Bearer a") == {"role": "viewer"}
    assert authoriser.asked == ["Bearer a"] * 3


def test_memory_is_bounded_and_who_does_not_fit_is_asked_about_each_time(
    door, authoriser, clock, monkeypatch
):
    monkeypatch.setattr(vouching, "REMEMBERED", 2)
    for shown in ("a", "b", "c", "a", "c"):
        door(shown)
    assert authoriser.asked == ["a", "b", "c", "c"]
    clock.advance(SECONDS)
    for shown in ("c", "c"):
        door(shown)
    assert authoriser.asked == ["a", "b", "c", "c", "c"]


def test_strangers_make_room_for_who_is_known_and_push_nobody_out(door, authoriser, monkeypatch):
    monkeypatch.setattr(vouching, "REMEMBERED", 3)
    authoriser.says = {"good": {"role": "viewer"}, "better": {"role": "admin"}}
    for shown in ("x1", "x2", "x3", "good", "x4", "x5", "x6", "better", "good", "better"):
        door(shown)
    assert (authoriser.asked.count("good"), authoriser.asked.count("better")) == (1, 1)


def test_a_clock_that_is_set_back_keeps_nobody_in(door, authoriser, clock):
    authoriser.says = {"Bearer a": {"role": "viewer"}}
    door("Bearer a")
    authoriser.says = {}
    clock.set_back(3600)
    assert door("Bearer a") == {}


def test_a_laptop_that_trusts_everyone_asks_nobody():
    request = HttpRequest("GET", "/v1/runs", "", [("authorization", "Bearer a")], b"", "127.0.0.1")
    assert Vouching().known(request, ROUTER.match("GET", "/v1/runs")) == EVERYONE
    assert "token_id" not in EVERYONE


class Failing:
    """Functions of which the authoriser fails when it is to."""

    def __init__(self, functions):
        self._functions = functions
        self.fails = False

    def call(self, of, event, request_id):
        if of is function(AUTHORIZER) and self.fails:
            raise RuntimeError("broken on purpose")
        return self._functions.call(of, event, request_id)

    def stream(self, of, event, request_id):
        return self._functions.stream(of, event, request_id)


def test_the_stack_asks_who_comes_and_forgets_in_time():
    made = []

    def around(functions, _runtime):
        made.append(Failing(functions))
        return made[0]

    clock = HandClock(MIDNIGHT)
    with (
        running_stack(auth=True, clock=clock, by_hand=True, around=around) as stack,
        httpx.Client(base_url=stack.url, headers={"Authorization": f"Bearer {stack.admin_token}"}) as admin,
        httpx.Client(base_url=stack.url) as nobody,
    ):
        assert [nobody.get(path).status_code for path in ("/v1/health", "/nowhere")] == [200, 404]
        refused = nobody.get("/v1/runs")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        secret = admin.post("/v1/tokens", json={"role": "viewer"}).json()["secret"]
        shown = {"Authorization": f"Bearer {secret}"}
        made[0].fails = True
        for _ in range(2):
            failed = nobody.get("/v1/runs", headers=shown)
            assert (failed.status_code, failed.json()) == (500, {"message": "Internal Server Error"})
        made[0].fails = False
        assert nobody.get("/v1/runs", headers=shown).status_code == 200
        assert admin.delete(f"/v1/tokens/{secret[3:-33]}").status_code == 204
        clock.advance(SECONDS - 1)
        assert nobody.get("/v1/runs", headers=shown).status_code == 200
        clock.advance(1)
        assert nobody.get("/v1/runs", headers=shown).status_code == 401
