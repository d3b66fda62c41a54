"""What AWS asks for the write of one item within a transaction: measured by others on DynamoDB itself
(nubo-db/dynoxide, issue 176 and pull request 188)."""

import pytest

from baton.store.schema import SETTLED, IndexSpec, Key, TableSpec
from tests.bench.transactions import Place, part, reported

INDEX = IndexSpec("moves", Key("g"), Key("h"))
TABLE = TableSpec("table", Key("k"), Key("s"), indexes=(INDEX, SETTLED))
PLACE = Place("table", {"k": {"S": "1"}, "s": {"S": "1"}})


def item(size=0, **texts):
    held = PLACE.key | {name: {"S": text} for name, text in texts.items()}
    return held | ({"x": {"S": "x" * size}} if size else {})


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, item(), 2),
        (None, item(g="1", h="1"), 3),
        (None, item(g="1"), 2),
        (item(g="1", h="1"), item(g="1", h="1", other="2"), 2),
        (item(g="1", h="1"), item(g="1", h="2"), 4),
        (item(g="1", h="1"), item(h="1"), 3),
        (item(3000, g="1", h="1"), None, 7),
        (item(3000), item(), 6),
        (None, None, 2),
    ],
    ids=[
        "new",
        "new in an index",
        "with half of an index's keys",
        "what the index holds stays",
        "moved in the index",
        "out of the index",
        "3 KB removed",
        "3 KB shrunk",
        "nothing where nothing was",
    ],
)
def test_a_write_within_a_transaction_takes_twice_its_table_and_once_its_index(before, after, units):
    assert part(PLACE, TABLE, before, after).units == units


def test_dynamodb_local_reports_of_equal_items_one():
    small, indexed = part(PLACE, TABLE, None, item()), part(PLACE, TABLE, None, item(g="1", h="1"))
    assert reported([small, small]) == {"table": (4, 0)}
    assert reported([small, indexed, indexed]) == {"table": (8, 4)}
