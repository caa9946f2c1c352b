"""A file's lines as text, with where each stands, so that a fault can name it and a worker can find it again."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import BinaryIO

from itemledger.cli.problems import CommandError

UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Lines:
    """The text line by line; ``number``, ``offset`` and ``length`` (in bytes) are those of the line given last."""

    def __init__(self, file: BinaryIO, name: str, *, noun: str, most_bytes: int) -> None:
        self._file = file
        self._name = name
        self._noun = noun
        self._most = most_bytes
        self.number = 0
        self.offset = 0
        self.length = 0

    def __iter__(self) -> Iterator[str]:
        while raw := self._file.readline(self._most + 1):
            self.number += 1
            self.offset += self.length
            if len(raw) > self._most:
                raise self.fault(
                    f"is longer than {self._most:,} bytes, so it is no {self._noun}; is it one {self._noun} per line?"
                )
            if self.number == 1:
                if raw.startswith(UTF16_MARKS):
                    raise self.fault("starts like UTF-16; save the file as UTF-8")
                if raw.startswith(UTF8_MARK):
                    raw = raw.removeprefix(UTF8_MARK)
                    self.offset = len(UTF8_MARK)
            self.length = len(raw)
            try:
                yield raw.decode()
            except UnicodeDecodeError as error:
                raise self.fault(f"is not UTF-8 (at byte {error.start + 1}); save the file as UTF-8") from None

    def fault(self, problem: str) -> CommandError:
        return CommandError(f"{self._name} line {self.number} {problem}")


class LineNumbers:
    """Which line each position of an input came from, kept only where blank lines or quoted ones come between."""

    def __init__(self) -> None:
        self.count = 0
        self._moved_at = array("L")  # the positions at which position and line number drift further apart
        self._drift = array("L")

    def add(self, line: int) -> None:
        drift = line - self.count
        if not self._drift or self._drift[-1] != drift:
            self._moved_at.append(self.count)
            self._drift.append(drift)
        self.count += 1

    def of(self, position: int) -> int:
        return position + self._drift[bisect_right(self._moved_at, position) - 1]
