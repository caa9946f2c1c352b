"""The private files of a read that did not end well: the hold record, and what impossible evidence looked like."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from itemledger.cli.target import OutputError, Target, is_special
from itemledger.core.evidence import call_event
from itemledger.core.hold import HoldRecord
from itemledger.core.result import ReadResult
from itemledger.core.steps import Opened
from itemledger.core.tokens import Tokeniser
from itemledger.errors import LedgerInvariantError

REPAIR_SCHEMA = "itemledger/repair/1"
#: Room for a hold record: for its head, and for a key's punctuation and position beside names and values.
HEAD_BYTES, KEY_BYTES, ATTRIBUTE_BYTES = 64 * 1024, 16, 16


class HoldFile:
    """Room for the hold record is set aside before the first call: a full disk is one of the reasons to need it."""

    def __init__(self, path: Path | None, *, beside: Path | None, force: bool) -> None:
        self._target = Target(path, force=force, private=True) if path is not None else None
        self.is_named = path is not None
        neighbour = next((name for name in (path, beside) if name is not None and not is_special(name)), Path("x"))
        self._directory = neighbour.parent
        self._name = ""

    def open(self, opened: Opened) -> None:
        """OutputError when there is no place for it."""
        self._name = opened.observation.id[:12]
        room = _room_for(opened)
        if self._target is not None:
            self._target.open(reserve=room)
            return
        try:
            self._target = self._private("hold", self._directory)
            self._target.open(reserve=room)
        except OutputError:
            # Nobody asked for a file in this directory, so a read-only one is no reason to refuse the read.
            self._target = self._private("hold", Path(tempfile.gettempdir()))
            self._target.open(reserve=room)

    def drop(self) -> None:
        if self._target is not None:
            self._target.drop()

    def keep(self, result: ReadResult, items_reference: str) -> str:
        """Writes the record and says where it is; OutputError when it could not be written anywhere."""
        record = replace(HoldRecord.of(result), items_reference=items_reference)
        data = json.dumps(record.to_json(), ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        assert self._target is not None
        try:
            return _written(self._target, data)
        except OutputError:
            self._target.drop()
            elsewhere = self._private("hold", Path(tempfile.gettempdir()))
            elsewhere.open()
            return _written(elsewhere, data)

    def keep_repair(self, result: ReadResult, error: LedgerInvariantError) -> str:
        """Writes what the refused answer looked like and all that was settled before, for whoever looks into it."""
        self.drop()
        told = {
            "schema": REPAIR_SCHEMA,
            "message": str(error),
            "position_in_call": error.position,
            "structure": error.structure,
            "calls": [call_event(entry, Tokeniser(None)) for entry in error.evidence],
            "before": HoldRecord.of(result).to_json(),
        }
        target = self._private("repair", self._directory)
        target.open()
        return _written(target, json.dumps(told, indent=1, default=str).encode() + b"\n")

    def _private(self, kind: str, directory: Path) -> Target:
        return Target(directory / f"{kind}-{self._name}.json", private=True)


def _written(target: Target, data: bytes) -> str:
    target.write(data)
    target.keep()
    return target.name


def _room_for(opened: Opened) -> int:
    per_key = KEY_BYTES + sum(ATTRIBUTE_BYTES + len(name) for name in opened.settings.key.names)
    return HEAD_BYTES + sum(len(str(key)) for key in opened.keys) + per_key * len(opened.keys)
