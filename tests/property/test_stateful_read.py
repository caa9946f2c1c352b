"""One Read under every order of starting, answering, failing, waiting and stopping, against a model of sets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.hold import HoldRecord
from itemledger.core.result import StopReason
from itemledger.core.steps import Call, WaitUntil
from itemledger.core.terms import Bounds
from itemledger.errors import LedgerInvariantError
from tests.core.support import longest, read_of
from tests.property.model import Model, check_pass
from tests.property.strategies import Table, honest_answers, several_tables


class Reading(RuleBasedStateMachine):
    """The driver's part is played by chance: it may ask what is due at any time, and answers come in any order."""

    flying = Bundle("flying")

    @initialize(
        world=several_tables(),
        call_items=st.integers(1, 5),
        max_passes=st.integers(1, 3),
        concurrency=st.integers(1, 3),
        timeout_s=st.sampled_from([1e9, 5.0]),
    )
    def begin(self, world: list[Table], call_items: int, **bounds: Any) -> None:
        self.world = world
        self.read = read_of(
            *((table.settings, table.spelled) for table in world), call_items=call_items, jitter=longest, **bounds
        )
        self.model = Model(world, Bounds(**bounds), call_items)
        self.now = 0.0
        self.waits_until = 0.0

    @rule(target=flying, seconds=st.sampled_from([0.0, 0.02, 0.5]))
    def due(self, seconds: float) -> Any:
        """Asked twice or early it must not start anything twice; the calls go into the air."""
        self.now += seconds
        was_done = self.model.done
        steps = self.read.due(self.now)
        calls = [step for step in steps if isinstance(step, Call)]
        for call in calls:
            assert call.started_at == self.now
            self.model.start(call)
        if self.now >= self.read.deadline and not was_done:
            assert [] == steps
            self.model.stop(StopReason.DEADLINE)
        elif not steps and not was_done and not self.model.flying:
            self.model.stop(StopReason.DEADLINE)  # the next pause would cross it
            assert self.now + self.model.bounds.backoff_cap_s >= self.read.deadline
        for step in steps:
            if isinstance(step, WaitUntil):
                assert self.now < step.at < self.read.deadline
                self.waits_until = step.at
        return multiple(*calls)

    @rule()
    def wait(self) -> None:
        self.now = max(self.now, self.waits_until)

    @rule(call=consumes(flying), data=st.data())
    def answer(self, call: Call, data: st.DataObject) -> None:
        if call.number not in self.model.flying:
            return  # abandoned by a stop; a driver drops it too
        said = data.draw(honest_answers(call, self.world))
        progress = self.read.answered(call, Answer(said.response, f"r-{call.number}"), self.now)
        self.model.answer(call, said)
        check_pass(progress.evidence, call, said, self.world)

    @rule(call=consumes(flying), cause=st.sampled_from(FailureCause))
    def fail(self, call: Call, cause: FailureCause) -> None:
        if call.number not in self.model.flying:
            return
        progress = self.read.answered(call, Failure(cause, "Code", "", "r"), self.now)
        self.model.fail(call, cause)
        assert () == progress.settled
        assert all(not entry.findings and entry.error for entry in progress.evidence)

    @rule(call=consumes(flying))
    def lie(self, call: Call) -> None:
        if call.number not in self.model.flying:
            return
        with pytest.raises(LedgerInvariantError):
            self.read.answered(call, Answer({"Responses": {}}), self.now)
        self.model.impossible(call)

    @precondition(lambda self: hasattr(self, "model") and not self.model.done)
    @rule(reason=st.sampled_from([StopReason.INTERRUPTED, StopReason.DEADLINE]))
    def stop(self, reason: StopReason) -> None:
        self.read.stop(reason)
        self.model.stop(reason)

    @invariant()
    def every_key_stands_where_the_model_has_it(self) -> None:
        if not hasattr(self, "model"):
            return
        self.model.check(self.read)
        self.model.check_items(self.read.results())

    def teardown(self) -> None:
        """What remains goes into a hold record that asks for exactly the unresolved keys."""
        if not hasattr(self, "model"):
            return
        for result in self.read.results():
            record = HoldRecord.from_json(result.hold_record().to_json())
            assert set(record.unresolved) == result.unresolved


TestReading = Reading.TestCase
TestReading.settings = settings(max_examples=40, stateful_step_count=25, deadline=None, database=None)


class LongReading(Reading):
    pass


TestLongReading = pytest.mark.soak(LongReading.TestCase)
