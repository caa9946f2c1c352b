"""Payloads at the moment of sending: read again from where planning left them, and proven to be what was planned."""

from __future__ import annotations

import os
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

    ``payload`` is the caller's own way from a row to its item, asked first. Raises SourceChangedError when an item is
    no longer what was planned, or cannot be had: then nothing of it is sent.
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
        """The entries of these rows, in order, each under the row's own idempotency key."""
        return [self._entry(row) for row in rows]

    def _entry(self, row: Row) -> Entry:
        value = self._value(row)
        try:
            # Where an API knows no identity of its own the item id is the place in the input, counted from one.
            numbered = row.item_id.isascii() and row.item_id.isdecimal() and len(row.item_id) <= MOST_DIGITS
            position = int(row.item_id) - 1 if numbered else row.number - 1
            entry = self._api.entry(value, position)
            same = entry.item_id == row.item_id and payload_hash(entry.payload) == row.payload_hash
        except (ManifestError, TypeError):
            same = False
        if not same:
            raise self._changed(row, "does not hold what was planned")
        return replace(entry, idempotency_key=row.idempotency_key)

    def _value(self, row: Row) -> object:
        if self._payload is not None:
            return self._payload(row)
        source = row.source
        if source.stored is not None:
            return exact_json.loads(source.stored)
        if source.path is None:
            raise SourceChangedError(
                f"row {row.number} has no payload in this ledger; plan with store_payloads=True, or give payload=",
                row=row.number,
            )
        try:
            file = self._file(source.path)
            file.seek(source.offset)
            return json_loads_exact(file.read(source.length))
        except OSError as error:
            raise self._changed(row, f"cannot be read ({error.strerror or error})") from None
        except AttributeValueError:
            raise self._changed(row, "does not hold what was planned") from None

    def _file(self, path: str) -> BinaryIO:
        file = self._files.get(path)
        if file is None:
            if len(self._files) >= OPEN_FILES:
                self._files.pop(next(iter(self._files))).close()
            file = self._files[path] = open(path, "rb", buffering=64 * 1024)  # noqa: SIM115  # closed with the object
        return file

    def _changed(self, row: Row, what: str) -> SourceChangedError:
        path = row.source.path
        where = "its payload" if path is None else f"{os.path.basename(path)} at byte {row.source.offset}"
        return SourceChangedError(
            f"row {row.number}: {where} {what}, so nothing of its batch was sent; put the input back as it was, or "
            "plan it again",
            row=row.number,
        )
