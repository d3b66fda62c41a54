"""POST /v1/runs/{id}/stream: the append of Durable Streams. Source: the protocol, 5.2, 5.2.1 and 9.1."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House, calls_of, names_of


def _said(api: Lambdas, run_id: str) -> list[tuple[str, Any]]:
    """What drivers said, in order."""
    return [(message["type"], message["data"]) for message in api.read(run_id).json if message["seq"]]


def _produce(
    api: Lambdas, run_id: str, seq: int, *, epoch: int = 0, id_: str = "p", **headers: Any
) -> Answer:
    mark = {"producer_id": id_, "producer_epoch": str(epoch), "producer_seq": str(seq)}
    return api.append(run_id, {"type": "x", "data": [epoch, seq]}, **mark, **headers)


def test_one_message_or_an_array_of_them(api: Lambdas):
    run = api.start()
    assert api.call("POST", f"/v1/runs/{run['id']}/stream", {"type": "a", "data": 1}).status == 204
    assert api.append(run["id"], {"type": "b"}, {"type": "c.d_e-f", "data": [[1]]}).status == 204
    assert _said(api, run["id"]) == [("a", 1), ("b", None), ("c.d_e-f", [[1]])]


def test_an_append_answers_the_new_tail_and_no_body(api: Lambdas):
    run = api.start()
    answer = api.append(run["id"])
    assert (answer.status, answer.body) == (204, b"")
    head = api.call("HEAD", f"/v1/runs/{run['id']}/stream")
    assert answer.headers["stream-next-offset"] == head.headers["stream-next-offset"]
    assert not {"stream-closed", "producer-seq", "content-type"} & answer.headers.keys()


def test_messages_are_numbered_without_holes_and_timed(api: Lambdas, house: House):
    run = api.start()
    house.clock.advance(1.5)
    api.append(run["id"], {"type": "a"}, {"type": "a"})
    api.append(run["id"], {"type": "a"})
    messages = api.read(run["id"]).json
    assert [message["seq"] for message in messages] == [0, 1, 2, 3]
    assert messages[1]["ts"] == "2026-01-01T00:00:01.500Z"
    assert all(set(message) == {"run_id", "seq", "attempt", "type", "ts", "data"} for message in messages)


def test_with_the_tail_echoed_another_container_appends_with_one_write_and_no_read(
    api: Lambdas, house: House
):
    start = api.call("POST", "/v1/runs", {"workflow": "w"})
    run_id, tail = start.json["run"]["id"], start.headers["baton-tail"]
    for _ in range(3):
        other = Lambdas(house.container())
        with calls_of(other.runtime) as calls:
            tail = other.append(run_id, baton_tail=tail).headers["baton-tail"]
        assert names_of(calls) == ["PutItem"]
    assert [seq for seq, _ in enumerate(api.read(run_id).json)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "forge", [lambda tail: tail[:-2] + "AA", lambda tail: "x" + tail, lambda _: "x", lambda _: "."]
)
def test_a_forged_tail_is_ignored(api: Lambdas, house: House, forge: Any):
    start = api.call("POST", "/v1/runs", {"workflow": "w"})
    run_id = start.json["run"]["id"]
    other = Lambdas(house.container())
    with calls_of(other.runtime) as calls:
        assert other.append(run_id, baton_tail=forge(start.headers["baton-tail"])).status == 204
    assert "PutItem" in names_of(calls)
    assert len(calls) > 1


def test_a_foreign_runs_or_namespaces_tail_is_ignored(api: Lambdas, house: House):
    mine = api.start()
    tail = api.append(api.start()["id"], {"type": "a"}, {"type": "b"}).headers["baton-tail"]
    there = api.call("POST", "/v1/runs", {"workflow": "w", "run_id": mine["id"]}, baton_namespace="n")
    for foreign in (tail, there.headers["baton-tail"]):
        other = Lambdas(house.container())
        with calls_of(other.runtime) as calls:
            assert other.append(mine["id"], baton_tail=foreign).status == 204
        assert names_of(calls)[0] != "PutItem"
    assert len(api.read(mine["id"]).json) == 3


def test_an_old_tail_is_ignored_and_one_behind_costs_a_read_only(api: Lambdas, house: House):
    start = api.call("POST", "/v1/runs", {"workflow": "w"})
    run_id, tail = start.json["run"]["id"], start.headers["baton-tail"]
    api.append(run_id)
    other = Lambdas(house.container())
    assert other.append(run_id, {"type": "behind"}, baton_tail=tail).status == 204
    house.clock.advance(61)
    other = Lambdas(house.container())
    with calls_of(other.runtime) as calls:
        assert other.append(run_id, {"type": "old"}, baton_tail=tail).status == 204
    assert names_of(calls)[0] != "PutItem"
    assert [type_ for type_, _ in _said(api, run_id)] == ["note", "behind", "old"]


def test_a_tail_does_not_open_a_log_that_has_closed(api: Lambdas, house: House):
    run = api.start()
    tail = api.append(run["id"]).headers["baton-tail"]
    api.finish(run["id"])
    other = Lambdas(house.container())
    assert other.append(run["id"], baton_tail=tail).slug == "run-terminal"


def test_a_tail_too_long_for_a_header_is_left_out(api: Lambdas):
    run = api.start()
    answers = [_produce(api, run["id"], 0, id_=f"{number:0256d}") for number in range(15)]
    assert {answer.status for answer in answers} == {200}
    assert "baton-tail" in answers[0].headers
    assert "baton-tail" not in answers[-1].headers


# Producers.


def test_a_producers_batch_is_200_and_its_repeat_204(api: Lambdas):
    run = api.start()
    first = _produce(api, run["id"], 0)
    assert (first.status, first.headers["producer-epoch"], first.headers["producer-seq"]) == (200, "0", "0")
    assert _produce(api, run["id"], 1).status == 200
    for seq in (0, 1):
        again = _produce(api, run["id"], seq)
        assert (again.status, again.body) == (204, b"")
        assert (again.headers["producer-epoch"], again.headers["producer-seq"]) == ("0", "1")
        assert again.headers["stream-next-offset"]
    assert _said(api, run["id"]) == [("x", [0, 0]), ("x", [0, 1])]


def test_a_gap_is_told_with_what_was_expected(api: Lambdas):
    run = api.start()
    _produce(api, run["id"], 0)
    answer = _produce(api, run["id"], 2)
    assert answer.slug == "stream-conflict"
    assert answer.headers["producer-expected-seq"] == "1"
    assert answer.headers["producer-received-seq"] == "2"


def test_an_unknown_producer_begins_at_0_in_any_epoch(api: Lambdas):
    run = api.start()
    assert _produce(api, run["id"], 3).headers["producer-expected-seq"] == "0"
    assert _produce(api, run["id"], 0, epoch=7).status == 200


def test_a_newer_epoch_fences_the_older_out(api: Lambdas):
    run = api.start()
    _produce(api, run["id"], 0)
    assert _produce(api, run["id"], 1, epoch=2).loc == ["header", "Producer-Seq"]
    assert _produce(api, run["id"], 0, epoch=2).status == 200
    stale = _produce(api, run["id"], 1)
    assert (stale.slug, stale.headers["producer-epoch"]) == ("forbidden", "2")


def test_numbers_go_to_what_javascript_holds(api: Lambdas):
    run = api.start()
    answer = _produce(api, run["id"], 0, epoch=2**53 - 1)
    assert (answer.status, answer.headers["producer-epoch"]) == (200, str(2**53 - 1))


def test_a_seventeenth_producer_is_refused(api: Lambdas):
    run = api.start()
    for number in range(16):
        assert _produce(api, run["id"], 0, id_=f"p{number}").status == 200
    assert _produce(api, run["id"], 0, id_="p16").slug == "stream-conflict"
    assert _produce(api, run["id"], 1, id_="p0").status == 200


def test_a_duplicate_hands_out_the_tail_of_an_open_log(api: Lambdas, house: House):
    run = api.start()
    _produce(api, run["id"], 0)
    again = _produce(Lambdas(house.container()), run["id"], 0)
    assert again.status == 204
    cold = Lambdas(house.container())
    with calls_of(cold.runtime) as calls:
        assert _produce(cold, run["id"], 1, baton_tail=again.headers["baton-tail"]).status == 200
    assert names_of(calls) == ["PutItem"]


def test_a_duplicate_hands_out_no_tail_of_a_log_that_takes_nothing(api: Lambdas):
    run = api.start(mode="attached")
    _produce(api, run["id"], 0, baton_attempt="1")
    api.finish(run["id"], "failed", resumable=True)
    again = _produce(api, run["id"], 0, baton_attempt="1")
    assert (again.status, again.headers["stream-closed"]) == (204, "true")
    assert "baton-tail" not in again.headers


# Stream-Seq.


def test_stream_seq_must_rise_byte_by_byte(api: Lambdas):
    run = api.start()
    for seq, status in (("2", 204), ("10", 409), ("2", 409), ("a", 204), ("B", 409), ("aa", 204)):
        assert api.append(run["id"], stream_seq=seq).status == status
    assert len(_said(api, run["id"])) == 3


def test_a_duplicate_is_one_whatever_its_stream_seq(api: Lambdas):
    run = api.start()
    assert _produce(api, run["id"], 0, stream_seq="5").status == 200
    assert _produce(api, run["id"], 0, stream_seq="5").status == 204


# What the state does not allow.


def test_a_settled_runs_log_is_closed_with_its_final_offset(api: Lambdas):
    run = api.start()
    ended = api.finish(run["id"], output=1)
    answer = api.append(run["id"])
    assert (answer.slug, answer.json["run"]) == ("run-terminal", ended)
    assert answer.headers["stream-closed"] == "true"
    assert answer.headers["stream-next-offset"] == ended["next_offset"]


def test_a_pending_runs_log_takes_nothing_yet(api: Lambdas):
    run = api.start(mode="queued")
    answer = api.append(run["id"])
    assert (answer.slug, answer.json["run"]) == ("stream-conflict", run)
    assert "stream-closed" not in answer.headers


def test_after_a_resume_the_log_is_open_to_the_new_attempt_alone(api: Lambdas):
    run = api.start()
    tail = api.append(run["id"]).headers["baton-tail"]
    api.finish(run["id"], "failed", resumable=True)
    api.call("POST", f"/v1/runs/{run['id']}/resume")
    assert api.append(run["id"], baton_tail=tail).loc == ["header", "Baton-Attempt"]
    assert api.append(run["id"], baton_attempt="1", baton_tail=tail).slug == "lease-lost"
    assert api.append(run["id"], baton_attempt="2", baton_tail=tail).status == 204
    assert [message["attempt"] for message in api.read(run["id"]).json] == [1, 1, 1, 2, 2]


# Media types.


def test_a_log_holds_json(api: Lambdas):
    run = api.start()
    answer = api.append(run["id"], {"type": "x"}, content_type="text/plain")
    assert answer.slug == "stream-conflict"
    event, match = api.event("POST", f"/v1/runs/{run['id']}/stream", {"type": "x"})
    del event["headers"]["content-type"]
    assert api.module(match.function.name).handler(event, None)["statusCode"] == 400
    assert api.append(run["id"], {"type": "x"}, content_type="application/json; charset=utf-8").status == 204


@pytest.mark.parametrize("value", ["false", "no", ""])
def test_only_a_true_closes_and_so_is_refused(api: Lambdas, value: str):
    run = api.start()
    event, match = api.event("POST", f"/v1/runs/{run['id']}/stream", {"type": "x"})
    event["headers"]["stream-closed"] = value
    assert api.module(match.function.name).handler(event, None)["statusCode"] == 204


def test_a_warm_container_appends_to_the_present_life_of_an_id_used_again(api: Lambdas, house: House):
    api.start(run_id="again")
    api.append("again", {"type": "past"})  # this container remembers where that log ended
    other = Lambdas(house.container())
    other.finish("again")
    other.call("DELETE", "/v1/runs/again")
    assert api.append("again").status == 404
    other.start(run_id="again")
    assert api.append("again", {"type": "present"}).status == 204
    for container in (api, other):
        assert [message["type"] for message in container.read("again").json] == ["start", "present"]
