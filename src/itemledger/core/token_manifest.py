"""The header and the manifest of an evidence file: which keys there are, and what their positions stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from itemledger.core.ranges import from_ranges, to_ranges
from itemledger.core.tokens import PLAIN, SetHash, TokenList, is_token, set_hash
from itemledger.errors import EvidenceError

Line: TypeAlias = Mapping[str, Any]


class TokenManifest:
    """The requested keys' tokens in order; EvidenceError at the first thing that cannot be true."""

    def __init__(self, header: Line) -> None:
        _check_header(header)
        self._size: int = header["manifest_size"]
        self._algorithm: str = header["tokens"]["algorithm"]
        self._tokens = TokenList()
        self._members = SetHash()
        self.sha256 = ""

    def __len__(self) -> int:
        return len(self._tokens)

    def add(self, line: Line) -> None:
        """One manifest line."""
        if line["from"] != len(self) or not line["tokens"]:
            raise EvidenceError(f"the manifest goes on at position {line['from']} instead of {len(self)}")
        for token in line["tokens"]:
            if not is_token(token, self._algorithm):
                raise EvidenceError(f"position {len(self)} of the manifest has no token of kind {self._algorithm}")
            self._tokens.append(token)
            self._members.add(token)
        if len(self) > self._size:
            raise EvidenceError(f"the manifest has more keys than the header's {self._size}")

    def close(self) -> int:
        """The number of keys, once no more lines come: as many as the header says, and none of them twice."""
        if len(self) != self._size:
            raise EvidenceError(f"the manifest ends after {len(self)} of the header's {self._size} keys")
        before = b""
        for token in self._members.in_order():
            if token == before:
                raise EvidenceError(f"the manifest has one key twice (token {token.decode().strip()})")
            before = token
        self.sha256 = self._members.hexdigest()
        self._members = SetHash()  # its memory is not needed any more
        return len(self)

    def hash_of(self, positions: Iterable[int]) -> str:
        """The set hash of the tokens at these positions."""
        return set_hash(self._tokens[p] for p in positions)

    def positions(self, members: Line, where: str) -> list[int]:
        """The positions of a membership set, in their order, when its count, spelling and hash hold."""
        found: list[int] = []
        try:
            for position in from_ranges(members["positions"]):
                if position >= len(self) or len(found) >= len(self):
                    raise EvidenceError(f"{where} names position {position}, which the manifest does not have")
                found.append(position)
        except ValueError as error:
            raise EvidenceError(f"{where}: {error}") from None
        if len(set(found)) != len(found):
            raise EvidenceError(f"{where} names a position twice")
        if to_ranges(found) != members["positions"] or len(found) != members["count"]:
            raise EvidenceError(f"{where}: the positions are not spelled, or not counted, as the log does it")
        if self.hash_of(found) != members["sha256"]:
            raise EvidenceError(f"{where}: the hash is not that of the tokens at these positions")
        return found


def _check_header(header: Line) -> None:
    observation, tokens = header["observation"], header["tokens"]
    names = None if header["key"] is None else [attribute["name"] for attribute in header["key"]]
    if names is not None and not (names and all(names) and len(set(names)) == len(names)):
        raise EvidenceError("the header's key is not one attribute, or a partition and a sort attribute")
    number, parent, first = observation["number"], observation["parent_id"], observation["first_id"]
    chained = number > 1
    if (parent is not None, first is not None, chained and parent == first) != (chained, chained, number == 2):
        raise EvidenceError(f"observation {number} does not name the ones before it as a chain of observations does")
    if (tokens["algorithm"] == PLAIN) != (tokens["key_id"] == PLAIN):
        raise EvidenceError("the header names a token key for plain keys, or none for hashed ones")
