"""The hash of an item's business fields: by it an idempotency key that comes with another payload is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from itemledger.core.item_hash import item_hash

#: Of the recipe below. A hash carries it, so that rows planned under another recipe are never taken for changed ones.
RECIPE = "1"


def payload_hash(payload: Mapping[str, Any]) -> str:
    """``1:`` and SHA-256 by value: the order of members, the spelling of numbers and the order of sets do not matter.

    Types do, and so does the order of lists. Raises TypeError for what neither JSON nor DynamoDB has.
    """
    return f"{RECIPE}:{item_hash(_exact(payload))}"


def derived_key(operation_id: str, item_id: str, payload: str) -> str:
    """The idempotency key of an item that brings none: the same for every attempt, 32 hexadecimal digits.

    ``payload`` is the hash of it: a provider would take another item of the same name in another ledger's operation of
    the same name for a repeat of this one, and drop it.
    """
    text = f"{len(operation_id)}:{operation_id}{len(item_id)}:{item_id}{payload}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _exact(value: Any) -> Any:
    """Whole numbers as the hash takes them; a float has no one value in decimal digits and is refused."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, Mapping):
        return {name: _exact(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(member) for member in value]
    if isinstance(value, set | frozenset):
        return {_exact(member) for member in value}
    return value
