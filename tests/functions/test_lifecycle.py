"""A run's whole life through the handlers."""

from tests.functions.lambdas import Lambdas


def test_a_run_is_started_spoken_of_read_and_finished(api: Lambdas):
    started = api.call("POST", "/v1/runs", {"workflow": "build", "input": {"n": 1}})
    assert started.status == 201
    run = started.json["run"]
    assert started.json["started"] is True
    assert started.headers["baton-tail"]

    appended = api.append(
        run["id"], {"type": "stdout", "data": "hello"}, baton_tail=started.headers["baton-tail"]
    )
    assert appended.status == 204

    read = api.read(run["id"])
    assert [message["type"] for message in read.json] == ["start", "stdout"]
    assert read.headers["stream-up-to-date"] == "true"
    assert "stream-closed" not in read.headers

    finished = api.call("POST", f"/v1/runs/{run['id']}/finish", {"status": "succeeded", "output": [1]})
    assert finished.json["finished"] is True
    assert finished.json["run"]["state"] == "completed"
    assert finished.json["run"]["output"] == [1]

    rest = api.read(run["id"], appended.headers["stream-next-offset"])
    assert [message["type"] for message in rest.json] == ["end"]
    assert rest.headers["stream-closed"] == "true"
    assert api.call("GET", f"/v1/runs/{run['id']}").json["run"] == finished.json["run"]
    assert api.call("DELETE", f"/v1/runs/{run['id']}").status == 204
    assert api.call("GET", f"/v1/runs/{run['id']}").slug == "not-found"
