"""What a cursor is bound to: everything in a Query or Scan that decides which items come, and in which order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from itemledger.core.item_hash import item_hash
from itemledger.errors import ManifestError

#: How much comes at a time, where it begins, how fresh it is, what is told beside it: not which query it is.
UNBOUND = frozenset({"Limit", "ExclusiveStartKey", "ConsistentRead", "ReturnConsumedCapacity"})
_ALIASES = frozenset({"ExpressionAttributeNames", "ExpressionAttributeValues"})
_EXPRESSIONS = frozenset({"KeyConditionExpression", "FilterExpression", "ProjectionExpression"})

#: Expressions hold no quoted text, so between two of these tokens blanks mean nothing.
_TOKEN = re.compile(r"[#:]?\w+|\S")


@dataclass(frozen=True, slots=True)
class QueryShape:
    """One query, or one scan, whatever its page size; two are equal when a cursor of one continues the other.

    Bound are all members but those in ``UNBOUND``, an unknown one too. Aliases are replaced by what they stand for and
    blanks do not count, so ``#a = :x`` and ``#b=:y`` can be one query; ``pk`` and an alias of it, ``a AND b`` and
    ``b AND a``, a table's name and its ARN are two. ``ScanIndexForward`` left out is true.
    """

    digest: bytes = field(repr=False)

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> QueryShape:
        """From the members of boto3's ``query`` or ``scan``, typed or plain values, conditions as text or boto3's own.

        Raises ManifestError for what is no such request.
        """
        for name in request:
            if not name[:1].isupper():
                raise ManifestError(f"{name!r} is no member of a Query or Scan; give the request only, without options")
        if not isinstance(request.get("TableName"), str):
            raise ManifestError("TableName is missing; give the table's name or ARN")
        bound: dict[str, Any] = {"ScanIndexForward": True}
        try:
            for name, value in request.items():
                if value is not None and name not in UNBOUND | _ALIASES:
                    bound[name] = _expression(name, value, request) if name in _EXPRESSIONS else _plain(value)
            return cls(bytes.fromhex(item_hash(bound)))
        except (TypeError, RecursionError):
            raise ManifestError(
                "a value of the request is of a type, or a depth, that DynamoDB does not have"
            ) from None


def _expression(name: str, expression: Any, request: Mapping[str, Any]) -> list[Any]:
    if hasattr(expression, "get_expression"):
        return _condition(expression)
    if not isinstance(expression, str):
        raise ManifestError(f"{name} is a {type(expression).__name__}; give text, or a condition of boto3's")
    return [_token(name, token, request) for token in _TOKEN.findall(expression)]


def _token(name: str, token: str, request: Mapping[str, Any]) -> list[Any]:
    member = {"#": "ExpressionAttributeNames", ":": "ExpressionAttributeValues"}.get(token[0])
    if member is None:
        return ["text", token]
    known = request.get(member) or {}
    if token not in known:
        raise ManifestError(f"{name} has the alias {token!r}, which is not in {member}; add it there")
    return ["value" if token[0] == ":" else "name", _plain(known[token])]


def _condition(condition: Any) -> list[Any]:
    """boto3's ``Key("pk").eq(…) & Attr(…)…``, told by its shape: this layer knows no SDK.

    Each part before its operands, with their number, so that no two conditions are the same list. No recursion:
    three hundred conditions joined by ``&`` lie inside one another.
    """
    parts: list[Any] = []
    waiting = [condition]
    while waiting:
        operand = waiting.pop()
        if hasattr(operand, "get_expression"):
            told = operand.get_expression()
            parts.append(["condition", told["operator"], Decimal(len(told["values"]))])
            waiting += told["values"]
        elif hasattr(operand, "begins_with"):  # boto3's Key and Attr
            parts.append(["name", operand.name])
        else:
            parts.append(["value", _plain(operand)])
    return parts


def _plain(value: Any) -> Any:
    """A value as the hash takes it; a float has no one value in decimal digits and is refused there."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, set | frozenset):
        return {_plain(member) for member in value}
    wrapped = getattr(value, "value", None)  # boto3's Binary
    return bytes(wrapped) if isinstance(wrapped, bytes | bytearray) else value
