"""A read as an object that decides and never waits: which calls to start, what an answer means, when it is over.

Keys wait in one queue, so leftovers of several calls share the next request. Nothing can go on without end: the
deadline is absolute, a key's charged passes are bounded, and a pass that is not charged has settled at least one key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from itemledger.core.answer import Answer, Failure, FailureCause, TerminalError
from itemledger.core.decision import Decision
from itemledger.core.manifest import Manifest, Part
from itemledger.core.passes import LeftoverCause, PassEvidence, Totals
from itemledger.core.pending import Jitter, Pending
from itemledger.core.read_api import ReadApi
from itemledger.core.reconcile import Finding, Mention, reconcile
from itemledger.core.result import Disposition, Item, KeyOutcome, ReadResult, StopReason
from itemledger.core.steps import Call, Opened, Progress, Step, WaitUntil
from itemledger.core.terms import Bounds, Earlier, Observation
from itemledger.errors import LedgerInvariantError

_SETTLES = {
    Finding.RETURNED: Disposition.RETURNED,
    Finding.PROCESSED_NOT_RETURNED: Disposition.PROCESSED_NOT_RETURNED,
}


#: What may follow a first reason and say more: nothing outranks impossible evidence, and an interrupt is no retry.
OUTRANKS: Mapping[StopReason, tuple[StopReason, ...]] = {
    StopReason.REQUEST_FAILED: (StopReason.INTERRUPTED, StopReason.INVARIANT_BROKEN),
    StopReason.INTERRUPTED: (StopReason.INVARIANT_BROKEN,),
    StopReason.DEADLINE: (StopReason.INVARIANT_BROKEN,),
    StopReason.INVARIANT_BROKEN: (),
}


class Read:
    """One observation of one manifest.

    A driver repeats ``due(now)``, carries out the calls, gives each end to ``answered``, and may ask ``results()`` at
    any moment: that is what deadlines and interrupts need. With ``keep=False`` items and evidence are only handed out
    as ``Progress`` and forgotten, so memory holds one key per item; that is for one table at a time.
    """

    def __init__(
        self,
        api: ReadApi,
        manifest: Manifest,
        bounds: Bounds,
        *,
        observations: Sequence[Observation],
        started_at: float,
        jitter: Jitter,
        earlier: Earlier | None = None,
        keep: bool = True,
    ) -> None:
        self._api = api
        self._manifest = manifest
        self._bounds = bounds
        self._observations = observations
        self._earlier = earlier or Earlier()
        self._keep = keep
        self._folded: list[list[int]] | None = None
        self.deadline = started_at + bounds.timeout_s
        self._dispositions = [Disposition.UNRESOLVED] * len(manifest.keys)
        self._pending = Pending(len(manifest.keys), api.limits.items, bounds, jitter)
        self._in_flight: dict[int, Call] = {}
        self._items: dict[int, Item] = {}
        self._ledgers: list[list[PassEvidence]] = [[] for _ in manifest.parts]
        self._totals = [Totals() for _ in manifest.parts]
        self._request_ids: list[list[str]] = [[] for _ in manifest.parts]
        self._calls = 0
        self._fresh_credentials_from: int | None = None  # number of the first call signed after they were refused
        self._stopped: StopReason | None = None
        self._error: TerminalError | None = None
        self._abandoned = 0

    @property
    def done(self) -> bool:
        """Whether nothing is left to start or to wait for."""
        return not self._in_flight and (self._stopped is not None or self._pending.empty)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def due(self, now: float) -> list[Step]:
        """Calls to start now, or when to ask again; empty while only answers can change anything."""
        if self._stopped is not None:
            if now >= self.deadline:
                self.stop(StopReason.DEADLINE)
            return []
        if now >= self.deadline and not self.done:
            self.stop(StopReason.DEADLINE)
            return []
        steps: list[Step] = []
        while len(self._in_flight) < self._bounds.concurrency and self._pending.ready(now):
            steps.append(self._start(now))
        at = self._pending.pause_ends
        if steps or at is None or len(self._in_flight) >= self._bounds.concurrency:
            return steps
        if at < self.deadline:
            return [WaitUntil(at)]
        if not self._in_flight:
            self.stop(StopReason.DEADLINE)  # a pause that would cross the deadline is not begun
        return []

    def answered(self, call: Call, answer: Answer | Failure, now: float) -> Progress:
        """Takes one call's end into account; raises LedgerInvariantError, result attached, when it cannot be true."""
        del self._in_flight[call.number]
        duration_ms = (now - call.started_at) * 1000
        if isinstance(answer, Failure):
            return self._failed(call, answer, duration_ms)
        try:
            mentions = reconcile(len(call.sent), self._api.mentions(call.sent, answer.response), self._api.silence())
        except LedgerInvariantError as error:
            self.stop(StopReason.INVARIANT_BROKEN)
            refused = Failure(
                FailureCause.UNKNOWN,
                type(error).__name__,
                str(error),
                answer.request_id,
                answer.sdk_retry_attempts,
                answer.label,
            )
            error.evidence = self._evidence(call, duration_ms, refused, (), None)
            error.result = self.results()
            error.decision = Decision.REPAIR
            raise
        left_over = [slot for slot, m in zip(call.slots, mentions, strict=True) if m.finding is Finding.UNPROCESSED]
        cause = self._cause(answer) if left_over else None
        # What is proven is kept before anything of the caller's runs: his jitter may raise.
        settled = tuple(self._settle(call.slots, mentions))
        evidence = self._evidence(call, duration_ms, answer, tuple(m.finding for m in mentions), cause)
        if cause is None:
            self._pending.all_fitted(len(call.slots))
        else:
            self._pending.left_over(left_over, cause, processed=len(call.slots) - len(left_over), now=now)
        return Progress(evidence, settled)

    def stop(self, reason: StopReason) -> None:
        """Ends the read. Calls in flight are abandoned, except after a failed request: their answers still count."""
        if self._stopped is None or reason in OUTRANKS[self._stopped]:
            self._stopped = reason
        if reason is not StopReason.REQUEST_FAILED:
            self._abandoned += len(self._in_flight)
            self._in_flight.clear()

    def refuse(self, error: TerminalError) -> None:
        """Ends the read before its first call, when the table itself could not be looked at."""
        self._error = error
        self.stop(StopReason.REQUEST_FAILED)

    def opened(self) -> Opened:
        """What is about to be asked, for streams that must write it down first; only for reads of one table."""
        (part,) = self._manifest.parts
        return Opened(self._observations[0], part.settings, self._bounds, self._manifest.keys)

    def results(self) -> tuple[ReadResult, ...]:
        """Where every key stands at this moment, a result per table read."""
        return tuple(self._result(index, part) for index, part in enumerate(self._manifest.parts))

    def unsettled(self) -> Iterable[KeyOutcome]:
        """The outcomes that no Progress has handed out, for streams that must name every key."""
        for slot, disposition in enumerate(self._dispositions):
            if disposition is Disposition.UNRESOLVED:
                yield from self._outcomes(slot, disposition, None)

    def _start(self, now: float) -> Call:
        slots, application_pass = self._pending.take(now)
        sent = [(self._manifest.table_of[slot], self._manifest.keys[slot]) for slot in slots]
        self._calls += 1
        call = Call(self._calls, self._api.operation, self._api.request(sent), sent, slots, application_pass, now)
        self._in_flight[call.number] = call
        return call

    def _failed(self, call: Call, failure: Failure, duration_ms: float) -> Progress:
        if failure.cause is FailureCause.CREDENTIALS and self._stopped is None and self._signed_before(call):
            self._pending.put_back(call.slots)
        else:
            if self._error is None or (self._error.transient and not failure.cause.passing):
                self._error = failure.error  # whichever came first, what does not pass by itself decides
            self.stop(StopReason.REQUEST_FAILED)
        return Progress(self._evidence(call, duration_ms, failure, (), None), ())

    def _signed_before(self, call: Call) -> bool:
        """Whether this refusal of credentials is the first, or of a call that was in flight when the first one came.

        Each call is signed anew, so one more try is all a provider with a fresh token needs (FC-09).
        """
        if self._fresh_credentials_from is None:
            self._fresh_credentials_from = self._calls + 1
        return call.number < self._fresh_credentials_from

    def _settle(self, slots: Sequence[int], mentions: Iterable[Mention]) -> Iterable[KeyOutcome]:
        for slot, mention in zip(slots, mentions, strict=True):
            disposition = _SETTLES.get(mention.finding)
            if disposition is None:
                continue
            assert self._dispositions[slot] is Disposition.UNRESOLVED, "a settled key is never asked again"
            self._dispositions[slot] = disposition
            item: Item | None = mention.value
            if not self._keep:
                yield from self._outcomes(slot, disposition, item)
            elif item is not None:
                self._items[slot] = item

    def _cause(self, answer: Answer) -> LeftoverCause:
        if answer.sdk_throttled:
            return LeftoverCause.THROTTLE
        return LeftoverCause.RESPONSE_SIZE if self._api.cut_by_size(answer.response) else LeftoverCause.UNKNOWN

    def _evidence(
        self,
        call: Call,
        duration_ms: float,
        answer: Answer | Failure,
        findings: tuple[Finding, ...],
        cause: LeftoverCause | None,
    ) -> tuple[PassEvidence, ...]:
        usable = answer if isinstance(answer, Answer) else None
        entries = []
        for index, part in enumerate(self._manifest.parts):
            mine, positions = self._share(part, call)
            if not positions:
                continue
            facts = self._api.facts(call.sent[mine[0]], usable.response if usable else None)
            entry = PassEvidence(
                application_pass=call.application_pass,
                call=call.number,
                requested=tuple([call.sent[i][1] for i in mine]),
                positions=positions,
                findings=tuple([findings[i] for i in mine]) if usable else (),
                duration_ms=duration_ms,
                label=answer.label,
                request_hash=facts.request_hash,
                request_id=answer.request_id,
                sdk_retry_attempts=answer.sdk_retry_attempts,
                leftover_cause=cause,
                body_check=usable.body_check if usable else None,
                response_bytes=usable.response_bytes if usable else None,
                consumed=facts.consumed,
                notes=facts.notes,
                error=answer.error if isinstance(answer, Failure) else None,
            )
            self._totals[index] = self._totals[index].plus(entry)
            if entry.request_id is not None:
                self._request_ids[index].append(entry.request_id)
            if self._keep:
                self._ledgers[index].append(entry)
            entries.append(entry)
        return tuple(entries)

    def _share(self, part: Part, call: Call) -> tuple[Sequence[int], tuple[int, ...]]:
        """Which of a call's keys are this part's, and their places in its manifest."""
        if isinstance(part.slots, range) and len(self._manifest.parts) == 1:
            return range(len(call.slots)), tuple(call.slots)
        places = [(i, part.index_of(slot)) for i, slot in enumerate(call.slots)]
        mine = [(i, position) for i, position in places if position is not None]
        return [i for i, _ in mine], tuple(position for _, position in mine)

    def _outcomes(self, slot: int, disposition: Disposition, item: Item | None) -> Iterable[KeyOutcome]:
        """The outcome at each input position of a slot; only for reads of one table."""
        (part,) = self._manifest.parts
        key = self._manifest.keys[slot]
        if part.input_positions is None:
            yield KeyOutcome(key, disposition, item, slot)
            return
        first = None
        for position in self._positions_of(part)[slot]:
            yield KeyOutcome(key, disposition, item, position, first)
            first = position if first is None else first

    def _positions_of(self, part: Part) -> list[list[int]]:
        if self._folded is None:
            assert part.input_positions is not None
            self._folded = [[] for _ in part.slots]
            for position, index in enumerate(part.input_positions):
                self._folded[index].append(position)
        return self._folded

    def _result(self, index: int, part: Part) -> ReadResult:
        keys = self._manifest.keys
        dispositions = tuple(self._dispositions[slot] for slot in part.slots)
        reason = self._reason(Disposition.UNRESOLVED in dispositions)
        return ReadResult(
            observation=self._observations[index],
            settings=part.settings,
            bounds=self._bounds,
            requested_order=tuple(keys[slot] for slot in part.slots),
            dispositions=dispositions,
            items_by_key={keys[slot]: self._items[slot] for slot in part.slots if slot in self._items},
            ledger=tuple(self._ledgers[index]),
            totals=self._totals[index],
            stop_reason=reason,
            terminal_error=self._error if reason is StopReason.REQUEST_FAILED else None,
            abandoned_calls=self._abandoned,
            request_ids=tuple(self._request_ids[index]),
            input_positions=part.input_positions,
            earlier=self._earlier,
        )

    def _reason(self, unresolved: bool) -> StopReason:
        """Why this part ended. One table may be complete while the read as a whole was stopped."""
        if not unresolved and self._stopped is not StopReason.INVARIANT_BROKEN:
            return StopReason.COMPLETE
        return self._stopped or (StopReason.PASSES_EXHAUSTED if self.done else StopReason.INTERRUPTED)
