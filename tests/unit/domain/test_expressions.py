"""Expressions: what is one, what it makes of a payload, and that none takes more than its share."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.expressions import ExpressionFailed, accepts, check, evaluate, load, mapped
from baton.domain.interpreter import BoundedFunctions
from baton.domain.payload import MAX_HANDOFF_INPUT, canonical, parse
from baton.errors import InvalidRequest, PayloadTooLarge

PAYLOAD = load(
    b'{"run":{"id":"r","state":"completed","tags":["b","a"],"output":'
    b'{"n":1.0,"e":1e5,"z":-0,"nz":-0.0,"big":12345678901234567890123,"s":"caf\xc3\xa9","none":null,'
    b'"list":[3,1.50,2],"deep":[[1],[2,[3]]],"objects":[{"k":"x","v":1},{"k":"y","v":2}]}}}'
)


def _mapped(text: str) -> Any:
    return json.loads(mapped(text, PAYLOAD))


# What is one.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be empty"),
        ("  ", "ends too early at character 3"),
        ("a..b", r"unexpected '\.' at character 3, '\.b'"),
        ("a[", "ends too early at character 3"),
        ("a b", "unexpected 'b' at character 3, 'b'"),
        ("[1 2]", "unexpected '2' at character 4"),
        ("a[?b=='c')", r"unexpected '\)' at character 10"),
        ("1", "unexpected '1' at character 1"),
        ("'a'(b)", "Invalid function name 'a' at character 1"),
        ("a ==", "ends too early at character 5"),
        ("a = b", "Unknown token '=' at character 3"),
        ("'a", "Unclosed ' delimiter at character 1"),
        ("a || \u00e9", "Unknown token \u00e9 at character 6"),
        ("size(a)", r"there is no function size\(\) at character 1, 'size\(a\)'"),
        ("a || length(b) || size(c)", r"no function size\(\) at character 19"),
        ("[?size(a)].length(b)", r"no function size\(\) at character 3"),
        ("length(length(a), b)", r"length\(\) takes 1 argument, not 2 at character 1"),
        ("length(length(a, b))", r"length\(\) takes 1 argument, not 2 at character 8"),
        ("merge()", r"merge\(\) takes at least 1 argument, not 0"),
        ("sort_by(a, b)", r"sort_by\(\) takes an '&' expression as its argument 2"),
        ("length(&a)", r"length\(\) takes a value as its argument 1"),
        ("not_null(a, b, &c)", r"not_null\(\) takes a value as its argument 3"),
        ("&a", "'&' expression is good as an argument"),
        ("[&a]", "'&' expression is good as an argument"),
        ("a[::0]", "steps of 0"),
        ("a == `b`", r"`b` is not JSON \(a text is quoted so: 'text'\) at character 6"),
        ("`NaN`", "is not JSON"),
        ("`[-Infinity]`", "is not JSON"),
        (r'{"\ud800": a}', "is not JSON"),
        (r'`"\ud800"`', "is not JSON"),
        ("(" * 500 + "a", "ends too early|too deeply"),
        ("(" * 500 + "a" + ")" * 500, "too deeply"),
        ("!" * 70 + "a", "too deeply"),
        ("@|" * 70 + "@", "too deeply"),
        ("[" * 500 + "a" + "]" * 500, "too deeply"),
    ],
)
def test_what_is_none_is_refused_with_the_place(text: str, says: str):
    with pytest.raises(InvalidRequest, match=says) as refused:
        check(text, ["body", "where"])
    assert refused.value.errors[0]["loc"] == ["body", "where"]


@pytest.mark.parametrize(
    "text",
    [
        "@",
        "run.output.list[0]",
        "run.tags[?@ == 'a'] | [0]",
        "sort_by(run.output.objects, &k)[*].{key: k, value: v}",
        'a == `1` || b != `"x"` && !(c < `2.5`)',
        "'its' == 'a`b'",
        r"'it\'s'",
        '"a`b" == \'c"d\'',
        r'`"a\`b"` == "c"',
        "!" * 60 + "a",
        "merge(a, b, c)",
        "[?length(a) > `1`].b[]",
        "a[-1:0:-1]",
    ],
)
def test_what_is_one_is_taken(text: str):
    check(text, ["body", "where"])


def test_it_may_take_1_kb_of_canonical_json():
    check("a" * 1022, ["where"])
    with pytest.raises(PayloadTooLarge, match="1025 bytes"):
        check("a" * 1023, ["where"])
    with pytest.raises(PayloadTooLarge):
        check("'" + "\u00e9" * 511 + "'", ["where"])


@given(st.text(alphabet="ab@.*[]?&|!(){}<>=,:`'\"\\01-+ \n\u00e9\U0001f600", max_size=60))
def test_whatever_is_written_is_taken_or_refused_and_what_is_taken_says_json_or_why_not(text: str):
    try:
        check(text, ["where"])
    except InvalidRequest:
        return
    with suppress(ExpressionFailed):
        parse(mapped(text, PAYLOAD))
        accepts(text, PAYLOAD)


# What it makes of a payload.


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("run.output.n", b"1.0"),
        ("run.output.e", b"1e5"),
        ("run.output.z", b"-0"),
        ("run.output.nz", b"-0.0"),
        ("run.output.big", b"12345678901234567890123"),
        ("run.output.list", b"[3,1.50,2]"),
        ("sort(run.output.list)", b"[1.50,2,3]"),
        ("max(run.output.list)", b"3"),
        ("{b: run.output.n, a: run.output.e}", b'{"a":1e5,"b":1.0}'),
        ("[run.output.n]", b"[1.0]"),
        ("to_string(run.output.list)", b'"[3,1.50,2]"'),
        ("to_string(run.output.objects[0])", b'"{\\"k\\":\\"x\\",\\"v\\":1}"'),
        ("run.output.s", '"caf\u00e9"'.encode()),
        ("to_string([run.output.s])", '"[\\"caf\u00e9\\"]"'.encode()),
        ("run.output.list[?@ >= `1.5`]", b"[3,1.50,2]"),
        ("run.output.n == `1`", b"true"),
        ("type(run.output.e)", b'"number"'),
        ("sum(run.output.list)", b"6.5"),
        ("abs(run.output.e)", b"100000.0"),
        ("absent", b"null"),
        ('`"x"`', b'"x"'),
    ],
)
def test_payloads_come_through_as_they_were_sent(text: str, made: bytes):
    assert mapped(text, PAYLOAD) == made
    assert canonical(evaluate(text, PAYLOAD)) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("run.output.objects[?v > `1`].k | [0]", "y"),
        ("run.output.deep[]", [1, 2, [3]]),
        ("join('-', sort(run.tags))", "a-b"),
        ("map(&v, run.output.objects)", [1, 2]),
        ("max_by(run.output.objects, &v).k", "y"),
        ("contains(run.tags, 'a')", True),
        ("run.output.s < `1`", None),
        ("`1` < run.output.s", None),
        ("`true` < `2`", None),
        ("run.tags < run.tags", None),
        ("'a' < 'b'", True),
        ("not_null(absent, run.id)", "r"),
        ('merge(run.output.objects[0], `{"k": 2}`)', {"k": 2, "v": 1}),
    ],
)
def test_it_is_jmespath(text: str, made: Any):
    assert _mapped(text) == made


FUNCTIONS = {
    "abs": ("abs(`-2`)", 2),
    "avg": ("avg(`[1, 2]`)", 1.5),
    "ceil": ("ceil(`1.2`)", 2),
    "contains": ("contains('abc', 'b')", True),
    "ends_with": ("ends_with('ab', 'b')", True),
    "floor": ("floor(`1.8`)", 1),
    "join": ("join('-', ['a', 'b'])", "a-b"),
    "keys": ('keys(`{"a": 1}`)', ["a"]),
    "length": ("length('abc')", 3),
    "map": ('map(&a, `[{"a": 1}]`)', [1]),
    "max": ("max(['a', 'b'])", "b"),
    "max_by": ('max_by(`[{"a": 1}, {"a": 2}]`, &a).a', 2),
    "merge": ('merge(`{"a": 1}`, `{"b": 2}`)', {"a": 1, "b": 2}),
    "min": ("min(`[2, 1]`)", 1),
    "min_by": ('min_by(`[{"a": 1}, {"a": 2}]`, &a).a', 1),
    "not_null": ("not_null(absent, 'a')", "a"),
    "reverse": ("reverse('ab')", "ba"),
    "sort": ("sort(['b', 'a'])", ["a", "b"]),
    "sort_by": ('sort_by(`[{"a": 2}, {"a": 1}]`, &a)[].a', [1, 2]),
    "starts_with": ("starts_with('ab', 'a')", True),
    "sum": ("sum(`[1, 2]`)", 3),
    "to_array": ("to_array('a')", ["a"]),
    "to_number": ("to_number('1.5')", 1.5),
    "to_string": ("to_string(`[1, true]`)", "[1,true]"),
    "type": ("type(`null`)", "null"),
    "values": ('values(`{"a": 1}`)', [1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_the_language_works_within_the_budget(name: str):
    text, made = FUNCTIONS[name]
    check(text, ["input"])
    assert _mapped(text) == made


def test_no_function_is_left_out():
    assert set(FUNCTIONS) == set(BoundedFunctions.FUNCTION_TABLE)


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("run.state == 'completed'", True),
        ("run.state == 'failed'", False),
        ("`0`", True),
        ("run.output.z", True),
        ("''", False),
        ("`[]`", False),
        ("`{}`", False),
        ("absent", False),
        ("run.tags[?@ == 'c']", False),
        ("run.tags[?@ == 'a']", True),
    ],
)
def test_it_accepts_what_is_true_to_jmespath(text: str, yes: bool):
    assert accepts(text, PAYLOAD) is yes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("length(run.output.n)", r"length\(\) takes string or array or object, and was given number"),
        ("sort(run.output.objects)", r"sort\(\) takes array"),
        ("sort_by(run.output.objects, &@)", r"sort_by\(\) takes"),
        ("contains('a', `1`)", "does not work"),
        ("to_number('1e999')", "a number that JSON can't say"),
        ("[to_number('nan')]", "a number that JSON can't say"),
        ("floor(to_number('1e400'))", "JSON can't say|does not work"),
        ("sum([run.output.big, `1e308`, `1e308`])", "JSON can't say"),
        ("a[", "does not work with this payload"),
    ],
)
def test_what_goes_wrong_says_so_to_a_person(text: str, says: str):
    with pytest.raises(ExpressionFailed, match=says) as failed:
        mapped(text, PAYLOAD)
    assert len(failed.value.reason) <= 300
    with pytest.raises(ExpressionFailed):
        accepts(text, PAYLOAD)


def test_a_reason_never_spells_a_value_out():
    with pytest.raises(ExpressionFailed) as failed:
        mapped("length(a)", load(b'{"a":' + b"7" * 4000 + b"}"))
    assert "7" not in failed.value.reason


# That none takes more than its share.


def _filled(unit: str, glue: str = "") -> str:
    """A chain of as many of ``unit`` as may stand in an expression."""
    return glue.join([unit] * (1000 // len(unit + glue)))


PAYLOADS = {
    "numbers": b"[" + b",".join([b"1"] * 160_000) + b"]",
    "fractions": b"[" + b",".join([b"1.0"] * 80_000) + b"]",
    "nothings": b"[" + b",".join([b"[]"] * 106_000) + b"]",
    "objects": b"[" + b",".join([b'{"a":1}'] * 40_000) + b"]",
    "texts": json.dumps(["ab"] * 64_000, separators=(",", ":")).encode(),
    "text": json.dumps("\U0001f600" + "x" * 320_000, ensure_ascii=False).encode(),
    "object": json.dumps({f"k{i}": i for i in range(22_000)}, separators=(",", ":")).encode(),
    "deep": b"[" * 500 + b"]" * 500,
    "small": b'{"a":1}',
}
GREEDY = {
    "doubling": _filled("[@,@]", "|"),
    "doubling flat": _filled("[@,@][]", "|"),
    "doubling spelled": _filled("to_string([@,@])", "|"),
    "doubling compared": "|".join(["[@,@]"] * 30) + "|[@,@]==[@,@]",
    "doubling mapped": "map(&map(&map(&[@,@],@),@),@)",
    "doubling sought": "|".join(["[@,@]"] * 30) + "|contains(@,@[0])",
    "comparing": "[" + _filled("@==@", ",") + "]",
    "comparing with another": "[" + _filled("@==[@][0]", ",") + "]",
    "projecting": _filled("[*]"),
    "projecting lists": _filled("[*].[@,@][]"),
    "projecting nested": "[*].[[[[[[[@]]]]]]]",
    "projecting all": _filled("*", "."),
    "filtering": "[?" * 60 + "@" + "]" * 60,
    "sorting": _filled("sort(@)", "|"),
    "sorting by": _filled("sort_by(@,&to_string(@))", "|"),
    "joining": "join(to_string(@),map(&to_string(@),@))",
    "joining itself": _filled("join(@,['','',''])", "|"),
    "reversing": "[" + _filled("reverse(@)", ",") + "]",
    "spelling": "[" + _filled("to_string(@)", ",") + "]",
    "merging": "merge(" + _filled("@", ",") + ")",
    "slicing": "[" + _filled("@[::-1]", ",") + "]",
    "listing": "[" + _filled("values(@)", ",") + "]",
    "adding": "[" + _filled("sum(@)", ",") + "]",
    "searching": "[" + _filled("contains(@,'z')", ",") + "]",
    "choosing": "not_null(" + _filled("@", ",") + ")",
}


@cache
def _loaded(payload: str) -> Any:
    return load(PAYLOADS[payload])


def _bounded(text: str, payload: str) -> None:
    with suppress(ExpressionFailed):
        assert len(mapped(GREEDY[text], _loaded(payload))) <= MAX_HANDOFF_INPUT


def test_what_is_tried_here_could_be_registered_and_sent():
    assert max(map(len, PAYLOADS.values())) <= MAX_HANDOFF_INPUT
    assert max(len(canonical(text)) for text in GREEDY.values()) <= 1024


@pytest.mark.parametrize("payload", ["fractions", "text", "deep"])
@pytest.mark.parametrize("text", GREEDY)
def test_no_expression_goes_on_for_ever(text: str, payload: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("baton.domain.interpreter.MAX_STEPS", 10_000)
    _bounded(text, payload)


MAKERS = ("doubling mapped", "projecting nested", "reversing", "spelling")


@pytest.mark.slow
@pytest.mark.parametrize("payload", ["nothings", "text"])
@pytest.mark.parametrize("text", MAKERS)
def test_no_expression_takes_more_memory_than_its_share(text: str, payload: str):
    _loaded(payload)
    tracemalloc.start()
    try:
        _bounded(text, payload)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024 * 1024


@pytest.mark.slow
def test_the_budget_is_enough_for_a_large_payload():
    objects = _loaded("objects")
    assert len(json.loads(mapped("[?a == `1`]", objects))) == 40_000
    assert accepts("length(@) > `100`", objects)


def test_doubling_is_stopped_by_the_weight_of_what_it_makes_before_anything_walks_it():
    doubled = "|".join(["[@,@]"] * 18)
    assert mapped("length([@,@])", _loaded("small")) == b"2"
    with pytest.raises(ExpressionFailed, match="it makes something of over 1048576 characters"):
        mapped(doubled, _loaded("small"))


def test_a_result_over_a_hand_offs_input_is_refused():
    with pytest.raises(
        ExpressionFailed, match=r"its result takes \d+ bytes of canonical JSON, over the limit of 327680"
    ):
        mapped("[@, @]", load(canonical("x" * 200_000)))
    assert len(mapped("@", load(canonical("x" * (MAX_HANDOFF_INPUT - 2))))) == MAX_HANDOFF_INPUT


def test_a_result_nested_too_deep_is_refused():
    deepest = load(b"[" * 499 + b"]" * 499)
    assert mapped("[@]", deepest) == b"[" * 500 + b"]" * 500
    with pytest.raises(ExpressionFailed, match="nested over 500 levels"):
        mapped("[[@]]", deepest)
