"""Items from a file or stdin, as JSON Lines: checked to the last line before one of them is planned."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from itemledger.apis.attribute_json import json_loads_exact
from itemledger.apis.attribute_values import AttributeValueError
from itemledger.cli.lines import LineNumbers, Lines
from itemledger.cli.problems import CommandError
from itemledger.cli.target import is_special
from itemledger.core.rows import Source
from itemledger.core.write_api import WriteApi
from itemledger.errors import ManifestError
from itemledger.ledger.planning import Sourced, new_item, stored

#: No API takes an item as long as this: the largest request of them all has 100 MiB.
MAX_LINE_BYTES = 128 * 2**20
#: How often ``on_items`` is told while a file is checked.
CHUNK = 1000
ONE_PER_LINE = "one item per line is wanted (`jq -c .` writes it so, `jq -c '.[]'` for an array)"
#: How the APIs name an item, or its key, by its place, which is here told by the line.
_PLACE = re.compile(r"^(?:item|key) (?:at position )?\d+(?: of the input)?")


def name_of(source: str) -> str | None:
    """The file's own name; ``None`` for stdin, pipes and devices, which have none that lasts."""
    return None if source == "-" or is_special(Path(source)) else os.path.basename(source)


class ItemFile:
    """The items of one input. What cannot be read again later is spooled, and its items are kept in the ledger."""

    def __init__(self, source: str, *, store_payloads: bool) -> None:
        self.name = "stdin" if source == "-" else source
        # A link such as "latest" may lead elsewhere by the time that its items are sent.
        self._path = None if store_payloads else os.path.realpath(source)
        self._lines = LineNumbers()
        self._opened = ExitStack()
        try:
            self._file = self._open(source)
        except OSError as error:
            raise CommandError(f"cannot read {self.name}: {error.strerror or error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def check(self, operation_id: str, api: WriteApi, on_items: Callable[[int], object]) -> int:
        """Everything that planning could find wrong, found first; how many items there are."""
        count = 0
        try:
            for position, (value, source) in enumerate(self._sourced(self._lines)):
                new_item(operation_id, api, api.entry(value, position), source)
                count = position + 1
                if count % CHUNK == 0:
                    on_items(count)
        except ManifestError as error:
            raise self.fault(error) from None
        return count

    def sourced(self) -> Iterator[Sourced]:
        """The items once more, each with the place where a worker finds it."""
        return self._sourced(LineNumbers())

    def line_of(self, position: int) -> int:
        """The line of an item that was checked."""
        return self._lines.of(position)

    def fault(self, error: ManifestError) -> CommandError:
        """An item's error, with the line it stands on."""
        if not error.positions:
            return CommandError(str(error))
        return CommandError(
            f"{self.name} line {self.line_of(error.positions[0])}: {_PLACE.sub('this item', str(error))}"
        )

    def _open(self, source: str) -> BinaryIO:
        if source != "-":
            file = self._opened.enter_context(Path(source).open("rb"))  # noqa: SIM115  # entered here
            return self._spooled(file) if is_special(Path(source)) else file
        if sys.stdin is None:
            raise CommandError("stdin is closed; name a file with --items")
        return self._spooled(sys.stdin.buffer)

    def _spooled(self, file: BinaryIO) -> BinaryIO:
        spool = self._opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # its owner's only, nameless
        shutil.copyfileobj(file, spool)
        return spool

    def _sourced(self, numbers: LineNumbers) -> Iterator[Sourced]:
        self._file.seek(0)
        lines = Lines(self._file, self.name, noun="item", most_bytes=MAX_LINE_BYTES)
        for text in lines:
            if not text.strip():
                continue
            try:
                value = json_loads_exact(text)
            except AttributeValueError as error:
                hint = f"; {ONE_PER_LINE}" if text.rstrip().endswith(("{", "[", ",")) else ""
                raise CommandError(f"{self.name} line {lines.number}: {error}{hint}") from None
            numbers.add(lines.number)
            place = Source(self._path, lines.offset, lines.length) if self._path else stored(value, numbers.count - 1)
            yield value, place
