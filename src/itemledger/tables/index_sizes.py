"""What a live table says of its size and of its indexes', beside the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from itemledger.tables.index_entry import ENTRY_OVERHEAD_BYTES, Index, Projected
from itemledger.tables.projections import ProjectionCost


@dataclass(frozen=True, slots=True)
class ReportedSize:
    """DescribeTable's estimate of an index, or of the table itself (``index`` is ``None``), up to six hours old.

    ``items`` and ``size_bytes`` are ``None``, "unknown", where it did not say.
    """

    index: Index | None
    items: int | None
    size_bytes: int | None

    @property
    def bytes_per_item(self) -> float | None:
        return self.size_bytes / self.items if self.items and self.size_bytes is not None else None

    def beside(self, cost: ProjectionCost) -> str:
        """Both in a sentence. Whether the report has the overhead in it is not documented, so both sums are shown."""
        computed = cost.bytes_per_entry
        text = f"computed {computed - ENTRY_OVERHEAD_BYTES:,} bytes an entry, {computed:,} as stored"
        if self.items is None or self.size_bytes is None:
            return f"{text}; reported: unknown"
        if self.bytes_per_item is None:
            return f"{text}; reported: no entries as of the last estimate, which is made about every six hours"
        return (
            f"{text}; reported {self.bytes_per_item:,.0f}: {self.size_bytes:,} bytes in {self.items:,} entries, an "
            "estimate made about every six hours"
        )


def reported_sizes(table: Mapping[str, Any]) -> tuple[ReportedSize, ...]:
    """The table first, then its indexes: from the ``Table`` of a DescribeTable answer."""
    return (ReportedSize(None, _count(table, "ItemCount"), _count(table, "TableSizeBytes")), *_indexes(table))


def _indexes(table: Mapping[str, Any]) -> Iterator[ReportedSize]:
    table_key = _key(table)
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for told in table.get(member) or ():
            projection = told["Projection"]
            projected = Projected(projection["ProjectionType"])
            include = tuple(projection.get("NonKeyAttributes") or ()) if projected is Projected.INCLUDE else ()
            index = Index(told["IndexName"], _key(told), table_key, projected, include)
            yield ReportedSize(index, _count(told, "ItemCount"), _count(told, "IndexSizeBytes"))


def _key(told: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(part["AttributeName"] for part in told["KeySchema"])


def _count(told: Mapping[str, Any], member: str) -> int | None:
    value = told.get(member)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
