"""GET and HEAD /v1/runs/{id}/stream: catch-up, long-poll. Source: Durable Streams, 5.5 to 5.7, 8, 10."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.api.reading import cursor
from tests.functions.lambdas import Answer, Lambdas
from tests.unit.house import House


def _poll(api: Lambdas, run_id: str, offset: str, **query: Any) -> Answer:
    asked = {"offset": offset, "live": "long-poll", **query}
    return api.call("GET", f"/v1/runs/{run_id}/stream", query=asked)


def _types(answer: Answer) -> list[str]:
    return [message["type"] for message in answer.json]


@pytest.fixture
def run_id(api: Lambdas) -> str:
    """A running run whose log has entries 0 to 5, of which 1 to 3 are one batch."""
    run = api.start(run_id="the-run", input="in")
    api.append(run["id"], *({"type": "a", "data": n} for n in range(3)))
    api.append(run["id"], {"type": "b"})
    api.append(run["id"], {"type": "c"})
    return str(run["id"])


def test_head_tells_the_end_and_nothing_else(api: Lambdas, run_id: str):
    head = api.call("HEAD", f"/v1/runs/{run_id}/stream")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-type"] == "application/json"
    assert head.headers["cache-control"] == "no-store"
    assert head.headers["stream-next-offset"] == api.read(run_id).headers["stream-next-offset"]
    assert "stream-closed" not in head.headers
    api.finish(run_id)
    assert api.call("HEAD", f"/v1/runs/{run_id}/stream").headers["stream-closed"] == "true"


@pytest.mark.parametrize("query", [{}, {"offset": "-1"}, {"offset": "-1", "unknown": "x"}])
def test_without_an_offset_it_begins_at_the_beginning(api: Lambdas, run_id: str, query: dict[str, str]):
    answer = api.call("GET", f"/v1/runs/{run_id}/stream", query=query)
    assert _types(answer) == ["start", "a", "a", "a", "b", "c"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["stream-up-to-date"] == "true"
    assert "stream-cursor" not in answer.headers


def test_from_each_offset_an_answer_gave_all_that_follows_and_no_more(api: Lambdas, run_id: str):
    offsets = ["-1"]
    for _ in range(3):
        offsets.append(api.append(run_id, {"type": "more"}).headers["stream-next-offset"])
    whole = api.read(run_id).json
    for offset, count in zip(offsets, (9, 2, 1, 0), strict=True):
        assert api.read(run_id, offset).json == whole[len(whole) - count :]


def test_an_offset_may_stand_inside_a_batch(api: Lambdas, run_id: str):
    answer = api.read(run_id, "0000000000000001_00002")
    assert [message["seq"] for message in answer.json] == [3, 4, 5]


def test_offsets_sort_as_text_and_their_spelling_is_safe_in_a_url(api: Lambdas, run_id: str):
    offsets = [api.append(run_id).headers["stream-next-offset"] for _ in range(12)]
    assert sorted(offsets) == offsets
    assert not set(",&=?/+%") & set("".join(offsets))


def test_at_the_tail_there_is_an_empty_array(api: Lambdas, run_id: str):
    tail = api.read(run_id).headers["stream-next-offset"]
    answer = api.read(run_id, tail)
    assert (answer.status, answer.body, answer.headers["stream-next-offset"]) == (200, b"[]", tail)
    assert answer.headers["stream-up-to-date"] == "true"


def test_now_is_the_tail_and_is_not_to_be_kept(api: Lambdas, run_id: str):
    answer = api.read(run_id, "now")
    assert (answer.status, answer.body) == (200, b"[]")
    assert answer.headers["stream-next-offset"] == api.read(run_id).headers["stream-next-offset"]
    assert answer.headers["stream-up-to-date"] == "true"
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers


def test_a_settled_log_says_so_where_it_ends(api: Lambdas, run_id: str):
    tail = api.finish(run_id)["next_offset"]
    for offset in ("-1", tail, "now"):
        answer = api.read(run_id, offset)
        assert answer.headers["stream-closed"] == "true"
        assert answer.headers["stream-next-offset"] == tail
    assert _types(api.read(run_id))[-1] == "end"


def test_a_read_that_does_not_reach_the_end_says_neither_closed_nor_up_to_date(api: Lambdas):
    run = api.start()
    for _ in range(17):
        api.append(run["id"], {"type": "big", "data": "x" * 250_000})
    api.finish(run["id"])
    first = api.read(run["id"])
    assert len(first.body) < 4 * 1024 * 1024
    assert not {"stream-closed", "stream-up-to-date"} & first.headers.keys()
    rest = api.read(run["id"], first.headers["stream-next-offset"])
    assert rest.headers["stream-closed"] == "true"
    assert [message["seq"] for message in first.json + rest.json] == list(range(19))


def test_an_etag_answers_304_till_the_log_grows_closes_or_opens(api: Lambdas, run_id: str):
    tags = []
    for change in (
        lambda: None,
        lambda: api.append(run_id),
        lambda: api.finish(run_id, "failed", resumable=True),
        lambda: api.call("POST", f"/v1/runs/{run_id}/resume"),
    ):
        change()
        for offset in ("-1", "now"):
            answer = api.read(
                run_id, offset if offset == "-1" else api.read(run_id, "now").headers["stream-next-offset"]
            )
            tags.append(answer.headers["etag"])
            assert answer.headers["cache-control"] == "private, no-cache"
        unchanged = api.read(run_id, if_none_match=tags[-2])
        assert (unchanged.status, unchanged.body) == (304, b"")
        assert unchanged.headers["stream-next-offset"] == api.read(run_id).headers["stream-next-offset"]
    assert len(set(tags)) == len(tags)


def test_a_later_life_of_an_id_has_other_etags(api: Lambdas):
    tags = []
    for _ in range(2):
        api.start(run_id="again")
        tags.append(api.read("again").headers["etag"])
        api.finish("again")
        api.call("DELETE", "/v1/runs/again")
    assert tags[0] != tags[1]


# Long-poll.


def test_a_poll_answers_at_once_what_is_there(api: Lambdas, house: House, run_id: str):
    answer = _poll(api, run_id, "-1")
    assert (answer.status, len(answer.json)) == (200, 6)
    assert answer.headers["stream-cursor"]
    assert house.clock.slept == []


@pytest.mark.parametrize("offset", ["now", "tail"])
def test_a_poll_at_the_tail_waits_for_what_comes(api: Lambdas, house: House, run_id: str, offset: str):
    tail = api.read(run_id).headers["stream-next-offset"]
    house.clock.plan(7, lambda: api.append(run_id, {"type": "late"}))
    answer = _poll(api, run_id, tail if offset == "tail" else offset)
    assert (answer.status, _types(answer)) == (200, ["late"])
    assert 7 <= sum(house.clock.slept) < 8
    assert answer.headers["stream-up-to-date"] == "true"


def test_a_poll_hears_of_the_end(api: Lambdas, house: House, run_id: str):
    house.clock.plan(3, lambda: api.finish(run_id))
    answer = _poll(api, run_id, "now")
    assert (answer.status, _types(answer), answer.headers["stream-closed"]) == (200, ["end"], "true")


def test_a_poll_for_nothing_is_204_at_its_timeout(api: Lambdas, house: House, run_id: str):
    answer = _poll(api, run_id, "now")
    assert (answer.status, answer.body) == (204, b"")
    assert sum(house.clock.slept) == pytest.approx(20)
    assert answer.headers["stream-next-offset"] == api.read(run_id).headers["stream-next-offset"]
    assert answer.headers["stream-up-to-date"] == "true"
    assert answer.headers["stream-cursor"]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("offset", ["now", "tail"])
def test_a_poll_of_a_settled_log_does_not_wait(api: Lambdas, house: House, run_id: str, offset: str):
    tail = api.finish(run_id)["next_offset"]
    answer = _poll(api, run_id, tail if offset == "tail" else offset)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["stream-closed"] == answer.headers["stream-up-to-date"] == "true"
    assert answer.headers["stream-next-offset"] == tail
    assert "stream-cursor" not in answer.headers
    assert house.clock.slept == []


def test_a_poll_of_a_run_that_goes_is_told(api: Lambdas, house: House):
    api.start(run_id="gone")
    tail = api.finish("gone")["next_offset"]
    api.call("DELETE", "/v1/runs/gone")
    assert _poll(api, "gone", tail).status == 404


def test_a_poll_leaves_time_for_its_answer(api: Lambdas, house: House, run_id: str):
    query = {"offset": "now", "live": "long-poll"}
    assert api.call("GET", f"/v1/runs/{run_id}/stream", query=query, seconds=6).status == 204
    assert sum(house.clock.slept) == pytest.approx(5)


def test_cursors_count_intervals_and_never_go_back(api: Lambdas, house: House, run_id: str):
    present = (house.clock.now() - 1_728_432_000_000) // 20_000
    assert _poll(api, run_id, "-1").headers["stream-cursor"] == str(present)
    assert _poll(api, run_id, "-1", cursor=present - 5).headers["stream-cursor"] == str(present)
    assert int(_poll(api, run_id, "-1", cursor=present).headers["stream-cursor"]) > present
    for given in (present, present + 1000, 10**15 - 1):
        for _ in range(50):
            assert given < int(cursor(house.clock.now(), str(given))) <= given + 180


@pytest.mark.parametrize("awkward", ['""', '"\U0001f600"'])
def test_the_largest_answer_fits_into_what_a_function_may_answer(api: Lambdas, awkward: str):
    run = api.start()
    data = "[" + ",".join([awkward] * (250_000 // (len(awkward.encode()) + 1))) + "]"
    for _ in range(17):
        path = f"/v1/runs/{run['id']}/stream"
        assert api.call("POST", path, f'{{"type":"x","data":{data}}}'.encode()).status == 204
    event, match = api.event("GET", f"/v1/runs/{run['id']}/stream", query="offset=-1")
    returned = api.module(match.function.name).handler(event, None)
    assert len(json.dumps(returned)) < 6 * 1024 * 1024
    answer = api.read(run["id"])
    assert len(answer.body) > 3_500_000
    assert answer.json[1]["data"] == json.loads(data)
    streamed = api.stream(f"/v1/runs/{run['id']}/stream", query="offset=-1")
    assert b"".join(streamed.body) == answer.body
