"""Which keys must be there: --require all, none, or a file that lists them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from itemledger.cli.keys_input import Keys, read_keys
from itemledger.cli.problems import CommandError
from itemledger.core.decision import ALL, NONE, Policy
from itemledger.core.hold import HoldRecord
from itemledger.core.keys import Key, KeySchema
from itemledger.core.steps import Opened


def required_file(require: str) -> Path | None:
    """The file that --require names; ``None`` for a word, and for stdin."""
    return None if require in ("all", "none", "-") else Path(require)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The policy, the word for it in evidence, and where its keys came from."""

    policy: Policy
    word: str
    source: Keys | None = None

    @classmethod
    def of(cls, require: str, schema: KeySchema) -> Acceptance:
        """From the option; a file is read here, so that its faults are said before anything is asked."""
        if require in ("all", "none"):
            return cls(ALL if require == "all" else NONE, require)
        source = read_keys(require, None, schema)
        return cls(tuple(source.keys), f"{source.count} listed keys", source)

    def check(self, opened: Opened, hold: HoldRecord | None) -> None:
        """A required key that nobody asks for could never be accepted; better said before the first call."""
        if self.source is None:
            return
        asked: set[Key] = set(opened.keys)
        if hold is not None:
            earlier = hold.settled()
            asked |= earlier.returned | earlier.processed_not_returned
        for position, key in enumerate(self.source.keys):
            if key not in asked:
                raise CommandError(
                    f"{self.source.name} line {self.source.line_of(position)}: this required key is not in the "
                    "manifest; ask for it too, or leave it out of --require"
                )
