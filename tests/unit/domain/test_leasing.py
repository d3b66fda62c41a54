"""Leases: who may claim, hold and give up a run in each state, what counts, and what comes of a failure."""

import msgspec
import pytest
from msgspec.structs import replace

from baton.domain.catalog import Backoff
from baton.domain.controlling import decide_resume
from baton.domain.leasing import (
    MAX_MESSAGE,
    Claim,
    Release,
    Renew,
    claimed_by,
    decide_claim,
    decide_release,
    decide_renew,
    expire,
    lease_end,
    logged,
)
from baton.domain.run import CancelRequest, Ending, Failure, Lease, Push, Released, Run, Step
from baton.domain.settling import Outcome
from baton.domain.states import Mode, State
from baton.errors import IdempotencyMismatch, InFlight, LeaseLost, RunTerminal
from tests.unit.domain.runs_at_hand import NOW, T0, TERMINAL_STATES, lease_of, run_in

MINE, THEIRS = "worker-1", "worker-2"
BACKOFF = Backoff(base_seconds=10, max_seconds=60)
CANCEL = CancelRequest(at=T0, reason="why")
CLAIM = Claim(worker_id=MINE, lease_seconds=60)
BROKE = {"message": "it broke", "type": "Trouble", "stack": "at line 1"}
HELD = Lease(MINE, NOW + 60_000, NOW)


def waiting(**change) -> Run:
    return run_in(State.PENDING, **{"mode": Mode.QUEUED, "available_at": T0, "started_at": None, **change})


def held(**change) -> Run:
    given = {"mode": Mode.QUEUED, "claimed": True, "lease": HELD, "due_at": NOW + 62_000}
    return run_in(State.RUNNING, **given | change)


def claim(run: Run, command: Claim = CLAIM, *, now: int = NOW) -> Step:
    return decide_claim(run, command, rev="rev2", now=now, skew_seconds=2, grace_seconds=60)


def renew(run: Run, seconds: float | None = None, *, worker=MINE, attempt=1, now=NOW) -> Step:
    command = Renew(worker_id=worker, attempt=attempt, lease_seconds=seconds)
    return decide_renew(run, command, rev="rev2", now=now)


def release(run: Run, *, worker=MINE, attempt=1, chance=1.0, now=NOW, **how):
    command = Release(worker_id=worker, attempt=attempt, **how)
    return decide_release(run, command, BACKOFF, chance=chance, rev="rev2", now=now)


def ran_out(run: Run, *, chance=1.0, now=NOW):
    return expire(run, HELD, BACKOFF, chance=chance, rev="rev2", now=now)


def told(step: Step) -> dict:
    """What the one entry says that goes into the log with a step."""
    [said] = step.said
    assert said.type == "claimed"
    return msgspec.json.decode(said.data)


# Claim


def test_a_claim_gives_a_pending_run_to_its_worker_for_a_while():
    step = claim(waiting())
    assert step.run.state is State.RUNNING
    assert step.run.lease == Lease(MINE, NOW + 60_000, NOW)
    assert (step.run.claimed, step.run.started_at, step.run.updated_at) == (True, NOW, NOW)
    assert not step.run.queued


@pytest.mark.parametrize("state", [each for each in State if each is not State.PENDING])
def test_only_a_pending_run_is_claimed(state):
    with pytest.raises(RunTerminal if state.terminal else InFlight) as refused:
        claim(run_in(state, mode=Mode.QUEUED))
    assert refused.value.run.state is state


def test_it_is_not_claimed_a_millisecond_before_it_is_available():
    run = waiting(available_at=NOW)
    assert claim(run).run.state is State.RUNNING
    with pytest.raises(InFlight, match="not available before 1970"):
        claim(run, now=NOW - 1)


def test_attempts_count_as_in_the_contracts_example():
    """Claimed: 1; its lease expires and it is claimed again: 2; it fails and is resumed: 3; claimed: 4."""
    first = claim(waiting()).run
    assert first.attempt == 1
    second = claim(ran_out(first, chance=0).run).run
    assert second.attempt == 2
    failed = replace(second, state=State.FAILED, lease=None, ending=Ending(seq=9, at=NOW, resumable=True))
    resuming = decide_resume(failed, force=False, key=None, rev="rev3", now=NOW)
    assert resuming is not None
    resumed = resuming.run
    assert (resumed.state, resumed.attempt) == (State.PENDING, 3)
    fourth = claim(resumed).run
    assert fourth.attempt == 4


