"""Payloads at the moment of sending: read again from where planning left them, and proven to be what was planned."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import BinaryIO, Self

from itemledger.apis.attribute_json import json_loads_exact
from itemledger.apis.attribute_values import AttributeValueError
from itemledger.core import exact_json
from itemledger.core.payload_hash import payload_hash
from itemledger.core.rows import Row
from itemledger.core.write_api import Entry, WriteApi
from itemledger.errors import ManifestError, SourceChangedError

#: Of a place in an input; a longer number is an id of the caller's own.
MOST_DIGITS = 18
#: Input files kept open at a time.
OPEN_FILES = 16


class Payloads:
    """Brings the entries of rows: from the ledger, from the input file by offset, or from the caller.

    ``payload`` is the caller's own way from a row to its item or its entry, asked first. What does not come is never
    sent.
    """

    def __init__(self, api: WriteApi, payload: Callable[[Row], object] | None = None) -> None:
        self._api = api
        self._payload = payload
        self._files: dict[str, BinaryIO] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def load(self, rows: Sequence[Row]) -> list[Entry]:
        """The entries of these rows, in order, each under the row's own idempotency key.

        Raises SourceChangedError: with the numbers of all rows whose item is no longer what was planned, or without
        any where an input cannot be read at all, which says nothing of its items.
        """
        entries = [self._entry(row) for row in rows]
        if changed := [row for row, entry in zip(rows, entries, strict=True) if entry is None]:
            raise _changed(changed)
        return [entry for entry in entries if entry is not None]

    def _entry(self, row: Row) -> Entry | None:
        """``None`` when its item is no longer what was planned."""
        try:
            value = self._value(row)
        except AttributeValueError:
            return None
        try:
            # Where an API knows no identity of its own the item id is the place in the input, counted from one.
            numbered = row.item_id.isascii() and row.item_id.isdecimal() and len(row.item_id) <= MOST_DIGITS
            position = int(row.item_id) - 1 if numbered else row.number - 1
            entry = value if isinstance(value, Entry) else self._api.entry(value, position)
            same = entry.item_id == row.item_id and payload_hash(entry.payload) == row.payload_hash
        except (ManifestError, TypeError):
            return None
        return replace(entry, idempotency_key=row.idempotency_key) if same else None

    def _value(self, row: Row) -> object:
        if self._payload is not None:
            return self._payload(row)
        source = row.source
        if source.stored is not None:
            return exact_json.loads(source.stored)
        if source.path is None:
            raise SourceChangedError(
                f"row {row.number} has no payload in this ledger; plan with store_payloads=True, or give payload="
            )
        try:
            file = self._file(source.path)
            file.seek(source.offset)
            text = file.read(source.length)
        except OSError as error:
            raise SourceChangedError(
                f"{os.path.basename(source.path)} cannot be read ({error.strerror or error}), so nothing of row "
                f"{row.number} and its batch was sent; put the input back, or plan it again from where it is now"
            ) from None
        return json_loads_exact(text)

    def _file(self, path: str) -> BinaryIO:
        file = self._files.get(path)
        if file is None:
            if len(self._files) >= OPEN_FILES:
                self._files.pop(next(iter(self._files))).close()
            if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe could wait for ever
                raise OSError("it is no regular file")
            file = self._files[path] = open(path, "rb", buffering=64 * 1024)  # noqa: SIM115  # closed with the object
        return file


def _changed(rows: Sequence[Row]) -> SourceChangedError:
    numbers = tuple(row.number for row in rows)
    path, offset = rows[0].source.path, rows[0].source.offset
    where = "its payload" if path is None else f"{os.path.basename(path)} at byte {offset}"
    others = f" (and {len(rows) - 1:,} more of its batch)" if len(rows) > 1 else ""
    return SourceChangedError(
        f"row {numbers[0]}: {where} does not hold what was planned{others}, so nothing of it was sent; put the input "
        "back as it was, or plan it again",
        rows=numbers,
    )
