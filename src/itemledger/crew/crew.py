"""A crew of workers on one operation: advances each to its next call, and says at any moment how the work stands."""

from __future__ import annotations

import os
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from itemledger.core.answer import Answer, Failure, TerminalError
from itemledger.core.judging import Storm
from itemledger.core.outcome import Outcome, target_of
from itemledger.core.rows import Operation
from itemledger.core.steps import WaitUntil
from itemledger.core.worker import Work, Worker, worker
from itemledger.core.worker_steps import Alert, Call, Claim, Dispatch, Ended, Load, Pause, Record, Release, Step
from itemledger.core.write_api import LookUp, WriteApi
from itemledger.crew.result import Progress, WorkResult, WorkStop
from itemledger.errors import ClaimLostError
from itemledger.ledger.store import Store
from itemledger.payloads import Payloads


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """A call of one of the crew, for the driver to make."""

    number: int
    seat: int
    operation: str
    request: dict[str, Any]
    started_at: float


@dataclass(slots=True)
class _Seat:
    worker: Worker
    resume_at: float | None  # when it goes on by itself
    claim: Claim | None = None  # what it is to go on with
    calling: bool = False
    over: bool = False


@dataclass(slots=True)
class _Tally:
    calls: int = 0
    sdk_retry_attempts: int = 0
    abandoned: int = 0
    error: TerminalError | None = None
    stop: WorkStop = WorkStop.DONE
    faults: list[BaseException] = field(default_factory=list)