def test_giving_back_and_waking_begin_an_attempt_at_the_next_claim_and_count_no_failure():
    given_back = release(claim(waiting()).run).run
    assert (given_back.attempt, given_back.failures) == (1, 0)
    again = claim(given_back).run
    assert (again.attempt, again.failures) == (2, 0)


def test_a_run_resumed_before_anyone_claimed_it_stays_at_its_attempt_when_claimed():
    """One that was cancelled in the queue: nobody has driven the attempt that the resume began."""
    assert claim(waiting(attempt=2)).run.attempt == 2


def test_the_first_claim_says_nothing_and_each_later_one_who_begins_which_attempt():
    assert claim(waiting()).said == ()
    assert told(claim(waiting(claimed=True))) == {"attempt": 2, "worker_id": MINE}
    assert told(claim(waiting(attempt=3))) == {"attempt": 3, "worker_id": MINE}


def test_it_also_says_why_there_had_to_be_another():
    before = Released(THEIRS, 1, Failure("it broke", "Trouble"))
    after = told(claim(waiting(claimed=True, released=before)))["after"]
    error = {"message": "it broke", "type": "Trouble"}
    assert after == {"attempt": 1, "worker_id": THEIRS, "error": error}
    assert told(claim(waiting(claimed=True, released=Released(THEIRS, 1))))["after"]["error"] is None


def test_what_is_claimed_is_not_called_released_nor_pushed_any_more():
    run = waiting(claimed=True, released=Released(THEIRS, 1), push=Push(), announce=True)
    step = claim(run)
    assert (step.run.released, step.run.announce, step.run.push) == (None, False, Push())


def test_the_first_start_stands():
    assert claim(waiting(claimed=True, started_at=T0 + 5)).run.started_at == T0 + 5


@pytest.mark.parametrize(
    ("change", "due_in"),
    [
        ({}, 62),
        ({"inactivity_timeout_seconds": 30}, 30),
        ({"inactivity_timeout_seconds": 90}, 62),
        ({"cancel": CancelRequest(at=NOW - 50_000)}, 10),
    ],
    ids=["lease and margin", "watched closer", "watched less closely", "told to end"],
)
def test_a_claimed_run_is_looked_at_when_something_may_have_to_happen(change, due_in):
    assert claim(waiting(due_at=T0, **change)).run.due_at == NOW + due_in * 1000


def test_a_claim_knows_where_the_log_ends_only_if_something_was_said_since_the_start():
    assert not logged(waiting())
    for change in ({"claimed": True}, {"attempt": 2}, {"cancel": CANCEL}):
        assert logged(waiting(**change))


# A claim sent twice


KEYED = Claim(worker_id=MINE, lease_seconds=60, key="key", body="body")


def test_a_claim_with_a_key_is_known_again_while_its_lease_lives():
    run = claim(waiting(), KEYED).run
    assert claimed_by(run, KEYED, NOW + 59_999)
    assert not claimed_by(run, KEYED, NOW + 60_000)
    assert not claimed_by(run, replace(KEYED, key="other"), NOW)
    assert not claimed_by(run, CLAIM, NOW)
    assert not claimed_by(claim(waiting()).run, KEYED, NOW)
    assert not claimed_by(waiting(), KEYED, NOW)


def test_renewing_does_not_make_it_forgotten():
    assert claimed_by(renew(claim(waiting(), KEYED).run, now=NOW + 50_000).run, KEYED, NOW + 100_000)


def test_the_key_of_one_claim_with_the_body_of_another_is_an_error_and_never_anothers_run():
    run = claim(waiting(), KEYED).run
    with pytest.raises(IdempotencyMismatch):
        claimed_by(run, replace(KEYED, worker_id=THEIRS, body="other"), NOW)


# Renew


def test_a_renewal_lasts_as_long_as_the_lease_was_unless_another_time_is_named():
    assert renew(held(), now=NOW + 20_000).run.lease == Lease(MINE, NOW + 80_000, NOW + 20_000)
    assert renew(held(), 300).run.lease == Lease(MINE, NOW + 300_000, NOW)


