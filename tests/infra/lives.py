"""Lives of runs that between them read and write in every way there is, each function's part done by it.

A house is a ``tests.infra.rights.Recorder``.
"""

from functools import partialmethod
from unittest.mock import patch

from baton.domain.catalog import Snapshot
from baton.domain.clock import rfc3339
from baton.services.delivering import Deliverer, Outcome
from baton.services.endings import Endings
from baton.store.due import DueStore
from baton.store.log import PURGE_BATCH

LARGE = "x" * 1000
MANY = 10
"""Subscribers, more than a run's row holds."""
PUSHED_TO = "pushed-to"
"""What targets are called."""


def live(house):
    """All of them."""
    known(house)
    alone(house)
    handed_off(house)
    awaited(house)
    put_together(house)
    missed(house)
    left(house)
    announced(house)
    claimed(house)
    pushed(house)
    over(house)


def known(house):
    """A token made, shown, listed and revoked; and what is kept of that."""
    made = house.ask("POST", "/v1/tokens", {"role": "viewer"})
    assert house.show(made["secret"])["token_id"] == made["token"]["id"]
    house.ask("GET", "/v1/tokens")
    house.ask("DELETE", f"/v1/tokens/{made['token']['id']}")
    assert house.show(made["secret"]) == {}
    house.ask("GET", "/v1/audit")


def alone(house):
    """Runs started, repeated, spoken to, read, listed, cancelled, resumed, settled, deleted and purged."""
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "a", "input": LARGE}, idempotency_key="k")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "a", "input": LARGE}, idempotency_key="k")
    house.ask("POST", "/v1/runs/a/stream", [{"type": "stdout"}])
    for query in ("", "?offset=-1&live=sse", "?offset=now&live=sse", "?offset=now&live=long-poll"):
        house.ask("GET", f"/v1/runs/a/stream{query}")
    house.ask("HEAD", "/v1/runs/a/stream")
    house.ask("GET", "/v1/runs/a")
    house.ask("GET", "/v1/runs/a/wait?timeout_seconds=0")
    house.ask("POST", "/v1/runs/a/cancel", {"reason": "enough"})
    house.ask("POST", "/v1/runs/a/finish", {"status": "failed", "output": LARGE, "resumable": True})
    house.ask("POST", "/v1/runs/a/finish", {"status": "completed"})
    house.ask("POST", "/v1/runs/a/stream", [{"type": "stdout"}])
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "a", "input": LARGE}, idempotency_key="k")
    house.ask("POST", "/v1/runs/a/resume")
    house.ask("POST", "/v1/runs/a/cancel", {"force": True})
    house.ask("GET", "/v1/runs/a")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "c", "context_ref": "r"})
    for query in ("", "?workflow=w", "?context_ref=r"):
        house.ask("GET", f"/v1/runs{query}")
    house.publish()
    house.ask("DELETE", "/v1/runs/a")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "a"}, idempotency_key="k2")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "b", "inactivity_timeout_seconds": 1})
    house.ask("GET", "/v1/health")
    house.ask("GET", "/v1/stats")
    house.ask("PUT", "/nowhere")
    house.tick("sweep", 60)
    with patch("baton.services.retention.PURGE_BATCHES", 1):
        long_log(house)
        house.tick("sweep", 60)


def long_log(house):
    """A life whose log is too long for one sweep to purge: the rest is put off."""
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "d", "input": LARGE})
    lengthen_log(house, "d", PURGE_BATCH + 1)
    house.ask("POST", "/v1/runs/d/cancel", {"force": True})
    house.publish()
    house.ask("DELETE", "/v1/runs/d")
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "d"})


