"""DynamoDB numbers, exactly: by value, outside Python's decimal context, never through a float."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

#: Significant digits and exponent range of the service (developer guide, "Number").
MAX_DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130

_CHARACTERS = "0123456789+-.eE"


def parse_number(value: str | int | Decimal) -> Decimal:
    """The number in its one normal form: no trailing zeros, zero is ``Decimal(0)``.

    Raises ValueError for text that is no number, NaN, Infinity, more than 38 significant digits, or a magnitude
    outside 1E-130 … 9.9E+125.
    """
    if isinstance(value, str) and value.strip(_CHARACTERS):
        raise ValueError("not a number")  # Decimal() also takes blanks, underscores and foreign digits
    try:
        number = Decimal(value)  # the constructor is exact; only arithmetic would use the context
    except InvalidOperation:
        raise ValueError("not a number") from None
    return normalise(number)


def normalise(number: Decimal) -> Decimal:
    """The same value without trailing zeros; raises ValueError outside the service's range."""
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("NaN and Infinity are not DynamoDB numbers")
    text = "".join(map(str, digits)).lstrip("0")
    significant = text.rstrip("0")
    if not significant:
        return Decimal(0)
    exponent += len(text) - len(significant)
    if len(significant) > MAX_DIGITS:
        raise ValueError(f"{len(significant)} significant digits; DynamoDB keeps {MAX_DIGITS}")
    leading = exponent + len(significant) - 1
    if not MIN_EXPONENT <= leading <= MAX_EXPONENT:
        raise ValueError(f"magnitude 1E{leading:+d} is outside 1E{MIN_EXPONENT} to 9.9E+{MAX_EXPONENT}")
    return Decimal((sign, tuple(map(int, significant)), exponent))


def number_text(number: Decimal) -> str:
    """The number as the service stores and returns it: plain digits, no exponent, no plus, no trailing zeros."""
    return format(normalise(number), "f")
