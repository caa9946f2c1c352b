"""One page of a Query or Scan, and the sums over many: what was examined, returned and consumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from itemledger.core.answer import EvidenceLabel, weakest
from itemledger.core.passes import known_sum
from itemledger.core.result import Item
from itemledger.errors import ManifestError

#: A typed key as the service gave it in LastEvaluatedKey: of the table, and of the index where one is read.
LastKey: TypeAlias = Mapping[str, Mapping[str, Any]]
#: A row as the service gave it, attribute by attribute: ``{"pk": {"S": "A"}, "total": {"N": "7"}}``.
Row: TypeAlias = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Consumed:
    """Read capacity units as the service reported them: in all, of the table itself, and of each index.

    ``table`` is ``None`` where an answer gave only the sum. What no answer reported is no ``Consumed`` at all.
    """

    units: float
    table: float | None = None
    indexes: Mapping[str, float] = field(default_factory=dict)

    def plus(self, other: Consumed) -> Consumed:
        names = {**self.indexes, **other.indexes}
        return Consumed(
            self.units + other.units,
            None if self.table is None or other.table is None else self.table + other.table,
            {name: self.indexes.get(name, 0.0) + other.indexes.get(name, 0.0) for name in names},
        )


NOTHING = Consumed(0.0, 0.0)


@dataclass(frozen=True)
class Page:
    """A page as it came: ``rows`` are typed, ``items`` what the caller asked for (plain values, or the rows).

    ``examined`` counts the items that the service read for it, before any filter, ``returned`` those that it gave back
    (or counted, with ``Select="COUNT"``). ``last_key`` is the service's own and the only sign that there is more: a
    page may be empty and not the last, and the last may have one. ``number`` counts from 1 in its segment.
    """

    rows: tuple[Row, ...]
    returned: int
    examined: int | None
    consumed: Consumed | None
    last_key: LastKey | None
    segment: int
    number: int
    start_key: LastKey | None = None
    request_id: str | None = None
    sdk_retry_attempts: int | None = None
    label: EvidenceLabel | None = None
    response_bytes: int | None = None
    duration_ms: float = 0.0
    decode: Callable[[Row], Item] = field(default=dict, repr=False, compare=False)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Converted on first use, so that what only counts or copies rows does not pay for it."""
        return tuple(map(self.decode, self.rows))

    @property
    def totals(self) -> PageTotals:
        """What this page adds to the sums."""
        untold = int(self.consumed is None)
        return PageTotals(
            1,
            1,
            self.examined,
            self.returned,
            self.consumed or NOTHING,
            untold,
            self.response_bytes,
            self.sdk_retry_attempts,
            self.label,
        )

    def key_after(self, index: int, key: Sequence[str] = ()) -> LastKey | None:
        """Where to go on after ``rows[index]``: an ExclusiveStartKey, or ``None`` after the last row of the last page.

        Its attributes are those of the service's own keys on this page, else those of ``key``: its table's and its
        index's. Raises ManifestError where neither is known, or the rows lack one because a projection left it out.
        """
        row = self.rows[index]
        if index in (-1, len(self.rows) - 1):
            return self.last_key
        names = tuple(self.last_key or self.start_key or key)
        if not names:
            raise ManifestError("nothing on this page tells the key's attributes; name them with key=")
        missing = [name for name in names if name not in row]
        if missing:
            raise ManifestError(f"rows come without {missing[0]!r}, so none can be gone on after; project it too")
        return {name: row[name] for name in names}

    def first(self, count: int, key: Sequence[str] = ()) -> Page:
        """The page as if it ended after so many rows; what it examined and consumed stays."""
        if count >= len(self.rows):
            return self
        return replace(self, rows=self.rows[:count], returned=count, last_key=self.key_after(count - 1, key))


@dataclass(frozen=True, slots=True)
class PageTotals:
    """Sums over pages and calls. ``examined`` is ``None``, "unknown", when any page did not tell; it is never 0 then.

    ``reported`` sums the units of the answers that told, ``untold_calls`` counts the calls that did not, failed ones
    among them: ``consumed`` is exact, or ``None``.
    """

    pages: int = 0
    calls: int = 0
    examined: int | None = 0
    returned: int = 0
    reported: Consumed = NOTHING
    untold_calls: int = 0
    response_bytes: int | None = 0
    sdk_retry_attempts: int | None = 0
    label: EvidenceLabel | None = None

    @property
    def consumed(self) -> Consumed | None:
        return None if self.untold_calls else self.reported

    def plus(self, other: PageTotals) -> PageTotals:
        labels = [label for label in (self.label, other.label) if label]
        return PageTotals(
            self.pages + other.pages,
            self.calls + other.calls,
            known_sum(self.examined, other.examined),
            self.returned + other.returned,
            self.reported.plus(other.reported),
            self.untold_calls + other.untold_calls,
            known_sum(self.response_bytes, other.response_bytes),
            known_sum(self.sdk_retry_attempts, other.sdk_retry_attempts),
            weakest(labels) if labels else None,
        )
