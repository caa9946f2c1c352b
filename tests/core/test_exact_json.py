"""The exact JSON form of payloads: it loses nothing, and it is not ambiguous."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemledger.core.exact_json import dumps, loads
from itemledger.errors import LedgerError, ManifestError

texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers() | st.decimals(allow_nan=False, allow_infinity=False)
names = texts | st.sampled_from(["$N", "$B", "$S", "$M", "$", "$x"])
values = st.recursive(
    st.none() | st.booleans() | texts | numbers | st.binary() | st.sets(texts | numbers | st.binary(), max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


def alike(one: Any, other: Any) -> bool:
    """Equality that also tells 1 from Decimal(1), True from 1 and 1.0 from 1.00."""
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(alike(one[n], other[n]) for n in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, set):
        return isinstance(other, set) and {(type(m), repr(m)) for m in one} == {(type(m), repr(m)) for m in other}
    return type(one) is type(other) and repr(one) == repr(other)


@given(values)
def test_what_is_written_comes_back_alike(value: Any) -> None:
    assert alike(value, loads(dumps(value)))


@given(values, values)
def test_two_payloads_are_written_alike_only_when_they_are_alike(one: Any, other: Any) -> None:
    assert alike(one, other) or dumps(one) != dumps(other)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (b'{"id":"A","n":1,"on":true,"none":null}', {"id": "A", "n": 1, "on": True, "none": None}),
        (b'{"$N":"1.50"}', Decimal("1.50")),
        (b'{"$N":"-0"}', Decimal("-0")),
        (b'{"$B":"AP8="}', b"\x00\xff"),
        (b'{"$S":["a","b"]}', {"b", "a"}),
        (b'{"$S":["a"]}', frozenset({"a"})),
        (b'{"$M":{"$N":"1"}}', {"$N": "1"}),
        (b'{"$M":{"$M":{"$M":{"$M":[]}}}}', {"$M": {"$M": []}}),
        (b'{"$N":"1","b":2}', {"$N": "1", "b": 2}),
        ('["\u20ac"]'.encode(), ["\u20ac"]),
    ],
)
def test_the_form_is_fixed(written: bytes, value: object) -> None:
    assert written == dumps(value)
    assert value == loads(written)


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("of type float", 1.0),
        ("of type float", {"deep": [{"n": 0.1}]}),
        ("NaN or Infinity", Decimal("NaN")),
        ("NaN or Infinity", Decimal("-Infinity")),
        ("lone surrogate", "\ud800"),
        ("whose name is no text", {1: "a"}),
        ("of type tuple", ("a",)),
        ("of type bytearray", bytearray(b"a")),
        ("of type object", object()),
        ("a set with a value of type bool", {True}),
        ("a set with a value of type tuple", {("a",)}),
        ("too many digits", [10**5000]),
    ],
)
def test_what_has_no_exact_form_is_refused_without_its_value(told: str, value: object) -> None:
    with pytest.raises(ManifestError, match=told):
        dumps(value)


def test_nesting_without_end_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ManifestError, match="nested too deeply"):
        dumps(value)


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"{",
        b"\xff",
        b"1.5",
        b"NaN",
        b'{"a":1,"a":2}',
        b'{"$X":1}',
        b'{"$N":1}',
        b'{"$N":"NaN"}',
        b'{"$N":" 1"}',
        b'{"$N":"one"}',
        b'{"$B":"A"}',
        b'{"$B":"AA=\\u003d\\n"}',
        b'{"$B":"AB=="}',
        b'{"$S":[1,1]}',
        b'{"$S":[[]]}',
        b'{"$S":3}',
        b'{"$M":{"a":1}}',
        b'{"$M":[]}',
        b"[" * 100_000,
    ],
)
def test_what_was_never_written_is_refused(written: bytes) -> None:
    with pytest.raises(LedgerError, match="not in its exact form"):
        loads(written)