def test_a_renewal_changes_the_lease_and_nothing_that_an_index_holds():
    run = held(inactivity_timeout_seconds=30)
    step = renew(run, now=NOW + 1000)
    assert step.said == step.also == ()
    changed = replace(run, rev="rev2", updated_at=NOW + 1000, lease=step.run.lease)
    assert step.run == changed


def test_a_renewal_never_cuts_a_lease_short():
    """When it is looked at next stays as it was: it would be looked at too late."""
    lease = Lease(MINE, NOW + 43_200_000, NOW)
    assert lease_of(renew(held(lease=lease), 10, now=NOW + 1000).run).expires_at == lease.expires_at


def test_a_lease_that_has_run_out_is_renewed_as_long_as_nobody_took_the_run():
    late = NOW + 600_000
    assert lease_of(renew(held(), now=late).run).expires_at == late + 60_000


REFUSALS = [
    # the run, who, at which attempt: the refusal
    (held(), THEIRS, 1, LeaseLost),
    (held(attempt=2), MINE, 1, LeaseLost),
    (held(attempt=2), MINE, 3, LeaseLost),
    (held(attempt=2, lease=replace(HELD, worker_id=THEIRS)), MINE, 2, LeaseLost),
    (waiting(), MINE, 1, LeaseLost),
    (waiting(claimed=True), MINE, 1, LeaseLost),
    (waiting(claimed=True, released=Released(THEIRS, 1)), MINE, 1, LeaseLost),
    (waiting(claimed=True, attempt=2, released=Released(MINE, 1)), MINE, 2, LeaseLost),
    (run_in(State.SUSPENDED, mode=Mode.QUEUED, claimed=True), MINE, 1, LeaseLost),
    (run_in(State.RUNNING), MINE, 1, LeaseLost),
    *((run_in(state, claimed=True), MINE, 1, RunTerminal) for state in TERMINAL_STATES),
    *((run_in(state, claimed=True, attempt=2), MINE, 1, LeaseLost) for state in TERMINAL_STATES),
]


@pytest.mark.parametrize("act", [renew, release])
@pytest.mark.parametrize(("run", "worker", "attempt", "refusal"), REFUSALS)
def test_whoever_does_not_hold_it_at_its_attempt_is_refused(act, run, worker, attempt, refusal):
    with pytest.raises(refusal) as refused:
        act(run, worker=worker, attempt=attempt)
    assert refused.value.run is run


@pytest.mark.parametrize("act", [renew, release])
@pytest.mark.parametrize(
    ("run", "says"),
    [
        (waiting(), "the run is pending: nobody holds it, claim it first"),
        (run_in(State.SUSPENDED, mode=Mode.QUEUED), "the run is suspended: nobody holds it"),
        (run_in(State.RUNNING), "the run is attached: it has no lease"),
        (held(lease=replace(HELD, worker_id=THEIRS)), "the run is held by another worker"),
        (held(attempt=2), "the run is at attempt 2, not 1"),
    ],
)
def test_whoever_does_not_hold_it_is_told_who_does(act, run, says):
    with pytest.raises(LeaseLost) as refused:
        act(run)
    assert str(refused.value) == says


# Release


def test_what_is_given_back_waits_to_be_claimed_from_then_on():
    step = release(held())
    run = step.run
    assert (run.state, run.available_at, run.lease, run.due_at) == (State.PENDING, NOW, None, None)
    assert (run.released, run.failures, run.attempt) == (Released(MINE, 1), 0, 1)
    assert step.said == ()
    assert release(held(), delay_seconds=30).run.available_at == NOW + 30_000


def test_a_lease_that_has_run_out_is_given_back_as_well():
    assert release(held(), now=NOW + 600_000).run.state is State.PENDING


