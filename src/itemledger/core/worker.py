"""A ledger's worker as a straight line: claim, load, dispatch, call, record. It yields each step and never acts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from itemledger.core.answer import Failure, FailureCause, TerminalError
from itemledger.core.batches import Ask, CallEvidence, Claimed, Kind
from itemledger.core.judging import Judge, Pauses, Storm, evidence_of
from itemledger.core.outcome import Event
from itemledger.core.policy import Policy
from itemledger.core.readback import ReadBack
from itemledger.core.reconcile import Limits
from itemledger.core.rows import Review, Row
from itemledger.core.worker_steps import Call, Claim, Dispatch, Ended, Load, Pause, Record, Release, Step, alert_of
from itemledger.core.write_api import Entry, LookUp, Proof, Verdict, WriteApi
from itemledger.errors import ClaimLostError, LedgerInvariantError, SourceChangedError

#: A worker with nothing to do looks again at least so often: what other workers bring back has no bell.
LONGEST_PAUSE_S = 1.0
SHORTEST_PAUSE_S = 0.02
#: Rows that are settled without a look-up, taken at a time.
NO_LOOK_UP = Limits(items=100)


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker goes by. ``look_up`` is the API's own, or the caller's in its place; ``storm`` is shared by all
    workers of a run."""

    api: WriteApi
    look_up: LookUp | None
    policy: Policy
    jitter: Callable[[float, float], float]
    name: str
    storm: Storm

    @property
    def settle_s(self) -> float:
        """How long an item whose answer was lost is left alone."""
        if self.policy.settle_s is not None:
            return self.policy.settle_s
        return self.look_up.settle_s if self.look_up is not None else 0.0


Worker = Generator[Step, Any, TerminalError | None]


def worker(work: Work) -> Worker:
    """Runs until nothing is left that a worker could move. Returns the error that blocks every further call, if any.

    A driver sends back what each step asks for, or throws what it met: ClaimLostError at a dispatch and
    what a load raises are the worker's, everything else is the driver's.
    """
    pauses = Pauses(work.policy, work.jitter, work.storm)
    looks_up = work.look_up is not None
    judge = Judge(work.api, work.policy, pauses, work.settle_s, looks_up=looks_up)
    read_back = ReadBack(work.policy, work.api.effect, pauses, looks_up=looks_up)
    ask = Ask(work.name, work.api.limits, work.look_up.limits if work.look_up else NO_LOOK_UP, work.settle_s)
    blocked_before = False
    no_look_ups: Failure | None = None
    rest_s = 0.0  # until something new may go to an endpoint that did not answer; what was begun keeps its own times
    while True:  # the driver's deadline is the budget: it resumes no worker after it
        claimed: Claimed = yield Claim(replace(ask, new=rest_s <= 0))
        for row in claimed.exhausted:
            yield alert_of(row, "exhausted", row.error_code, row.request_id)
        if claimed.batch is None:
            if claimed.wait_s is None and rest_s <= 0:
                return None if no_look_ups is None else no_look_ups.error
            waits = [LONGEST_PAUSE_S, *([] if claimed.wait_s is None else [claimed.wait_s])]
            pause_s = max(min([*waits, rest_s] if rest_s > 0 else waits), SHORTEST_PAUSE_S)
            yield Pause(pause_s)
            rest_s -= pause_s
            continue
        if claimed.batch.kind is Kind.SEND:
            blocker = yield from _send(work, judge, claimed)
        else:
            blocker = yield from _settle(work, read_back, pauses, claimed)
        rest_s = pauses.before_new()
        if blocker is None:
            blocked_before = False
        elif claimed.batch.kind is Kind.READ_BACK and blocker.cause is FailureCause.REFUSED:
            # Whoever may write is not always allowed to read. What waits for a look-up waits on; what can be sent goes.
            no_look_ups, ask = blocker, replace(ask, read_back=None)
        elif blocked_before or blocker.code not in _REFRESHED:
            return blocker.error
        else:
            blocked_before = True


