"""The transition table against an expectation written down on its own, cell by cell."""

import pytest

from baton.domain.states import TRANSITIONS, Command, State, Verdict, cell
from baton.errors import InFlight, LeaseLost, RunTerminal, StreamConflict
from tests.unit.domain.runs_at_hand import TERMINAL_STATES

P, R, S = State.PENDING, State.RUNNING, State.SUSPENDED
C, F, X, D = State.COMPLETED, State.FAILED, State.CANCELLED, State.DEAD

SAME = "answers the present truth"
SETTLES = {C, F, X}

# In the order of the header: what it may lead to, SAME, or the refusal.
HEADER = (P, R, S, C, F, X, D)
T, I, Q, L = RunTerminal, InFlight, StreamConflict, LeaseLost  # noqa: E741 - as short as the table needs
EXPECTED = {
    # command                pending    running    suspended  completed  failed     cancelled  dead
    Command.APPEND: (Q, {R}, Q, T, T, T, T),
    Command.FINISH: (SETTLES, SETTLES, SETTLES, SAME, SAME, SAME, SAME),
    Command.CANCEL: ({X}, {R, X}, {X}, SAME, SAME, SAME, SAME),
    Command.FORCE_CANCEL: ({X}, {X}, {X}, SAME, SAME, SAME, SAME),
    Command.SUSPEND: (I, {S}, I, T, T, T, T),
    Command.WAKE: (SAME, SAME, {R, P}, SAME, SAME, SAME, SAME),
    Command.RESUME: (SAME, SAME, SAME, SAME, {R, P}, {R, P}, {R, P}),
    Command.FORCE_RESUME: (SAME, SAME, SAME, SAME, {R, P}, {R, P}, {R, P}),
    Command.CLAIM: ({R}, I, I, T, T, T, T),
    Command.RENEW: (L, {R}, L, T, T, T, T),
    Command.RELEASE: (L, {P, D, X}, L, T, T, T, T),
    Command.EXPIRE_LEASE: (SAME, {P, D, X}, SAME, SAME, SAME, SAME, SAME),
    Command.TIME_OUT: (SAME, {F}, SAME, SAME, SAME, SAME, SAME),
    Command.DELETE: (I, I, I, set(), set(), set(), set()),
}
CELLS = [
    (command, state, expected)
    for command, row in EXPECTED.items()
    for state, expected in zip(HEADER, row, strict=True)
]


def test_the_expectation_covers_every_command_in_every_state():
    assert set(EXPECTED) == set(Command)
    assert set(HEADER) == set(State)
    assert len(CELLS) == 7 * len(Command)


def test_the_table_is_total():
    assert set(TRANSITIONS) == set(Command)
    assert all(set(row) == set(State) for row in TRANSITIONS.values())


@pytest.mark.parametrize(
    ("command", "state", "expected"), CELLS, ids=[f"{c.value}-{s.value}" for c, s, _ in CELLS]
)
def test_each_cell_is_decided(command, state, expected):
    verdict, to, error = cell(command, state)
    if expected == SAME:
        assert (verdict, to, error) == (Verdict.ANSWER, frozenset(), None)
    elif isinstance(expected, set):
        assert (verdict, to, error) == (Verdict.ACT, frozenset(expected), None)
    else:
        assert (verdict, to, error) == (Verdict.REFUSE, frozenset(), expected)


def test_exactly_the_settled_states_are_terminal():
    assert {state for state in State if state.terminal} == set(TERMINAL_STATES)


@pytest.mark.parametrize("state", TERMINAL_STATES)
def test_only_resume_and_delete_change_a_terminal_run(state):
    acting = {command for command in Command if cell(command, state).verdict is Verdict.ACT}
    resumes = set() if state is C else {Command.RESUME, Command.FORCE_RESUME}
    assert acting == {Command.DELETE} | resumes


def test_states_are_spelled_as_they_are_stored_and_sent():
    assert [str(state) for state in State] == [
        "pending", "running", "suspended", "completed", "failed", "cancelled", "dead",
    ]  # fmt: skip
