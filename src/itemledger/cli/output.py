"""What a read leaves behind: items, dispositions, evidence, and a hold record when keys stay unresolved."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

from itemledger.cli.evidence_file import EvidenceFile
from itemledger.cli.hold_file import HoldFile
from itemledger.cli.problems import CommandError
from itemledger.cli.rows import ItemFormat, Rows
from itemledger.cli.target import OutputError, Target, is_special, part_of
from itemledger.cli.token_key import key_file
from itemledger.core.decision import Decision
from itemledger.core.reconcile import Finding
from itemledger.core.result import Disposition, ReadResult, StopReason
from itemledger.core.steps import Opened, Progress
from itemledger.errors import LedgerInvariantError

SETTLING = (Finding.RETURNED, Finding.PROCESSED_NOT_RETURNED)
LINES_PER_WRITE = 1000


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the caller wants things. Items left out go to stdout, a hold record left out goes beside the items."""

    items: Path | None = None
    dispositions: Path | None = None
    evidence: Path | None = None
    hold: Path | None = None
    force: bool = False
    plain_keys: bool = False
    inputs: Mapping[str, Path | None] = field(default_factory=dict)
    """What the command reads, by the option that names it: --force is no leave to write over that."""

    def __post_init__(self) -> None:
        written = {
            name: path
            for name, path in (
                ("--out", self.items),
                ("--dispositions", self.dispositions),
                ("--evidence", self.evidence),
                ("the token key of --evidence", self.evidence and key_file(self.evidence)),
                ("--hold", self.hold),
            )
            if path is not None
        }
        for (one, path), (other, second) in combinations(written.items(), 2):
            if _clash(path, second):
                raise CommandError(f"{one} and {other} are one file, {second}; give each a file of its own")
        for (one, path), (other, source) in product(written.items(), self.inputs.items()):
            if source is not None and not is_special(source) and _clash(path, source):
                raise CommandError(f"{one} would replace {source}, which {other} reads; name another file")
        if self.plain_keys and self.evidence is None:
            raise CommandError("--plain-keys says how the evidence names keys; give --evidence too")


def _clash(one: Path, other: Path) -> bool:
    """Whether two names lead to one file, or one leads to where the other's file is written first."""
    if {Path(os.path.realpath(one)), part_of(one)} & {Path(os.path.realpath(other)), part_of(other)}:
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


@dataclass(slots=True)
class Files:
    """Where things have come to be, and what could not be written, for the summary."""

    items: str | None = None
    dispositions: str | None = None
    evidence: str | None = None
    evidence_sha256: str | None = None
    token_key: str | None = None
    hold: str | None = None
    repair: str | None = None
    failures: list[str] = field(default_factory=list)


