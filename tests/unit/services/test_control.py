"""Cancel, resume and delete: what others than the driver do to a run, and what each repeat is told."""

import pytest

from baton.domain.controlling import Cancel
from baton.domain.run import CancelRequest
from baton.domain.settling import Finish, Outcome
from baton.domain.states import Mode, State
from baton.errors import IdempotencyMismatch, InFlight, NotFound
from baton.services.control import Resumed
from baton.services.details import RunDetail
from baton.services.finishes import Finished
from tests.unit.house import NS, before_each_call, calls_of, names_of, start
from tests.unit.services.acts import append, fail, finish, put_row, replay, row, types_of


@pytest.fixture
def run_id(runtime):
    return start(runtime, run_id="r1").detail.run.id


def cancel(runtime, run_id="r1", *, reason: str | None = "why", force=False) -> RunDetail:
    return runtime.control.cancel(NS, run_id, Cancel(reason=reason, force=force))


def resume(runtime, run_id="r1", *, force=False, key: str | None = None) -> Resumed:
    return runtime.control.resume(NS, run_id, force=force, key=key)


# Cancel


def test_a_cancel_latches_and_the_driver_reads_it_in_the_log(house, runtime, run_id):
    detail = cancel(house.container())
    assert detail.run.state is State.RUNNING
    assert detail.run.cancel == CancelRequest(house.clock.now(), "why")
    assert detail == house.container().runs.get(NS, run_id)
    said = replay(runtime, run_id)[1]
    assert (said.type, bytes(said.data)) == ("cancel", b'{"force":false,"reason":"why"}')


def test_the_first_cancel_stands_and_is_said_once(house, runtime, run_id):
    first = cancel(runtime, reason="first")
    house.clock.advance(1)
    assert cancel(house.container(), reason="second") == first
    assert types_of(replay(runtime, run_id)) == ["start", "cancel"]


def test_the_driver_goes_on_and_reports_its_real_outcome(house, runtime, run_id):
    append(runtime, run_id, 1)
    cancel(house.container())
    append(runtime, run_id, 2)
    done = finish(runtime, run_id, output=b"1")
    assert (done.finished, done.detail.run.state) == (True, State.COMPLETED)
    assert done.detail.run.cancel is not None
    assert types_of(replay(runtime, run_id)) == ["start", "note", "cancel", "note", "end"]


@pytest.mark.parametrize(
    ("state", "said"), [(State.PENDING, ["start", "end"]), (State.SUSPENDED, ["start", "suspended", "end"])]
)
def test_a_run_nobody_drives_is_cancelled_at_once(house, state, said):
    start(house.container(), run_id="r1", mode=Mode.QUEUED)
    put_row(house, "r1", state=state)
    detail = cancel(house.container())
    assert (detail.run.state, detail.error) == (State.CANCELLED, b'{"message":"why","type":"cancelled"}')
    assert detail == house.container().runs.get(NS, "r1")
    assert types_of(replay(house.container(), "r1")) == said


def test_force_settles_a_driven_run_and_its_driver_learns_of_it(house, runtime, run_id):
    detail = cancel(house.container(), force=True)
    assert detail.run.state is State.CANCELLED
    assert not finish(runtime, run_id).finished


def test_force_after_a_latched_cancel_settles_under_the_first_reason(house, run_id):
    cancel(house.container(), reason="first")
    detail = cancel(house.container(), reason="second", force=True)
    assert detail.error == b'{"message":"first","type":"cancelled"}'


def test_a_cancel_that_lost_three_slots_asks_appenders_to_wait_and_gets_the_next(house, runtime, run_id):
    rival = house.container()
    seen: list[str] = []

    def overtake(operation, request):
        seen.append(operation)
        if seen.count("TransactWriteItems") <= 3 and operation == "TransactWriteItems":
            append(rival, run_id, "first")

    with before_each_call(runtime, overtake):
        assert cancel(runtime).run.cancel is not None
    append(rival, run_id, "on")  # and lets them by at once
    said = types_of(replay(runtime, run_id))
    assert said == ["start", "note", "note", "note", "closing", "cancel", "note"]


