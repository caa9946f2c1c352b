"""The result of a read: every key of the manifest with exactly one disposition, and the evidence it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from itemledger.core.answer import BodyCheck, EvidenceLabel, TerminalError, weakest
from itemledger.core.decision import ALL, Decision, Policy, decide
from itemledger.core.keys import Key, KeySchema
from itemledger.core.reconcile import Finding
from itemledger.errors import IncompleteReadError

if TYPE_CHECKING:
    from itemledger.core.hold import HoldRecord

Item: TypeAlias = Mapping[str, Any]


class Disposition(StrEnum):
    """Where a key stands at the end of a read."""

    RETURNED = "returned"
    PROCESSED_NOT_RETURNED = "processed_not_returned"
    UNRESOLVED = "unresolved"


class StopReason(StrEnum):
    """Why a read ended."""

    COMPLETE = "complete"
    PASSES_EXHAUSTED = "passes_exhausted"
    """At least one key was left over on its last allowed pass."""
    DEADLINE = "deadline"
    REQUEST_FAILED = "request_failed"
    """A call ended without a usable response; ``terminal_error`` has it."""
    INTERRUPTED = "interrupted"
    """Ctrl-C, SIGTERM, or cancellation."""
    INVARIANT_BROKEN = "invariant_broken"
    """Impossible evidence; rides on a LedgerInvariantError."""


class LeftoverCause(StrEnum):
    """Why keys were left over, as far as the response shows."""

    RESPONSE_SIZE = "response_size"
    """The answer is as large as the service makes them (1 MB per partition, 16 MB in all)."""
    THROTTLE = "throttle"
    """An earlier SDK attempt of the same call was refused for load."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PassEvidence:
    """What one call left behind. ``positions`` are the keys' places in the manifest; ``findings`` is aligned with both.

    ``findings`` is empty when the call ended without a usable response; ``error`` then says how, and ``label`` is ``None``
    when nothing came back at all. ``consumed`` is in
    read capacity units, ``None`` when the service did not say. ``sdk_retry_attempts`` stands beside the pass, never
    added to it.
    """

    application_pass: int
    call: int
    requested: tuple[Key, ...]
    positions: tuple[int, ...]
    findings: tuple[Finding, ...]
    duration_ms: float
    label: EvidenceLabel | None
    request_hash: str
    request_id: str | None = None
    sdk_retry_attempts: int | None = None
    leftover_cause: LeftoverCause | None = None
    body_check: BodyCheck | None = None
    response_bytes: int | None = None
    consumed: float | None = None
    notes: tuple[str, ...] = ()
    error: TerminalError | None = None

    @property
    def returned(self) -> tuple[Key, ...]:
        return self._found(Finding.RETURNED)

    @property
    def processed_not_returned(self) -> tuple[Key, ...]:
        return self._found(Finding.PROCESSED_NOT_RETURNED)

    @property
    def unprocessed(self) -> tuple[Key, ...]:
        return self._found(Finding.UNPROCESSED)

    def _found(self, finding: Finding) -> tuple[Key, ...]:
        return tuple(key for key, found in zip(self.requested, self.findings, strict=False) if found is finding)


