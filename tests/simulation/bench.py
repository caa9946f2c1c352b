"""One worker at a time over a MemoryStore and a scripted provider: for runs that are told step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

from itemledger.core.answer import Answer, Failure, FailureCause, TerminalError
from itemledger.core.judging import Storm
from itemledger.core.outcome import Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Operation, Planned, Row
from itemledger.core.worker import Work, Worker, worker
from itemledger.core.worker_steps import Alert, Call, Claim, Dispatch, Ended, Load, Pause, Record, Release, Step
from itemledger.core.write_api import Entry
from itemledger.errors import ClaimLostError, SourceChangedError
from itemledger.ledger.memory import MemoryStore
from itemledger.ledger.planning import new_item
from tests.simulation.apis import Kind, SimApi, on_unknown

#: What the provider does with the ids of one call.
Script: TypeAlias = Callable[[Sequence[str]], Answer | Failure]


def codes(others: str = "ok", **told: str) -> Script:
    """An answer with a code for each item; ``others`` is for those not named."""

    def answer(ids: Sequence[str]) -> Answer:
        results = [{"id": i, "code": told.get(i, others), "ref": None} for i in ids]
        results = [{**result, "ref": f"r-{result['id']}"} if result["code"] == "ok" else result for result in results]
        return Answer({"named": len(results), "results": results}, "q-1", 0)

    return answer


def failure(code: str, cause: FailureCause = FailureCause.TRANSIENT) -> Script:
    """A call without a usable response."""
    return lambda ids: Failure(cause, code, "made up", "q-1")


def resent(times: int, script: Script) -> Script:
    """The end of a call that the SDK sent again so many times."""
    return lambda ids: replace(script(ids), sdk_retry_attempts=times)


def refuse_with(poison: str) -> Script:
    """Refuses a whole request for one item in it."""
    refused = failure("ValidationError", FailureCause.REFUSED)
    return lambda ids: refused(ids) if poison in ids else codes()(ids)


class Bench:
    """Items ``i1`` … ``iN`` planned for one kind of provider; the clock moves when a worker pauses, or by hand."""

    def __init__(self, kind: Kind, count: int, *, items: int = 25, policy: Policy | None = None) -> None:
        self.now = 1_000.0
        self.api = SimApi(kind, items=items)
        self.policy = policy or Policy(on_unknown=on_unknown(kind))
        self.store = MemoryStore(clock=lambda: self.now)
        self.entries = {f"i{n}": Entry(f"i{n}", {"v": n}, 10, f"k{n}") for n in range(1, count + 1)}
        self.store.open_operation(Operation("op", self.api.name, self.api.target, self.policy, self.api.effect))
        self.plan(*self.entries.values())
        self.store.planning_ended("op")
        self.sent: list[list[str]] = []
        self.requests: list[dict[str, Any]] = []
        self.looked_up: list[list[str]] = []
        self.there: set[str] = set()
        self.look_up_fails: Script | None = None
        self.changed: set[str] = set()
        self.alerts: list[Alert] = []
        self.pauses: list[float] = []
        self._random = Random(1)
        self._storm = Storm()

    def plan(self, *entries: Entry) -> Planned:
        return self.store.plan("op", [new_item("op", self.api, entry, None) for entry in entries])

    def start(self, name: str = "w1", *, longest: bool = False) -> Worker:
        """A worker; with ``longest`` it draws the longest of every pause."""
        jitter = (lambda low, high: high) if longest else self._random.uniform
        return worker(Work(self.api, self.api.look_up, self.policy, jitter, name, self._storm))

    def run(self, *answers: Script, name: str = "w1") -> TerminalError | None:
        """A worker from its start to its end; every send takes the next of the answers, and all must be used."""
        left = list(answers)
        error = self.finish(self.start(name), None, left)
        assert not left, f"{len(left)} answers were not asked for"
        return error

    def finish(self, one: Worker, reply: Any, left: list[Script]) -> TerminalError | None:
        thrown: Exception | None = None
        while True:
            try:
                step = one.send(reply) if thrown is None else one.throw(thrown)
            except StopIteration as end:
                error: TerminalError | None = end.value
                return error
            thrown = None
            try:
                reply = self.perform(step, left)
            except (ClaimLostError, SourceChangedError) as met:
                thrown = met

    def until(self, one: Worker, kind: type[Step], *answers: Script) -> Any:
        """A worker up to its first step of this kind, which is not performed."""
        left, reply = list(answers), None
        while True:
            step = one.send(reply)
            if isinstance(step, kind):
                return step
            reply = self.perform(step, left)

    def perform(self, step: Step, left: list[Script]) -> Any:
        match step:
            case Claim(ask):
                return self.store.claim("op", ask)
            case Load(rows):
                if changed := tuple(row.number for row in rows if row.item_id in self.changed):
                    raise SourceChangedError("made up", rows=changed)
                return [self.entries[row.item_id] for row in rows]
            case Dispatch(epoch, replay):
                self.store.dispatch(epoch, replay)
            case Call(_, "look_up", request):
                self.looked_up.append(request["ids"])
                if self.look_up_fails is not None:
                    return Ended(self.look_up_fails(request["ids"]), 1.0)
                states = ["same" if item_id in self.there else "absent_conclusive" for item_id in request["ids"]]
                return Ended(Answer({"states": states}, "q-2"), 1.0)
            case Call(_, _, request):
                ids = [item_id for item_id, _, _ in request["items"]]
                self.sent.append(ids)
                self.requests.append(request)
                assert left, f"a call for {ids} was not expected"
                return Ended(left.pop(0)(ids), 1.0)
            case Record(epoch, evidence, moves):
                return self.store.record(epoch, evidence, moves)
            case Release(epoch, set_aside):
                self.store.release(epoch, set_aside=set_aside)
            case Pause(seconds):
                self.pauses.append(seconds)
                self.now += seconds
            case Alert():
                self.alerts.append(step)
        return None

    def row(self, item_id: str) -> Row:
        found = self.store.find("op", item_id)
        assert found is not None
        return found

    def outcomes(self) -> dict[Outcome, list[str]]:
        """Which items stand where; an outcome of none is left out."""
        found: dict[Outcome, list[str]] = {}
        for row in self.store.rows("op"):
            found.setdefault(row.outcome, []).append(row.item_id)
        return found

    def events(self, item_id: str) -> list[str]:
        return [entry.event for entry in self.store.history(self.row(item_id).number)]
