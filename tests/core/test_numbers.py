"""Numbers by value: the service's range and digits, one normal form, no float and no decimal context in between."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from itemledger.core.numbers import normalise, number_text, parse_number


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("0.00", "0"),
        ("0E500", "0"),
        ("007", "7"),
        ("+7", "7"),
        ("1.50", "1.5"),
        ("1E3", "1000"),
        ("-1.5e-3", "-0.0015"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1E41", "1" + "0" * 41),
        ("1" + "0" * 100, "1" + "0" * 100),
        ("1E125", "1" + "0" * 125),
        ("9.9999999999999999999999999999999999999E125", "9" * 38 + "0" * 88),
        ("1E-130", "0." + "0" * 129 + "1"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("0.00000000000000000000000000000000000001", "0." + "0" * 37 + "1"),
    ],
)
def test_a_number_is_sent_as_the_service_prints_it(spelling: str, expected: str) -> None:
    assert expected == number_text(parse_number(spelling))
    assert parse_number(expected) == parse_number(spelling)
    assert repr(parse_number(expected)) == repr(parse_number(spelling))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        " 1",
        "1 ",
        "1_000",
        "\uff11",
        "\u0663",
        "NaN",
        "nan",
        "Infinity",
        "-inf",
        "0x10",
        "1,5",
        "1e",
        "--1",
        "1.2.3",
        "one",
    ],
    ids=ascii,
)
def test_a_text_that_is_no_number_to_the_service_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        parse_number(text)


@pytest.mark.parametrize("number", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_refused(number: str) -> None:
    with pytest.raises(ValueError, match="NaN and Infinity"):
        normalise(Decimal(number))


@pytest.mark.parametrize("number", ["1E126", "1E-131", "10E125", "-1E126", "9E-131"])
def test_a_magnitude_outside_the_range_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match="is outside 1E-130 to"):
        parse_number(number)


def test_39_digits_are_refused_and_never_rounded() -> None:
    with pytest.raises(ValueError, match="39 significant digits; DynamoDB keeps 38"):
        parse_number("1" * 39)
    assert "1" * 38 + "0" == number_text(parse_number("1" * 38 + "0"))


def test_a_refusal_does_not_repeat_the_number() -> None:
    for text in ("777777777777777777777777777777777777777", "7654321E200", "7654321x"):
        with pytest.raises(ValueError, match=r".+") as caught:
            parse_number(text)
        assert "7654321" not in str(caught.value)
        assert "77777" not in str(caught.value)


def test_the_decimal_context_of_the_caller_decides_nothing() -> None:
    digits = "12345678901234567890123456789012345678"
    with localcontext() as context:
        context.prec = 3
        assert digits == number_text(parse_number(digits))
        assert digits == number_text(parse_number(int(digits)))
        assert digits + "0" == number_text(parse_number(Decimal(digits + "0")))


def test_a_large_int_is_exact() -> None:
    assert "1" + "0" * 30 == number_text(parse_number(10**30))
