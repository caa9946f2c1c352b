"""From a caller's items to durable rows: checked, measured, hashed and written down before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol, TypeAlias

from itemledger.core import exact_json
from itemledger.core.payload_hash import derived_key, payload_hash
from itemledger.core.reconcile import Limits
from itemledger.core.rows import Conflict, NewItem, Planned, Source
from itemledger.core.write_api import Effect, Entry
from itemledger.errors import KeyReusedError, ManifestError
from itemledger.ledger.store import Store

#: Rows of one transaction: large enough to be quick, small enough that other writers hardly wait.
CHUNK = 1000
#: Conflicts named in the text of an error; all of them ride on it.
NAMED = 5

#: An item and where its payload will be found again; ``None`` when only the caller's own worker will need it.
Sourced: TypeAlias = tuple[object, Source | None]


class PlanApi(Protocol):
    """What planning needs of an API: every ``WriteApi`` has it, and so has ``OwnApi``."""

    name: str
    limits: Limits
    effect: Effect

    @property
    def target(self) -> Mapping[str, Any]:
        """What the API writes to, in JSON's values."""

    def entry(self, value: object, position: int) -> Entry:
        """The caller's item, checked and measured; ManifestError names its position."""


@dataclass(slots=True)
class PlanResult:
    """What planning did, item by item counted; ``conflicts`` names what was refused by its place in the input."""

    new: int = 0
    repeated: int = 0
    over_limit: int = 0
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.new + self.repeated + len(self.conflicts)

    def raise_for_conflicts(self) -> None:
        """KeyReusedError when items were refused; all others are planned all the same."""
        if not self.conflicts:
            return
        named = "; ".join(
            f"item at position {each.position} has the key or the item id of row {each.row}"
            for each in self.conflicts[:NAMED]
        )
        more = f"; {len(self.conflicts) - NAMED} more" if len(self.conflicts) > NAMED else ""
        raise KeyReusedError(
            f"{named}{more}, with another payload, so nothing is sent for it; plan it under a new key, or review the "
            "row",
            conflicts=tuple(self.conflicts),
        )


def plan(
    store: Store,
    operation_id: str,
    api: PlanApi,
    items: Iterable[Sourced],
    *,
    on_chunk: Callable[[PlanResult], object] | None = None,
) -> PlanResult:
    """Plans every item, chunk by chunk; planning the same items again changes nothing.

    Raises ManifestError for the first item that could never be sent as given; what was planned until then stays, and
    nothing is sent before all of it is planned. Memory holds one chunk.
    """
    result = PlanResult()
    entries = _entries(operation_id, api, items)
    start = 0
    while chunk := list(islice(entries, CHUNK)):
        _add(result, store.plan(operation_id, chunk), start, chunk)
        start += len(chunk)
        if on_chunk is not None:
            on_chunk(result)
    store.planning_ended(operation_id)
    return result


def stored(value: object, position: int | None = None) -> Source:
    """The payload kept in the ledger itself. Raises ManifestError for what JSON cannot carry exactly."""
    try:
        return Source(stored=exact_json.dumps(value))
    except ManifestError as error:
        if position is None:
            raise
        raise at_position(error, position) from None


def at_position(error: ManifestError, position: int) -> ManifestError:
    """The error of one item with its place in the input."""
    return ManifestError(f"item at position {position}: {error}", positions=(position,))


def new_item(operation_id: str, api: PlanApi, entry: Entry, source: Source | None) -> NewItem:
    """The row-to-be of an entry; over its own limit it will be terminal, with its measured size."""
    payload = payload_hash(entry.payload)
    return NewItem(
        entry.item_id,
        entry.idempotency_key or derived_key(operation_id, entry.item_id, payload),
        payload,
        entry.size_bytes,
        source or Source(),
        entry.group_id,
        _over_limit(api, entry),
    )


def _add(result: PlanResult, planned: Planned, start: int, chunk: Sequence[NewItem]) -> None:
    result.new += planned.new
    result.repeated += planned.repeated
    result.over_limit += sum(item.refused is not None for item in chunk)
    result.conflicts += [replace(conflict, position=start + conflict.position) for conflict in planned.refused]


def _entries(operation_id: str, api: PlanApi, items: Iterable[Sourced]) -> Iterator[NewItem]:
    for position, (value, source) in enumerate(items):
        yield new_item(operation_id, api, api.entry(value, position), source)


def _over_limit(api: PlanApi, entry: Entry) -> str | None:
    limits = api.limits
    most = min((each for each in (limits.item_bytes, limits.request_bytes) if each is not None), default=None)
    if most is None or entry.size_bytes <= most:
        return None
    return f"the item has {entry.size_bytes:,} bytes as {api.name} counts them, {most:,} are the most"
