"""Prices are exact, and only the caller's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from itemledger.errors import ManifestError
from itemledger.tables.prices import PriceRange, UnitPrice
from itemledger.tables.units import Units

PRICE = UnitPrice(Decimal("0.125"))


def test_a_million_calls_cost_their_units_times_the_price_of_a_million_units() -> None:
    found = PRICE.of_million_calls(Units.exactly(Decimal("127.5")))
    assert PriceRange(Decimal("15.9375"), Decimal("15.9375"), Decimal("15.9375")) == found
    assert "15.9375" == str(found)


def test_open_units_make_an_open_price() -> None:
    found = PRICE.of_million_calls(Units(Decimal(2), Decimal(1), Decimal(4)))
    assert PriceRange(Decimal("0.25"), Decimal("0.125"), Decimal("0.5")) == found
    assert "0.25 (0.125 to 0.5)" == str(found)


def test_no_digit_of_a_price_is_rounded_away() -> None:
    price = UnitPrice(Decimal("0.12345678901234567890123456789012345"))
    assert price.per_million_units.scaleb(-6) * Decimal("0.5") != price.of(Decimal("0.5"))  # 28 digits do not hold it
    assert Decimal("6.1728394506172839450617283945061725E-8") == price.of(Decimal("0.5"))


@pytest.mark.parametrize("bad", [0.125, 1, "0.5", None])
def test_a_price_is_a_decimal(bad: Any) -> None:
    with pytest.raises(ManifestError, match="a price must be a Decimal"):
        UnitPrice(bad)


@pytest.mark.parametrize("bad", ["-1", "NaN", "Infinity"])
def test_a_price_is_a_number_and_not_negative(bad: str) -> None:
    with pytest.raises(ManifestError, match="a price must be a number"):
        UnitPrice(Decimal(bad))
