"""The manifest: what was asked, unique by value and in order, fixed before the first call."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from itemledger.core.keys import Key, KeySchema
from itemledger.core.terms import Settings
from itemledger.errors import ManifestError

KeyNames = Sequence[str] | Mapping[str, str] | str
ProjectionPaths = Sequence[str | tuple[str | int, ...]]


@dataclass(frozen=True, slots=True)
class TableRead:
    """One table's share of a read: its keys, and how to read them.

    ``key`` names the key attributes (partition first), as names or as a mapping to S, N or B; left out, DescribeTable
    tells. ``projection`` takes paths as in AWS's ProjectionExpression; every name is aliased for you.
    """

    table_name: str
    keys: Iterable[object]
    key: KeyNames | None = None
    projection: ProjectionPaths | None = None
    consistent_read: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Where one TableRead's keys are.

    ``slots`` are their places in the manifest, in order (as the keys of a dict when folding mixed them, with the
    index in this part as value); ``input_positions`` gives, for folded input, each caller position's index among them.
    """

    settings: Settings
    slots: range | dict[int, int]
    input_positions: Sequence[int] | None

    def index_of(self, slot: int) -> int | None:
        """The place of a manifest slot in this part's own order, ``None`` when it belongs to another part."""
        if isinstance(self.slots, range):
            return slot - self.slots.start if slot in self.slots else None
        return self.slots.get(slot)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The unique keys of all tables; ``table_of`` gives each slot's index in ``tables``."""

    keys: Sequence[Key]
    table_of: Sequence[int]
    tables: tuple[Settings, ...]
    parts: tuple[Part, ...]


class ManifestBuilder:
    """Collects the tables of one read; duplicates are found by value, before any call and across chunk borders.

    The service notices duplicates only inside one call, and the answer to a duplicate would be ambiguous, so they are
    refused with both positions, or folded into one slot when asked.
    """

    def __init__(self, *, fold_duplicates: bool = False) -> None:
        self._fold = fold_duplicates
        self._keys: list[Key] = []
        self._table_of = array("L")
        self._settings: list[Settings] = []
        self._slot_of: list[dict[Key, int]] = []
        self._by_identity: dict[str, int] = {}
        self._parts: list[Part] = []

    def add(self, settings: Settings, keys: Iterable[object], *, arn: str | None = None) -> None:
        """One TableRead's keys; ``arn`` is the table's identity where DescribeTable told it."""
        if isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable):
            raise ManifestError(f"keys is a single {type(keys).__name__}; give a list of keys")
        table, settings = self._table(settings, arn)
        schema = settings.key
        start = len(self._keys)
        slots: list[int] = []  # of every input position; only kept when folding
        for position, spelling in enumerate(keys):
            key = schema.canonical(spelling, position)
            if position == 0:
                schema = schema.typed_as(key)
            slot = self._slot_of[table].setdefault(key, len(self._keys))
            if slot == len(self._keys):
                self._keys.append(key)
                self._table_of.append(table)
            elif not self._fold:
                raise _duplicate(slot - start, position, settings.table_name)
            if self._fold:
                slots.append(slot)
        settings = _with_key(settings, schema)
        self._settings[table] = _with_key(self._settings[table], schema)
        self._parts.append(
            _folded(settings, slots) if self._fold else Part(settings, range(start, len(self._keys)), None)
        )

    def build(self) -> Manifest:
        return Manifest(self._keys, self._table_of, tuple(self._settings), tuple(self._parts))

    def _table(self, settings: Settings, arn: str | None) -> tuple[int, Settings]:
        """The index of this table, new or met before under another spelling (name or ARN)."""
        identity = arn or settings.table_name
        index = self._by_identity.get(identity)
        if index is None:
            self._refuse_unclear_identity(identity)
            index = self._by_identity[identity] = len(self._settings)
            self._settings.append(settings)
            self._slot_of.append({})
            return index, settings
        first = self._settings[index]
        if (first.key.names, first.projection, first.consistent_read) != (
            settings.key.names,
            settings.projection,
            settings.consistent_read,
        ):
            raise ManifestError(
                f"tables {first.table_name!r} and {settings.table_name!r} are one table, read with another key, "
                "projection or consistency; DynamoDB takes each table once per call, so read them apart"
            )
        return index, _with_key(replace(settings, table_name=first.table_name), first.key)

    def _refuse_unclear_identity(self, identity: str) -> None:
        """A bare name and an ARN ending with it may be one table or two, in two accounts: only DescribeTable tells."""
        for known in self._by_identity:
            if known.startswith("arn:") != identity.startswith("arn:") and table_of_arn(known) == table_of_arn(
                identity
            ):
                raise ManifestError(
                    f"{known!r} and {identity!r} may be one table; spell them alike, or leave key= out so that "
                    "DescribeTable can tell"
                )


def _folded(settings: Settings, slots: Sequence[int]) -> Part:
    """The unique slots in order of first appearance, and each input position's index among them."""
    index_of: dict[int, int] = {}
    positions = array("L", (index_of.setdefault(slot, len(index_of)) for slot in slots))
    return Part(settings, index_of, positions if len(index_of) != len(slots) else None)


def _duplicate(first: int, position: int, table_name: str) -> ManifestError:
    if first < 0:
        return ManifestError(
            f"key at position {position} of {table_name!r} is already asked for by an earlier read of the same table; "
            "remove one, or pass fold_duplicates=True",
            positions=(position,),
        )
    return ManifestError(
        f"keys at positions {first} and {position} are the same key by value; remove one, or pass fold_duplicates=True "
        "to give both positions the one outcome",
        positions=(first, position),
    )


def table_of_arn(name: str) -> str:
    """``Orders`` of ``arn:aws:dynamodb:eu-west-1:123456789012:table/Orders``; a bare name as it is."""
    return name.rsplit("/", 1)[-1] if name.startswith("arn:") else name


def _with_key(settings: Settings, schema: KeySchema) -> Settings:
    return settings if schema is settings.key else replace(settings, key=schema)
