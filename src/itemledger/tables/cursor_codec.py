"""A cursor's two spellings: a last key as bytes, type by type, and bytes as text that fits into a URL."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, TypeAlias

from itemledger.core.numbers import parse_number
from itemledger.errors import ManifestError

#: An ExclusiveStartKey as boto3's client takes it. Numbers stay the text that the service gave.
StartKey: TypeAlias = dict[str, dict[str, Any]]

#: Four partition and four sort attributes of an index, and the two of its table (developer guide, "Multi-attribute
#: keys"); names of 255 characters (service model 2012-08-10, KeySchemaAttributeName), each at most four bytes;
#: partition key values of 2,048 bytes, and shorter ones of sort keys (developer guide, "Primary keys").
MOST_ATTRIBUTES = 10
MOST_NAME_CHARACTERS = 255
MOST_VALUE_BYTES = 2048

_SIZE_BYTES = 2
MOST_KEY_BYTES = MOST_ATTRIBUTES * (2 * _SIZE_BYTES + 4 * MOST_NAME_CHARACTERS + 1 + MOST_VALUE_BYTES)


def key_to_bytes(key: object) -> bytes:
    """Equal keys give equal bytes, whatever their order. Raises ManifestError for what is no key, without its values.

    Attribute by attribute, sorted by name: size and name, the type's letter, size and value. A size has two bytes,
    the most significant first.
    """
    if not isinstance(key, Mapping) or not 1 <= len(key) <= MOST_ATTRIBUTES:
        raise ManifestError(
            f"a last key has 1 to {MOST_ATTRIBUTES} typed attributes, as in LastEvaluatedKey; this one is of type "
            f"{type(key).__name__}" + (f" and has {len(key)}" if isinstance(key, Mapping) else "")
        )
    for name in key:
        if not isinstance(name, str) or not 1 <= len(name) <= MOST_NAME_CHARACTERS:
            raise ManifestError(f"the name of a key's attribute is a text of 1 to {MOST_NAME_CHARACTERS} characters")
    return b"".join(_sized(_utf8(name, name)) + _attribute(name, key[name]) for name in sorted(key))


def key_from_bytes(data: bytes) -> StartKey | None:
    """``None`` for bytes that ``key_to_bytes`` does not write."""
    key: StartKey = {}
    at = 0
    try:
        while at < len(data):
            name, at = _cut(data, at)
            letter = data[at : at + 1].decode()
            value, at = _cut(data, at + 1)
            key[name.decode()] = {letter: value if letter == "B" else value.decode()}
        return key if key_to_bytes(key) == data else None
    except ValueError:  # no UTF-8, or no key
        return None


def to_text(data: bytes) -> str:
    """Base64 in the alphabet for URLs (RFC 4648, 5), without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def from_text(text: str) -> bytes | None:
    """``None`` for any text that ``to_text`` does not make: with padding, another alphabet, stray last bits."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return data if to_text(data) == text else None


def _attribute(name: str, typed: object) -> bytes:
    if not isinstance(typed, Mapping) or len(typed) != 1:
        raise ManifestError(f"key attribute {name!r} must be typed: one of {{'S': …}}, {{'N': …}}, {{'B': …}}")
    [(letter, value)] = typed.items()
    data: bytes
    match letter, value:
        case "S", str():
            data = _utf8(name, value)
        case "N", str():
            data = _number(name, value)
        case "B", bytes() | bytearray() | memoryview():
            data = bytes(value)
        case _:
            raise ManifestError(
                f"key attribute {name!r} has a {type(value).__name__} where S and N hold text and B holds bytes"
            )
    if not 1 <= len(data) <= MOST_VALUE_BYTES:
        raise ManifestError(f"key attribute {name!r} has {len(data):,} bytes; a key's have 1 to {MOST_VALUE_BYTES:,}")
    return str(letter).encode() + _sized(data)


def _number(name: str, text: str) -> bytes:
    try:
        parse_number(text)
    except ValueError as problem:
        raise ManifestError(f"key attribute {name!r} is no DynamoDB number: {problem}") from None
    return text.encode()


def _utf8(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ManifestError(f"key attribute {name!r} is not valid Unicode text (a lone surrogate)") from None


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(_SIZE_BYTES) + data


def _cut(data: bytes, at: int) -> tuple[bytes, int]:
    start = at + _SIZE_BYTES
    end = start + int.from_bytes(data[at:start])
    return data[start:end], end