class Crew:
    """A ``Run`` for the drivers: ``due``, ``answered``, ``done``. The store's verbs happen in between, in their thread.

    A fault (an input that cannot be read, a store that fails) stops all workers at their next claim; what is in flight
    is recorded first, then ``raise_fault`` raises it.
    """

    def __init__(
        self,
        store: Store,
        operation: Operation,
        api: WriteApi,
        payloads: Payloads,
        *,
        look_up: LookUp | None,
        jitter: Callable[[float, float], float],
        concurrency: int = 4,
        clock: Callable[[], float],
        timeout_s: float,
        on_alert: Callable[[Alert], object] | None = None,
    ) -> None:
        self._store = store
        self._operation = operation
        self._payloads = payloads
        self._on_alert = on_alert
        self._policy = policy = operation.policy
        self._clock = clock
        self._now = started_at = clock()
        self._stop_at = started_at + timeout_s
        self._tally = _Tally()
        self._stopping = False
        self._todo: deque[WorkerCall] = deque()
        self._moved: Counter[Outcome] = Counter()
        self._late = False
        storm = Storm()
        place = f"{socket.gethostname()}:{os.getpid()}"
        self._seats = [
            _Seat(worker(Work(api, look_up, policy, jitter, f"{place}:{number}", storm)), started_at)
            for number in range(concurrency)
        ]
        self._calls_begun = 0

    @property
    def deadline(self) -> float:
        """Where no call in flight is waited for any more."""
        return self._stop_at + self._policy.call_timeout_s

    @property
    def in_flight(self) -> int:
        return sum(seat.calling for seat in self._seats)

    @property
    def done(self) -> bool:
        return all(seat.over for seat in self._seats)

    def due(self, now: float) -> Iterator[WorkerCall | WaitUntil]:
        self._now = now
        if now >= self._stop_at:
            self.stop(WorkStop.DEADLINE)
        if now >= self.deadline:
            self._abandon()
            return
        for index, seat in enumerate(self._seats):
            if self._todo:  # dispatched: it starts before another verb, which may have to wait for the store
                break
            if seat.resume_at is not None and (seat.resume_at <= now or self._stopping):
                seat.resume_at = None
                self._advance(index, None, now)
        while self._todo:
            # The claim before it may have waited for the store: the call's own time begins here.
            yield replace(self._todo.popleft(), started_at=max(now, self._clock()))
        waits = [seat.resume_at for seat in self._seats if seat.resume_at is not None]
        if not self.done:
            yield WaitUntil(max(now, min([*waits, self.deadline if self._stopping else self._stop_at])))

    def answered(self, call: WorkerCall, answer: Answer | Failure, now: float) -> Progress:
        self._now = now
        self._seats[call.seat].calling = False
        self._tally.calls += 1
        self._tally.sdk_retry_attempts += answer.sdk_retry_attempts or 0
        self._moved, self._late = Counter(), False
        self._advance(call.seat, Ended(answer, (now - call.started_at) * 1000), now)
        return Progress(self._moved, self._late, self._tally.calls, self._tally.sdk_retry_attempts)

    def stop(self, why: WorkStop) -> None:
        """No worker claims any more; a call in flight is still recorded when it ends, and has the policy's timeout for
        that. The first reason stays."""
        if not self._stopping:
            self._stopping = True
            self._stop_at = min(self._stop_at, self._now)
            self._tally.stop = why

    def result(self) -> WorkResult:
        """How the operation stands now."""
        name = self._operation.operation_id
        return WorkResult(
            name,
            self._store.counts(name),
            self._store.reviews(name),
            self._tally.stop,
            self._tally.calls,
            self._tally.sdk_retry_attempts,
            self._tally.abandoned + self.in_flight,
            self._tally.error,
        )

    def carry(self, error: BaseException) -> None:
        """Puts the result onto what ends the run; it is raised as it came, whatever the store says meanwhile."""
        with suppress(Exception):
            result = self.result()
            rides_along: Any = error
            rides_along.result = result

    def raise_fault(self) -> None:
        """Raises what stopped the crew, if anything did."""
        if self._tally.faults:
            raise self._tally.faults[0]

    def _advance(self, index: int, ended: Ended | None, now: float) -> None:
        """One worker to its next call, pause or end. After the end of a call it waits before the next claim until it is
        due: nobody is told of anything between a dispatch and its call, which could take longer than the lease."""
        seat = self._seats[index]
        step: Step | None = seat.claim
        seat.claim = None
        reply: Any = ended
        throw: Exception | None = None
        try:
            while True:  # each turn is a step of the worker's straight line, and that is bounded by the claims it gets
                if step is None:
                    step = seat.worker.send(reply) if throw is None else seat.worker.throw(throw)
                reply, throw = None, None
                match step:
                    case Claim() if self._stopping:
                        seat.worker.close()
                        seat.over = True
                        return
                    case Claim() if ended is not None:
                        seat.claim, seat.resume_at = step, now
                        return
                    case Claim(ask):
                        reply = self._store.claim(self._operation.operation_id, ask)
                    case Load(rows):
                        try:
                            reply = self._payloads.load(rows)
                        except Exception as error:  # the worker gives its claim back and raises it again
                            throw = error
                    case Dispatch(epoch, replay):
                        try:
                            self._store.dispatch(epoch, replay)
                        except ClaimLostError as error:
                            throw = error
                    case Call(_, operation, request):
                        self._calls_begun += 1
                        self._todo.append(WorkerCall(self._calls_begun, index, operation, request, now))
                        seat.calling = True
                        return
                    case Record(epoch, evidence, moves):
                        late = self._store.record(epoch, evidence, moves).late
                        self._late |= late
                        if not late:
                            self._moved.update(target_of(move.event) for move in moves)
                    case Release(epoch, set_aside):
                        with suppress(ClaimLostError):
                            self._store.release(epoch, set_aside=set_aside)
                    case Pause(seconds):
                        seat.resume_at = now + seconds
                        return
                    case Alert():
                        self._tell(step)
                    case _:
                        assert_never(step)
                step = None
        except StopIteration as end:
            seat.over = True
            if end.value is not None:
                self._tally.error = end.value
                self.stop(WorkStop.BLOCKED)
            else:  # nothing is left that a worker could move, so those that wait for their next look need not
                self._resume_all(now)
        except Exception as error:
            seat.over = True
            self._fault(error)
        except BaseException:  # an interrupt in the middle of a verb: what the store did not do, the lease will end
            seat.over = True
            raise

    def _resume_all(self, now: float) -> None:
        for seat in self._seats:
            if seat.resume_at is not None:
                seat.resume_at = now

    def _tell(self, alert: Alert) -> None:
        if self._on_alert is not None:
            try:
                self._on_alert(alert)
            except Exception as error:  # the worker may hold a claim here, so it goes on to where it can stop
                self._fault(error)

    def _fault(self, error: Exception) -> None:
        self._tally.faults.append(error)
        self.stop(WorkStop.BLOCKED)

    def _abandon(self) -> None:
        for seat in self._seats:
            if not seat.over:
                self._tally.abandoned += seat.calling
                seat.calling = False
                seat.over = True
                seat.worker.close()
