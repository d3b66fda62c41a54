"""The far ends of what may be said: what is taken can be told again, and reading costs by what is read."""

from __future__ import annotations

import itertools
import zlib

import httpx
import pytest

COUNT = itertools.count()
MB = 1_000_000


@pytest.fixture
def tenant(http: httpx.Client) -> dict[str, str]:
    return {"Baton-Namespace": f"bounds-{next(COUNT)}"}


@pytest.mark.parametrize(
    ("moment", "taken"),
    [
        ("9999-12-31T23:59:59.999999Z", True),
        ("9999-12-31T23:59:59.999999-00:01", False),
        ("9999-12-31T23:59:59.999999-23:59", False),
        ("9999-12-31T23:59:59+23:59", True),
        ("2286-11-20T17:46:40Z", True),
        ("0001-01-01T00:00:00+23:59", True),
        ("0001-01-01T00:00:00Z", True),
    ],
)
def test_a_time_that_is_taken_can_be_told_again(
    http: httpx.Client, tenant: dict[str, str], moment: str, taken: bool
):
    wish = {"workflow": "w", "mode": "queued", "available_at": moment}
    made = http.post("/v1/runs", json=wish, headers=tenant)
    assert made.status_code == (201 if taken else 400)
    listed = http.get("/v1/runs", headers=tenant)
    assert len(listed.json()["runs"]) == taken
    if taken:
        path = f"/v1/runs/{made.json()['run']['id']}"
        assert http.get(path, headers=tenant).json()["run"]["available_at"]
        assert http.post(f"{path}/cancel", headers=tenant).is_success
        assert http.delete(path, headers=tenant).status_code == 204
    else:
        assert made.json()["errors"][0]["loc"] == ["body", "available_at"]


@pytest.mark.parametrize("bound", ["since", "until"])
@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:00:00+23:59",
        "1969-12-31T23:59:59.999Z",
        "2286-11-20T17:46:40Z",
        "9999-12-31T23:59:59-23:59",
    ],
)
def test_a_list_takes_any_time(http: httpx.Client, tenant: dict[str, str], bound: str, moment: str):
    assert http.post("/v1/runs", json={"workflow": "w"}, headers=tenant).status_code == 201
    answer = http.get("/v1/runs", params={bound: moment}, headers=tenant)
    early = moment < "2000"
    assert len(answer.json()["runs"]) == (early if bound == "since" else not early)


def test_one_append_takes_as_many_messages_as_an_offset_can_tell_apart(
    http: httpx.Client, tenant: dict[str, str]
):
    run = f"/v1/runs/{http.post('/v1/runs', json={'workflow': 'w'}, headers=tenant).json()['run']['id']}"
    json = {"Content-Type": "application/json", **tenant}
    message = b'{"type":"%s","data":0}' % (b"a" * 8)
    most = b"[" + b",".join([message] * 99_999) + b"]"
    over = b"[" + b",".join([b'{"type":"a","data":0}'] * 100_000) + b"]"
    assert http.post(f"{run}/stream", content=over, headers=json).status_code == 400
    assert http.post(f"{run}/stream", content=most, headers=json).status_code == 204
    seen, offset = 0, "-1"
    while True:
        answer = http.get(f"{run}/stream", params={"offset": offset}, headers=tenant)
        assert len(answer.content) <= 4 * MB
        log = answer.json()
        assert [message["seq"] for message in log] == list(range(seen, seen + len(log)))
        seen, offset = seen + len(log), answer.headers["stream-next-offset"]
        if "stream-up-to-date" in answer.headers:
            break
    assert seen == 100_000


def test_a_read_unpacks_what_it_answers_and_not_all_that_lies_behind(
    http: httpx.Client, tenant: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    run = f"/v1/runs/{http.post('/v1/runs', json={'workflow': 'w'}, headers=tenant).json()['run']['id']}"
    for _ in range(60):
        said = http.post(f"{run}/stream", json={"type": "x", "data": "x" * 250_000}, headers=tenant)
        assert said.status_code == 204
    unpacked: list[int] = []
    inflate = zlib.decompress

    def counted(body: bytes) -> bytes:
        made = inflate(body)
        unpacked.append(len(made))
        return made

    monkeypatch.setattr(zlib, "decompress", counted)
    answer = http.get(f"{run}/stream", headers=tenant)
    assert 3 * MB < len(answer.content) <= 4 * MB
    assert sum(unpacked) < 5 * MB