def lengthen_log(house, run_id, by):
    """Put ``by`` more items into a run's log, as many appends would; nobody's rights are used."""
    standing = house.dynamodb.scan(TableName=house.log)["Items"]
    first = next(item for item in standing if item["k"]["S"].endswith(f"#{run_id}"))
    birth, slot = first["s"]["S"].split("#")
    puts = [
        {"PutRequest": {"Item": first | {"s": {"S": f"{birth}#{number:0{len(slot)}d}"}}}}
        for number in range(1, by + 1)
    ]
    for start in range(0, by, 25):
        house.dynamodb.batch_write_item(RequestItems={house.log: puts[start : start + 25]})


def handed_off(house):
    """Endings delivered live, by the sweep, by heal and by an operator; to few, to many; of any attempt."""
    register(house, "report", "run.completed:build", "run.failed:build", input="run")
    settled(house, "h1", output=LARGE)
    house.publish()
    house.ask("GET", "/v1/runs/h1")
    settled(house, "h2", status="failed", output=LARGE, resumable=True)
    house.ask("POST", "/v1/runs/h2/resume")
    house.publish()
    house.ask("POST", "/v1/runs/h2/finish", {"status": "completed"}, baton_attempt="2")
    house.miss()
    house.ask("GET", "/v1/stats")
    house.tick("sweep", 60)
    for number in range(MANY):
        register(house, f"many-{number}", "run.completed:wide")
    settled(house, "h3", workflow="wide", output=LARGE)
    house.publish()
    settled(house, "h4", workflow="wide", output=LARGE)
    house.miss()
    house.tick("sweep", 60)
    settled(house, "h5", workflow="late", output=LARGE)
    house.publish()
    register(house, "belated", "run.completed:late")
    for _ in range(4):
        house.tick("heal", 60)
    register(house, "today", "run.completed:build")
    house.ask("POST", "/v1/runs/h1/republish", {})
    house.ask("POST", "/v1/republish", {"workflow": "build"})
    house.ask("POST", "/v1/republish", {"workflow": "wide", "dry_run": True})
    for target in ("/v1/workflows", "/v1/workflows/report", "/v1/graph"):
        house.ask("GET", target)
    house.ask("DELETE", "/v1/workflows/belated")


def register(house, name, *events, **mapping):
    """Register a workflow that subscribes to these events."""
    subscribes = [{"event": event, **mapping} for event in events]
    house.ask("PUT", f"/v1/workflows/{name}", {"subscribes": subscribes})


def settled(house, run_id, *, workflow="build", status="completed", **outcome):
    """A run that has settled, and whose ending nobody has published."""
    house.ask("POST", "/v1/runs", {"workflow": workflow, "run_id": run_id, "input": LARGE})
    house.ask("POST", f"/v1/runs/{run_id}/finish", {"status": status, **outcome})


def awaited(house):
    """Runs that wait for a time, a run and an event, woken by whoever comes first; runs that go on anew."""
    for number, wish in enumerate([{"run": "awaited"}, {"run": "awaited"}, {"event": "news"}]):
        if number == 0:
            house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "awaited"})
        house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": f"waiting-{number}"})
        house.ask("POST", f"/v1/runs/waiting-{number}/suspend", wish)
    house.ask("GET", "/v1/runs/awaited")
    house.ask("POST", "/v1/runs/waiting-1/cancel", {"reason": "enough"})
    house.ask("POST", "/v1/runs/awaited/finish", {"status": "completed", "output": LARGE})
    house.publish()
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "late"})
    house.ask("POST", "/v1/runs/late/suspend", {"run": "awaited"})
    house.ask("POST", "/v1/events/news", {"payload": LARGE})
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "timed"})
    house.ask("POST", "/v1/runs/timed/suspend", {"until": rfc3339(house.clock.now() + 60_000)})
    house.tick("sweep", 3600)
    house.ask("POST", "/v1/events/kept", {"payload": LARGE, "id": "one"})
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "eager"})
    house.ask("POST", "/v1/runs/eager/suspend", {"event": "kept"})
    house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": "impatient"})
    house.ask("POST", "/v1/runs/impatient/suspend", {"event": "never"})
    house.ask("POST", "/v1/runs/impatient/finish", {"status": "completed"})
    register(house, "reader", "posted")
    house.ask("POST", "/v1/events/posted", {"payload": LARGE, "id": "two"})
    house.ask("POST", "/v1/runs", {"workflow": "build", "run_id": "first"})
    again = {"input": LARGE, "run_id": "second"}
    house.ask("POST", "/v1/runs/first/finish", {"status": "completed", "continue_as_new": again})
    house.ask("POST", "/v1/runs/second/cancel", {"force": True})
    house.publish()