@pytest.mark.parametrize("force", [False, True])
def test_on_a_terminal_run_a_cancel_answers_the_truth(house, runtime, run_id, force):
    done = finish(runtime, run_id, output=b"1")
    assert cancel(house.container(), force=force) == done.detail
    assert types_of(replay(runtime, run_id)) == ["start", "end"]


def test_a_cancel_of_nobody_is_not_found(runtime):
    with pytest.raises(NotFound):
        cancel(runtime, "nobody")


def test_a_cancel_that_meets_an_end_says_nothing_after_it(house, runtime, run_id):
    rival = house.container()
    done: list[Finished] = []

    def overtake(operation, request):
        if operation == "TransactWriteItems" and not done:
            done.append(finish(rival, run_id))

    with before_each_call(runtime, overtake):
        assert cancel(runtime).run.state is State.COMPLETED
    assert types_of(replay(runtime, run_id)) == ["start", "end"]


# Resume


def test_a_resume_opens_the_log_again_and_offsets_go_on(house, runtime, run_id):
    fail(runtime, run_id)
    cancelled_before = cancel(runtime)
    assert cancelled_before.run.cancel is None
    resumed = resume(house.container())
    assert resumed.resumed
    assert resumed.detail == house.container().runs.get(NS, run_id)
    run = resumed.detail.run
    assert (run.state, run.attempt, run.ending, run.expires_at) == (State.RUNNING, 2, None, None)
    assert run.due_at == house.clock.now() + 86_400_000
    append(house.container(), run_id, 1, attempt=2)
    messages = replay(runtime, run_id)
    assert types_of(messages) == ["start", "end", "resumed", "note"]
    assert [message.attempt for message in messages] == [1, 1, 2, 2]


def test_a_resume_clears_the_cancel(house, runtime, run_id):
    cancel(runtime)
    fail(runtime, run_id)
    assert resume(house.container()).detail.run.cancel is None


def test_a_resumed_run_no_longer_expires(house, runtime, run_id):
    fail(runtime, run_id)
    resume(runtime)
    house.clock.advance(house.settings.retention_seconds * 2)
    assert row(runtime, run_id).attempt == 2


@pytest.mark.parametrize(
    ("status", "resumable", "force", "expected"),
    [
        (State.FAILED, True, False, True),
        (State.FAILED, False, False, False),
        (State.FAILED, False, True, True),
        (State.CANCELLED, True, False, True),
        (State.CANCELLED, False, True, True),
        (State.COMPLETED, False, False, False),
        (State.COMPLETED, False, True, False),
    ],
)
def test_who_is_resumed(house, runtime, run_id, status, resumable, force, expected):
    before = finish(runtime, run_id, status, resumable=resumable).detail
    resumed = resume(house.container(), force=force)
    assert resumed.resumed is expected
    if not expected:
        assert resumed.detail == before


def test_a_running_run_is_not_resumed(house, runtime, run_id):
    assert not resume(runtime).resumed
    assert types_of(replay(runtime, run_id)) == ["start"]


def test_of_two_resumes_one_wins(house, runtime, run_id):
    fail(runtime, run_id)
    rival = house.container()
    won: list[Resumed] = []

    def overtake(operation, request):
        if operation == "TransactWriteItems" and not won:
            won.append(resume(rival))

    with before_each_call(runtime, overtake):
        lost = resume(runtime)
    assert won[0].resumed
    assert not lost.resumed
    assert lost.detail.run.attempt == 2
    assert types_of(replay(runtime, run_id)) == ["start", "end", "resumed"]


