"""Where the pages of a scan go: files of lines, plain or gzip, or the caller's own function.

A sink tells how far it is durable as one number, its position, and can go on from there, whatever came after it.
"""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol

from itemledger.apis.attribute_json import native_to_json_text, typed_to_json
from itemledger.errors import CheckpointError, ManifestError, OutputError
from itemledger.scanning.checkpoint import write_all
from itemledger.tables.page import Page

#: Files are synced when so much waits, or so long ago was the last time; a crash costs no more than to read that again.
COMMIT_BYTES = 4 * 2**20
COMMIT_S = 1.0


class Sink(Protocol):
    """What a scan writes to. ``values`` is what its pages' items must be.

    ``resumable``, told once it is open, says whether it can go on from a position: a pipe cannot.
    """

    output: str
    resumable: bool
    values: Literal["native", "typed"]

    def open(self, position: int | None) -> None:
        """Begins, or goes on after ``position``: what was written later is taken back."""

    def write(self, page: Page) -> None: ...

    def due(self, seconds: float) -> bool:
        """Whether to commit now, so many seconds after the last time."""

    def commit(self) -> int:
        """Makes durable what was written, and says where that ends."""

    def close(self) -> None: ...


class HandlerSink:
    """The caller's function, once for each page. It has done its work when it returns; its position counts pages.

    A crash between its return and the checkpoint hands that one page out again: ``(page.segment, page.number)`` is the
    same then, as long as ``Limit`` is.
    """

    output = "handler"
    resumable = True

    def __init__(self, handler: Callable[[Page], object], values: Literal["native", "typed"]) -> None:
        self.values = values
        self._handler = handler
        self._pages = 0

    def open(self, position: int | None) -> None:
        self._pages = position or 0

    def write(self, page: Page) -> None:
        self._handler(page)
        self._pages += 1

    def due(self, seconds: float) -> bool:
        return True

    def commit(self) -> int:
        return self._pages

    def close(self) -> None: ...


class LinesSink:
    """One item a line. With ``compress`` each page is a gzip member of its own, so the file can end after any."""

    def __init__(self, path: Path | None, line_format: Literal["json", "dynamodb-json"], *, compress: bool) -> None:
        """``None`` is stdout."""
        self.output = f"{line_format}{' gzip' if compress else ''}"
        self.values: Literal["native", "typed"] = "native" if line_format == "json" else "typed"
        self.resumable = False
        self._path = path
        self._name = "stdout" if path is None else str(path)
        self._line = _plain_line if line_format == "json" else _export_line
        self._compress = compress
        self._descriptor = -1
        self._position = 0
        self._waiting = 0

    def open(self, position: int | None) -> None:
        """A new file must not be there, unless empty; one that goes on must reach as far as it was durable."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            self._descriptor = os.dup(1) if self._path is None else os.open(self._path, flags, 0o666)
            status = os.fstat(self._descriptor)
            self.resumable = self._path is not None and stat.S_ISREG(status.st_mode)
            if not self.resumable:
                return
            if position is None and status.st_size:
                raise ManifestError(f"{self._name} is there already; name another file, or remove it")
            if position is not None and status.st_size < position:
                raise CheckpointError(
                    f"{self._name} has {status.st_size:,} bytes where its checkpoint knows of {position:,}; put it "
                    "back, or begin a new scan"
                )
            self._position = position or 0
            os.ftruncate(self._descriptor, self._position)
            os.lseek(self._descriptor, self._position, os.SEEK_SET)
        except OSError as error:
            raise ManifestError(f"{self._name}: {error.strerror}") from None

    def write(self, page: Page) -> None:
        data = b"".join(map(self._line, page.items))
        if self._compress and data:
            data = gzip.compress(data, mtime=0)
        try:
            write_all(self._descriptor, data)
        except OSError as error:
            raise OutputError(f"{self._name}: {error.strerror}") from None
        self._position += len(data)
        self._waiting += len(data)

    def due(self, seconds: float) -> bool:
        return self._waiting >= COMMIT_BYTES or seconds >= COMMIT_S

    def commit(self) -> int:
        try:
            if self.resumable:
                os.fsync(self._descriptor)
        except OSError as error:
            raise OutputError(f"{self._name}: {error.strerror}") from None
        self._waiting = 0
        return self._position

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _plain_line(item: Any) -> bytes:
    return _encoded(native_to_json_text(item))


def _export_line(item: Any) -> bytes:
    """As the service's own export to S3 writes it (developer guide, "DynamoDB table export output format")."""
    return _encoded(json.dumps({"Item": typed_to_json(item)}, ensure_ascii=False, separators=(",", ":")))


def _encoded(text: str) -> bytes:
    # Only a lone surrogate has no UTF-8; as an escape it is still the same JSON.
    return text.encode("utf-8", "backslashreplace") + b"\n"
