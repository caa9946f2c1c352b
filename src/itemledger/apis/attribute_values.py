"""DynamoDB's typed values as plain Python values and back, as DynamoDB-JSON, and as one line of ordinary JSON."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from typing import Any, TypeAlias, TypeVar

from itemledger.core.numbers import MAX_EXPONENT, MIN_EXPONENT, number_text
from itemledger.errors import ItemLedgerError

Path: TypeAlias = tuple[str | int, ...]
NativeSet: TypeAlias = set[str] | set[Decimal] | set[bytes]
NativeValue: TypeAlias = "str | Decimal | bytes | bool | NativeSet | list[NativeValue] | dict[str, NativeValue] | None"
JsonValue: TypeAlias = "str | int | Decimal | bool | list[JsonValue] | dict[str, JsonValue] | None"
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
                native[name] = _exactly(value)
            else:
                native[name] = _DECODERS[tag](value)
    except _FAULTS as fault:
        if name is None:
            raise AttributeValueError(f"is of type {_type(item)} where a map of attributes belongs") from None
        raise _located(fault, av, name) from None
    return native


def to_native(av: Mapping[str, Any]) -> NativeValue:
    """The plain value of one typed value such as ``{"N": "1"}``."""
    try:
        [tag] = av
        return _DECODERS[tag](av[tag])
    except _FAULTS as fault:
        raise _located(fault, av) from None


# What a decoder, or the unpacking of the one tag, raises on malformed input; which of them it was tells nobody a thing.
_FAULTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)

# Decimal() also takes NaN, blanks, underscores and foreign digits; none of those can be spelt with these characters.
_NUMBER_CHARACTERS = "0123456789+-.eE"

# The largest precision there is: every digit is kept, and the caller's context has no say in what is refused.
_exactly = Context(
    prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, clamp=0, traps=[InvalidOperation, Inexact]
).create_decimal


def _located(fault: Exception, av: object, *steps: str | int) -> AttributeValueError:
    located = fault if isinstance(fault, AttributeValueError) else AttributeValueError(_reason(av))
    return located.below(*steps) if steps else located


def _reason(av: object) -> str:
    if not isinstance(av, Mapping):
        return f"is of type {_type(av)} where a tagged value such as {{'S': …}} belongs"
    tags = [str(tag) for tag in av]
    if not tags:
        return "has no type tag (the SDK empties a value whose tag it does not know)"
    if len(tags) > 1:
        return f"has the tags {', '.join(tags)}; exactly one is legal"
    if tags[0] not in _CONTENTS:
        return f"has the unknown type tag {tags[0]}"
    return f"has the tag {tags[0]}, whose contents must be {_CONTENTS[tags[0]]}; this {_type(av[tags[0]])} is not"


def _type(value: object) -> str:
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
    return _exactly(value)


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
    _listed(values)
    native: list[NativeValue] = []
    try:
        for av in values:
            [tag] = av
            value = av[tag]
            if tag == "S" and type(value) is str:
                native.append(value)
            else:
                native.append(_DECODERS[tag](value))
    except _FAULTS as fault:
        raise _located(fault, av, len(native)) from None
    return native


def _listed(values: list[Any]) -> list[Any]:
    if type(values) is not list:  # a str would fall apart into its characters
        raise TypeError
    return values


_DECODERS: dict[str, Callable[[Any], NativeValue]] = {
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
    return _each_named(item, lambda value: _encoded(value, 1))


def from_native(value: object) -> dict[str, Any]:
    """The typed value of str, int, Decimal, bytes-like, bool, None, list, tuple, mapping or set; a float is refused."""
    return _encoded(value, 1)


def _encoded(value: object, level: int) -> dict[str, Any]:
    _check_level(level)
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
        return {"M": _each_named(value, lambda member: _encoded(member, level + 1))}
    if isinstance(value, list | tuple):
        return {"L": _each(value, lambda member: _encoded(member, level + 1))}
    if isinstance(value, set | frozenset):
        return _encoded_set(value)
    wrapped = getattr(value, "value", None)  # boto3's Binary, without importing boto3
    if isinstance(wrapped, bytes | bytearray):
        return {"B": bytes(wrapped)}
    raise AttributeValueError(f"is of type {_type(value)}, for which DynamoDB has none")


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


def _check_level(level: int) -> None:
    if level > MAX_NESTING_LEVELS:
        raise AttributeValueError(f"is nested deeper than the {MAX_NESTING_LEVELS} levels that DynamoDB keeps")


def _each_named(values: object, convert: Callable[[Any], _T]) -> dict[str, _T]:
    if not isinstance(values, Mapping):
        raise AttributeValueError(f"is of type {_type(values)} where a map of attributes belongs")
    converted = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise AttributeValueError(f"has a name of type {_type(name)}; attribute names are text")
        try:
            converted[name] = convert(value)
        except AttributeValueError as fault:
            raise fault.below(name) from None
    return converted


def _each(values: Iterable[Any], convert: Callable[[Any], _T]) -> list[_T]:
    converted: list[_T] = []
    try:
        for value in values:
            converted.append(convert(value))  # no comprehension: its length so far is the index that an error names
    except AttributeValueError as fault:
        raise fault.below(len(converted)) from None
    return converted


def typed_to_json(item: TypedItem) -> dict[str, dict[str, Any]]:
    """A typed item as DynamoDB-JSON: nothing is lost, binary becomes base64 text, everything else stays as it is."""
    return _each_named(item, lambda av: _recoded(av, _leaf_to_json, 1))


def typed_from_json(item: object) -> dict[str, dict[str, Any]]:
    """The typed item in parsed DynamoDB-JSON; an AttributeValueError names what is not well-formed."""
    return _each_named(item, lambda av: _recoded(av, _leaf_from_json, 1))


def _recoded(av: Mapping[str, Any], leaf: Callable[[str, Any], Any], level: int) -> dict[str, Any]:
    _check_level(level)
    try:
        [tag] = av
        value = av[tag]
        if tag == "M":
            return {tag: _each_named(value, lambda member: _recoded(member, leaf, level + 1))}
        if tag == "L":
            return {tag: _each(_listed(value), lambda member: _recoded(member, leaf, level + 1))}
        return {tag: leaf(tag, value)}
    except _FAULTS as fault:
        raise _located(fault, av) from None


def _leaf_to_json(tag: str, value: Any) -> Any:
    _DECODERS[tag](value)  # what is malformed is not passed on
    if tag == "B":
        return _base64(value)
    return [_base64(member) for member in value] if tag == "BS" else value


def _leaf_from_json(tag: str, value: Any) -> Any:
    try:
        if tag == "B":
            value = b64decode(value, validate=True)
        elif tag == "BS":
            value = [b64decode(member, validate=True) for member in _listed(value)]
    except (ValueError, TypeError):
        raise AttributeValueError(f"has the tag {tag}, but its contents are not base64 text") from None
    _DECODERS[tag](value)
    return value


def _base64(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def native_to_json_text(item: Mapping[str, Any]) -> str:
    """A native item as one line of JSON for people and pipelines: exact numbers, base64 binary, sets as sorted lists.

    It cannot be turned back into a typed item (a set looks like a list, binary like text); ``typed_to_json`` can.
    json.dumps cannot write a Decimal as a number with all its digits, hence a writer of our own.
    """
    text = _json_map(item)
    if text.isascii():
        return text
    # Lone surrogates have no encoding and become escapes; the other three would end the line for some readers.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def _json(value: object) -> str:
    writer = _JSON_WRITERS.get(type(value))
    if writer is None:
        raise AttributeValueError(f"is of type {_type(value)}, which no read returns")
    return writer(value)


_quoted = json.JSONEncoder(ensure_ascii=False).encode


def _json_map(values: Mapping[str, object]) -> str:
    members = [f"{_quoted(name)}:{text}" for name, text in _each_named(values, _json).items()]
    return f"{{{','.join(members)}}}"


def _json_list(values: Iterable[object]) -> str:
    return f"[{','.join(_each(values, _json))}]"


def _json_number(value: Decimal) -> str:
    text = str(value)
    if text.isdecimal():
        return text
    if not value.is_finite():
        raise AttributeValueError("is NaN or Infinity, which neither JSON nor DynamoDB has")
    if not MIN_EXPONENT <= value.adjusted() <= MAX_EXPONENT:
        return text  # none of DynamoDB's numbers, and its plain form could be of any length
    plain = format(value, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain == "-0" else plain


_JSON_WRITERS: dict[type, Callable[[Any], str]] = {
    str: _quoted,
    Decimal: _json_number,
    int: int.__repr__,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): lambda _: "null",
    bytes: lambda value: f'"{_base64(value)}"',
    set: lambda value: _json_list(sorted(value)),
    list: _json_list,
    dict: _json_map,
}


def json_loads_exact(text: str | bytes) -> JsonValue:
    """Parsed JSON whose numbers are int or Decimal with every digit; a name given twice in one object is refused."""
    try:
        value: JsonValue = json.loads(
            text, parse_float=_exactly, parse_constant=_no_constant, object_pairs_hook=_unique_names
        )
    except AttributeValueError:
        raise
    except json.JSONDecodeError as error:
        raise AttributeValueError(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, ArithmeticError, RecursionError) as error:  # bytes that are no text, endless digits or depth
        raise AttributeValueError(f"is not JSON that can be read: {type(error).__name__}") from None
    return value


def _no_constant(name: str) -> None:
    raise AttributeValueError(f"has {name}, which JSON does not know")


def _unique_names(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise AttributeValueError(f"has the name {twice} twice in one object")
    return members
