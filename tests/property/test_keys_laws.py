"""Key equality is DynamoDB's: by value inside a type, never across types; and every key survives the wire exactly."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from itemledger.core.keys import KeyPart, KeySchema, canonical_part, part_type, read_part, typed_part
from itemledger.core.manifest import ManifestBuilder
from itemledger.core.numbers import MAX_DIGITS, number_text, parse_number
from itemledger.core.ranges import from_ranges, to_ranges
from itemledger.core.terms import Settings
from itemledger.errors import ManifestError
from tests.property.strategies import number_texts, numbers, parts, spellings


def value_of(part: KeyPart) -> tuple[str, object]:
    """What DynamoDB compares: the type, and the value; a number as an exact fraction."""
    if isinstance(part, Decimal):
        return "N", Fraction(part)
    return ("S", part) if isinstance(part, str) else ("B", part)


@given(parts, parts)
def test_two_keys_are_equal_when_dynamodb_says_so(one: KeyPart, other: KeyPart) -> None:
    same = value_of(one) == value_of(other)
    first, second = canonical_part(one), canonical_part(other)
    assert same == (first == second)
    assert not same or hash(first) == hash(second)


@given(st.data(), parts)
def test_every_spelling_of_a_key_is_the_same_python_value(data: st.DataObject, part: KeyPart) -> None:
    schema = KeySchema.of("pk")
    first = schema.canonical({"pk": data.draw(spellings(part))}, 0)
    assert schema.canonical(part, 0) == first
    assert value_of(part) == value_of(first)  # type: ignore[arg-type]  # the key has one part
    assert repr(schema.canonical(part, 0)) == repr(first)  # one form, so hashes and texts agree too


@given(parts)
def test_a_key_survives_the_wire(part: KeyPart) -> None:
    canonical = canonical_part(part)
    assert canonical == read_part(typed_part(canonical))
    assert part_type(canonical) == next(iter(typed_part(canonical)))


@given(numbers())
def test_a_number_is_sent_as_plain_digits_of_its_exact_value(number: Decimal) -> None:
    text = number_text(parse_number(number))
    assert Fraction(number) == Fraction(text)
    assert re.fullmatch(r"0|-?(0|[1-9]\d*)(\.\d*[1-9])?", text)


@given(st.data(), numbers())
def test_a_number_is_read_exactly_from_any_spelling(data: st.DataObject, number: Decimal) -> None:
    assert Fraction(number) == Fraction(parse_number(data.draw(number_texts(number))))


@given(st.text("0123456789", min_size=39, max_size=60), st.integers(-20, 20))
def test_more_digits_than_dynamodb_keeps_are_refused_and_never_rounded(digits: str, exponent: int) -> None:
    significant = digits.strip("0")
    assume(significant)
    if len(significant) > MAX_DIGITS:
        with pytest.raises(ValueError, match="significant digits"):
            parse_number(f"{digits}E{exponent}")
    else:
        assert Fraction(Decimal(f"{digits}E{exponent}")) == Fraction(parse_number(f"{digits}E{exponent}"))


anything: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.decimals(),
    st.text(),
    st.binary(),
    st.integers(),
    st.lists(st.text(), max_size=3),
    st.tuples(st.text(), st.text()),
    st.dictionaries(st.sampled_from(["pk", "sk", "S", "N"]), st.one_of(st.text(), st.floats(), st.none())),
    st.dictionaries(st.just("pk"), st.dictionaries(st.sampled_from("SNB"), st.one_of(st.text(), st.integers()))),
    st.sets(st.integers()),
)


@settings(max_examples=200)
@given(st.sampled_from(["pk", ("pk", "sk"), {"pk": "N"}, {"pk": "S", "sk": "B"}]), anything)
def test_whatever_is_no_key_is_a_manifest_error_with_its_position(names: Any, key: object) -> None:
    schema = KeySchema.of(names)
    refusal = None
    try:
        canonical = schema.canonical(key, 7)
    except ManifestError as error:
        refusal = error
    if refusal is not None:
        assert (7,) == refusal.positions
        assert "position 7" in str(refusal)
        return
    assert canonical == schema.canonical(schema.typed(canonical), 7)
    hash(canonical)


@settings(max_examples=200)
@given(
    st.recursive(
        st.one_of(st.none(), st.text(), st.binary(), st.integers(), st.floats()),
        lambda inner: st.dictionaries(st.sampled_from(["S", "N", "B", "pk"]), inner),
        max_leaves=4,
    )
)
def test_whatever_a_row_carries_is_a_key_or_none(value: object) -> None:
    part = read_part(value)
    assert part is None or part == read_part(typed_part(part))


@given(st.data(), st.lists(parts.map(canonical_part), min_size=1, max_size=8))
def test_a_duplicate_by_value_is_found_at_both_positions(data: st.DataObject, keys: list[KeyPart]) -> None:
    kind = part_type(keys[0])
    keys = [key for key in keys if part_type(key) is kind]
    spelled = [{"pk": data.draw(spellings(key))} for key in keys]
    builder = ManifestBuilder()
    seen: dict[tuple[str, object], int] = {}
    expected = None
    for position, key in enumerate(keys):
        if value_of(key) in seen and expected is None:
            expected = (seen[value_of(key)], position)
        seen.setdefault(value_of(key), position)
    if expected is None:
        builder.add(Settings("T", KeySchema.of("pk")), spelled)
        assert keys == [*builder.build().keys]
    else:
        with pytest.raises(ManifestError) as caught:
            builder.add(Settings("T", KeySchema.of("pk")), spelled)
        assert expected == caught.value.positions


@given(st.data(), st.lists(parts.map(canonical_part), min_size=1, max_size=8))
def test_folding_gives_every_position_the_slot_of_its_value(data: st.DataObject, keys: list[KeyPart]) -> None:
    kind = part_type(keys[0])
    keys = [key for key in keys if part_type(key) is kind]
    builder = ManifestBuilder(fold_duplicates=True)
    builder.add(Settings("T", KeySchema.of("pk")), [{"pk": data.draw(spellings(key))} for key in keys])
    manifest = builder.build()
    (part,) = manifest.parts
    order = list(dict.fromkeys(map(value_of, keys)))
    assert order == [value_of(key) for key in manifest.keys]  # type: ignore[arg-type]  # the key has one part
    places = range(len(keys)) if part.input_positions is None else part.input_positions
    assert [order.index(value_of(key)) for key in keys] == [*places]


@given(st.lists(st.integers(0, 30), max_size=20))
def test_ranges_read_back_as_they_were(positions: list[int]) -> None:
    assert positions == [*from_ranges(to_ranges(positions))]


@given(st.sets(st.integers(0, 300)))
def test_ranges_of_ascending_positions_are_as_short_as_can_be(positions: set[int]) -> None:
    runs = sum(position - 1 not in positions for position in positions)
    assert runs == len(to_ranges(sorted(positions)))
