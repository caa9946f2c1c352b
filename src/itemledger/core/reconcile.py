"""One rule for every batch API: each item that was sent ends with exactly one finding, or the response is refused.

An API turns its response into mentions of positions in what was sent; what was not mentioned gets the API's documented
meaning of silence. Ids, keys, multisets and index ranges are each API's own matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar

from itemledger.errors import LedgerInvariantError

ItemT = TypeVar("ItemT", contravariant=True)


class Finding(StrEnum):
    """What one pass proved of one item."""

    RETURNED = "returned"
    """The response carries the item."""
    PROCESSED_NOT_RETURNED = "processed_not_returned"
    """The service worked on the key and gave nothing back: not visible to this read."""
    UNPROCESSED = "unprocessed"
    """The response says that the service did not work on it."""
    SUCCEEDED = "succeeded"
    """Writes: done, by the response's word or by a documented silence."""
    TRANSIENT = "transient"
    """Writes: not done, for a documented cause that passes."""
    REJECTED = "rejected"
    """Writes: not done, and the same item will be rejected again."""
    UNKNOWN = "unknown"
    """Writes: the response reports an error that no document explains, so whether the item was processed is open."""


#: What a read can prove of a key.
READ_FINDINGS = (Finding.RETURNED, Finding.PROCESSED_NOT_RETURNED, Finding.UNPROCESSED)


class Silence(Enum):
    """What it means when a usable response does not mention an item."""

    PROCESSED_NOT_RETURNED = Finding.PROCESSED_NOT_RETURNED
    """Reads: asked, processed, and nothing there."""
    SUCCEEDED = Finding.SUCCEEDED
    """Writes whose responses name only what is not done."""
    FORBIDDEN = None
    """Every item must be mentioned; a response that leaves one out is refused."""


class Mention(NamedTuple):  # one for every item read: a frozen dataclass takes three times as long to make
    """One item named by a response; ``position`` is its place in what was sent, ``None`` when it was not sent.

    ``structure`` is the part of the response that names it; only its shape ever gets into an error.
    """

    position: int | None
    finding: Finding
    value: Any = None
    structure: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may carry, in items and in bytes as the service counts them; ``None`` is no documented limit."""

    items: int
    request_bytes: int | None = None
    item_bytes: int | None = None


class BatchApi(Protocol[ItemT]):
    """A partial-success API: data and pure functions, one file each under ``apis/``.

    What only reads need is in ``core/read_api.py``, what only writes need in ``core/write_api.py``.
    """

    operation: str
    limits: Limits

    def request(self, items: Sequence[ItemT]) -> dict[str, Any]:
        """The request for these items, built from our own manifest, never from the service's echo."""

    def silence(self) -> Silence:
        """What not being mentioned means."""

    def mentions(self, sent: Sequence[ItemT], response: Mapping[str, Any]) -> Iterable[Mention]:
        """Every item that the response names, in any order; raises LedgerInvariantError for an unreadable structure."""


def reconcile(count: int, mentions: Iterable[Mention], silence: Silence) -> list[Mention]:
    """Exactly one mention for each of ``count`` positions, in order; LedgerInvariantError when that is impossible."""
    settled: list[Mention | None] = [None] * count
    for mention in mentions:
        position = mention.position
        if position is None or not 0 <= position < count:
            raise LedgerInvariantError(
                "the response names an item outside this call; keep the answer and check what served it",
                structure=shape_of(mention.structure),
            )
        before = settled[position]
        if before is not None:
            raise LedgerInvariantError(
                _twice(before, mention), position=position, structure=shape_of(mention.structure)
            )
        settled[position] = mention
    return [m if m is not None else _silent(position, silence) for position, m in enumerate(settled)]


def shape_of(structure: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Attribute names and types of a row, key or response, without a value."""
    return None if structure is None else {name: _type_of(value) for name, value in structure.items()}


def _type_of(value: object) -> str:
    if isinstance(value, Mapping):
        return "+".join(sorted(map(str, value))) or "empty"
    return type(value).__name__


def _silent(position: int, silence: Silence) -> Mention:
    if silence.value is None:
        raise LedgerInvariantError(
            f"the response says nothing of item {position} of this call, and this API must answer for each",
            position=position,
        )
    return Mention(position, silence.value)


def _twice(first: Mention, second: Mention) -> str:
    where = f"item {first.position} of this call"
    if first.finding is not second.finding:
        return f"the response says of {where} both {first.finding} and {second.finding}"
    if first.finding is Finding.RETURNED:
        agreement = "equal" if first.value == second.value else "conflicting"
        return f"the response returns {where} twice, with {agreement} content"
    return f"the response names {where} twice as {first.finding}"