def test_a_failure_counts_and_is_kept_in_short():
    run = release(held(), error={"message": "m" * 300, "type": "T" * 50, "stack": "s" * 10_000}).run
    assert run.failures == 1
    assert run.released == Released(MINE, 1, Failure("m" * MAX_MESSAGE, "T" * 40))
    run = release(held(), error={"message": "x" + "é" * 300}).run
    assert run.released.failure == Failure("x" + "é" * ((MAX_MESSAGE - 1) // 2)), "cut within a character"


@pytest.mark.parametrize(
    ("failures", "chance", "seconds"),
    [(0, 1, 10), (0, 0.5, 5), (0, 0, 0), (1, 1, 20), (2, 1, 40), (3, 1, 60), (98, 1, 60), (98, 0.25, 15)],
)
def test_the_pause_after_a_failure_doubles_up_to_its_limit_and_chance_cuts_it(failures, chance, seconds):
    run = held(failures=failures, max_attempts=100)
    for step in (release(run, error=BROKE, chance=chance), ran_out(run, chance=chance)):
        assert step.run.available_at == NOW + seconds * 1000
        assert step.run.failures == failures + 1


def test_a_failure_may_name_its_own_pause():
    for seconds in (0, 3600):
        step = release(held(), error=BROKE, delay_seconds=seconds)
        assert step.run.available_at == NOW + seconds * 1000


@pytest.mark.parametrize("max_attempts", [1, 3])
def test_one_failure_short_of_its_attempts_it_goes_on_and_then_is_dead_of_the_last(max_attempts):
    def allowed(failures):
        return held(failures=failures, max_attempts=max_attempts)

    if max_attempts > 1:
        assert isinstance(release(allowed(max_attempts - 2), error=BROKE), Step)
        assert isinstance(ran_out(allowed(max_attempts - 2)), Step)
    dead = release(allowed(max_attempts - 1), error=BROKE, delay_seconds=5)
    assert isinstance(dead, Outcome)
    assert (dead.status, dead.resumable) == (State.DEAD, False)
    counted = f"failure {max_attempts} of {max_attempts}"
    assert dead.error == {**BROKE, "message": f"it broke ({counted} that it may have)"}
    expired = ran_out(allowed(max_attempts - 1))
    assert expired.status is State.DEAD
    assert expired.error["type"] == "lease"
    assert MINE in expired.error["message"] and counted in expired.error["message"]


def test_giving_it_back_without_a_failure_never_uses_it_up():
    assert isinstance(release(held(failures=99, max_attempts=1)), Step)


def test_a_run_told_to_end_is_cancelled_when_nobody_drives_it_any_more():
    run = held(cancel=CANCEL, failures=2)
    for outcome in (release(run), release(run, error=BROKE), ran_out(run)):
        assert isinstance(outcome, Outcome)
        assert (outcome.status, outcome.cancel) == (State.CANCELLED, CANCEL)
        assert outcome.error == {"message": "why", "type": "cancelled"}


def test_a_release_sent_twice_changes_nothing_until_somebody_claims():
    once = release(held(), error=BROKE).run
    assert release(once, error=BROKE) is None
    assert release(once) is None
    with pytest.raises(LeaseLost):
        release(once, worker=THEIRS)
    claimed = claim(once, now=once.available_at).run
    with pytest.raises(LeaseLost):
        release(claimed, error=BROKE)


@pytest.mark.parametrize(
    ("run", "state"),
    [(held(failures=2), State.DEAD), (held(cancel=CANCEL), State.CANCELLED)],
    ids=["dead", "cancelled"],
)
def test_a_release_that_settled_the_run_is_known_again_and_no_other_is(run, state):
    key = release(run, error=BROKE).key
    settled = replace(run, state=state, lease=None, ending=Ending(seq=3, at=NOW, key=key))
    assert release(settled, error=BROKE) is None
    with pytest.raises(RunTerminal):
        release(settled, worker=THEIRS, error=BROKE)
    with pytest.raises(LeaseLost):
        release(settled, attempt=2, error=BROKE)
    elsewhere = replace(settled, ending=Ending(seq=3, at=NOW, key="some-finish"))
    with pytest.raises(RunTerminal):
        release(elsewhere, error=BROKE)


def test_what_is_pushed_is_due_again_when_it_may_be_claimed():
    pushed = held(push=Push())
    assert release(pushed).run.due_at == NOW
    assert release(pushed, error=BROKE).run.due_at == NOW + 10_000


# Expiry


def test_a_lease_counts_as_run_out_somewhat_after_its_end():
    assert lease_end(held(), 2) == HELD.expires_at + 2000
    assert lease_end(run_in(State.RUNNING), 2) is None
    assert lease_end(waiting(lease=HELD), 2) is None


def test_a_run_whose_lease_ran_out_waits_again_and_knows_why():
    run = ran_out(held()).run
    assert (run.state, run.lease, run.failures) == (State.PENDING, None, 1)
    why = Failure(f"the lease of worker {MINE} ran out", "lease")
    assert run.released == Released(MINE, 1, why)
    assert run.released.ran_out
