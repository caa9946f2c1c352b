"""The result of a read: every key of the manifest with exactly one disposition, and the evidence it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from itemledger.core.answer import TerminalError
from itemledger.core.decision import ALL, Decision, Policy, decide
from itemledger.core.keys import Key, KeySchema
from itemledger.core.passes import PassEvidence, Totals
from itemledger.core.terms import Bounds, Earlier, Observation, Settings
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


@dataclass(frozen=True, slots=True)
class KeyOutcome:
    """One key's end, at one place of the caller's input; ``duplicate_of`` is the earlier place of the same key."""

    key: Key
    disposition: Disposition
    item: Item | None = None
    position: int = 0
    duplicate_of: int | None = None


@dataclass(frozen=True)
class ReadResult:
    """Everything known at the end of one read of one table.

    ``requested_order`` is the manifest: unique canonical keys in the caller's order. ``outcomes`` has one entry per
    input position, so it is longer when duplicates were folded. The three sets are disjoint and their union is the
    manifest. A streamed read (``iter_read``) has handed out its items and its evidence as it went: here both are empty;
    ``totals`` stays.
    """

    observation: Observation
    settings: Settings
    bounds: Bounds
    # Of the repr only what is short and no payload: asyncio writes the result of a task into texts of its own.
    requested_order: tuple[Key, ...] = field(repr=False)
    dispositions: tuple[Disposition, ...] = field(repr=False)
    items_by_key: Mapping[Key, Item] = field(repr=False)
    ledger: tuple[PassEvidence, ...] = field(repr=False)
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
        if self.earlier.returned:
            raise IncompleteReadError(
                f"{len(self.earlier.returned)} of the items came with an earlier observation and are not in this one's "
                "list: take items_by_key of each, which are values of different moments",
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
        stopped = "" if self.complete else f"; stopped by {self.stop_reason}{error}"
        return f"{decision}: {counts}{stopped}; next: {decision.next_action}"
