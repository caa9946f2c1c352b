"""One simulated run: workers, a store, a provider and a person under a scheduler, all drawn from one seed."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, assert_never

from itemledger.core.answer import TerminalError
from itemledger.core.batches import Kind
from itemledger.core.judging import Storm
from itemledger.core.policy import Policy
from itemledger.core.rows import Decided, Operation
from itemledger.core.worker import Work, Worker, worker
from itemledger.core.worker_steps import Alert, Call, Claim, Dispatch, Ended, Load, Pause, Record, Release, Step
from itemledger.core.write_api import Entry
from itemledger.errors import ClaimLostError, SourceChangedError
from itemledger.ledger.planning import new_item
from itemledger.ledger.store import Store
from tests.simulation.apis import TOKEN, WINDOWED, SimApi, on_unknown
from tests.simulation.apis import Kind as ApiKind
from tests.simulation.laws import OPEN, LawError, Laws, law
from tests.simulation.provider import TIMEOUT, Provider, Send

OPERATION = "op"
#: More steps than any run takes that comes to an end.
MOST_STEPS = 60_000
#: A person is asked no more often than that: once for each item of the longest group, and twice more.
MOST_ROUNDS = 12


@dataclass(slots=True, eq=False)
class Actor:
    """One worker process."""

    name: str
    worker: Worker
    alive: bool = True
    waits_for: Send | None = None
    idle: int = 0
    sends: dict[int, Send] = field(default_factory=dict)


class World:
    """Everything of one seed. ``run`` raises LawError at the first breach; ``lines`` is the log of its steps."""

    def __init__(self, seed: int, make_store: Callable[[Callable[[], float]], Store], kind: ApiKind | None = None):
        self.rng = rng = Random(seed)
        self.now = 0.0
        self.offset = 0.0
        self.lines: list[str] = []
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        self._actors: list[Actor] = []
        self._alerts: list[Alert] = []
        self._calm = False
        kind = rng.choice(list(ApiKind)) if kind is None else kind
        self.kind = kind
        timeout_s = rng.choice([5.0, 20.0])
        self.policy = Policy(
            max_attempts=rng.choice([2, 4, 8]),
            max_lapses=rng.choice([3, 10, 30]),
            max_look_ups=rng.choice([1, 3, 6]),
            on_unknown=on_unknown(kind),
            lease_s=timeout_s * rng.choice([1.25, 3.0]),
            call_timeout_s=timeout_s,
            backoff_cap_s=rng.choice([5.0, 60.0]),
        )
        settle_s = rng.choice([1.0, 5.0])
        self.api = SimApi(kind, items=rng.choice([1, 3, 10, 25]), settle_s=settle_s, silent=rng.random() < 0.5)
        count = rng.choice([1, 2, 5, 10, 10, 25])
        self.entries = {f"i{number}": self._entry(number) for number in range(1, count + 1)}
        # A frozen worker and a leaping clock are beyond what a window's margin and a settle time can promise.
        self._leaps = rng.random() < 0.25
        self._freezes = kind not in WINDOWED and rng.random() < 0.15
        self._crash = rng.choice([0.0, 0.005, 0.02, 0.05])
        self._stall = rng.choice([0.0, 0.02, 0.05])
        poison = frozenset(item_id for item_id in self.entries if rng.random() < rng.choice([0.0, 0.1]))
        self.provider = Provider(
            self.api,
            rng,
            lambda: self.now,
            self._at,
            timeout_s=self.policy.call_timeout_s,
            settle_s=settle_s,
            poison=poison,
            refuses_whole=rng.random() < 0.5,
            fickle=rng.random() < 0.1,
        )
        self.provider.weather = rng.choice([0.0, 0.5, 1.0, 2.0])
        self.store = make_store(self.clock)
        self.laws = Laws(self.store, self.provider, self.policy, count, exact=not (self._leaps or self._freezes))
        self._storm = Storm()
        self._workers = rng.randint(1, 4)

    def clock(self) -> float:
        return 1_000_000.0 + self.now + self.offset

    @property
    def trace(self) -> str:
        """A hash of every step: the same seed gives the same."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()

    def run(self) -> None:
        self.store.open_operation(Operation(OPERATION, self.api.name, self.api.target, self.policy, self.api.effect))
        self.store.plan(OPERATION, [new_item(OPERATION, self.api, entry, None) for entry in self.entries.values()])
        self.store.planning_ended(OPERATION)
        for round_ in range(MOST_ROUNDS):
            self._calm = False
            if round_ == 0 or self.rng.random() < 0.3:
                self._rough(100.0 if round_ else self.rng.choice([100.0, 400.0, 1000.0]))
            self._drain()
            self.laws.quiet(OPERATION)
            if not self._person(last=round_ > 1):
                break
        self.laws.over(OPERATION)

    # ------------------------------------------------------------------------------------------------ phases

    def _rough(self, seconds: float) -> None:
        """Workers come and go, calls fail, the clock leaps."""
        end = self.now + seconds
        for _ in range(self._workers):
            self._start(self.rng.uniform(0.0, 1.0))
        for _ in range(self.rng.choice([0, 1, 3])):
            self._at(self.rng.uniform(self.now, end), self._leap)
        if self.rng.random() < 0.15:
            self._at(self.rng.uniform(self.now, end), self._block)
        while self._heap and self.now < end:
            self._next()

    def _drain(self) -> None:
        """Fine weather until nothing is left to do."""
        self._calm = True
        weather, self.provider.weather, self.provider.blocked = self.provider.weather, 0.0, None
        self._start(0.0)
        while self._heap:
            self._next()
        law(not any(actor.alive for actor in self._actors), "a worker is stuck")
        self.provider.weather = weather

    def _person(self, *, last: bool) -> bool:
        """Decides what waits, knowing the journal; whether anything did."""
        rows = self.store.rows(OPERATION, in_review=True)
        for row in rows:
            if row.item_id in self.provider.journal:
                decided = Decided.SUCCEEDED
            elif last or self.rng.random() < 0.5:
                decided = Decided.TERMINAL
            else:
                decided = Decided.RETRY
            self.laws.decided(row, decided)
            self._log(f"person {row.number} {decided}")
            self.store.decide(row.number, decided, who="person", why="looked")
        return bool(rows)

    def _leap(self) -> None:
        """The store's clock is set: back by no more than a window's margin allows, or ahead by any time."""
        if self._leaps and self.rng.random() < 0.5:
            self.offset += self.rng.choice([1.0, self.policy.lease_s, 400.0])
        else:
            back = self.policy.call_timeout_s / 20 if self.kind in WINDOWED else self.rng.choice([1.0, 30.0, 500.0])
            self.offset -= back
        self._log(f"clock {self.offset:g}")

    def _block(self) -> None:
        self.provider.blocked = self.rng.choice(["AccessDenied", "ExpiredToken"])
        self._log(f"blocked {self.provider.blocked}")

        def heal() -> None:
            self.provider.blocked = None
            self._start(0.0)

        self._at(self.now + self.rng.uniform(1.0, 60.0), heal)

    # --------------------------------------------------------------------------------------------- scheduler

    def _at(self, when: float, what: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (when, self._sequence, what))

    def _next(self) -> None:
        when, _, what = heapq.heappop(self._heap)
        self.now = max(self.now, when)
        what()
        law(len(self.lines) < MOST_STEPS, "the run does not come to an end")

    def _log(self, line: str) -> None:
        self.lines.append(f"{self.now:.6f} {line}")

    def _start(self, delay_s: float) -> None:
        name = f"w{len(self._actors) + 1}"
        work = Work(self.api, self.api.look_up, self.policy, self.rng.uniform, name, self._storm)
        actor = Actor(name, worker(work))
        self._actors.append(actor)
        self._at(self.now + delay_s, lambda: self._resume(actor, None))

    def _kill(self, actor: Actor) -> None:
        """As kill -9 would: nothing of it runs any more. Another one comes later."""
        actor.alive = False
        self._log(f"{actor.name} dies")
        self._start(self.rng.uniform(0.0, 30.0 if self.rng.random() < 0.9 else 400.0))

    def _dies(self, times: int = 1) -> bool:
        return not self._calm and self.rng.random() < self._crash * times

    def _resume(self, actor: Actor, reply: Any, thrown: Exception | None = None) -> None:
        if not actor.alive:
            return
        try:
            step = actor.worker.send(reply) if thrown is None else actor.worker.throw(thrown)
        except StopIteration as end:
            self._ended(actor, end.value)
            return
        except SourceChangedError:
            self._kill(actor)
            return
        self._log(f"{actor.name} {_told(step)}")
        if self._dies():
            self._kill(actor)
        else:
            self._at(self.now + self._delay(step), lambda: self._perform(actor, step))

    def _ended(self, actor: Actor, error: TerminalError | None) -> None:
        actor.alive = False
        self._log(f"{actor.name} ends {error or ''}")
        law(error is None or error.code in ("AccessDenied", "ExpiredToken"), f"a worker ended with {error}")
        if error is not None:
            self._start(self.rng.uniform(1.0, 30.0))

    def _delay(self, step: Step) -> float:
        """How long a step takes, or the worker is frozen before it."""
        if self._calm or self.rng.random() >= self._stall:
            return self.rng.uniform(0.0, 0.02)
        if isinstance(step, Call) and not self._freezes:
            return self.rng.uniform(0.0, self.policy.call_timeout_s / 5)
        return self.rng.uniform(0.0, 1.5 * self.policy.lease_s)

    def _perform(self, actor: Actor, step: Step) -> None:
        if not actor.alive:
            return
        reply: Any = None
        thrown: Exception | None = None
        after_s = 0.0
        match step:
            case Claim(ask):
                reply = self.store.claim(OPERATION, ask)
                self.laws.claimed(reply, self.now)
                actor.idle = 0 if reply.batch is not None else actor.idle + 1
            case Load(rows):
                if not self._calm and self.rng.random() < 0.003:
                    thrown = SourceChangedError("the input has changed")
                reply = [self._as_sent(row.item_id, row.idempotency_key) for row in rows]
            case Dispatch(epoch, replay):
                try:
                    claimed = self.store.batch(epoch)
                    self.store.dispatch(epoch, replay)
                    self.laws.dispatched(claimed, self.clock())
                except ClaimLostError as error:
                    thrown = error
            case Call():
                self._call(actor, step)
                return
            case Record():
                self._record(actor, step)
            case Release(epoch):
                try:
                    self.store.release(epoch)
                except ClaimLostError:
                    self._log("nothing to release")
            case Pause(seconds):
                after_s = seconds * 1.3 ** min(actor.idle, 20)  # a worker may sleep longer than it meant to
            case Alert():
                self._alerts.append(step)
            case _:
                assert_never(step)
        if self._dies():
            self._kill(actor)
        else:
            self._at(self.now + after_s, lambda: self._resume(actor, reply, thrown))

    def _call(self, actor: Actor, step: Call) -> None:
        batch = self.store.batch(step.epoch)
        if batch.kind is Kind.READ_BACK:
            self.provider.on_look_up = lambda item_id, verdict: self.laws.looked_up(step.epoch, item_id, verdict)
            answer = self.provider.look_up(step.request)
            self._at(self.now + self.rng.uniform(0.0, 1.0), lambda: self._resume(actor, Ended(answer, 1.0)))
            return

        def answered(send: Send) -> None:
            if actor.waits_for is send:
                assert send.end is not None
                send.delivered = True
                self._answered(actor, Ended(send.end, 1.0))

        def timed_out() -> None:
            if actor.waits_for is send:
                send.end, send.results = TIMEOUT, dict.fromkeys(send.ids, "unknown")
                send.delivered = True
                self._answered(actor, Ended(TIMEOUT, 1.0))

        send = self.provider.send(step.epoch, step.request, step.request.get(TOKEN), answered)
        rows = [self.store.row(number) for number in batch.items]
        self.laws.called(send, rows, in_time=batch.state in OPEN)
        actor.waits_for = actor.sends[step.epoch] = send
        self._at(self.now + self.policy.call_timeout_s, timed_out)
        if self._dies(4):  # most of a worker's time goes into its calls
            self._kill(actor)

    def _answered(self, actor: Actor, ended: Ended) -> None:
        actor.waits_for = None
        self._resume(actor, ended)

    def _record(self, actor: Actor, step: Record) -> None:
        batch = self.store.batch(step.epoch)
        before = [self.store.row(number) for number in batch.items]
        told = self.store.record(step.epoch, step.evidence, step.moves)
        after = [self.store.row(number) for number in batch.items]
        self.laws.recorded(actor.sends.get(step.epoch), batch, before, after, told, self.now)

    # ------------------------------------------------------------------------------------------------- items

    def _entry(self, number: int) -> Entry:
        group = f"g{number % 3}" if self.kind is ApiKind.GROUPS else None
        return Entry(f"i{number}", {"v": number}, 10, group_id=group)

    def _as_sent(self, item_id: str, key: str) -> Entry:
        entry = self.entries[item_id]
        return Entry(entry.item_id, entry.payload, entry.size_bytes, key, entry.group_id)


def _told(step: Step) -> str:
    match step:
        case Record(epoch, evidence, moves):
            return f"record {epoch} {evidence.code} " + " ".join(_moves(moves))
        case Call(epoch, operation, request):
            shown = {name: value for name, value in request.items() if name != TOKEN}  # each store makes its own
            return f"call {epoch} {operation} {shown}"
        case Load(rows):
            return f"load {[row.number for row in rows]}"
        case Claim():
            return "claim"
        case _:
            return repr(step)


def _moves(moves: Any) -> Iterator[str]:
    for move in moves:
        yield f"{move.row}:{move.event}"


def run_seed(seed: int, make_store: Callable[[Callable[[], float]], Store]) -> World:
    """The run of this seed from its start to its end; whatever breaks in it is raised with the seed."""
    world = World(seed, make_store)
    try:
        world.run()
    except Exception as error:
        again = f"python -m tests.simulation.run {seed}"
        raise LawError(f"seed {seed}, {world.kind}: {error!r}; run it again with: {again}") from error
    finally:
        world.store.close()
    return world
