"""The evidence of a read as a file that grows call by call and ends with its summary, however the read ends."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from itemledger.cli.problems import CommandError
from itemledger.cli.target import OutputError, Target, is_special
from itemledger.cli.token_key import VARIABLE, key_file, known_tokeniser, new_tokeniser
from itemledger.core.decision import Decision
from itemledger.core.evidence import EvidenceLog
from itemledger.core.passes import PassEvidence
from itemledger.core.result import ReadResult
from itemledger.core.steps import Opened
from itemledger.core.tokens import Tokeniser


class EvidenceFile:
    """Keys are tokens in it, unless the caller wants them plain."""

    def __init__(self, path: Path, *, plain_keys: bool, force: bool) -> None:
        self._path = path
        self._plain_keys = plain_keys
        self._target = Target(path, force=force)
        self._cut = False
        self._made_key = False
        self.token_key: Path | None = None

    @property
    def name(self) -> str:
        return self._target.name

    @property
    def sha256(self) -> str:
        return self._log.sha256

    def open(self, opened: Opened, environment: Mapping[str, Any], policy: str) -> None:
        """Header and manifest; OutputError or CommandError when they, or the token key, cannot be written."""
        self._target.open()
        self._log = EvidenceLog(self._tokeniser())
        self._write(
            self._log.header(
                observation=opened.observation,
                settings=opened.settings,
                bounds=opened.bounds,
                manifest_size=len(opened.keys),
                environment=environment,
                policy=policy,
            )
        )
        for line in self._log.manifest(opened.keys):
            self._write(line)

    def call(self, entry: PassEvidence) -> None:
        self._write(self._log.call(entry))

    def keep(self, result: ReadResult, decision: Decision) -> None:
        """Summary and trailer, then the file appears; one that lost a line appears as it is, and verify refuses it."""
        try:
            if not self._cut:
                self._write(self._log.summary(result, decision))
                self._write(self._log.trailer())
        finally:
            self._target.keep()
        if self._cut:
            raise OutputError(f"the end of {self.name}, so it proves nothing", OSError(0, "see above"))

    def drop(self) -> None:
        self._target.drop()
        if self._made_key:
            key_file(self._path).unlink(missing_ok=True)

    def _tokeniser(self) -> Tokeniser:
        if self._plain_keys:
            return Tokeniser(None)
        if not os.environ.get(VARIABLE):
            if is_special(self._path):  # /dev is no place for a key
                raise CommandError(f"{self.name} has no place for a token key beside it; set {VARIABLE}")
            self.token_key = key_file(self._path)
        tokeniser = known_tokeniser(self._path)
        if tokeniser is None:
            tokeniser = new_tokeniser(self._path)
            self._made_key = True
        return tokeniser

    def _write(self, line: bytes) -> None:
        try:
            self._target.write(line)
        except OutputError:
            self._cut = True  # the chain went on without this line
            raise