def put_together(house):
    """Endings and events that a subscriber gets together, fired by whoever comes first."""
    batch = {"mode": "batch", "window_seconds": 60, "max_size": 2}
    house.ask(
        "PUT", "/v1/workflows/digest", {"subscribes": [{"event": "run.completed:piece"}], "batch": batch}
    )
    for number in range(3):
        settled(house, f"piece-{number}", workflow="piece", output=LARGE)
        house.publish()
    house.tick("sweep", 120)
    house.tick("sweep", 120)
    house.ask("PUT", "/v1/workflows/gathered", {"subscribes": [{"event": "bit"}], "batch": batch})
    for number in range(3):
        house.ask("POST", "/v1/events/bit", {"payload": number})
    house.tick("sweep", 120)
    house.tick("sweep", 7200)


def missed(house):
    """Endings that no live publisher heard of, with a run that waits for them, a subscriber of windows and
    many others: delivered by the sweep, by heal and by an operator."""
    for who in ("sweep", "heal", "operator"):
        run_id, workflow = f"missed-by-{who}", f"work-for-{who}"
        house.ask("POST", "/v1/runs", {"workflow": "w", "run_id": f"waits-for-{who}"})
        house.ask("POST", "/v1/runs", {"workflow": workflow, "run_id": run_id})
        house.ask("POST", f"/v1/runs/waits-for-{who}/suspend", {"run": run_id})
        if who == "sweep":
            subscribe_all_kinds(house, workflow)
        house.ask("POST", f"/v1/runs/{run_id}/finish", {"status": "completed", "output": LARGE})
        house.miss()
        if who != "sweep":
            subscribe_all_kinds(house, workflow)
    house.ask("POST", "/v1/runs/missed-by-operator/republish", {})
    for _ in range(4):
        house.tick("heal", 60)
    with patch.object(DueStore, "page", partialmethod(DueStore.page, limit=1)):
        house.tick("sweep")
    house.tick("sweep")


def left(house):
    """A subscriber that has left the catalog by the time that it is to get what it is owed, whoever delivers;
    and a late one with more to heal than one page."""

    def without_it(_deliverer, namespace, _event, _subscribers):
        return Snapshot(namespace=namespace, read_at=0)

    def still_owed(_deliverer, _source, _snapshot, subscriber, _payload):
        return Outcome(subscriber=subscriber, why="not now")

    def ending_by_ending(endings, stretch, shard, *, page=Endings.page, start=None, limit=None):
        return page(endings, stretch, shard, start=start, limit=1)

    register(house, "leaver", "run.completed:left", "farewell")
    for number in range(2):
        settled(house, f"unheard-{number}", workflow="unheard")
    house.publish()
    with patch.object(Deliverer, "snapshot", without_it), patch.object(Endings, "page", ending_by_ending):
        settled(house, "left-1", workflow="left")
        house.publish()
        house.ask("POST", "/v1/runs/left-1/republish", {})
        house.tick("sweep", 60)
        with patch.object(Deliverer, "deliver", still_owed):
            house.ask("POST", "/v1/events/farewell", {"id": "one"})
        house.ask("POST", "/v1/events/farewell", {"id": "one"})
        register(house, "leaver", "run.completed:left", "farewell", "run.completed:unheard")
        house.tick("heal", 60)


