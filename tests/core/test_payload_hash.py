"""The payload hash: by value, so that only another payload is another payload."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemledger.core.payload_hash import derived_key, payload_hash

PAYLOAD: Mapping[str, Any] = {
    "id": "A",
    "n": Decimal("12.50"),
    "b": b"\x00\xff",
    "on": True,
    "none": None,
    "list": [1, "1", {"x": 2}],
    "set": {"a", "b"},
}


@pytest.mark.parametrize(
    ("golden", "payload"),
    [
        ("1:4b64bca0126cd6c134c228a635ec9eab952795c99ff9e811eb4a74d76ce30214", {}),
        ("1:4e9f3bfbccb0fa0bf85fe857de179eb20e211c226a1eeb3b05ac29fe8f5627e4", {"id": "A"}),
        ("1:6bc04982d6730790c9a487ccb7bfb63606639726a4a25f4359478048a17bd525", PAYLOAD),
        (
            "1:d76eeb77e6eb502af30ddad2605dd1f0fff5d47b9fcc445a0793d09e249e1377",
            {"numbers": {1, Decimal("2.5")}, "binaries": {b"a"}},
        ),
    ],
)
def test_the_recipe_is_fixed(golden: str, payload: Mapping[str, Any]) -> None:
    """Rows in ledgers were planned under it: another recipe needs another number before the colon."""
    assert golden == payload_hash(payload)


def test_the_derived_key_is_fixed() -> None:
    """SHA-256 of ``6:orders1:A1:00ff``, cut."""
    assert "fce084de8a7fae0b1f0533b862fec5f7" == derived_key("orders", "A", "1:00ff")


def test_the_derived_key_is_that_of_one_operation_one_item_and_one_payload() -> None:
    keys = [
        ("a", "bc", "d"),
        ("ab", "c", "d"),
        ("a", "b", "cd"),
        ("a", "bc", "e"),
        ("a", "1:b", "d"),
        ("a1:", "b", "d"),
    ]
    assert len(keys) == len({derived_key(*key) for key in keys})


def test_the_order_of_members_does_not_matter() -> None:
    assert payload_hash(PAYLOAD) == payload_hash(dict(reversed(list(PAYLOAD.items()))))


@pytest.mark.parametrize("spelled", [Decimal("12.5"), Decimal("1.25E+1"), Decimal("0012.500")])
def test_the_spelling_of_numbers_does_not_matter(spelled: Decimal) -> None:
    assert payload_hash(PAYLOAD) == payload_hash({**PAYLOAD, "n": spelled})


def test_an_int_is_the_decimal_of_its_value() -> None:
    assert payload_hash({"n": 100}) == payload_hash({"n": Decimal("1E+2")})
    assert payload_hash({"n": 10**60}) == payload_hash({"n": Decimal(10**60)})


@given(st.sets(st.text() | st.integers() | st.binary(), min_size=2))
def test_the_order_of_sets_does_not_matter(members: set[Any]) -> None:
    backwards = set(dict.fromkeys(sorted(members, key=repr, reverse=True)))
    assert payload_hash({"s": members}) == payload_hash({"s": backwards}) == payload_hash({"s": frozenset(members)})


@pytest.mark.parametrize(
    "changed",
    [
        {"n": "12.50"},
        {"n": Decimal("12.51")},
        {"b": "AP8="},
        {"on": 1},
        {"on": "true"},
        {"none": False},
        {"none": ""},
        {"list": ["1", 1, {"x": 2}]},
        {"list": [1, "1"]},
        {"set": ["a", "b"]},
        {"set": {"a"}},
        {"more": None},
        {"list": [1, "1", {"M": {"x": 2}}]},
    ],
)
def test_types_values_and_the_order_of_lists_do_matter(changed: dict[str, Any]) -> None:
    assert payload_hash(PAYLOAD) != payload_hash({**PAYLOAD, **changed})


@pytest.mark.parametrize("value", [1.5, object(), [0.1], {"deep": {"n": 1.0}}])
def test_what_has_no_exact_value_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        payload_hash({"n": value})