class Outputs:
    """The files of one read; made before anything else, so that a name already taken is said at once."""

    def __init__(self, paths: Paths, item_format: ItemFormat) -> None:
        self._format = item_format
        if paths.items is None and sys.stdout is None:
            raise CommandError("stdout is closed; name a file with --out")
        force = paths.force
        try:
            self._items = Target(paths.items, force=force)
            self._dispositions = Target(paths.dispositions, force=force) if paths.dispositions else None
            self._evidence = (
                EvidenceFile(paths.evidence, plain_keys=paths.plain_keys, force=force) if paths.evidence else None
            )
            self.hold = HoldFile(paths.hold, beside=paths.items, force=force)
        except FileExistsError as error:
            raise CommandError(str(error)) from None
        self._undelivered: frozenset[int] = frozenset()

    def open(self, opened: Opened, environment: Mapping[str, Any], policy: str) -> None:
        """Every file can be written, and the evidence says what is about to be asked: all before the first call."""
        self._rows = Rows(opened.settings.key, self._format)
        try:
            self._items.open()
            if self._dispositions is not None:
                self._dispositions.open()
            self.hold.open(opened)
            if self._evidence is not None:
                self._evidence.open(opened, environment, policy)
        except (OutputError, CommandError) as error:
            self.drop()
            raise CommandError(f"{error}; nothing was read") from None

    def take(self, step: Progress) -> None:
        """One call's evidence and rows; OutputError when not all of it could be written: then none of it counts."""
        before = [(target, target.written) for target in (self._items, self._dispositions) if target is not None]
        try:
            if self._evidence is not None:
                for entry in step.evidence:
                    self._evidence.call(entry)
            self._items.write(b"".join(self._item_lines(step)))
            if self._dispositions is not None:
                lines = (self._rows.disposition(o.position, o.key, o.disposition, o.duplicate_of) for o in step.settled)
                self._dispositions.write(b"".join(lines))
        except OutputError:
            for target, written in before:
                target.rewind(written)
            self._undelivered = frozenset(_settled_by(step))
            raise

    def delivered(self, result: ReadResult) -> ReadResult:
        """The result as far as its rows are in the files: for the next reader the other keys are unresolved."""
        if not self._undelivered:
            return result
        dispositions = tuple(
            Disposition.UNRESOLVED if position in self._undelivered else standing
            for position, standing in enumerate(result.dispositions)
        )
        # The read itself may have come to its end; what its next reader gets has not.
        reason = StopReason.INTERRUPTED if result.complete else result.stop_reason
        return replace(result, dispositions=dispositions, stop_reason=reason)

    def finish(
        self, result: ReadResult, decision: Decision, error: BaseException | None, *, wants_hold: bool = True
    ) -> Files:
        """Everything appears under its name, the hold record first. A file that fails does not keep the others back."""
        files = Files()
        delivered = self.delivered(result)
        if isinstance(error, LedgerInvariantError):
            with _noting(files):
                files.repair = self.hold.keep_repair(delivered, error)
        elif delivered.complete or not wants_hold:
            self.hold.drop()
        else:
            with _noting(files):
                files.hold = self.hold.keep(delivered, self._items.name)
        self._finish_items(files, delivered)
        if self._dispositions is not None:
            self._finish_dispositions(files, self._dispositions, delivered)
        if self._evidence is not None:
            self._finish_evidence(files, self._evidence, result, decision, error)
        return files

    def drop(self) -> None:
        """Nothing remains of any of them."""
        for target in (self._items, self._dispositions, self._evidence, self.hold):
            if target is not None:
                target.drop()

    def _item_lines(self, step: Progress) -> Iterator[bytes]:
        for outcome in step.settled:
            if outcome.item is not None and outcome.duplicate_of is None:
                yield self._rows.item(outcome.key, outcome.item)

    def _finish_items(self, files: Files, delivered: ReadResult) -> None:
        if all(standing is Disposition.UNRESOLVED for standing in delivered.dispositions) and not delivered.complete:
            self._items.drop()  # an empty file would look like an answer
            return
        with _noting(files):
            self._items.keep()
            files.items = self._items.name

    def _finish_dispositions(self, files: Files, target: Target, delivered: ReadResult) -> None:
        lines = self._unresolved_lines(delivered)
        with _noting(files):
            while chunk := list(islice(lines, LINES_PER_WRITE)):
                target.write(b"".join(chunk))
            target.keep()
            files.dispositions = target.name

    def _finish_evidence(
        self, files: Files, evidence: EvidenceFile, result: ReadResult, decision: Decision, error: BaseException | None
    ) -> None:
        files.token_key = None if evidence.token_key is None else str(evidence.token_key)
        with _noting(files):
            if isinstance(error, LedgerInvariantError):
                for entry in error.evidence:
                    evidence.call(entry)
        with _noting(files):
            files.evidence = evidence.name
            evidence.keep(result, decision)
            files.evidence_sha256 = evidence.sha256

    def _unresolved_lines(self, delivered: ReadResult) -> Iterator[bytes]:
        slots: Iterable[int] = delivered.input_positions or range(len(delivered.requested_order))
        first_at: dict[int, int] = {}
        for position, slot in enumerate(slots):
            if delivered.dispositions[slot] is not Disposition.UNRESOLVED:
                continue
            first = first_at.setdefault(slot, position)
            key = delivered.requested_order[slot]
            yield self._rows.disposition(position, key, Disposition.UNRESOLVED, None if first == position else first)


def _settled_by(step: Progress) -> Iterator[int]:
    for entry in step.evidence:
        for position, finding in zip(entry.positions, entry.findings, strict=False):
            if finding in SETTLING:
                yield position


@contextmanager
def _noting(files: Files) -> Iterator[None]:
    try:
        yield
    except OutputError as error:
        files.failures.append(str(error))
