"""The hold record: what a later reader needs when evidence stopped.

It holds plain keys, no items and no credentials: treat it as sensitive. Continuing from it is a new observation of the
unresolved keys; values read later are never spliced into what was settled before.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from itemledger.core.checked_json import count, member, texts
from itemledger.core.item_hash import item_hash
from itemledger.core.keys import Key, KeySchema, KeyType
from itemledger.core.ranges import from_ranges, to_ranges
from itemledger.core.result import Disposition, ReadResult, StopReason
from itemledger.core.terms import Earlier, Observation, Settings
from itemledger.errors import HoldRecordError, ManifestError

SCHEMA = "itemledger/hold/1"


@dataclass(frozen=True, slots=True)
class HoldRecord:
    """One stopped observation. ``items_reference`` names the file the items went to, else ``item_hashes`` has them."""

    observation: Observation
    settings: Settings
    manifest: tuple[Key, ...]
    dispositions: tuple[Disposition, ...]
    earlier: Earlier
    stop_reason: StopReason
    terminal_error: Mapping[str, Any] | None
    application_passes: int
    abandoned_calls: int
    deadline_reached: bool
    timeout_s: float
    request_ids: tuple[str, ...]
    item_hashes: Mapping[int, str]
    items_reference: str | None = None

    @classmethod
    def of(cls, result: ReadResult) -> HoldRecord:
        error = result.terminal_error
        return cls(
            observation=result.observation,
            settings=result.settings,
            manifest=result.requested_order,
            dispositions=result.dispositions,
            earlier=result.earlier,
            stop_reason=result.stop_reason,
            # The message may quote names and values from the request: only code and id are kept.
            terminal_error=None
            if error is None
            else {"code": error.code, "request_id": error.request_id, "transient": error.transient},
            application_passes=result.totals.application_passes,
            abandoned_calls=result.abandoned_calls,
            deadline_reached=result.stop_reason is StopReason.DEADLINE,
            timeout_s=result.bounds.timeout_s,
            request_ids=result.request_ids,
            item_hashes={
                position: item_hash(result.items_by_key[key])
                for position, key in enumerate(result.requested_order)
                if key in result.items_by_key
            },
        )

    @property
    def unresolved(self) -> tuple[Key, ...]:
        """What a continuing observation asks for, in manifest order."""
        pairs = zip(self.manifest, self.dispositions, strict=True)
        return tuple(key for key, standing in pairs if standing is Disposition.UNRESOLVED)

    def settled(self) -> Earlier:
        """Everything that this observation and those before it settled."""
        standing = list(zip(self.manifest, self.dispositions, strict=True))
        return Earlier(
            self.earlier.returned | {k for k, d in standing if d is Disposition.RETURNED},
            self.earlier.processed_not_returned | {k for k, d in standing if d is Disposition.PROCESSED_NOT_RETURNED},
        )

    def next_observation(self, observation: Observation) -> Observation:
        """A fresh observation as the next link of this record's chain."""
        return replace(
            observation,
            number=self.observation.number + 1,
            parent_id=self.observation.id,
            first_id=self.observation.first_id or self.observation.id,
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON's own types; ``from_json`` reads it back."""
        schema = self.settings.key
        return {
            "schema": SCHEMA,
            "observation": {
                "id": self.observation.id,
                "number": self.observation.number,
                "parent_id": self.observation.parent_id,
                "first_id": self.observation.first_id,
                "started_at": self.observation.started_at,
                "revisions": dict(self.observation.revisions),
            },
            "table": self.settings.table_name,
            # A list: some tools sort the members of an object, and which attribute comes first matters.
            "key": [{"name": n, "type": t and t.value} for n, t in zip(schema.names, schema.types, strict=True)]
            if schema.known
            else None,
            "consistent_read": self.settings.consistent_read,
            "projection": self.settings.projection
            and [path if isinstance(path, str) else list(path) for path in self.settings.projection],
            "values": self.settings.values,
            "unprocessed_keys_optional": self.settings.unprocessed_keys_optional,
            "stop_reason": self.stop_reason.value,
            "terminal_error": None if self.terminal_error is None else dict(self.terminal_error),
            "application_passes": self.application_passes,
            "deadline": {"timeout_s": self.timeout_s, "reached": self.deadline_reached},
            "abandoned_calls": self.abandoned_calls,
            "request_ids": list(self.request_ids),
            "manifest": [_key_to_json(key, schema) for key in self.manifest],
            **{d.value: to_ranges(i for i, s in enumerate(self.dispositions) if s is d) for d in Disposition},
            "items": {
                "reference": self.items_reference,
                "sha256": {str(position): digest for position, digest in self.item_hashes.items()},
            },
            "earlier": {
                "returned": [_key_to_json(key, schema) for key in _sorted(self.earlier.returned)],
                "processed_not_returned": [
                    _key_to_json(key, schema) for key in _sorted(self.earlier.processed_not_returned)
                ],
            },
        }

    @classmethod
    def from_json(cls, record: object) -> HoldRecord:
        """Reads ``to_json`` back; raises HoldRecordError with what is wrong and what to do."""
        if not isinstance(record, Mapping) or record.get("schema") != SCHEMA:
            raise HoldRecordError(f"not a hold record of schema {SCHEMA!r}; give the file that the stopped read wrote")
        try:
            return _read(record)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise HoldRecordError(
                f"the hold record is damaged ({type(error).__name__}: {error}); use an intact copy or start a new read"
            ) from None


def _read(record: Mapping[str, Any]) -> HoldRecord:
    schema = _schema(record)
    manifest = tuple(_key_from_json(entry, schema, i) for i, entry in enumerate(member(record, "manifest", list)))
    if manifest and not schema.known:
        schema = schema.typed_as(manifest[0])
    dispositions = _dispositions(record, len(manifest))
    before = member(record, "earlier", dict)
    earlier = Earlier(
        *(
            frozenset(_key_from_json(entry, schema, i) for i, entry in enumerate(member(before, name, list)))
            for name in ("returned", "processed_not_returned")
        )
    )
    known = [*manifest, *earlier.returned, *earlier.processed_not_returned]
    if len(set(known)) != len(known):
        raise ValueError("a key is there twice")
    deadline, items = member(record, "deadline", dict), member(record, "items", dict)
    return HoldRecord(
        observation=_observation(member(record, "observation", dict)),
        settings=_settings(record, schema),
        manifest=manifest,
        dispositions=dispositions,
        earlier=earlier,
        stop_reason=StopReason(member(record, "stop_reason", str)),
        terminal_error=_terminal_error(record),
        application_passes=count(record, "application_passes"),
        abandoned_calls=count(record, "abandoned_calls"),
        deadline_reached=member(deadline, "reached", bool),
        timeout_s=member(deadline, "timeout_s", int, float),
        request_ids=texts(member(record, "request_ids", list)),
        item_hashes=_hashes(member(items, "sha256", dict), dispositions),
        items_reference=member(items, "reference", str, type(None)),
    )


def _dispositions(record: Mapping[str, Any], size: int) -> tuple[Disposition, ...]:
    standing: list[Disposition | None] = [None] * size
    for disposition in Disposition:
        for position in from_ranges(record[disposition.value]):
            if position >= size or standing[position] is not None:
                raise ValueError(f"position {position} is outside the manifest or has two dispositions")
            standing[position] = disposition
    dispositions = tuple(d for d in standing if d is not None)
    if len(dispositions) != size:
        raise ValueError("not every key of the manifest has a disposition")
    return dispositions


def _observation(told: Mapping[str, Any]) -> Observation:
    revisions = member(told, "revisions", dict)
    chained = [told["parent_id"] is not None, told["first_id"] is not None, count(told, "number", 1) > 1]
    if any(chained) != all(chained):
        raise ValueError("number, parent_id and first_id do not make a chain")
    return Observation(
        member(told, "id", str),
        count(told, "number", 1),
        member(told, "parent_id", str, type(None)),
        member(told, "first_id", str, type(None)),
        member(told, "started_at", str),
        dict(zip(texts(revisions), texts(revisions.values()), strict=True)),
    )


def _settings(record: Mapping[str, Any], schema: KeySchema) -> Settings:
    projection = member(record, "projection", list, type(None))
    values = member(record, "values", str)
    if values not in ("native", "typed"):
        raise ValueError("values is neither native nor typed")
    return Settings(
        member(record, "table", str),
        schema,
        member(record, "consistent_read", bool),
        None if projection is None else tuple(map(_path, projection)),
        "typed" if values == "typed" else "native",
        member(record, "unprocessed_keys_optional", bool),
    )


def _path(path: object) -> str | tuple[str | int, ...]:
    if isinstance(path, str):
        return path
    if not isinstance(path, list) or not all(type(step) in (str, int) for step in path):
        raise ValueError("a projection path is neither a text nor a list of names and indexes")
    return tuple(path)


def _terminal_error(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    error = member(record, "terminal_error", dict, type(None))
    return error and {
        "code": member(error, "code", str),
        "request_id": member(error, "request_id", str, type(None)),
        "transient": member(error, "transient", bool),
    }


def _hashes(told: Mapping[str, Any], dispositions: Sequence[Disposition]) -> dict[int, str]:
    hashes = {int(position): member(told, position, str) for position in told if position.isdecimal()}
    if len(hashes) != len(told) or any(
        position >= len(dispositions) or dispositions[position] is not Disposition.RETURNED for position in hashes
    ):
        raise ValueError("an item hash is of no returned position")
    return hashes


def _schema(record: Mapping[str, Any]) -> KeySchema:
    told = member(record, "key", list, type(None))
    if told is None:
        return KeySchema.unknown(next(iter(record["manifest"]), ""))
    names = texts([part["name"] for part in told])
    if len(names) not in (1, 2) or len(set(names)) != len(names) or not all(names):
        raise ValueError("a key has one or two attributes")
    types = (member(part, "type", str, type(None)) for part in told)
    return KeySchema(names, tuple(None if t is None else KeyType(t) for t in types))


def _key_to_json(key: Key, schema: KeySchema) -> Any:
    typed = {
        name: {"B": base64.b64encode(value["B"]).decode()} if "B" in value else value
        for name, value in schema.typed(key).items()
    }
    return typed if schema.known or schema.guessed else list(typed.values())


def _key_from_json(entry: object, schema: KeySchema, position: int) -> Key:
    nameless = not schema.known and not schema.guessed
    if not isinstance(entry, list if nameless else dict) or len(entry) != len(schema.names):
        raise ValueError(f"key {position} does not have the form of the others")
    parts = entry if isinstance(entry, list) else [entry[name] for name in schema.names]
    try:
        plain = [{"B": base64.b64decode(part["B"], validate=True)} if "B" in part else part for part in parts]
        if not all(isinstance(part, dict) for part in plain):
            raise ValueError(f"key {position} is not typed")
        return schema.canonical(dict(zip(schema.names, plain, strict=True)), position)
    except binascii.Error:
        raise ValueError(f"key {position} holds binary that is not base64") from None
    except ManifestError as error:
        raise ValueError(str(error)) from None


def _sorted(keys: Iterable[Key]) -> list[Key]:
    return sorted(keys, key=repr)
