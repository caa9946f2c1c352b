"""Keys as tokens: a keyed hash stands for the key in a file that others may read.

Equal keys have equal tokens under one token key, whatever the table, so an observation can be traced to the one that
it continues. Who has the token key can test a guess; who has not learns nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator

from itemledger.core.keys import Key, KeyPart, read_part, typed_part
from itemledger.errors import ManifestError

HASHED = "hmac-sha256-128"
PLAIN = "plain"

#: Bytes of a token key below which it could be guessed; HMAC itself would take any length.
MIN_KEY_BYTES = 16


class Tokeniser:
    """Tokens under one key; without a key the tokens are the keys themselves, as typed JSON text."""

    def __init__(self, key: bytes | None) -> None:
        if key is not None and len(key) < MIN_KEY_BYTES:
            raise ManifestError(
                f"the token key has {len(key)} bytes, so it could be guessed; give at least {MIN_KEY_BYTES} random ones"
            )
        self._key = key

    @property
    def algorithm(self) -> str:
        """``hmac-sha256-128``, or ``plain`` without a key."""
        return PLAIN if self._key is None else HASHED

    @property
    def key_id(self) -> str:
        """A short public name of the token key, to know by whether one has the right one; ``plain`` for none."""
        if self._key is None:
            return PLAIN
        return hmac.digest(self._key, b"itemledger token key id", "sha256").hex()[:16]

    def token(self, key: Key) -> str:
        """The token of a canonical key."""
        text = key_text(key)
        return text if self._key is None else hmac.digest(self._key, text.encode(), "sha256").hex()[:32]


def key_text(key: Key) -> str:
    """``{"S":"a"}``, or ``[{"S":"a"},{"N":"1"}]`` for partition and sort key; binary in base64."""
    return f"[{','.join(map(_part_text, key))}]" if isinstance(key, tuple) else _part_text(key)


def is_token(text: str, algorithm: str) -> bool:
    """Whether this is what a tokeniser of that algorithm writes; a plain key has one spelling only."""
    if algorithm == HASHED:
        return re.fullmatch("[0-9a-f]{32}", text) is not None
    try:
        written = json.loads(text)
        parts = [_read_part(part) for part in written] if isinstance(written, list) else [_read_part(written)]
    except (ValueError, RecursionError):
        return False
    if isinstance(written, list):
        return len(parts) == 2 and key_text((parts[0], parts[1])) == text
    return key_text(parts[0]) == text


class SetHash:
    """SHA-256 of a membership set: its tokens sorted, a line each, as ``LC_ALL=C sort | sha256sum`` has it.

    Sorted bucket by bucket: a million hashed tokens then take the memory of their text, not of a million objects.
    """

    def __init__(self) -> None:
        self._buckets: defaultdict[str, bytearray] = defaultdict(bytearray)
        self.count = 0

    def add(self, token: str) -> None:
        self._buckets[token[:2]] += f"{token}\n".encode()
        self.count += 1

    def in_order(self) -> Iterator[bytes]:
        """The tokens in ascending order, each with its newline."""
        for start in sorted(self._buckets):
            yield from sorted(bytes(self._buckets[start]).splitlines(keepends=True))

    def hexdigest(self) -> str:
        """The hash of what was added until now."""
        digest = hashlib.sha256()
        for line in self.in_order():
            digest.update(line)
        return digest.hexdigest()


def set_hash(tokens: Iterable[str]) -> str:
    """The ``SetHash`` of all of these."""
    digest = SetHash()
    for token in tokens:
        digest.add(token)
    return digest.hexdigest()


class TokenList:
    """Tokens by position, as bytes in a row: a million of them are not a million objects."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._ends = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, position: int) -> str:
        start = self._ends[position - 1] if position else 0
        return self._text[start : self._ends[position]].decode()

    def append(self, token: str) -> None:
        self._text += token.encode()
        self._ends.append(len(self._text))


def _part_text(part: KeyPart) -> str:
    ((tag, value),) = typed_part(part).items()
    return f'{{"{tag}":{json.dumps(base64.b64encode(value).decode() if tag == "B" else value)}}}'


def _read_part(written: object) -> KeyPart:
    if isinstance(written, dict) and isinstance(written.get("B"), str):
        written = {**written, "B": base64.b64decode(written["B"], validate=True)}
    part = read_part(written)
    if part is None:
        raise ValueError("no part of a key")
    return part