def announced(house):
    """Workers that say something new, the same, and something new of what was deleted; that are listed, and
    perform nothing."""
    for serves in ("announced", "announced", "renamed"):
        subscribes = [{"event": "run.completed:build"}]
        house.ask("PUT", "/v1/workers/w1", {"workflows": [{"name": serves, "subscribes": subscribes}]})
    house.ask("DELETE", "/v1/workflows/announced")
    house.ask("PUT", "/v1/workers/w2", {"workflows": [{"name": "announced"}]})
    house.ask("GET", "/v1/workers")
    house.ask("POST", "/v1/runs", {"workflow": "announced"})
    settled(house, "for-announced")
    house.publish()


def claimed(house):
    """Runs that workers claim, by request or by name, hold for longer, give back, fail with, and lose."""
    register(house, "after-claimed", "run.failed:claimed")
    for number in range(3):
        wish = {"workflow": "claimed", "run_id": f"claimed-{number}", "mode": "queued", "max_attempts": 2}
        house.ask("POST", "/v1/runs", {**wish, "input": LARGE if number else None})
    wish = {"worker_id": "w1", "workflows": ["claimed"], "lease_seconds": 60}
    for _ in range(2):
        house.ask("POST", "/v1/claims", {**wish, "max": 2}, idempotency_key="claims")
    house.ask("POST", "/v1/claims", wish)
    for number in range(3):
        run, holder = f"/v1/runs/claimed-{number}", {"worker_id": "w1", "attempt": 1}
        house.ask("POST", f"{run}/renew", holder)
        house.ask("POST", f"{run}/release", {**holder, "error": {"message": LARGE}, "delay_seconds": 0})
        house.ask("POST", f"{run}/claim", {"worker_id": "w2"}, idempotency_key=f"claim-{number}")
        house.ask("POST", f"{run}/release", {"worker_id": "w2", "attempt": 2, "error": {"message": LARGE}})
    house.publish()
    house.ask("POST", "/v1/runs", {"workflow": "claimed", "run_id": "lost", "mode": "queued"})
    house.ask("POST", "/v1/claims", wish)
    house.tick("sweep", 120)
    house.ask("POST", "/v1/claims", wish)
    house.ask("POST", "/v1/runs/lost/cancel", {"reason": "enough"})
    house.ask("POST", "/v1/runs/lost/release", {"worker_id": "w1", "attempt": 2})


def subscribe_all_kinds(house, workflow):
    """Have the endings of a workflow owed to one that gets them together, and to more than a row holds."""
    batch = {"mode": "batch", "window_seconds": 60, "max_size": 2}
    subscribes = [{"event": f"run.completed:{workflow}"}]
    house.ask("PUT", f"/v1/workflows/{workflow}-digest", {"subscribes": subscribes, "batch": batch})
    for number in range(MANY):
        register(house, f"{workflow}-{number}", f"run.completed:{workflow}")


def pushed(house):
    """Runs whose targets are told of them, by the stream and by the sweep."""
    targets = {
        "lambda": f"arn:aws:lambda:eu-central-1:123456789012:function:{PUSHED_TO}",
        "sqs": f"arn:aws:sqs:eu-central-1:123456789012:{PUSHED_TO}",
        "eventbridge": f"arn:aws:events:eu-central-1:123456789012:event-bus/{PUSHED_TO}",
    }
    for kind, arn in targets.items():
        house.ask("PUT", f"/v1/workflows/by-{kind}", {"target": {"kind": kind, "arn": arn}})
        house.ask("POST", "/v1/runs", {"workflow": f"by-{kind}"})
    house.publish()
    house.tick("sweep", 300)


def over(house):
    """Rows that DynamoDB removed, and what is left of them."""
    house.clock.advance(31 * 24 * 3600)
    for item in house.dynamodb.scan(TableName=house.runs)["Items"]:
        if "lk" in item:
            house.dynamodb.delete_item(TableName=house.runs, Key={"k": item["k"], "s": item["s"]})
    house.publish()
    house.tick("sweep", 3600)
