"""What a read was told, and its name: the same on every pass, fixed before the first call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from itemledger.core.keys import Key, KeySchema


@dataclass(frozen=True, slots=True)
class Observation:
    """The name of one bounded run, and the chain it continues: ``number`` is 1 for a first read.

    ``started_at`` is wall-clock time in ISO 8601, ``revisions`` the versions of what carried the read out.
    """

    id: str
    number: int = 1
    parent_id: str | None = None
    first_id: str | None = None
    started_at: str = ""
    revisions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Earlier:
    """Keys that earlier observations of the same chain settled; never part of this observation's own sets."""

    returned: frozenset[Key] = frozenset()
    processed_not_returned: frozenset[Key] = frozenset()


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked besides the keys: the same on every pass."""

    table_name: str
    key: KeySchema
    consistent_read: bool = False
    projection: tuple[Any, ...] | None = None
    values: Literal["native", "typed"] = "native"
    unprocessed_keys_optional: bool = False


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a read ends whatever happens: passes per key, seconds in all, calls at a time, and the pauses between."""

    max_passes: int = 8
    timeout_s: float = 60.0
    concurrency: int = 4
    backoff_base_s: float = 0.05
    backoff_cap_s: float = 1.0
