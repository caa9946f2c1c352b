"""How evenly a scan's segments were filled, and what to make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from itemledger.tables.page_result import Segment

#: Below this a segment is as full as chance makes it.
NOTABLE = 2.0


@dataclass(frozen=True, slots=True)
class Skew:
    """The segment that examined most, against the mean of all. ``empty`` counts those in which there was nothing."""

    segments: int
    empty: int
    fullest: int
    examined: int
    mean: float

    @property
    def ratio(self) -> float:
        return self.examined / self.mean

    def __str__(self) -> str:
        if self.ratio < NOTABLE:
            return f"{self.segments:,} segments, evenly filled: the fullest examined {self.ratio:.1f} times the mean"
        return (
            f"segment {self.fullest} examined {self.examined:,} items, {self.ratio:.1f} times the mean of "
            f"{self.segments:,}; {self.empty:,} were empty. Segments are ranges of the partition key's hash: more "
            "segments will not split one partition key"
        )


def skew_of(segments: Sequence[Segment]) -> Skew | None:
    """``None`` for one segment, for an empty table, and where a page did not tell what it examined."""
    examined = [segment.totals.examined for segment in segments]
    known = [count for count in examined if count is not None]
    if len(segments) < 2 or len(known) < len(examined) or not sum(known):
        return None
    most = max(known)
    return Skew(len(known), known.count(0), segments[known.index(most)].number, most, sum(known) / len(known))
