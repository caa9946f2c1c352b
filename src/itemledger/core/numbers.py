"""DynamoDB numbers, exactly: by value, outside Python's decimal context, never through a float."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

#: Significant digits and exponent range of the service (developer guide, "Number").
MAX_DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130
MOST = 10**MAX_DIGITS
MAX_BITS = (10 ** (MAX_EXPONENT + 1)).bit_length()

_CHARACTERS = "0123456789+-.eE"


def parse_number(value: str | int | Decimal) -> Decimal:
    """The number in its one normal form: no trailing zeros, zero is ``Decimal(0)``.

    Raises ValueError for text that is no number, NaN, Infinity, more than 38 significant digits, or a magnitude
    outside 1E-130 … 9.9E+125.
    """
    text = str(value) if type(value) is int and -MOST < value < MOST else value
    if isinstance(text, str) and _is_plain(text):
        return Decimal(text)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ValueError(f"magnitude is outside 1E{MIN_EXPONENT} to 9.9E+{MAX_EXPONENT}")  # before its digits are made
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
    text = str(number)
    return text if _is_plain(text) else format(normalise(number), "f")


def _is_plain(text: str) -> bool:
    """Whether these are digits in normal form already, as most keys are; the long way is for all others."""
    return len(text) <= MAX_DIGITS and text.isascii() and text.isdecimal() and text[-1] != "0" and text[0] != "0"
