"""Items as JSON: DynamoDB-JSON, which loses nothing, and one line of ordinary JSON with exact numbers."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from itemledger.apis.attribute_values import (
    DECODERS,
    FAULTS,
    AttributeValueError,
    TypedItem,
    check_level,
    each_named,
    each_of,
    exactly,
    listed,
    located,
    type_of,
)
from itemledger.core.numbers import MAX_EXPONENT, MIN_EXPONENT

JsonValue: TypeAlias = "str | int | Decimal | bool | list[JsonValue] | dict[str, JsonValue] | None"


def typed_to_json(item: TypedItem) -> dict[str, dict[str, Any]]:
    """A typed item as DynamoDB-JSON: nothing is lost, binary becomes base64 text, everything else stays as it is."""
    return each_named(item, lambda av: _recoded(av, _leaf_to_json, 1))


def typed_from_json(item: object) -> dict[str, dict[str, Any]]:
    """The typed item in parsed DynamoDB-JSON; an AttributeValueError names what is not well-formed.

    Binary is base64 text there; bytes, as boto3's own shape has them, are taken as they are.
    """
    return each_named(item, lambda av: _recoded(av, _leaf_from_json, 1))


def _recoded(av: Mapping[str, Any], leaf: Callable[[str, Any], Any], level: int) -> dict[str, Any]:
    check_level(level)
    try:
        [tag] = av
        value = av[tag]
        if tag == "M":
            return {tag: each_named(value, lambda member: _recoded(member, leaf, level + 1))}
        if tag == "L":
            return {tag: each_of(listed(value), lambda member: _recoded(member, leaf, level + 1))}
        return {tag: leaf(tag, value)}
    except FAULTS as fault:
        raise located(fault, av) from None


def _leaf_to_json(tag: str, value: Any) -> Any:
    DECODERS[tag](value)  # what is malformed is not passed on
    if tag == "B":
        return _base64(value)
    return [_base64(member) for member in value] if tag == "BS" else value


def _leaf_from_json(tag: str, value: Any) -> Any:
    try:
        if tag == "B":
            value = _from_base64(value)
        elif tag == "BS":
            value = [_from_base64(member) for member in listed(value)]
    except (ValueError, TypeError):
        raise AttributeValueError(f"has the tag {tag}, but its contents are not base64 text") from None
    DECODERS[tag](value)
    return value


def _base64(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def _from_base64(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b64decode(value, validate=True)


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
        raise AttributeValueError(f"is of type {type_of(value)}, which no read returns")
    return writer(value)


_quoted = json.JSONEncoder(ensure_ascii=False).encode


def _json_map(values: Mapping[str, object]) -> str:
    members = [f"{_quoted(name)}:{text}" for name, text in each_named(values, _json).items()]
    return f"{{{','.join(members)}}}"


def _json_list(values: Iterable[object]) -> str:
    return f"[{','.join(each_of(values, _json))}]"


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
            text, parse_float=exactly, parse_constant=_no_constant, object_pairs_hook=_unique_names
        )
    except AttributeValueError:
        raise
    except json.JSONDecodeError as error:
        raise AttributeValueError(
            f"is not JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}"
        ) from None
    except UnicodeDecodeError:
        raise AttributeValueError("is not JSON: its bytes are no UTF-8 text") from None
    except RecursionError:
        raise AttributeValueError("is nested too deeply") from None
    except (ValueError, ArithmeticError):
        raise AttributeValueError("has a number with too many digits or out of range") from None
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
