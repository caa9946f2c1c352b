"""DynamoDB's typed values as plain Python values, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from typing import Any, TypeAlias, TypeVar

from itemledger.core.numbers import number_text
from itemledger.errors import ItemLedgerError

Path: TypeAlias = tuple[str | int, ...]
NativeSet: TypeAlias = set[str] | set[Decimal] | set[bytes]
NativeValue: TypeAlias = "str | Decimal | bytes | bool | NativeSet | list[NativeValue] | dict[str, NativeValue] | None"
TypedItem: TypeAlias = Mapping[str, Mapping[str, Any]]
_T = TypeVar("_T")

#: Recorded on AWS: the attribute itself is level 1, so a leaf may lie under 31 lists or maps.
MAX_NESTING_LEVELS = 32


class AttributeValueError(ItemLedgerError, ValueError):
    """Something that is no DynamoDB attribute value; the text has its path and type tags, never the value."""

    def __init__(self, problem: str, path: Path = ()) -> None:
        super().__init__(problem, path)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"attribute {steps.removeprefix('.')} {self.problem}" if steps else f"the value {self.problem}"

    def below(self, step: str | int) -> AttributeValueError:
        """The same fault as seen from the list or map around it."""
        return AttributeValueError(self.problem, (step, *self.path))


def item_to_native(item: TypedItem) -> dict[str, NativeValue]:
    """A typed item's plain values: the boto3 resource's types, but numbers exact at any length and binary as ``bytes``.

    The hot loop of every read: the two commonest types are decided in line, and a path is made up only for an error.
    """
    native: dict[str, NativeValue] = {}
    name = None
    try:
        for name, av in item.items():
            [tag] = av
            value = av[tag]
            if tag == "S" and type(value) is str:
                native[name] = value
            elif tag == "N" and not value.strip(_NUMBER_CHARACTERS):
                native[name] = exactly(value)
            else:
                native[name] = DECODERS[tag](value)
    except FAULTS as fault:
        if name is None:
            raise AttributeValueError(f"is of type {type_of(item)} where a map of attributes belongs") from None
        raise located(fault, av, name) from None
    return native


def to_native(av: Mapping[str, Any]) -> NativeValue:
    """The plain value of one typed value such as ``{"N": "1"}``."""
    try:
        [tag] = av
        return DECODERS[tag](av[tag])
    except FAULTS as fault:
        raise located(fault, av) from None


# What a decoder, or the unpacking of the one tag, raises on malformed input; which of them it was tells nobody a thing.
FAULTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)

# Decimal() also takes NaN, blanks, underscores and foreign digits; none of those can be spelt with these characters.
_NUMBER_CHARACTERS = "0123456789+-.eE"

# The largest precision there is: every digit is kept, and the caller's context has no say in what is refused.
exactly = Context(
    prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, clamp=0, traps=[InvalidOperation, Inexact]
).create_decimal


def located(fault: Exception, av: object, *steps: str | int) -> AttributeValueError:
    located = fault if isinstance(fault, AttributeValueError) else AttributeValueError(_reason(av))
    return located.below(*steps) if steps else located


def _reason(av: object) -> str:
    if not isinstance(av, Mapping):
        return f"is of type {type_of(av)} where a tagged value such as {{'S': …}} belongs"
    tags = [str(tag) for tag in av]
    if not tags:
        return "has no type tag (the SDK empties a value whose tag it does not know)"
    if len(tags) > 1:
        return f"has the tags {', '.join(tags)}; exactly one is legal"
    if tags[0] not in _CONTENTS:
        return f"has the unknown type tag {tags[0]}"
    return f"has the tag {tags[0]}, whose contents must be {_CONTENTS[tags[0]]}; this {type_of(av[tags[0]])} is not"


def type_of(value: object) -> str:
    return type(value).__name__


_CONTENTS = {
    "S": "text",
    "N": "a number as text",
    "B": "bytes",
    "BOOL": "true or false",
    "NULL": "true",
    "SS": "a list of texts, no two alike",
    "NS": "a list of numbers as text, no two alike",
    "BS": "a list of bytes, no two alike",
    "L": "a list of tagged values",
    "M": "a map of tagged values",
}


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def number_of(value: str) -> Decimal:
    """The exact number in the text of an N; raises ValueError or decimal.InvalidOperation for other text."""
    if value.strip(_NUMBER_CHARACTERS):
        raise ValueError
    return exactly(value)


def _binary(value: object) -> bytes:
    if type(value) is bytes:
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise TypeError


def _boolean(value: object) -> bool:
    if value is True or value is False:
        return value
    raise TypeError


def _null(value: object) -> None:
    if value is not True:
        raise ValueError


def _string_set(values: list[Any]) -> set[str]:
    members = set(values)
    "".join(values)  # the quickest proof that every member is a str
    if type(values) is not list or not members or len(members) != len(values):
        raise ValueError
    return members


def _set_of(decode: Callable[[Any], Any]) -> Callable[[Any], set[Any]]:
    def decode_set(values: list[Any]) -> set[Any]:
        members = {decode(value) for value in values}
        if type(values) is not list or not members or len(members) != len(values):
            raise ValueError
        return members

    return decode_set


def _list(values: list[Mapping[str, Any]]) -> list[NativeValue]:
    listed(values)
    native: list[NativeValue] = []
    try:
        for av in values:
            [tag] = av
            value = av[tag]
            if tag == "S" and type(value) is str:
                native.append(value)
            else:
                native.append(DECODERS[tag](value))
    except FAULTS as fault:
        raise located(fault, av, len(native)) from None
    return native


def listed(values: list[Any]) -> list[Any]:
    if type(values) is not list:  # a str would fall apart into its characters
        raise TypeError
    return values


DECODERS: dict[str, Callable[[Any], NativeValue]] = {
    "S": _string,
    "N": number_of,
    "B": _binary,
    "BOOL": _boolean,
    "NULL": _null,
    "SS": _string_set,
    "NS": _set_of(number_of),
    "BS": _set_of(_binary),
    "L": _list,
    "M": item_to_native,
}


def item_from_native(item: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """A typed item from plain values; an AttributeValueError names the attribute that cannot be stored."""
    return each_named(item, lambda value: _encoded(value, 1))


def from_native(value: object) -> dict[str, Any]:
    """The typed value of str, int, Decimal, bytes-like, bool, None, list, tuple, mapping or set; a float is refused."""
    return _encoded(value, 1)


def _encoded(value: object, level: int) -> dict[str, Any]:
    check_level(level)
    if isinstance(value, str):
        return {"S": _utf8(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, float):
        raise AttributeValueError("is a float, which cannot hold every DynamoDB number; use Decimal")
    if isinstance(value, int | Decimal):
        return {"N": _canonical(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"B": bytes(value)}
    if isinstance(value, Mapping):
        return {"M": each_named(value, lambda member: _encoded(member, level + 1))}
    if isinstance(value, list | tuple):
        return {"L": each_of(value, lambda member: _encoded(member, level + 1))}
    if isinstance(value, set | frozenset):
        return _encoded_set(value)
    wrapped = getattr(value, "value", None)  # boto3's Binary, without importing boto3
    if isinstance(wrapped, bytes | bytearray):
        return {"B": bytes(wrapped)}
    raise AttributeValueError(f"is of type {type_of(value)}, for which DynamoDB has none")


def _encoded_set(values: Iterable[object]) -> dict[str, Any]:
    members = [_encoded(value, 1) for value in values]
    tags = {tag for av in members for tag in av}
    if len(tags) != 1 or not tags <= {"S", "N", "B"}:
        problem = f"is a set of the types {', '.join(sorted(tags))}" if tags else "is an empty set"
        raise AttributeValueError(f"{problem}; a set needs one or more texts, numbers or binaries, not mixed")
    [tag] = tags
    plain = [av[tag] for av in members]
    return {f"{tag}S": sorted(plain, key=Decimal) if tag == "N" else sorted(plain)}


def _canonical(value: int | Decimal) -> str:
    try:
        return number_text(Decimal(value))
    except ValueError as problem:
        raise AttributeValueError(f"is not a DynamoDB number: {problem}") from None


def _utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise AttributeValueError("is not valid Unicode text (a lone surrogate)") from None
    return text if type(text) is str else str.__str__(text)


def check_level(level: int) -> None:
    if level > MAX_NESTING_LEVELS:
        raise AttributeValueError(f"is nested deeper than the {MAX_NESTING_LEVELS} levels that DynamoDB keeps")


def each_named(values: object, convert: Callable[[Any], _T]) -> dict[str, _T]:
    if not isinstance(values, Mapping):
        raise AttributeValueError(f"is of type {type_of(values)} where a map of attributes belongs")
    converted = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise AttributeValueError(f"has a name of type {type_of(name)}; attribute names are text")
        try:
            converted[name] = convert(value)
        except AttributeValueError as fault:
            raise fault.below(name) from None
    return converted


def each_of(values: Iterable[Any], convert: Callable[[Any], _T]) -> list[_T]:
    converted: list[_T] = []
    try:
        for value in values:
            converted.append(convert(value))  # no comprehension: its length so far is the index that an error names
    except AttributeValueError as fault:
        raise fault.below(len(converted)) from None
    return converted
