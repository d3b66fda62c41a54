"""What the stream tells is followed, each change for itself; what fails is named, so that it comes again."""

from typing import Any

import pytest

from baton.errors import Unavailable
from baton.services.changes import Change, Changes


class Told:
    """A publisher, a pusher and an announcer that keep what they are told; the first two fail on what a test
    says."""

    def __init__(self, **failures):
        self.published = []
        self.pushed = []
        self.turns = []
        self.started = []
        self.removed = []
        self._failures = failures

    def publish_item(self, key, sort):
        self.published.append((key, sort))
        self._turn(key)

    def push_item(self, key):
        self.pushed.append(key)
        self._turn(key)

    def _turn(self, key):
        self.turns.append(key)
        failure = self._failures.get(key.partition("#")[2])
        if failure is not None:
            raise failure


class Announcer:
    def __init__(self, told):
        self._told = told

    def started(self, runs):
        self._told.started += [(run.id, run.birth) for run in runs]


class Retention:
    def __init__(self, told):
        self._told = told

    def removed(self, run):
        self._told.removed.append(run.id)


def take(told, *changes, time_left=lambda: True):
    announcer: Any = Announcer(told)
    retention: Any = Retention(told)
    return Changes(told, told, announcer, retention).take(changes, time_left=time_left)


def row(run_id="r1", birth="b1", **more):
    image = {
        "k": {"S": f"default#{run_id}"},
        "s": {"S": "run"},
        "rv": {"S": "rev"},
        "b": {"S": birth},
        "lk": {"S": "default#build"},
        "lc": {"S": f"0000000000001#{run_id}"},
        "st": {"S": "running"},
        "md": {"S": "attached"},
        "at": {"N": "1"},
        "ua": {"N": "1"},
    }
    return image | more


def change(old, new, sequence="1"):
    image = new or old
    return Change(keys=(image["k"]["S"], image["s"]["S"]), old=old, new=new, sequence=sequence)


def announced(run_id="r1", sequence="1", sort="run"):
    image = row(run_id, an={"N": "1"}, s={"S": sort})
    return change(row(run_id, s={"S": sort}), image, sequence)


ALIAS = {"k": {"S": "default#r1"}, "s": {"S": "run"}, "rv": {"S": "v"}, "b": {"S": "b0"}, "al": {"S": "r0"}}


def test_what_is_announced_is_published():
    told = Told()
    sort = "settlement#b1#000001"
    apart = {"k": {"S": "default#r1"}, "s": {"S": sort}, "an": {"N": "1"}}
    assert take(told, announced(), change(None, apart)) == []
    assert told.published == [("default#r1", "run"), ("default#r1", sort)]
    assert (told.started, told.removed) == ([], [])


def test_an_item_announced_twice_in_a_batch_is_published_once():
    told = Told()
    assert take(told, announced(sequence="1"), announced("r2", "2"), announced(sequence="3")) == []
    assert told.published == [("default#r1", "run"), ("default#r2", "run")]


WAITING = {"st": {"S": "pending"}, "md": {"S": "queued"}, "qk": {"S": "q"}, "an": {"N": "1"}}


def waits(run_id="r1", sequence="1"):
    return change(row(run_id), row(run_id, **WAITING), sequence)


def test_what_is_announced_and_waits_is_pushed_and_not_published():
    told = Told()
    quiet = {name: value for name, value in WAITING.items() if name != "an"}
    assert take(told, waits(), change(row("r2"), row("r2", **quiet), "2")) == []
    assert (told.pushed, told.published) == (["default#r1"], [])


def test_targets_have_their_turn_last_and_each_run_one_turn():
    told = Told()
    changes = [
        waits("r1", "1"),
        waits("r2", "2"),
        announced("r3", "3"),
        waits("r1", "4"),
        announced("r1", "5"),
    ]
    assert take(told, *changes) == []
    assert told.turns == ["default#r3", "default#r1", "default#r1", "default#r2"]


def test_a_push_that_fails_is_named_and_the_others_have_their_turn():
    told = Told(r1=Unavailable("not now"))
    assert take(told, waits("r1", "1"), waits("r2", "2")) == ["1"]
    assert told.pushed == ["default#r1", "default#r2"]


@pytest.mark.parametrize("failure", [Unavailable("not now"), LookupError("broken on purpose")])
def test_one_in_trouble_is_named_and_the_others_have_their_turn(failure):
    told = Told(r2=failure)
    assert take(told, announced("r1", "1"), announced("r2", "2"), announced("r3", "3")) == ["2"]
    assert [key for key, _ in told.published] == ["default#r1", "default#r2", "default#r3"]


def test_a_row_that_this_code_can_not_read_is_named_and_the_others_have_their_turn():
    told = Told()
    strange = change(None, row("r1", st={"S": "unheard-of"}), "1")
    assert take(told, strange, change(None, row("r2"), "2"), announced("r3", "3")) == ["1"]
    assert (told.started, told.published) == ([("r2", "b1")], [("default#r3", "run")])


def test_what_failed_is_tried_again_where_it_is_announced_again():
    told = Told(r1=Unavailable("not now"))
    assert take(told, announced(sequence="1"), announced(sequence="2")) == ["1", "2"]


def test_what_there_is_no_time_for_comes_again():
    told = Told()
    left = iter([True, False, False])
    changes = [announced(f"r{number}", str(number)) for number in range(3)]
    assert take(told, *changes, time_left=lambda: next(left)) == ["1", "2"]
    assert [key for key, _ in told.published] == ["default#r0"]


@pytest.mark.parametrize("before", [None, ALIAS, row(birth="b0", xa={"N": "1"})])
def test_a_row_that_begins_a_life_is_told_of(before):
    told = Told()
    assert take(told, change(before, row())) == []
    assert (told.started, told.published) == ([("r1", "b1")], [])


@pytest.mark.parametrize("before", [row(), row(xa={"N": "1"}), row(st={"S": "completed"})])
def test_a_row_that_goes_on_with_its_life_is_not_told_of(before):
    told = Told()
    assert take(told, change(before, row())) == []
    assert told.started == []


@pytest.mark.parametrize("image", [ALIAS, {"k": {"S": "default#r1#b"}, "s": {"S": "purge"}}])
def test_what_is_no_run_begins_and_ends_nothing(image):
    told = Told()
    assert take(told, change(None, image), change(image, None)) == []
    assert (told.started, told.removed) == ([], [])


def test_only_what_is_gone_is_taken_for_removed():
    told = Told()
    assert take(told, change(row(), ALIAS), change(row("r2", an={"N": "1"}), None, "2")) == []
    assert (told.removed, told.published) == (["r2"], [])


def test_what_ended_and_was_removed_in_one_batch_is_both_published_and_purged():
    told = Told()
    assert take(told, announced(), change(row(), None, "2")) == []
    assert (told.published, told.removed) == ([("default#r1", "run")], ["r1"])
