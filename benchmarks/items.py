"""Deterministic keys, items, and the answers that carry them as the service writes them."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

TABLE = "bench"
KEY = {"pk": "S"}
SORTED_KEY = {"pk": "S", "line": "N"}
CALL_KEYS = 100

_PREFIX = "order-"
_DIGITS = 7
_KEY = re.compile(rf"{_PREFIX}\d{{{_DIGITS}}}".encode())
#: Items differ, but not without end: item n looks like item n - VARIETY but for its key.
_VARIETY = 100


def key(number: int) -> str:
    return f"{_PREFIX}{number:0{_DIGITS}d}"


def keys(count: int) -> Iterator[str]:
    return map(key, range(count))


def sorted_keys(count: int) -> Iterator[tuple[str, int]]:
    """The same items, on a table that has their ``line`` as sort key."""
    return ((key(number), number % _VARIETY) for number in range(count))


def first_number(request: bytes) -> int:
    """The number of the first key in a request body."""
    found = _KEY.search(request)
    assert found is not None
    return int(found[0][len(_PREFIX) :])


def keys_in(request: bytes) -> list[str]:
    """All keys of a request body, in order."""
    return [found.decode() for found in _KEY.findall(request)]


def order_tails() -> list[str]:
    """What follows the key in items of ten attributes: texts, numbers, a flag, a list and a map; 375 bytes in all."""
    return [_tail(_order(number)) for number in range(_VARIETY)]


def payload_tails(payload_bytes: int) -> list[str]:
    """What follows the key in an item of two attributes, the other one so many bytes of text."""
    return [_tail({"payload": {"S": "x" * payload_bytes}})]


def answer(asked: Sequence[str], tails: Sequence[str], *, capacity: bool) -> bytes:
    """The body of an answer that has an item for every key, and the capacity where that was asked for."""
    rows = ",".join([f'{{"pk":{{"S":"{k}"}},{tails[i % len(tails)]}' for i, k in enumerate(asked)])
    told = f'"ConsumedCapacity":[{{"TableName":"{TABLE}","CapacityUnits":{len(asked) / 2}}}],' if capacity else ""
    return f'{{{told}"Responses":{{"{TABLE}":[{rows}]}},"UnprocessedKeys":{{}}}}'.encode()


def headers_for(body: bytes) -> dict[str, str]:
    """The headers that the service sends with a body."""
    return {
        "content-type": "application/x-amz-json-1.0",
        "content-length": str(len(body)),
        "x-amzn-requestid": "CANNED00000000000000000000000000000000000000000000AA",
        "x-amz-crc32": str(zlib.crc32(body)),
    }


def _tail(attributes: dict[str, Any]) -> str:
    return json.dumps(attributes, separators=(",", ":"))[1:]


def _order(number: int) -> dict[str, Any]:
    draw = random.Random(number)
    return {
        "customer": {"S": f"customer-{draw.randrange(100_000):05d}"},
        "status": {"S": draw.choice(["new", "paid", "shipped", "returned"])},
        "total": {"N": f"{draw.randrange(100, 1_000_000) / 100:.2f}"},
        "line": {"N": str(number)},
        "created": {"S": f"2026-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}T10:20:30.000Z"},
        "gift": {"BOOL": draw.random() < 0.5},
        "note": {"S": "".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=60))},
        "tags": {"L": [{"S": word} for word in draw.sample(["fragile", "express", "abroad", "cold"], k=2)]},
        "address": {"M": {"city": {"S": "Sampleton"}, "zip": {"S": f"{draw.randrange(10_000, 99_999)}"}}},
    }
