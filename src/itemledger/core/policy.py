"""How a ledger's run goes on after each outcome: caps, pauses, and what an unknown end may lead to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from itemledger.errors import ManifestError


class OnUnknown(StrEnum):
    """What becomes of an item whose end is unknown where no look-up and no live window can settle it."""

    REVIEW = "review"
    """It waits for a person."""
    AT_LEAST_ONCE = "at_least_once"
    """It is sent again, and its success is marked as possibly duplicated."""
    IRREVERSIBLE = "irreversible"
    """It is looked up once; unless found, a person decides, even where it is absent."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One run's policy, recorded with its operation. Times are in seconds, pauses with full jitter.

    ``max_attempts`` counts sends of an item as claimed (a throttled whole call charges none), ``max_lapses`` the claims
    of it whose worker was not heard of again, which ends crash loops. ``retry_codes`` are item codes that this run
    takes for transient on top of the reviewed ones. ``call_timeout_s`` bounds one call and must be shorter than
    ``lease_s``; ``settle_s`` is the wait before a look-up, ``None`` for the API's own. ``keep_s`` is the business
    window: how long a row is kept after its end, so that the same key coming again is recognised.
    """

    max_attempts: int = 8
    max_lapses: int = 20
    max_look_ups: int = 6
    backoff_base_s: float = 0.2
    backoff_cap_s: float = 60.0
    throttle_base_s: float = 1.0
    on_unknown: OnUnknown = OnUnknown.REVIEW
    retry_codes: frozenset[str] = frozenset()
    lease_s: float = 60.0
    call_timeout_s: float = 20.0
    settle_s: float | None = None
    keep_s: float = 30 * 86_400.0

    def __post_init__(self) -> None:
        for name in ("max_attempts", "max_lapses", "max_look_ups"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= 1_000_000:
                raise ManifestError(f"{name}={value!r}: give a whole number from 1 to 1,000,000")
        if not isinstance(self.on_unknown, OnUnknown):  # its text alone would pass for the member in some places only
            raise ManifestError(f"on_unknown={self.on_unknown!r}: give a member of OnUnknown ({', '.join(OnUnknown)})")
        for name in ("keep_s", "settle_s"):
            value = getattr(self, name)
            if value is not None and not (type(value) in (int, float) and 0 <= value < math.inf):
                raise ManifestError(f"{name}={value!r}: give seconds, zero or more and finite")
        for name in ("backoff_base_s", "backoff_cap_s", "throttle_base_s", "lease_s", "call_timeout_s"):
            value = getattr(self, name)
            if not (type(value) in (int, float) and 0 < value < math.inf):
                raise ManifestError(f"{name}={value!r}: give seconds, more than zero and finite")
        if self.call_timeout_s >= self.lease_s:
            raise ManifestError(
                f"call_timeout_s={self.call_timeout_s:g} must be shorter than lease_s={self.lease_s:g}: a call that "
                "outlives its lease counts as lost"
            )

    def pause_s(self, attempts: int, *, throttled: bool = False) -> float:
        """The longest pause after so many attempts; the real one is drawn evenly from zero to it."""
        base = self.throttle_base_s if throttled else self.backoff_base_s
        return min(self.backoff_cap_s, base * 2.0 ** min(max(attempts - 1, 0), 60))

    def to_json(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        return {**asdict(self), "on_unknown": self.on_unknown.value, "retry_codes": sorted(self.retry_codes)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Policy:
        """As the ledger gave it back; ManifestError for a member that no policy has."""
        known = {each.name for each in fields(cls)}
        for name in value:
            if name not in known:
                raise ManifestError(f"a policy has no member {name!r}; this ledger was written by a later itemledger")
        given = dict(value)
        if "on_unknown" in given:
            if given["on_unknown"] not in [each.value for each in OnUnknown]:
                raise ManifestError(f"on_unknown={given['on_unknown']!r}: give one of {', '.join(OnUnknown)}")
            given["on_unknown"] = OnUnknown(given["on_unknown"])
        if "retry_codes" in given:
            given["retry_codes"] = frozenset(given["retry_codes"])
        return cls(**given)