#: The SDK fetches credentials again once it was told that they have expired; these are worth one more call.
_REFRESHED = frozenset({"ExpiredTokenException", "ExpiredToken", "RequestExpired"})
#: A client that blocked where one for asyncio was wanted: it has sent, and so it would the next time.
_WRONG_CLIENTS = frozenset({"BlockingClient"})


#: What a claim leads to: the failure that every further call of its kind would meet too, if there is one.
_Turn: TypeAlias = Generator[Step, Any, Failure | None]


def _send(work: Work, judge: Judge, claimed: Claimed) -> _Turn:
    assert claimed.batch is not None
    epoch, rows = claimed.batch.epoch, claimed.rows
    entries = yield from _load(epoch, rows)
    if entries is None:
        return None
    request = work.api.request(entries)
    if work.api.replay is not None and work.api.replay.member is not None:
        request[work.api.replay.member] = claimed.batch.token  # made at the claim, and the same for a repeated request
    if not (yield from _dispatch(epoch, Dispatch(epoch, work.api.replay))):
        return None
    ended: Ended = yield Call(epoch, work.api.operation, request)
    moves = judge.moves(rows, entries, ended.end)
    yield Record(epoch, evidence_of(ended.end, ended.duration_ms), moves)
    for row, move in zip(rows, moves, strict=True):
        if move.event is Event.REFUSED:
            yield alert_of(row, "refused", move.error_code, move.request_id)
    if isinstance(ended.end, Failure) and (
        work.api.explain(ended.end) is Proof.BLOCKED or ended.end.code in _WRONG_CLIENTS
    ):
        return ended.end
    return None


def _settle(work: Work, read_back: ReadBack, pauses: Pauses, claimed: Claimed) -> _Turn:
    assert claimed.batch is not None
    epoch = claimed.batch.epoch
    settled = [read_back.without_look_up(row, claimed.at) for row in claimed.rows]
    asked = [row for row, move in zip(claimed.rows, settled, strict=True) if move is None]
    entries = (yield from _load(epoch, asked)) if asked else []
    if entries is None:
        return None
    if not (yield from _dispatch(epoch, Dispatch(epoch, None))):
        return None
    moves = [move for move in settled if move is not None]
    if not asked:
        yield Record(epoch, CallEvidence(), moves)
        return None
    look_up = work.look_up
    assert look_up is not None
    ended: Ended = yield Call(epoch, look_up.operation, look_up.request(entries))
    try:
        verdicts = look_up.verdicts(entries, ended.end if isinstance(ended.end, Failure) else ended.end.response)
    except LedgerInvariantError:  # an answer that does not add up settles nothing
        verdicts = [Verdict.UNREADABLE] * len(asked)
    # A call that failed told nothing of the items, so it is no look-up of theirs; an answer such as "not found" is one.
    failed = isinstance(ended.end, Failure) and all(verdict is Verdict.UNREADABLE for verdict in verdicts)
    if failed:
        pauses.call_failed()
    else:
        pauses.answered(0)
    moves += read_back.looked_up(asked, verdicts, ended.end.request_id, charged=not failed)
    yield Record(epoch, evidence_of(ended.end, ended.duration_ms), moves)
    if (
        isinstance(ended.end, Failure)
        and failed
        and ended.end.cause in (FailureCause.CREDENTIALS, FailureCause.REFUSED)
    ):
        return ended.end
    return None


def _load(epoch: int, rows: Sequence[Row]) -> Generator[Step, Any, list[Entry] | None]:
    try:
        entries: list[Entry] = yield Load(rows)
        return entries
    except SourceChangedError as error:
        yield Release(epoch, error.rows)
        if not error.rows:
            raise
        changed = [row for row in rows if row.number in error.rows]
    except Exception:  # whatever it is, nothing was sent: the rows are free again before it is raised
        yield Release(epoch)
        raise
    for row in changed:  # the others of the batch go on
        yield alert_of(row, Review.SOURCE_CHANGED.value, None, None)
    return None


def _dispatch(epoch: int, step: Dispatch) -> Generator[Step, Any, bool]:
    try:
        yield step
        return True
    except ClaimLostError:  # nothing was sent; what holds the rows now, or the next claim, goes on
        yield Release(epoch)
        return False