@dataclass(frozen=True, slots=True)
class KeyOutcome:
    """One key's end, at one place of the caller's input; ``duplicate_of`` is the earlier place of the same key."""

    key: Key
    disposition: Disposition
    item: Item | None = None
    position: int = 0
    duplicate_of: int | None = None


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


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the calls of one read. ``None`` is "unknown", when any call did not tell; it is never 0.

    ``label`` is the weakest among the answers that came back, ``None`` when none did; application passes and SDK retry
    attempts are two numbers and never added up.
    """

    calls: int = 0
    application_passes: int = 0
    sdk_retry_attempts: int | None = 0
    consumed: float | None = 0.0
    label: EvidenceLabel | None = None

    def plus(self, entry: PassEvidence) -> Totals:
        usable = entry.error is None  # a pass ends in usable responses
        return Totals(
            self.calls + 1,
            max(self.application_passes, entry.application_pass if usable else 0),
            _sum(self.sdk_retry_attempts, entry.sdk_retry_attempts),
            _sum(self.consumed, entry.consumed),
            self.label if entry.label is None else weakest(label for label in (self.label, entry.label) if label),
        )


NumberT = TypeVar("NumberT", int, float)


def _sum(total: NumberT | None, more: NumberT | None) -> NumberT | None:
    return None if total is None or more is None else total + more


@dataclass(frozen=True)
class ReadResult:
    """Everything known at the end of one read of one table.

    ``requested_order`` is the manifest: unique canonical keys in the caller's order. ``outcomes`` has one entry per
    input position, so it is longer when duplicates were folded. The three sets are disjoint and their union is the
    manifest. A streamed read (``iter_read``) has handed out its items and its ledger as it went: here both are empty;
    ``totals`` stays.
    """

    observation: Observation
    settings: Settings
    bounds: Bounds
    requested_order: tuple[Key, ...]
    dispositions: tuple[Disposition, ...]
    items_by_key: Mapping[Key, Item]
    ledger: tuple[PassEvidence, ...]
    totals: Totals
    stop_reason: StopReason
    terminal_error: TerminalError | None = None
    abandoned_calls: int = 0
    request_ids: tuple[str, ...] = field(default=(), repr=False)
    input_positions: Sequence[int] | None = field(default=None, repr=False)
    earlier: Earlier = field(default_factory=Earlier, repr=False)

    def __post_init__(self) -> None:
        # R2, the second look: each key has one disposition by construction; that no key is there twice is checked here.
        assert len(self.requested_order) == len(self.dispositions)
        assert len(set(self.requested_order)) == len(self.requested_order)

    @property
    def table_name(self) -> str:
        return self.settings.table_name

    @property
    def key(self) -> KeySchema:
        return self.settings.key

    @cached_property
    def disposition_by_key(self) -> Mapping[Key, Disposition]:
        return dict(zip(self.requested_order, self.dispositions, strict=True))

    @cached_property
    def returned(self) -> frozenset[Key]:
        return self._standing(Disposition.RETURNED)

    @cached_property
    def processed_not_returned(self) -> frozenset[Key]:
        """Asked, processed by the service, and not visible to this read."""
        return self._standing(Disposition.PROCESSED_NOT_RETURNED)

    @cached_property
    def unresolved(self) -> frozenset[Key]:
        """Nothing is known of these: neither there nor absent."""
        return self._standing(Disposition.UNRESOLVED)

    @cached_property
    def outcomes(self) -> tuple[KeyOutcome, ...]:
        """One outcome per input position, in the caller's order."""
        return tuple(self._outcomes())

    @property
    def complete(self) -> bool:
        return Disposition.UNRESOLVED not in self.dispositions

    @property
    def stopped_by_passing_cause(self) -> bool:
        """Whether what stopped the read can go away by itself."""
        if self.stop_reason is StopReason.REQUEST_FAILED:
            return self.terminal_error is not None and self.terminal_error.transient
        return self.stop_reason in (StopReason.PASSES_EXHAUSTED, StopReason.DEADLINE)

    def decide(self, required: Policy = ALL) -> Decision:
        """Accept, reject, retry or hold under a policy: ``ALL``, ``NONE``, keys that must be there, a function."""
        if self.stop_reason is StopReason.INVARIANT_BROKEN:
            return Decision.REPAIR
        return decide(self, required)

    def items(self, required: Policy = ALL) -> list[Item]:
        """The found items in the caller's order, for callers that want a list; IncompleteReadError unless accepted."""
        decision = self.decide(required)
        if decision is not Decision.ACCEPT:
            raise IncompleteReadError(self._refusal(decision), result=self, decision=decision)
        if len(self.items_by_key) < len(self.returned):
            raise IncompleteReadError(
                "a streamed read hands out its items as they settle and keeps none: take them there, or use read_batch",
                result=self,
                decision=decision,
            )
        return [outcome.item for outcome in self.outcomes if outcome.item is not None]

    def hold_record(self) -> HoldRecord:
        """What a later reader needs to continue with the unresolved keys; it holds plain keys, so it is sensitive."""
        from itemledger.core.hold import HoldRecord  # hold builds on result

        return HoldRecord.of(self)

    def _standing(self, disposition: Disposition) -> frozenset[Key]:
        pairs = zip(self.requested_order, self.dispositions, strict=True)
        return frozenset(key for key, standing in pairs if standing is disposition)

    def _outcomes(self) -> Iterator[KeyOutcome]:
        if self.input_positions is None:
            for position, (key, standing) in enumerate(zip(self.requested_order, self.dispositions, strict=True)):
                yield KeyOutcome(key, standing, self.items_by_key.get(key), position)
            return
        first_at: dict[int, int] = {}
        for position, slot in enumerate(self.input_positions):
            key = self.requested_order[slot]
            duplicate_of = first_at.setdefault(slot, position)
            yield KeyOutcome(
                key,
                self.dispositions[slot],
                self.items_by_key.get(key),
                position,
                None if duplicate_of == position else duplicate_of,
            )

    def _refusal(self, decision: Decision) -> str:
        counts = f"{len(self.returned)} returned, {len(self.processed_not_returned)} processed but not returned, "
        counts += f"{len(self.unresolved)} unresolved of {len(self.requested_order)} keys"
        error = f" ({self.terminal_error})" if self.terminal_error else ""
        return f"{decision}: {counts}; stopped by {self.stop_reason}{error}; next: {decision.next_action}"
