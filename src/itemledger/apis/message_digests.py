"""The MD5 digests by which SQS says what it received: of a message's body, and of its attributes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any


def body_md5(body: str) -> str:
    return _md5(body.encode())


def attributes_md5(read: Mapping[str, Mapping[str, Any]]) -> str:
    """As "Calculating the MD5 message digest for message attributes" in the SQS Developer Guide has it.

    By name, each attribute's name, data type and value, all three behind their length in four bytes; between type and
    value one byte that is 1 for text and 2 for binary values.
    """
    parts = bytearray()
    for name, attribute in sorted(read.items()):
        binary = "BinaryValue" in attribute
        value = attribute["BinaryValue"] if binary else attribute["StringValue"].encode()
        parts += _counted(name.encode()) + _counted(attribute["DataType"].encode())
        parts += (b"\x02" if binary else b"\x01") + _counted(value)
    return _md5(bytes(parts))


def _counted(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