def test_a_repeat_under_its_key_is_told_that_it_resumed_settled_since_or_not(house, runtime, run_id):
    fail(runtime, run_id)
    assert resume(runtime, key="K").resumed
    again = resume(house.container(), key="K")
    assert (again.resumed, again.detail.run.attempt) == (True, 2)
    assert not resume(house.container(), key="another").resumed
    fail(runtime, run_id, attempt=2)
    late = resume(house.container(), key="K")
    assert (late.resumed, late.detail.run.attempt, late.detail.run.state) == (True, 2, State.FAILED)


def test_the_same_key_with_another_body_is_told_so(house, runtime, run_id):
    fail(runtime, run_id)
    resume(runtime, key="K")
    with pytest.raises(IdempotencyMismatch):
        resume(house.container(), key="K", force=True)


def test_a_resumed_queued_run_is_pending_again(house):
    start(house.container(), run_id="r1", mode=Mode.QUEUED)
    fail(house.container(), "r1", attempt=1)
    house.clock.advance(5)
    run = resume(house.container()).detail.run
    assert (run.state, run.available_at, run.due_at) == (State.PENDING, house.clock.now(), None)


def test_a_container_that_remembers_the_attempt_before_is_overtaken_by_nobody(house, runtime, run_id):
    append(runtime, run_id, 1)
    elsewhere = house.container()
    fail(elsewhere, run_id)
    resume(elsewhere)
    append(elsewhere, run_id, 2, attempt=2)
    append(runtime, run_id, 3, attempt=2)
    assert types_of(replay(runtime, run_id)) == ["start", "note", "end", "resumed", "note", "note"]


# Delete


@pytest.mark.parametrize("status", [State.COMPLETED, State.FAILED, State.CANCELLED])
def test_a_deleted_run_is_gone_at_once_for_everyone(house, runtime, run_id, status):
    finish(runtime, run_id, status)
    runtime.runs.delete(NS, run_id)
    for container in (runtime, house.container()):
        for ask in (
            lambda c: c.runs.get(NS, run_id),
            lambda c: c.streams.open(NS, run_id, "-1"),
            lambda c: c.runs.delete(NS, run_id),
            lambda c: cancel(c),
            lambda c: resume(c, force=True),
            lambda c: c.finishes.finish(NS, run_id, Finish(outcome=Outcome(status=State.FAILED))),
            lambda c: append(c, run_id, 1),
        ):
            with pytest.raises(NotFound):
                ask(container)


def test_a_run_at_work_is_not_deleted(runtime, run_id):
    with pytest.raises(InFlight) as refused:
        runtime.runs.delete(NS, run_id)
    assert refused.value.run.state is State.RUNNING
    assert row(runtime, run_id).state is State.RUNNING


def test_dynamodb_collects_what_was_deleted_about_an_hour_later(house, runtime, run_id):
    finish(runtime, run_id)
    runtime.runs.delete(NS, run_id)
    (item,) = house.rows()
    assert 3500 < int(item["ttl"]["N"]) - house.clock.now() // 1000 <= 3600


def test_another_namespace_can_do_nothing_to_a_run(house, runtime, run_id):
    control, runs = runtime.control, runtime.runs
    for ask in (
        lambda: control.cancel("other", run_id, Cancel(force=True)),
        lambda: control.resume("other", run_id, force=True, key=None),
        lambda: runs.delete("other", run_id),
        lambda: runs.get("other", run_id),
        lambda: runs.wait("other", run_id, 0),
        lambda: runtime.streams.tail("other", run_id),
    ):
        with pytest.raises(NotFound):
            ask()


@pytest.mark.parametrize(("warm", "looks"), [(True, ["GetItem"]), (False, ["GetItem", "Query"])])
def test_a_cancel_is_a_look_and_a_transaction(house, runtime, run_id, warm, looks):
    container = runtime if warm else house.container()
    with calls_of(container) as calls:
        cancel(container)
    assert sorted(names_of(calls[:-1])) == looks
    assert calls[-1][0] == "TransactWriteItems"
