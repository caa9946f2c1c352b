"""The hash of an item by value: what a hold record keeps in the item's place."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal

from itemledger.core.result import Item


def item_hash(item: Item) -> str:
    """SHA-256 over an item by value: attribute order and the spelling of numbers do not matter, types do."""
    text = json.dumps(_tagged(item), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _tagged(value: object) -> object:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Decimal):
        return {"N": _exact(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"B": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {"M": {name: _tagged(member) for name, member in value.items()}}
    if isinstance(value, list | tuple):
        return [_tagged(member) for member in value]
    if isinstance(value, set | frozenset):
        return {"set": sorted(map(_tagged, value), key=repr)}
    raise TypeError(f"an item holds a {type(value).__name__}")


def _exact(number: Decimal) -> str:
    """One text per value, also beyond DynamoDB's range: what an endpoint returned is hashed as it is."""
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    significant = text.rstrip("0")
    if not significant or not isinstance(exponent, int):
        return "0"
    return f"{'-' * sign}{significant}E{exponent + len(text) - len(significant)}"
