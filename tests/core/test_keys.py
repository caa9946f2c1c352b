"""Keys by value: every spelling of one key is one Python value, and what is no key is refused with its position."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any

import pytest

from itemledger.core.keys import KeySchema, KeyType, canonical_part, read_part
from itemledger.errors import ManifestError


class Colour(StrEnum):
    RED = "red"


class OldColour(str, Enum):  # noqa: UP042  # the older way to write it, whose str() is "OldColour.RED"
    RED = "red"


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("spelling", [Colour.RED, OldColour.RED, Text("red")], ids=lambda text: type(text).__name__)
def test_a_text_of_a_class_of_its_own_is_the_text_it_holds(spelling: str) -> None:
    part = canonical_part(spelling)
    assert "red" == part
    assert str is type(part)


def refusal(key: object, names: Any = "pk") -> str:
    """What the schema says of something that is no key; its position is always told, its value never."""
    with pytest.raises(ManifestError) as caught:
        KeySchema.of(names).canonical(key, 4)
    assert (4,) == caught.value.positions
    assert "position 4" in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (1.5, "is a float"),
        (True, "is a bool"),
        (None, "is a NoneType"),
        ({"secret"}, "is a set"),
        ("", "is empty"),
        (b"", "is empty"),
        (Decimal("NaN"), "is not a DynamoDB number"),
        (10**126, "is not a DynamoDB number"),
        ("secret\ud800", "lone surrogate"),
        ({"pk": {"S": "secret", "N": "1"}}, "no AttributeValue of one tag"),
        ({"pk": {"BOOL": True}}, "no AttributeValue of one tag"),
        ({"pk": {"S": 1}}, "no AttributeValue of one tag"),
        ({"other": "secret"}, "lacks the attribute 'pk'"),
        ({"pk": "secret", "other": "secret"}, "has 'other' beside the table's key attributes"),
        (("secret", "secret"), "has 2 parts, but the table's key has 1"),
        ((), "has 0 parts"),
    ],
    ids=ascii,
)
def test_what_is_no_key_is_refused_with_its_position_and_the_reason(key: object, says: str) -> None:
    assert says in refusal(key)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("secret", "is a single str, but the table's key has two attributes"),
        (("secret",), "has 1 parts, but the table's key has 2"),
        ({"pk": "secret"}, "lacks the attribute 'sk'"),
        (("secret", 1.5), "attribute 'sk' is a float"),
        (("secret", ""), "attribute 'sk' is empty"),
    ],
    ids=str,
)
def test_what_is_no_composite_key_is_refused(key: object, says: str) -> None:
    assert says in refusal(key, ("pk", "sk"))


@pytest.mark.parametrize(("index", "most"), [(0, 2048), (1, 1024)])
@pytest.mark.parametrize("part", ["é", b"xx"], ids=["text", "binary"])
def test_a_key_value_is_as_long_as_the_service_allows_in_bytes(index: int, most: int, part: str | bytes) -> None:
    key: list[Any] = ["p", "s"]
    key[index] = part * (most // 2)
    assert tuple(key) == KeySchema.of(("pk", "sk")).canonical(tuple(key), 4)
    key[index] = part * (most // 2 + 1)
    assert f"has {most + 2} bytes; DynamoDB allows {most}" in refusal(tuple(key), ("pk", "sk"))


@pytest.mark.parametrize(
    "names",
    ["", (), ("a", "a"), ("a", "b", "c"), {"a": "X"}, {"a": "s"}, {"a"}, b"pk", ("", "b"), (1,), [None], 5],
    ids=repr,
)
def test_what_names_no_key_is_refused(names: Any) -> None:
    with pytest.raises(ManifestError, match="key="):
        KeySchema.of(names)


def test_the_names_of_a_key_keep_their_order() -> None:
    assert (("zz", "aa"), (KeyType.N, KeyType.S)) == (
        KeySchema.of({"zz": "N", "aa": "S"}).names,
        KeySchema.of({"zz": "N", "aa": "S"}).types,
    )
    assert (None,) == KeySchema.of("pk").types


def test_one_value_in_three_types_is_three_keys() -> None:
    assert 3 == len({canonical_part("1"), canonical_part(1), canonical_part(b"1")})


@pytest.mark.parametrize(
    ("typed", "part"),
    [
        ({"S": "a"}, "a"),
        ({"N": "1E1"}, Decimal(10)),
        ({"B": bytearray(b"a")}, b"a"),
        ({"N": 1}, None),
        ({"N": "x"}, None),
        ({"S": b"a"}, None),
        ({"B": "YQ=="}, None),
        ({"SS": ["a"]}, None),
        ({"S": "a", "N": "1"}, None),
        ({}, None),
        (None, None),
        ("a", None),
    ],
    ids=str,
)
def test_an_attribute_value_is_read_only_in_its_documented_form(typed: object, part: object) -> None:
    assert part == read_part(typed)


def test_a_table_that_was_not_looked_at_has_the_shape_of_the_caller_s_key() -> None:
    assert ("partition key",) == KeySchema.unknown("A").names
    assert ("partition key", "sort key") == KeySchema.unknown(("A", 1)).names
    assert not KeySchema.unknown(("A", 1)).guessed
    assert ("sk", "pk") == KeySchema.unknown({"sk": 1, "pk": "A"}).names
    assert KeySchema.unknown({"sk": 1, "pk": "A"}).guessed
    assert not KeySchema.of(("sk", "pk")).guessed
