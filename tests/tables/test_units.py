"""Sizes and units carry how far they may be off, and add up exactly."""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

import pytest

from itemledger.apis.item_size import item_size
from itemledger.errors import ManifestError
from itemledger.tables.units import Size, Units, figure, measured, total_size, units_for


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ({"S": "12"}, 0),
        ({"N": "12"}, 1),
        ({"NS": ["1", "2", "3"]}, 3),
        ({"SS": ["1", "2"]}, 0),
        ({"BOOL": True}, 0),
        ({"L": [{"N": "1"}, {"S": "a"}, {"L": [{"N": "2"}]}]}, 2),
        ({"M": {"N": {"N": "1"}, "L": {"NS": ["1", "2"]}, "M": {"M": {"x": {"N": "4"}}}}}, 4),
    ],
)
def test_each_number_of_an_item_may_be_a_byte_off(value: dict[str, Any], numbers: int) -> None:
    item = {"pk": {"S": "a"}, "v": value}
    assert Size(item_size(item), numbers) == measured(item, item_size)


def test_a_size_has_bounds_and_none_is_below_zero() -> None:
    assert (90, 110) == (Size(100, 10).least_bytes, Size(100, 10).most_bytes)
    assert 0 == Size(1, 3).least_bytes
    assert Size(130, 11) == total_size([Size(100, 10), Size(30, 1)]) == Size(100, 10).plus(Size(30, 1))
    assert Size(0) == total_size([])


@pytest.mark.parametrize("bad", [-1, 1.5, True, None])
def test_a_size_is_a_whole_number_of_bytes(bad: Any) -> None:
    with pytest.raises(ManifestError, match="size_bytes must be a whole number"):
        Size(bad)
    with pytest.raises(ManifestError, match="slack_bytes must be a whole number"):
        Size(1, bad)


@pytest.mark.parametrize(
    ("size", "units"),
    [
        (Size(0), ("1", "1", "1")),
        (Size(4096), ("1", "1", "1")),
        (Size(4097), ("2", "2", "2")),
        (Size(4096, 1), ("1", "1", "2")),
        (Size(4097, 1), ("2", "1", "2")),
        (Size(4098, 1), ("2", "2", "2")),
    ],
)
def test_units_are_open_where_a_byte_would_flip_them(size: Size, units: tuple[str, str, str]) -> None:
    computed = units_for(size, 4096, Decimal(1))
    assert Units(*map(Decimal, units)) == computed
    assert (units[1] == units[2]) is computed.certain


def test_units_say_so_in_words_too() -> None:
    assert "2 (1 to 2)" == str(units_for(Size(4097, 1), 4096, Decimal(1)))
    assert "0.5" == str(units_for(Size(1), 4096, Decimal("0.5")))


def test_what_lies_between_the_bounds_is_allowed() -> None:
    units = Units(Decimal(2), Decimal(1), Decimal(3))
    assert [False, True, True, True, False] == [units.admits(Decimal(n)) for n in ("0.5", "1", "1.5", "3", "3.5")]


def test_sums_are_exact_whatever_the_callers_decimal_context() -> None:
    many = Units.exactly(Decimal("123456789.5"))
    with decimal.localcontext(decimal.Context(prec=2)):
        assert Units.exactly(Decimal("246913579")) == many.plus(many) == many.times(2)


def test_a_mean_is_in_cents_and_its_bounds_are_rounded_outwards() -> None:
    assert Units(Decimal("0.67"), Decimal("0.33"), Decimal("1.34")) == Units(Decimal(2), Decimal(1), Decimal(4)).mean(
        3
    ).plus(Units.exactly(0))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "0"),
        ("100", "100"),
        ("1E+3", "1,000"),
        ("127.50", "127.5"),
        ("1234567.25", "1,234,567.25"),
        ("0.5", "0.5"),
    ],
)
def test_figures_are_plain(number: str, text: str) -> None:
    assert text == figure(Decimal(number))
