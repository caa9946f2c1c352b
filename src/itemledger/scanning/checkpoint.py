"""The checkpoint of a scan: a journal of where each segment stands and how far its output is durable.

A line a commit, appended and synced after the output is: the scan goes on from the last whole line. A line that a
crash cut off is dropped; a line that does not fit its checksum is damage, and nothing is guessed from it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from itemledger.apis.attribute_json import typed_from_json, typed_to_json
from itemledger.apis.attribute_values import AttributeValueError
from itemledger.core.answer import EvidenceLabel
from itemledger.core.checked_json import count, member
from itemledger.core.evidence import encode
from itemledger.errors import CheckpointError
from itemledger.tables.page import Consumed, PageTotals
from itemledger.tables.page_result import Segment, SegmentState

SCHEMA = "itemledger/scan-checkpoint/1"
#: What may differ between the runs of one scan: how much a page holds is no part of what is read.
_FREE = frozenset({"Limit", "TableName", "IndexName", "ReturnConsumedCapacity"})


@dataclass(frozen=True, slots=True)
class ScanIdentity:
    """What a checkpoint belongs to. ``request_sha256`` is of all that decides which items come, and how they look.

    ``table_id`` tells a table from one of the same name that was made after it was deleted; ``None`` where unknown.
    """

    table: str
    index: str | None
    segments: int
    numbers: tuple[int, ...]
    request_sha256: str
    output: str
    table_id: str | None = None

    def difference(self, other: ScanIdentity) -> str | None:
        """What of a later run is another, in words; ``None`` where it is the same scan."""
        told = {
            "table": "another table",
            "index": "another index",
            "segments": f"{other.segments} segments instead of {self.segments}",
            "numbers": "other ones of the segments",
            "request_sha256": "another filter, projection, or consistency",
            "output": f"output as {other.output} instead of {self.output}",
        }
        for name, words in told.items():
            if getattr(self, name) != getattr(other, name):
                return words
        if None not in (self.table_id, other.table_id) and self.table_id != other.table_id:
            return "a table that was made anew under the same name"
        return None


def request_sha256(request: Mapping[str, Any]) -> str:
    """The hash of a typed request; its values may be business data, so they are not written down."""
    asked = {name: value for name, value in request.items() if name not in _FREE}
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"), default=lambda value: bytes(value).hex())
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class Checkpoint:
    """The open journal, held by this process alone.

    ``segments`` is where each stands, ``position`` how far the output is durable: ``None`` for a scan that has not
    written anything yet.
    """

    def __init__(self, path: Path, descriptor: int, segments: Mapping[int, Segment], position: int | None) -> None:
        self._path = path
        self._descriptor = descriptor
        self.segments = dict(segments)
        self.position = position

    @classmethod
    def open(cls, path: Path, identity: ScanIdentity) -> Checkpoint:
        """Begins a checkpoint, or takes up the one that is there.

        Raises CheckpointError for one of another scan, one that is damaged, and one that another process holds.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from None
        try:
            _lock(descriptor, path)
            return cls._taken_up(path, descriptor, identity)
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def _taken_up(cls, path: Path, descriptor: int, identity: ScanIdentity) -> Checkpoint:
        raw = _content(descriptor, path)
        whole = raw[: raw.rfind(b"\n") + 1]
        if not whole and b"\x00" not in raw and raw and not _SIGN.startswith(raw[: len(_SIGN)]):
            raise CheckpointError(f"{path} is no checkpoint of a scan; name another file")
        begun = {number: not_begun(number) for number in identity.numbers}
        if not whole:
            _end_at(descriptor, 0)
            checkpoint = cls(path, descriptor, begun, None)
            checkpoint._append({"schema": SCHEMA, **asdict(identity), "numbers": list(identity.numbers)})
            _sync_directory(path)
            return checkpoint
        try:
            first, *commits = [_checked(line) for line in whole.splitlines()]
            found, segments, position = _identity(first), dict(begun), None
            for commit in commits:
                segments |= {each.number: each for each in map(_segment, member(commit, "segments", list))}
                position = count(commit, "position")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, AttributeValueError):
            raise CheckpointError(f"{path} is damaged, so nothing is taken from it; begin a new scan") from None
        if (difference := found.difference(identity)) is not None:
            raise CheckpointError(f"{path} belongs to another scan: {difference}; name another file, or ask the same")
        if segments.keys() != begun.keys():
            raise CheckpointError(f"{path} is damaged, so nothing is taken from it; begin a new scan")
        _end_at(descriptor, len(whole))
        return cls(path, descriptor, segments, position)

    def commit(self, segments: Iterable[Segment], position: int) -> None:
        """Writes down what is durable now; when this returns, it is too."""
        changed = {segment.number: segment for segment in segments}
        self._append({"position": position, "segments": [_told(segment) for segment in changed.values()]})
        self.segments |= changed
        self.position = position

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, event: Mapping[str, Any]) -> None:
        try:
            write_all(self._descriptor, encode({**event, "crc32": zlib.crc32(encode(event))}))
            os.fsync(self._descriptor)
        except OSError as error:
            raise CheckpointError(f"{self._path}: {error.strerror}") from None


