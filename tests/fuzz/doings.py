"""What tenants do: each of these is one request or a few, made by numbers, with the tenant's mark in all that
it says of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton.domain.clock import rfc3339
from tests.functions.lambdas import Answer
from tests.fuzz.tenants import OTHER, QUEUE, RUNS, WORKFLOWS, Shared, Tenant

LISTS = ("/v1/runs", "/v1/workflows", "/v1/workers", "/v1/tokens", "/v1/audit")


class Doer:
    """A tenant at work. ``seen`` is what it could show the other: cursors, tails, ETags, ids of tokens."""

    def __init__(self, house: Shared, who: Tenant) -> None:
        self.house = house
        self.who = who
        self.tokens: list[str] = []
        self.cursors: dict[str, str] = {}
        self.tail: str | None = None
        self.etags: dict[str, str] = {}

    @property
    def other(self) -> Tenant:
        return OTHER[self.who]

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        answer = self.house.ask(self.who, method, path, body, **more)
        self.tail = answer.headers.get("baton-tail", self.tail)
        if "etag" in answer.headers and path != "/v1/openapi.json":
            self.etags[path] = answer.headers["etag"]
        return answer

    def said(self, what: str) -> str:
        return f"{what} of {self.who.mark}"

    def attempt(self, run: str) -> str:
        answer = self.ask("GET", f"/v1/runs/{run}")
        return str(answer.json["run"]["attempt"]) if answer.status == 200 else "1"

    # Its runs

    def start(self, run: str, number: int) -> None:
        named = {"run_id": run} if number % 3 else {}
        key = {"idempotency_key": f"key {run}"} if number % 2 or not named else {}
        body = {
            "workflow": WORKFLOWS[number % 2],
            "mode": "queued" if number % 4 < 2 else "attached",
            "input": {self.said("input"): [self.who.mark]},
            "tags": [self.said("tag")],
            "context_ref": self.said("context"),
            "agent_id": self.said("agent"),
        }
        self.ask("POST", "/v1/runs", {**body, **named}, **key)

    def append(self, run: str, number: int) -> None:
        headers = {"baton_attempt": self.attempt(run)}
        if number % 2:
            headers |= {
                "producer_id": self.said("p"),
                "producer_epoch": "0",
                "producer_seq": f"{number // 2}",
            }
        if self.tail is not None:
            headers["baton_tail"] = self.tail
        said = {"type": "note", "data": self.said("data")}
        self.ask("POST", f"/v1/runs/{run}/stream", said, **headers)

    def finish(self, run: str, number: int) -> None:
        wishes: list[dict[str, Any]] = [
            {"status": "completed", "output": self.said("output")},
            {"status": "failed", "error": {"message": self.said("message")}, "resumable": True},
            {"status": "cancelled", "session_ref": self.said("session")},
            {
                "status": "completed",
                "continue_as_new": {"run_id": RUNS[number % 3], "input": self.said("next")},
            },
        ]
        attempt = self.attempt(run)
        self.ask(
            "POST",
            f"/v1/runs/{run}/finish",
            wishes[number % 4],
            baton_attempt=attempt,
            idempotency_key="finish",
        )

    def cancel(self, run: str, number: int) -> None:
        body = {"reason": self.said("reason"), "force": number % 2 == 0}
        self.ask("POST", f"/v1/runs/{run}/cancel", body)

    def resume(self, run: str, number: int) -> None:
        self.ask("POST", f"/v1/runs/{run}/resume", {"force": number % 2 == 0})

    def suspend(self, run: str, number: int) -> None:
        soon = rfc3339(self.house.clock.now() + 30_000)
        wish = [{"until": soon}, {"run": RUNS[number % 3]}, {"event": "news"}][number % 3]
        self.ask("POST", f"/v1/runs/{run}/suspend", wish, baton_attempt=self.attempt(run))

    def delete(self, run: str, _number: int) -> None:
        self.ask("DELETE", f"/v1/runs/{run}")

    def republish(self, run: str, number: int) -> None:
        if number % 2:
            self.ask("POST", f"/v1/runs/{run}/republish", {})
            return
        wish = {"workflow": WORKFLOWS[number % 4 // 2], "limit": 1}
        token = self.ask("POST", "/v1/republish", wish).json.get("next_token")
        if token is not None:
            self.ask("POST", "/v1/republish", {**wish, "next_token": token})
            self.cursors["/v1/republish"] = token

    # Workers, workflows, events

    def claim(self, run: str, number: int) -> None:
        if number % 3 == 0:
            self.ask("POST", f"/v1/runs/{run}/claim", {"worker_id": "worker"})
            return
        key = {"idempotency_key": "claims"} if number % 2 else {}
        wish = {"worker_id": "worker", "workflows": list(WORKFLOWS), "max": number + 1}
        got = self.ask("POST", "/v1/claims", wish, **key).json["runs"]
        assert {each["namespace"] for each in got} <= {self.who.mark}

    def hold(self, run: str, number: int) -> None:
        held = {"worker_id": "worker", "attempt": int(self.attempt(run))}
        if number % 2:
            self.ask("POST", f"/v1/runs/{run}/renew", held)
            return
        failed = {"error": {"message": self.said("trouble"), "stack": self.said("stack")}}
        self.ask("POST", f"/v1/runs/{run}/release", {**held, **(failed if number % 4 else {})})

    def announce(self, _run: str, number: int) -> None:
        serves = {"name": WORKFLOWS[number % 2], "subscribes": [self._link(number)]}
        body = {"runtime": self.said("runtime"), "workflows": [serves]}
        self.ask("PUT", "/v1/workers/worker", body)

    def register(self, _run: str, number: int) -> None:
        name = WORKFLOWS[number % 2]
        if number == 5:
            self.ask("DELETE", f"/v1/workflows/{name}")
            return
        wish: dict[str, Any] = {"description": self.said("description"), "subscribes": [self._link(number)]}
        if number == 4:
            wish["batch"] = {"mode": "batch", "window_seconds": 10, "max_size": 3}
        if number == 3:
            wish["target"] = {"kind": "sqs", "arn": QUEUE}
        self.ask("PUT", f"/v1/workflows/{name}", wish)

    def _link(self, number: int) -> dict[str, Any]:
        events = (f"run.completed:{WORKFLOWS[0]}", f"run.failed:{WORKFLOWS[0]}", "news")
        link = {"event": events[number % 3]}
        return {**link, "input": f"[@, '{self.said('mapped')}', to_number(id)]"} if number % 2 else link

    def post(self, _run: str, number: int) -> None:
        named = {"id": f"event {number}"} if number % 2 else {}
        self.ask("POST", "/v1/events/news", {"payload": self.said("payload"), **named})

    # Looking

    def look(self, run: str, number: int) -> None:
        path = f"/v1/runs/{run}"
        stream = f"{path}/stream"
        [
            lambda: self.ask("GET", path),
            lambda: self.ask("GET", f"{path}/wait", query={"timeout_seconds": 0}),
            lambda: self.ask("HEAD", stream),
            lambda: self.ask("GET", stream, query={"offset": "-1"}),
            lambda: self.ask("GET", stream, query={"offset": "-1", "live": "long-poll"}, seconds=1),
            lambda: self.ask("GET", stream, query={"offset": "-1", "live": "sse"}, seconds=1),
        ][number]()

    def look_around(self, _run: str, number: int) -> None:
        paths = ("/v1/graph", "/v1/stats", "/v1/openapi.json", "/v1/health", "/v1/workflows/make")
        self.ask("GET", paths[number % len(paths)])

    def list(self, _run: str, number: int) -> None:
        path = LISTS[number % len(LISTS)]
        token = self.ask("GET", path, query={"limit": 1}).json.get("next_token")
        if token is not None:
            self.cursors[path] = token
            assert self.ask("GET", path, query={"limit": 100, "next_token": token}).status == 200

    def token(self, _run: str, number: int) -> None:
        if number % 2 and self.tokens:
            self.ask("DELETE", f"/v1/tokens/{self.tokens.pop()}")
            return
        wish = {"role": "driver", "workflows": ["make"], "description": self.said("description")}
        self.tokens.append(self.ask("POST", "/v1/tokens", wish).json["token"]["id"])


def pry(one: Doer, other: Doer, run: str, number: int) -> None:
    """Show the house what is the other's: it is good for nothing."""
    if number == 0:
        for path, cursor in other.cursors.items():
            if path == "/v1/republish":
                wish = {"workflow": "make", "limit": 1, "next_token": cursor}
                assert one.ask("POST", path, wish).status == 400
            else:
                assert one.ask("GET", path, query={"limit": 1, "next_token": cursor}).status == 400
    elif number == 1:
        for path, etag in other.etags.items():
            assert one.ask("GET", path.partition("?")[0], if_none_match=etag).status != 304
    elif number == 2 and other.tail is not None:
        said = {"type": "note", "data": one.said("data")}
        one.house.ask(
            one.who,
            "POST",
            f"/v1/runs/{run}/stream",
            said,
            baton_attempt=one.attempt(run),
            baton_tail=other.tail,
        )
    elif number == 3:
        for token in other.tokens:
            # The id that is asked for is the asker's own word: the answer must not repeat it either.
            assert one.ask("DELETE", f"/v1/tokens/{token}").slug == "not-found"
    elif number == 4:
        for path in ("/v1/tokens", "/v1/audit"):
            assert one.ask("GET", path, query={"namespace": other.who.mark}).slug == "forbidden"
        wish = {"role": "admin", "namespace": other.who.mark}
        assert one.ask("POST", "/v1/tokens", wish).slug == "forbidden"
    else:
        answer = one.ask("GET", f"/v1/runs/{run}", baton_namespace=other.who.mark)
        assert answer.slug == "forbidden"


DOINGS: dict[str, Callable[[Doer, str, int], None]] = {
    each.__name__: each
    for each in (
        Doer.start,
        Doer.append,
        Doer.finish,
        Doer.cancel,
        Doer.resume,
        Doer.suspend,
        Doer.delete,
        Doer.republish,
        Doer.claim,
        Doer.hold,
        Doer.announce,
        Doer.register,
        Doer.post,
        Doer.look,
        Doer.look_around,
        Doer.list,
        Doer.token,
    )
}
