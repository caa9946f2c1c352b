"""BatchGetItem: rows and leftovers are named by key; silence means processed and not returned.

Facts: service model 2012-08-10, BatchGetItem. No output member is marked required there, but the text promises an
UnprocessedKeys map that is empty when all is done; a response without it cannot prove that a key is absent.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from itemledger.apis.attribute_values import AttributeValueError, item_to_native
from itemledger.apis.item_size import item_size
from itemledger.apis.projection import Projection, compile_projection
from itemledger.core.keys import Key, is_mapping
from itemledger.core.manifest import table_of_arn
from itemledger.core.read_api import CallFacts
from itemledger.core.reconcile import Finding, Limits, Mention, Silence, shape_of
from itemledger.core.result import Item
from itemledger.core.steps import SentKey
from itemledger.core.terms import Settings
from itemledger.errors import LedgerInvariantError

#: An answer is cut at 16 MB in all and at 1 MB per partition. One that carries less than this, counting one more item
#: of its mean size, was not cut by size.
CUT_BYTES = 1_000_000
ABSENT_ACCEPTED = "UnprocessedKeys absent; accepted because unprocessed_keys_optional is set"


class BatchGetItem:
    """The API's private matter: requests from our keys, keys from its rows and leftovers."""

    operation = "batch_get_item"
    limits = Limits(items=100)

    def __init__(self, tables: Sequence[Settings]) -> None:
        self._tables = tables
        self._projections = [compile_projection(t.projection, t.key.names) for t in tables]
        self._entries = [_entry(t, p) for t, p in zip(tables, self._projections, strict=True)]
        self._hashes = [self._hash(t, e) for t, e in zip(tables, self._entries, strict=True)]
        self._index = {table.table_name: i for i, table in enumerate(tables)}
        bare = Counter(table_of_arn(table.table_name) for table in tables)
        for i, table in enumerate(tables):  # a call by ARN may be answered by name, where that can mean only one table
            if bare[table_of_arn(table.table_name)] == 1:
                self._index.setdefault(table_of_arn(table.table_name), i)

    def request(self, items: Sequence[SentKey]) -> dict[str, Any]:
        entries: dict[str, dict[str, Any]] = {}
        for table, key in items:
            settings = self._tables[table]
            entry = entries.get(settings.table_name)
            if entry is None:
                entry = entries[settings.table_name] = {"Keys": [], **copy.deepcopy(self._entries[table])}
            entry["Keys"].append(settings.key.typed(key))
        return {"RequestItems": entries, "ReturnConsumedCapacity": "TOTAL"}

    def silence(self) -> Silence:
        return Silence.PROCESSED_NOT_RETURNED

    def mentions(self, sent: Sequence[SentKey], response: Mapping[str, Any]) -> Iterator[Mention]:
        position_of = {item: position for position, item in enumerate(sent)}
        rows = _mapping(response, "Responses")
        leftovers = self._leftovers(response, rows)
        for name, keys in leftovers.items():
            table = self._table(name, "UnprocessedKeys")
            for typed in keys:
                key = self._tables[table].key.key_in(typed)
                yield Mention(_place(position_of, table, key), Finding.UNPROCESSED, structure=typed)
        for name, found in rows.items():
            table = self._table(name, "Responses")
            for row in _rows(found):
                yield self._row(table, row, position_of)
        self._refuse_missing_lists(sent, rows, leftovers)

    def cut_by_size(self, response: Mapping[str, Any]) -> bool:
        return any(
            self._carries_a_cut(self._index[name], rows, response)
            for name, rows in (response.get("Responses") or {}).items()
            if rows
        )

    def _carries_a_cut(self, table: int, rows: Sequence[Mapping[str, Any]], response: Mapping[str, Any]) -> bool:
        whole = 0 if self._projections[table] is None else self._bytes_read(table, response)
        carried = max(_bytes_of(rows), whole)
        return carried + carried // len(rows) >= CUT_BYTES

    def _bytes_read(self, table: int, response: Mapping[str, Any]) -> int:
        """Whole items are read whatever is projected: about 4 KB for each strong unit, 8 KB for each eventual one."""
        unit_bytes = 4096 if self._tables[table].consistent_read else 8192
        return int((self._consumed(table, response) or 0) * unit_bytes)

    def facts(self, item: SentKey, response: Mapping[str, Any] | None) -> CallFacts:
        table = item[0]
        if response is None:
            return CallFacts(self._hashes[table])
        return CallFacts(self._hashes[table], self._consumed(table, response), tuple(self._notes(table, response)))

    def _hash(self, table: Settings, entry: Mapping[str, Any]) -> str:
        """Of the request's shape: table, consistency and projection, the same on every pass."""
        shape = json.dumps([self.operation, table.table_name, entry], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(shape.encode()).hexdigest()

    def _row(self, table: int, row: Mapping[str, Any], position_of: Mapping[SentKey, int]) -> Mention:
        settings = self._tables[table]
        key = settings.key.key_in(row)
        if key is None:
            raise LedgerInvariantError(
                f"a row of table {settings.table_name!r} lacks a readable {' or '.join(settings.key.names)}, so it "
                "answers for no key; keep the answer and check what served it",
                structure=shape_of(row),
            )
        return Mention(position_of.get((table, key)), Finding.RETURNED, self._item(table, row), row)

    def _item(self, table: int, row: Mapping[str, Any]) -> Item:
        projection = self._projections[table]
        if projection is not None and projection.added:
            row = projection.strip(row)
        if self._tables[table].values == "typed":
            return row
        try:
            return item_to_native(row)
        except AttributeValueError as error:
            raise LedgerInvariantError(
                f"a row of table {self._tables[table].table_name!r} cannot be decoded: {error}", structure=shape_of(row)
            ) from None

    def _leftovers(self, response: Mapping[str, Any], rows: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
        if response.get("UnprocessedKeys") is None:
            lenient = all(table.unprocessed_keys_optional for table in self._tables)
            if not (lenient and isinstance(response.get("Responses"), Mapping)):
                raise LedgerInvariantError(
                    "the response has no UnprocessedKeys, so silence proves nothing; if this endpoint is known to "
                    "leave it out, pass unprocessed_keys_optional=True",
                    structure=shape_of(response),
                )
            return {}
        leftovers = {}
        for name, entry in _mapping(response, "UnprocessedKeys").items():
            keys = entry.get("Keys") if isinstance(entry, Mapping) else None
            if not isinstance(keys, list) or not all(isinstance(key, Mapping) for key in keys):
                raise LedgerInvariantError(
                    f"UnprocessedKeys of table {name!r} has no list of keys", structure=shape_of(response)
                )
            leftovers[name] = keys
        return leftovers

    def _table(self, name: str, member: str) -> int:
        index = self._index.get(name)
        if index is None:
            raise LedgerInvariantError(
                f"{member} names table {name!r}, which was not asked for", structure={member: {name: "?"}}
            )
        return index

    def _refuse_missing_lists(
        self, sent: Sequence[SentKey], rows: Mapping[str, Any], leftovers: Mapping[str, Sequence[object]]
    ) -> None:
        """A table may be missing from Responses only when every key asked of it is named as left over."""
        answered = {self._index[name] for name in rows}
        asked = Counter(table for table, _ in sent if table not in answered)
        left_over = Counter({self._index[name]: len(keys) for name, keys in leftovers.items()})
        for table, count in asked.items():
            if left_over[table] < count:
                raise LedgerInvariantError(
                    f"Responses has no list for table {self._tables[table].table_name!r}, yet "
                    f"{count - left_over[table]} of its keys are not named as left over",
                    structure={"Responses": dict.fromkeys(rows, "list")},
                )

    def _consumed(self, table: int, response: Mapping[str, Any]) -> float | None:
        told = response.get("ConsumedCapacity")
        for entry in [told] if isinstance(told, Mapping) else told if isinstance(told, list) else []:
            units = entry.get("CapacityUnits") if isinstance(entry, Mapping) else None
            if not isinstance(units, int | float) or isinstance(units, bool) or not 0 <= units < math.inf:
                continue
            if self._index.get(str(entry.get("TableName"))) == table:
                return float(units)
        return None

    def _notes(self, table: int, response: Mapping[str, Any]) -> Iterator[str]:
        asked = self._entries[table]
        if response.get("UnprocessedKeys") is None:
            yield ABSENT_ACCEPTED
        for name, entry in (response.get("UnprocessedKeys") or {}).items():
            if self._index[name] != table:
                continue
            if not entry["Keys"]:
                yield "UnprocessedKeys names the table with an empty list of keys"
            members = (asked.keys() | entry.keys()) - {"Keys"}
            differing = sorted(str(m) for m in members if (asked.get(m) or None) != (entry.get(m) or None))
            if differing:
                yield f"leftovers came back with other {', '.join(differing)}; the next pass asks as this one did"


def _bytes_of(rows: Sequence[Mapping[str, Any]]) -> int:
    try:
        return sum(map(item_size, rows))
    except AttributeValueError:
        return 0  # typed values are handed out as they came; one that cannot be measured explains nothing


def _entry(table: Settings, projection: Projection | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"ConsistentRead": True} if table.consistent_read else {}
    if projection is not None:
        entry["ProjectionExpression"] = projection.expression
        entry["ExpressionAttributeNames"] = dict(projection.names)
    return entry


def _mapping(response: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    value = response.get(member)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise LedgerInvariantError(f"{member} is no map of tables", structure=shape_of(response))
    return value


def _rows(found: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(map(is_mapping, found)):
        raise LedgerInvariantError("Responses holds something else than lists of rows", structure={"Responses": "?"})
    return found


def _place(position_of: Mapping[SentKey, int], table: int, key: Key | None) -> int | None:
    return None if key is None else position_of.get((table, key))