_SIGN = b'{"crc32":'


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CheckpointError(f"{path} is in use by another process; wait for it, or name another file") from None


def _content(descriptor: int, path: Path) -> bytes:
    try:
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            return file.read()
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None


def _end_at(descriptor: int, size: int) -> None:
    """Drops the line that a crash cut off."""
    os.ftruncate(descriptor, size)
    os.lseek(descriptor, 0, os.SEEK_END)


def write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _sync_directory(path: Path) -> None:
    """So that a new file's name is durable, too."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checked(line: bytes) -> dict[str, Any]:
    event = json.loads(line)
    told = event.pop("crc32")
    if told != zlib.crc32(encode(event)):
        raise ValueError("a line does not fit its checksum")
    return dict(event)


def not_begun(number: int) -> Segment:
    return Segment(number, SegmentState.NOT_STARTED, None, PageTotals(), 0.0)


def _identity(event: Mapping[str, Any]) -> ScanIdentity:
    if event["schema"] != SCHEMA:
        raise ValueError("of another version")
    return ScanIdentity(
        member(event, "table", str),
        member(event, "index", str, type(None)),
        count(event, "segments", 1),
        tuple(int(number) for number in member(event, "numbers", list)),
        member(event, "request_sha256", str),
        member(event, "output", str),
        member(event, "table_id", str, type(None)),
    )


def _told(segment: Segment) -> dict[str, Any]:
    """A segment's standing; the error of one that failed is not kept, for the next run asks again."""
    totals = segment.totals
    return {
        "number": segment.number,
        "done": segment.state is SegmentState.DONE,
        "last_key": None if segment.last_key is None else typed_to_json(segment.last_key),
        "seconds": segment.seconds,
        "pages": totals.pages,
        "calls": totals.calls,
        "examined": totals.examined,
        "returned": totals.returned,
        "reported": asdict(totals.reported),
        "untold_calls": totals.untold_calls,
        "response_bytes": totals.response_bytes,
        "sdk_retry_attempts": totals.sdk_retry_attempts,
        "label": totals.label and totals.label.value,
    }


def _segment(told: Mapping[str, Any]) -> Segment:
    last_key = None if told["last_key"] is None else typed_from_json(told["last_key"])
    state = SegmentState.NOT_STARTED if last_key is None else SegmentState.UNDER_WAY
    if member(told, "done", bool):
        if last_key is not None:
            raise ValueError("a segment that is done has no key to go on after")
        state = SegmentState.DONE
    totals = PageTotals(
        count(told, "pages"),
        count(told, "calls"),
        _count_or_unknown(told, "examined"),
        count(told, "returned"),
        Consumed(**told["reported"]),
        count(told, "untold_calls"),
        _count_or_unknown(told, "response_bytes"),
        _count_or_unknown(told, "sdk_retry_attempts"),
        None if told["label"] is None else EvidenceLabel(told["label"]),
    )
    return Segment(count(told, "number"), state, last_key, totals, member(told, "seconds", float, int))


def _count_or_unknown(told: Mapping[str, Any], name: str) -> int | None:
    return None if told[name] is None else count(told, name)


def with_earlier(earlier: Segment, now: Segment) -> Segment:
    """A segment's standing over all runs of its scan."""
    return replace(now, totals=earlier.totals.plus(now.totals), seconds=earlier.seconds + now.seconds)
