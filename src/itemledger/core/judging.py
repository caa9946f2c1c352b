"""What the end of a send means for each of its rows: one move for every row, and unknown is never rounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from itemledger.core.answer import Answer, Failure
from itemledger.core.batches import CallEvidence, Move
from itemledger.core.moves import second_effects
from itemledger.core.outcome import Event
from itemledger.core.policy import Policy
from itemledger.core.reconcile import Finding, Mention, reconcile
from itemledger.core.rows import Review, Row
from itemledger.core.write_api import Effect, Entry, ItemError, Proof, WriteApi
from itemledger.errors import LedgerInvariantError

IMPOSSIBLE = "ImpossibleEvidence"
#: In a storm the failed come back one after another: so long after the one before for each item, and within a second
#: of their slot. A thousand that fail together take forty seconds, and no second sees more than a twentieth of them.
STORM_S, SLOT_S = 0.04, 1.0


@dataclass(slots=True)
class Storm:
    """How many items failed since one succeeded, and how many calls in a row had no usable response, over all workers
    of a run."""

    failed: int = 0
    failed_calls: int = 0


class Pauses:
    """Draws pauses: exponential, full jitter, capped; one draw a batch, so that what fails together stays together."""

    def __init__(self, policy: Policy, jitter: Callable[[float, float], float], storm: Storm) -> None:
        self._policy = policy
        self._jitter = jitter
        self._storm = storm

    def answered(self, succeeded: int) -> None:
        """A call had a usable response."""
        self._storm.failed_calls = 0
        if succeeded:
            self._storm.failed = 0

    def call_failed(self) -> None:
        self._storm.failed_calls += 1

    def before_new(self) -> float:
        """How long nothing new goes to an endpoint whose last calls had no usable response: longer with each."""
        return self._jitter(0.0, self._policy.pause_s(self._storm.failed_calls)) if self._storm.failed_calls else 0.0

    def after_failure(self, items: int) -> Callable[[int, bool], float]:
        """The pause of so many items of one batch, as a function of how often each was tried and of being throttled."""
        span_s = max(self._policy.backoff_cap_s - SLOT_S, SLOT_S)
        slot_s = self._storm.failed * STORM_S % span_s
        self._storm.failed += items
        drawn = self._jitter(0.0, 1.0)
        in_slot_s = slot_s + drawn * SLOT_S if slot_s else 0.0
        return lambda tries, throttled: max(drawn * self._policy.pause_s(tries, throttled=throttled), in_slot_s)

    def on_recovery(self) -> Callable[[int], float]:
        """Before items that were looked up are sent, or looked up, again."""
        drawn = self._jitter(0.0, 1.0)
        return lambda look_ups: drawn * self._policy.pause_s(look_ups)


class Judge:
    """Turns the end of a send into moves; ``looks_up`` says whether an unknown end can be looked up."""

    def __init__(self, api: WriteApi, policy: Policy, pauses: Pauses, settle_s: float, *, looks_up: bool) -> None:
        self._api = api
        self._policy = policy
        self._pauses = pauses
        self._settle_s = settle_s
        self._looks_up = looks_up

    def moves(self, rows: Sequence[Row], entries: Sequence[Entry], end: Answer | Failure) -> list[Move]:
        """One move for each row, in order."""
        if isinstance(end, Failure):
            return list(self._failed(rows, end))
        try:
            mentions = reconcile(len(rows), self._api.mentions(entries, end.response), self._api.silence())
        except LedgerInvariantError as error:  # it does not add up: it proves nothing, least of all a success
            pause = self._pauses.after_failure(len(rows))
            return [self._lost(row, pause, end.request_id, IMPOSSIBLE, str(error)) for row in rows]
        succeeded = sum(mention.finding is Finding.SUCCEEDED for mention in mentions)
        self._pauses.answered(succeeded)
        pause = self._pauses.after_failure(len(rows) - succeeded) if succeeded < len(rows) else _no_pause
        return [self._found(row, mention, end, pause) for row, mention in zip(rows, mentions, strict=True)]

    def _found(self, row: Row, mention: Mention, answer: Answer, pause: Callable[[int, bool], float]) -> Move:
        resent = self._resent(answer.sdk_retry_attempts)
        if mention.finding is Finding.SUCCEEDED:
            return Move(
                row.number,
                Event.CONFIRMED,
                request_id=answer.request_id,
                object_ref=mention.value,
                possible_duplicates=resent + second_effects(row, self._api.effect, row.lost_attempts),
            )
        error = mention.value if isinstance(mention.value, ItemError) else None
        code, message = (error.code, error.message) if error else (None, None)
        if resent:  # the answer is that of the last resend: the ones before may have done it
            lost = self._lost(row, pause, answer.request_id, code, message)
            return replace(lost, possible_duplicates=resent)
        match self._read(row, mention.finding, code, answer.sdk_retry_attempts):
            case Finding.UNPROCESSED:
                event = Event.LEFT_UNPROCESSED
            case Finding.TRANSIENT:
                event = Event.FAILED_TRANSIENTLY
            case Finding.REJECTED:
                return self._refused(row, pause, answer.request_id, code, message)
            case Finding.UNKNOWN:
                return self._lost(row, pause, answer.request_id, code, message)
            case _:
                raise AssertionError(mention.finding)  # no writing API finds anything else
        return Move(
            row.number,
            event,
            # Exhausted anyway: then the next claim is to say so at once.
            delay_s=0.0 if row.attempts >= self._policy.max_attempts else pause(row.attempts, False),
            request_id=answer.request_id,
            error_code=code,
            error_message=message,
        )

    def _read(self, row: Row, finding: Finding, code: str | None, sdk_retry_attempts: int | None) -> Finding:
        """The finding as this run's policy and this row's past read it."""
        if code is not None and code in self._policy.retry_codes and finding in (Finding.REJECTED, Finding.UNKNOWN):
            return Finding.TRANSIENT
        if finding is Finding.REJECTED and code in self._api.own_effect_codes:
            # An earlier send of the item may have had its effect, even after a look-up: the refusal may tell of that.
            return Finding.UNKNOWN if row.dispatches or sdk_retry_attempts != 0 else finding
        return finding

    def _resent(self, sdk_retry_attempts: int | None) -> int:
        """The SDK's own resends of a call, where each may have been an effect of its own."""
        return (sdk_retry_attempts or 0) if self._api.effect is Effect.APPEND and self._api.replay is None else 0

    def _failed(self, rows: Sequence[Row], failure: Failure) -> Iterator[Move]:
        proof = self._api.explain(failure)
        if proof in (Proof.NOTHING, Proof.NOT_PROCESSED):
            self._pauses.call_failed()
        match proof:
            case Proof.NOTHING:
                pause = self._pauses.after_failure(len(rows))
                resent = self._resent(failure.sdk_retry_attempts)
                for row in rows:
                    lost = self._lost(row, pause, failure.request_id, failure.code, failure.message)
                    yield replace(lost, possible_duplicates=resent) if resent else lost
            case Proof.NOT_PROCESSED:
                pause = self._pauses.after_failure(len(rows))
                for row in rows:
                    yield self._not_processed(row, failure, pause(row.claims, True))
            case Proof.BLOCKED:
                for row in rows:
                    yield self._not_processed(row, failure, 0.0)
            case Proof.REFUSED if len(rows) > 1:
                # Half as many share a request next: the bad one is alone after a number of calls that is bounded.
                limit = (len(rows) + 1) // 2
                for row in rows:
                    yield self._not_processed(row, failure, 0.0, limit)
            case Proof.REFUSED:
                (row,) = rows
                if failure.code in self._api.own_effect_codes and row.dispatches:
                    yield self._lost(row, _no_pause, failure.request_id, failure.code, failure.message)
                    return
                yield self._refused(row, _no_pause, failure.request_id, failure.code, failure.message)
            case _:
                assert_never(proof)

    def _not_processed(self, row: Row, failure: Failure, delay_s: float, batch_limit: int | None = None) -> Move:
        return Move(
            row.number,
            Event.NOT_PROCESSED,
            delay_s=delay_s,
            charged=False,
            request_id=failure.request_id,
            error_code=failure.code,
            error_message=failure.message,
            batch_limit=batch_limit or row.batch_limit,
        )

    def _refused(
        self,
        row: Row,
        pause: Callable[[int, bool], float],
        request_id: str | None,
        code: str | None,
        message: str | None,
    ) -> Move:
        """This send had no effect; with an earlier one whose end is unknown the item may be done all the same."""
        if row.lost_attempts == 0:
            return Move(
                row.number,
                Event.REFUSED,
                request_id=request_id,
                error_code=code,
                error_message=message,
                review=Review.REFUSED,
            )
        lost = replace(self._lost(row, pause, request_id, code, message), only_earlier=True)
        # Without a look-up nothing but a person can tell, and sending it once more would end the same way.
        return lost if self._looks_up else replace(lost, delay_s=None, review=Review.REFUSED)

    def _lost(
        self,
        row: Row,
        pause: Callable[[int, bool], float],
        request_id: str | None,
        code: str | None,
        message: str | None,
    ) -> Move:
        return Move(
            row.number,
            Event.LOST,
            # Look-ups and repeated sends are spread like what failed: an outage makes thousands of both.
            delay_s=self._settle_s + pause(row.attempts, False),
            request_id=request_id,
            error_code=code,
            error_message=message,
        )


def _no_pause(tries: int, throttled: bool) -> float:
    return 0.0


def evidence_of(end: Answer | Failure, duration_ms: float) -> CallEvidence:
    """What a call leaves in the ledger; of a failure its code and message too."""
    if isinstance(end, Failure):
        return CallEvidence(
            end.request_id,
            end.code,
            end.message,
            end.sdk_retry_attempts,
            end.label.value if end.label else None,
            duration_ms=duration_ms,
        )
    return CallEvidence(
        end.request_id,
        sdk_retry_attempts=end.sdk_retry_attempts,
        label=end.label.value,
        body_check=end.body_check.value,
        duration_ms=duration_ms,
    )
