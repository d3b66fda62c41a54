"""The tree of refusals: each has its slug, and says what the caller does next."""

import pytest

from baton import errors
from baton.errors import BatonError, InvalidRequest, ProducerFenced, SequenceGap, TryAgain

# The slugs of the HTTP contract, but `gone`, which free-standing streams will bring.
CONTRACT = {
    "invalid-request", "unauthenticated", "forbidden", "not-found", "method-not-allowed", "run-exists",
    "run-terminal", "lease-lost", "in-flight", "busy", "still-owed", "stream-conflict", "payload-too-large",
    "unsupported-media-type", "idempotency-mismatch", "too-many-requests", "internal", "unavailable",
}  # fmt: skip


def _children(root):
    return [child for child in root.__subclasses__() if child.__module__ == errors.__name__]


def kinds(root=BatonError):
    return [root, *(kind for child in _children(root) for kind in kinds(child))]


def test_the_tree_speaks_every_slug_of_the_contract_and_no_other():
    assert {kind.slug for kind in kinds()} == CONTRACT


def test_only_what_was_left_undecided_is_worth_repeating_as_it_is():
    assert {kind for kind in kinds() if kind.retryable} == set(kinds(TryAgain))


def test_the_tree_is_all_there_is():
    public = {
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)
    }
    assert public == set(kinds())


def test_try_again_says_when():
    assert errors.Unavailable("busy").headers == {"Retry-After": "1"}
    assert errors.TooManyRequests("slow down", retry_after=7).headers == {"Retry-After": "7"}


@pytest.mark.parametrize(
    ("loc", "detail"), [(["body", "limit"], "body.limit: no"), (["body", "tags", 3], "body.tags.3: no")]
)
def test_a_wrong_field_is_named_for_people_and_for_programs(loc, detail):
    error = InvalidRequest.at(loc, "no")
    assert str(error) == error.detail == detail
    assert error.errors == ({"loc": loc, "msg": "no"},)


def test_a_producers_refusals_carry_the_protocols_headers():
    assert SequenceGap(3, 5).headers == {"Producer-Expected-Seq": "3", "Producer-Received-Seq": "5"}
    assert ProducerFenced(4).headers == {"Producer-Epoch": "4"}
