"""What is registered is called as its signature says, and what can't be called is refused when it is
registered."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import typing
from datetime import datetime

import msgspec
import pydantic
import pytest

import baton_sdk
from baton_sdk import Forbidden, Subscription, Worker
from tests.unit.sdk.service import problem


@dataclasses.dataclass
class Order:
    item: str
    count: int = 1
    by: datetime | None = None


class Typed(typing.TypedDict):
    item: str


class Structured(msgspec.Struct):
    item: str


class Modelled(pydantic.BaseModel):
    item: str
    count: int = 1


@pydantic.dataclasses.dataclass
class Validated:
    item: str


def perform(worker, baton, function, value):
    worker.workflow("report")(function)
    row = baton.start("r1", input=value)
    worker.run_once()
    return row.run


def takes(annotation):
    def report(ctx, input):
        got.append(input)

    got: list[typing.Any] = []
    report.__annotations__ = {"input": annotation}
    return report, got


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (Order, {"item": "x"}, Order("x")),
        ("Order", {"item": "x", "count": 2}, Order("x", 2)),
        (Order, {"item": "x", "by": "2026-11-29T12:00:00"}, Order("x", 1, datetime(2026, 11, 29, 12))),  # noqa: DTZ001
        (list[Order], [{"item": "x"}], [Order("x")]),
        (Order | None, None, None),
        (Typed, {"item": "x"}, {"item": "x"}),
        (Structured, {"item": "x"}, Structured("x")),
        (Modelled, {"item": "x"}, Modelled(item="x")),
        (list[Modelled], [{"item": "x"}], [Modelled(item="x")]),
        (Validated, {"item": "x"}, Validated(item="x")),
        (dict, [1], [1]),
        (typing.Any, 7, 7),
    ],
)
def test_an_input_comes_as_its_annotation_says(annotation, value, expected, worker, baton):
    function, got = takes(annotation)
    assert perform(worker, baton, function, value)["state"] == "completed"
    assert got == [expected]
    assert type(got[0]) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "value", "says"),
    [
        (Order, {"item": 7}, "Expected `str`, got `int` - at `$.item`"),
        (Order, {"item": "x", "count": "2"}, "Expected `int`, got `str` - at `$.count`"),
        (Order, None, "Expected `object`, got `null`"),
        (list[Order], [{"item": "x"}, {}], "missing required field `item` - at `$[1]`"),
        (Modelled, {"count": "many"}, "item: Field required; count: Input should be a valid integer"),
    ],
)
def test_an_input_that_does_not_fit_fails_for_good_and_says_where(annotation, value, says, worker, baton):
    function, got = takes(annotation)
    run = perform(worker, baton, function, value)
    assert (run["state"], run["error"]["type"]) == ("failed", "invalid-input")
    assert says in run["error"]["message"]
    assert got == []


def test_a_function_may_do_without_an_input(worker, baton):
    assert perform(worker, baton, lambda ctx: ctx.input, {"n": 1})["output"] == {"n": 1}


def test_a_registered_function_stays_as_it_is(worker):
    @worker.workflow("double")
    def double(ctx, input):
        return input * 2

    assert double(None, 4) == 8
    assert worker.workflows == ["double"]


async def awaited(ctx):
    """Nobody would await it."""


@pytest.mark.parametrize("function", [lambda: 1, lambda a, b, c: 1, awaited])
def test_a_function_that_can_not_be_called_is_refused_at_once(function, worker):
    with pytest.raises(TypeError, match="workflow 'report'"):
        worker.workflow("report")(function)


def test_a_type_that_is_not_there_is_named(worker):
    def report(ctx, input: Absent):  # type: ignore[name-defined]  # noqa: F821
        """Its annotation is for nobody."""

    with pytest.raises(TypeError, match=r"the input of workflow 'report' is a Absent"):
        worker.workflow("report")(report)


def test_a_name_is_given_once(worker):
    worker.workflow("report")(lambda ctx: 1)
    with pytest.raises(ValueError, match="'report' already"):
        worker.workflow("report")(lambda ctx: 2)
    with pytest.raises(TypeError, match="a workflow has a name"):
        worker.workflow(lambda ctx: 1)


@pytest.mark.parametrize("name", ["", "my report", "__own", "-a", "a" * 129, "a\n", "ä"])
def test_a_name_that_is_none_is_refused_where_it_is_written(name, worker):
    with pytest.raises(ValueError, match="is not a workflow's name") as refusal:
        worker.workflow(name)(lambda ctx: 1)
    assert repr(name) in str(refusal.value)
    for option in ("on_completed", "on_failed"):
        with pytest.raises(ValueError, match="is not a workflow's name"):
            worker.workflow("report", **{option: [name]})
    with pytest.raises(ValueError, match="is not a worker's id"):
        Worker(worker_id=name or " ")
    assert worker.workflows == []


@pytest.mark.parametrize("name", ["", "order paid", "run.done:x", "a" * 161])
def test_an_event_that_can_not_be_is_refused_where_it_is_written(name, worker):
    with pytest.raises(ValueError, match="is not an event's name"):
        worker.workflow("report", on_event=[name])
    with pytest.raises(ValueError, match="is not an event's name"):
        worker.workflow("report", subscribes=[Subscription(event=name)])


@pytest.mark.parametrize("seconds", [0, 0.9, -1, 43_201, float("nan")])
def test_a_lease_that_no_service_takes_is_refused_at_once(seconds):
    with pytest.raises(ValueError, match="lease_seconds is 1 to 43200, not"):
        Worker(lease_seconds=seconds)


def test_what_it_is_started_by_is_announced(worker, baton):
    worker.workflow(
        "report",
        on_completed=["build", Subscription(event="test", where="run.output.ok")],
        on_failed=[{"event": "build", "input": "run.id"}, "run.failed:deploy"],
        on_event=["release/approved"],
        subscribes=[Subscription(event="run.completed:lint")],
    )(lambda ctx: 1)
    worker.workflow("quiet")(lambda ctx: 1)
    assert worker.announce() == 60
    (announced,) = baton.bodies["workers"]
    assert announced["workflows"] == [
        {
            "name": "report",
            "subscribes": [
                {"event": "run.completed:build"},
                {"event": "run.completed:test", "where": "run.output.ok"},
                {"event": "run.failed:build", "input": "run.id"},
                {"event": "run.failed:deploy"},
                {"event": "release/approved"},
                {"event": "run.completed:lint"},
            ],
        },
        {"name": "quiet", "subscribes": []},
    ]
    assert announced["runtime"].startswith("python 3.")


def refuse_to_announce(baton):
    baton.fate["workers"].append(
        lambda _request, _handler: problem(403, "forbidden", "this needs the role operator")
    )


def test_a_worker_that_may_not_say_what_starts_its_workflows_leaves_that_if_nothing_does(worker, baton):
    worker.workflow("quiet")(lambda ctx: 1)
    refuse_to_announce(baton)
    assert worker.announce() == 60
    assert worker.announce() == 60
    assert [each["workflows"] for each in baton.bodies["workers"]] == [
        [{"name": "quiet", "subscribes": []}],
        [{"name": "quiet"}],
        [{"name": "quiet"}],
    ]


def test_a_worker_that_may_not_say_what_starts_its_workflows_says_so_if_something_does(worker, baton):
    worker.workflow("report", on_completed=["build"])(lambda ctx: 1)
    refuse_to_announce(baton)
    with pytest.raises(Forbidden, match="the role operator"):
        worker.announce()


def test_one_name_is_not_a_list_of_names(worker):
    with pytest.raises(TypeError, match="give a list"):
        worker.workflow("report", on_completed="build")


def test_a_run_of_a_workflow_that_it_does_not_have_is_refused(worker, baton):
    baton.start("r1", "another")
    (run,) = worker.client.claim("w1", ["another"])
    with pytest.raises(LookupError, match="no workflow 'another'"):
        worker.execute(run)


def test_a_worker_asks_nothing_before_it_works_and_has_a_name_of_its_own(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "__bad host!")
    monkeypatch.setattr("baton_sdk.worker.worker.Client", lambda: pytest.fail("not yet"))
    one, other = Worker(), Worker()
    assert one.worker_id != other.worker_id
    assert one.worker_id.startswith("bad-host-")


@pytest.mark.parametrize("client", ["baton_sdk", "baton_sdk.cli.app"])
def test_whoever_only_asks_loads_nothing_that_workers_need(client):
    """What is heavy waits until there is a worker."""
    heavy = "{'msgspec', 'pydantic', 'opentelemetry', 'baton_sdk.worker.context', 'baton_sdk.worker.worker'}"
    said = subprocess.run(
        [sys.executable, "-c", f"import sys, {client}; print({heavy} & set(sys.modules))"],
        capture_output=True,
        text=True,
    )
    assert said.stdout.strip() == "set()", said


def test_what_workers_need_is_there_when_it_is_asked_for():
    assert all(hasattr(baton_sdk, name) for name in baton_sdk.__all__)
    assert not hasattr(baton_sdk, "Wroker")
