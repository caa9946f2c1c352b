"""Laws of a read over random manifests and services: one disposition for every key, never a wrong one, nothing lost."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itemledger.core.answer import Answer, EvidenceLabel, Failure, FailureCause
from itemledger.core.decision import ALL, MAX_OBSERVATIONS, NONE, Decision
from itemledger.core.result import Disposition, KeyOutcome, ReadResult, StopReason
from itemledger.core.steps import Call, SentKey, WaitUntil
from itemledger.core.terms import Bounds, Observation
from itemledger.errors import LedgerInvariantError
from tests.core.support import longest, read_of
from tests.property.model import Model, check_pass, check_union
from tests.property.strategies import Said, Table, honest_answers, parts, several_tables, tables, wire_keys

QUICK = settings(max_examples=60)
PASSING = {FailureCause.THROTTLED, FailureCause.TRANSIENT, FailureCause.DAMAGED}
causes = st.sampled_from(FailureCause)
bounds = st.fixed_dictionaries(
    {"max_passes": st.integers(1, 4), "concurrency": st.integers(1, 4), "timeout_s": st.sampled_from([1e9, 3.0])}
)


class Run:
    """A random read and its model; ``go`` plays random honest answers in any order of arrival."""

    def __init__(self, data: st.DataObject, *, number: int = 1, most: int = 8) -> None:
        self.data = data
        self.world: list[Table] = data.draw(several_tables(most=most))
        options: dict[str, Any] = data.draw(bounds)
        call_items = data.draw(st.integers(1, 6))
        self.read = read_of(
            *((table.settings, table.spelled) for table in self.world),
            call_items=call_items,
            jitter=longest,
            observation=Observation("o", number),
            **options,
        )
        self.model = Model(self.world, Bounds(**options), call_items)
        self.now = 0.0
        self.open: list[Call] = []

    def start(self) -> None:
        """Everything that is due, at a time that moves on where the read says that it waits."""
        while not self.model.done:
            steps = self.read.due(self.now)
            if not steps and not self.open:  # the deadline came, or the next pause would cross it
                self.model.stop(StopReason.DEADLINE)
            if self.now >= self.read.deadline:
                self.model.stop(StopReason.DEADLINE)
                self.open.clear()
                return
            for step in steps:
                if isinstance(step, WaitUntil):
                    assert self.now < step.at < self.read.deadline
                    self.now = step.at if not self.open else self.now
                else:
                    self.model.start(step)
                    self.open.append(step)
            if self.open or not steps:
                return

    def take(self) -> Call:
        """One of the calls in flight, in any order, some time later."""
        self.now += self.data.draw(st.sampled_from([0.0, 0.01, 1.0]))
        return self.open.pop(self.data.draw(st.integers(0, len(self.open) - 1)))

    def answered(self, call: Call, said: Said) -> None:
        answer = Answer(said.response, f"r-{call.number}", 0, EvidenceLabel.SYNTHETIC)
        progress = self.read.answered(call, answer, self.now)
        self.model.answer(call, said)
        check_pass(progress.evidence, call, said, self.world)

    def failed(self, call: Call, cause: FailureCause) -> None:
        self.read.answered(call, Failure(cause, cause.label, "", f"r-{call.number}"), self.now)
        self.model.fail(call, cause)

    def go(self, steps: int = 10**6, fail: Callable[[], FailureCause | None] = lambda: None) -> None:
        for _ in range(steps):
            self.start()
            self.model.check(self.read)
            if not self.open:
                return
            call = self.take()
            cause = fail()
            if cause is not None:
                self.failed(call, cause)
            else:
                self.answered(call, self.data.draw(honest_answers(call, self.world)))
            self.model.check(self.read)


def check_honest(data: st.DataObject, most: int = 8) -> None:
    run = Run(data, most=most)
    run.go()
    assert run.read.done
    run.model.check_items(run.read.results())
    for result, table in zip(run.read.results(), run.world, strict=True):
        # what the pass ledger says adds up to what the result says
        passes = result.ledger
        assert result.returned == {key for entry in passes for key in entry.returned}
        assert result.processed_not_returned == {key for entry in passes for key in entry.processed_not_returned}
        assert result.returned == table.items.keys() - result.unresolved
        assert len(passes) == result.totals.calls
        assert max((entry.application_pass for entry in passes), default=0) == result.totals.application_passes
        check_decision(result)


def check_failing(data: st.DataObject, most: int = 8) -> None:
    number = data.draw(st.integers(1, MAX_OBSERVATIONS + 1))
    run = Run(data, number=number, most=most)
    run.go(fail=lambda: data.draw(st.one_of(st.none(), st.none(), causes)))
    run.model.check_items(run.read.results())
    for result in run.read.results():
        check_decision(result)
        if not result.complete and run.model.cause is not None:
            assert StopReason.REQUEST_FAILED is result.stop_reason
            assert (run.model.cause in PASSING) == (
                result.terminal_error is not None and result.terminal_error.transient
            )
            passing = run.model.cause in PASSING and number < MAX_OBSERVATIONS
            assert (Decision.RETRY if passing else Decision.HOLD) is result.decide()


def check_interrupted(data: st.DataObject, most: int = 8) -> None:
    run = Run(data, most=most)
    run.go(steps=data.draw(st.integers(0, 4)))
    run.start()
    reason = data.draw(st.sampled_from([StopReason.INTERRUPTED, StopReason.DEADLINE]))
    if not run.model.done:
        run.read.stop(reason)
        run.model.stop(reason)
    run.model.check(run.read)
    run.model.check_items(run.read.results())
    assert [] == run.read.due(run.now)
    for result in run.read.results():
        check_decision(result)


def check_decision(result: ReadResult) -> None:
    """R10 for the two plain policies, from what the result says of itself."""
    passing = result.stop_reason in (StopReason.PASSES_EXHAUSTED, StopReason.DEADLINE)
    if result.stop_reason is StopReason.REQUEST_FAILED:
        assert result.terminal_error is not None
        passing = result.terminal_error.transient
    open_end = Decision.RETRY if passing and result.observation.number < MAX_OBSERVATIONS else Decision.HOLD
    for policy, holds in ((ALL, not result.processed_not_returned), (NONE, True)):
        expected = open_end if result.unresolved else Decision.ACCEPT if holds else Decision.REJECT
        assert expected is result.decide(policy)


# --------------------------------------------------------------------------------------------------- honest services


@QUICK
@given(st.data())
def test_an_honest_service_gives_every_key_the_truth_or_leaves_it_unresolved(data: st.DataObject) -> None:
    check_honest(data)


@QUICK
@given(st.data())
def test_failures_at_any_call_leave_what_was_settled_and_call_nothing_missing(data: st.DataObject) -> None:
    check_failing(data)


@QUICK
@given(st.data())
def test_a_stop_at_any_moment_leaves_a_whole_result(data: st.DataObject) -> None:
    check_interrupted(data)


@pytest.mark.soak
@given(st.data())
def test_soak_any_read(data: st.DataObject) -> None:
    data.draw(st.sampled_from([check_honest, check_failing, check_interrupted]))(data, most=30)


@QUICK
@given(st.data())
def test_a_stream_names_every_position_of_the_input_once(data: st.DataObject) -> None:
    table: Table = data.draw(tables(fold=True))
    read = read_of((table.settings, table.spelled), fold=True, keep=False, call_items=3, max_passes=2, concurrency=2)
    outcomes: list[KeyOutcome] = []
    now = 0.0
    while not read.done:
        calls = [step for step in read.due(now) if isinstance(step, Call)]
        now += 1.0
        for call in data.draw(st.permutations(calls)):
            said = data.draw(honest_answers(call, [table]))
            outcomes += read.answered(call, Answer(said.response), now).settled
    outcomes += read.unsettled()
    (result,) = read.results()
    assert ({}, ()) == (result.items_by_key, result.ledger)
    check_union(result, table.keys)
    assert list(range(len(table.spelled))) == sorted(outcome.position for outcome in outcomes)
    for outcome in outcomes:
        assert table.settings.key.canonical(table.spelled[outcome.position], 0) == outcome.key
        assert result.disposition_by_key[outcome.key] is outcome.disposition
        assert (outcome.item is not None) == (outcome.disposition is Disposition.RETURNED)
    told = sorted(outcomes, key=lambda outcome: outcome.position)
    assert [outcome.duplicate_of for outcome in result.outcomes] == [outcome.duplicate_of for outcome in told]
    first = {key: position for position, key in reversed([*enumerate(o.key for o in told)])}
    assert [None if first[o.key] == o.position else first[o.key] for o in told] == [o.duplicate_of for o in told]


# ------------------------------------------------------------------------------------------------ dishonest services

Lie = Callable[[st.DataObject, Call, dict[str, Any], list[Table]], bool]


def a_row_twice(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    rows = _some(data, [rows for rows in response["Responses"].values() if rows])
    if rows is None:
        return False
    again = copy.deepcopy(data.draw(st.sampled_from(rows)))
    if data.draw(st.booleans()):
        again["n"] = {"N": "-1"}
    rows.insert(data.draw(st.integers(0, len(rows))), again)
    return True


def a_row_that_was_not_asked_for(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    """Any key of the manifest, or of nobody's, that is not in this call."""
    index, _ = data.draw(st.sampled_from(call.sent))
    table = world[index]
    size = len(table.settings.key.names)
    other: Any = data.draw(st.one_of(parts if size == 1 else st.tuples(parts, parts), st.sampled_from(table.keys)))
    if (index, other) in call.sent:
        return False
    row = data.draw(wire_keys(table.settings.key, other))
    if data.draw(st.booleans()):
        response["Responses"].setdefault(table.settings.table_name, []).append(row)
    else:
        response["UnprocessedKeys"].setdefault(table.settings.table_name, {"Keys": []})["Keys"].append(row)
    return True


def a_key_of_another_type(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    rows = [row for rows in response["Responses"].values() for row in rows]
    rows += [key for entry in response["UnprocessedKeys"].values() for key in entry["Keys"]]
    row = _some(data, rows)
    if row is None:
        return False
    ((tag, value),) = row["pk"].items()
    plain = value.decode("latin-1") if isinstance(value, bytes) else value
    others: list[dict[str, Any]] = [
        {"S": plain},
        {"B": plain.encode()},
        {"N": plain},
        {"SS": [plain]},
        {},
        {"S": plain, "N": plain},
    ]
    row["pk"] = data.draw(st.sampled_from([other for other in others if list(other) != [tag]]))
    return True


def a_key_that_is_missing(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    rows = [row for rows in response["Responses"].values() for row in rows]
    rows += [key for entry in response["UnprocessedKeys"].values() for key in entry["Keys"]]
    row = _some(data, rows)
    if row is None:
        return False
    del row[data.draw(st.sampled_from([name for name in ("pk", "sk") if name in row]))]
    return True


def returned_and_left_over(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    index, key = data.draw(st.sampled_from(call.sent))
    table = world[index].settings
    row = data.draw(wire_keys(table.key, key))
    response["Responses"].setdefault(table.table_name, [])
    response["UnprocessedKeys"].setdefault(table.table_name, {"Keys": []})
    if key not in _keys_in(response["Responses"][table.table_name], table.key):
        response["Responses"][table.table_name].append(row)
    if key not in _keys_in(response["UnprocessedKeys"][table.table_name]["Keys"], table.key):
        response["UnprocessedKeys"][table.table_name]["Keys"].append(row)
    return True


def left_over_twice(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    entry = _some(data, list(response["UnprocessedKeys"].values()))
    if entry is None:
        return False
    entry["Keys"].append(data.draw(st.sampled_from(entry["Keys"])))
    return True


def a_member_missing(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    members = ["UnprocessedKeys"]
    left = Counter({name: len(entry["Keys"]) for name, entry in response["UnprocessedKeys"].items()})
    asked = Counter(world[table].settings.table_name for table, _ in call.sent)
    if asked != left:
        members.append("Responses")
    member = data.draw(st.sampled_from(members))
    if data.draw(st.booleans()):
        del response[member]
    else:
        response[member] = None
    return True


def a_list_missing(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    left = {name: len(entry["Keys"]) for name, entry in response["UnprocessedKeys"].items()}
    asked = Counter(world[table].settings.table_name for table, _ in call.sent)
    name = _some(data, [name for name, count in asked.items() if left.get(name, 0) < count])
    if name is None:
        return False
    del response["Responses"][name]
    return True


def another_table(data: st.DataObject, call: Call, response: dict[str, Any], world: list[Table]) -> bool:
    if data.draw(st.booleans()):
        response["Responses"]["Other"] = data.draw(st.sampled_from([[], [{"pk": {"S": "a"}}]]))
    else:
        response["UnprocessedKeys"]["Other"] = {"Keys": []}
    return True


LIES: list[Lie] = [
    a_row_twice,
    a_row_that_was_not_asked_for,
    a_key_of_another_type,
    a_key_that_is_missing,
    returned_and_left_over,
    left_over_twice,
    a_member_missing,
    a_list_missing,
    another_table,
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: str(lie.__name__))
@settings(max_examples=30)
@given(data=st.data())
def test_a_lie_is_refused_and_what_was_settled_before_stays(lie: Lie, data: st.DataObject) -> None:
    run = Run(data)
    run.go(steps=data.draw(st.integers(0, 3)))
    run.start()
    if not run.open:
        return
    call = run.take()
    said = data.draw(honest_answers(call, run.world))
    if not lie(data, call, said.response, run.world):
        return
    with pytest.raises(LedgerInvariantError) as caught:
        run.read.answered(call, Answer(said.response, "r-lie"), run.now)
    run.model.impossible(call)
    check_refusal(caught.value, run, call)


def check_refusal(error: LedgerInvariantError, run: Run, call: Call) -> None:
    run.model.check(run.read)
    run.model.check_items(run.read.results())
    assert Decision.REPAIR is error.decision
    assert len({index for index, _ in call.sent}) == len(error.evidence)
    assert {"r-lie"} == {entry.request_id for entry in error.evidence}
    for result in run.read.results():
        assert Decision.REPAIR is result.decide()
    assert [] == run.read.due(run.now)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 2),
        st.sampled_from(["", "a", "pk", "T0", "S", "N", "1"]),
        st.binary(max_size=2),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Keys", "pk", "sk", "n", "S", "N", "B", "M", "T0", "T1", "Other"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(st.data())
def test_any_spoilt_answer_is_refused_or_understood_and_never_gives_a_wrong_disposition(data: st.DataObject) -> None:
    check_spoilt(data)


@pytest.mark.soak
@given(st.data())
def test_soak_any_spoilt_answer(data: st.DataObject) -> None:
    check_spoilt(data)


def check_spoilt(data: st.DataObject) -> None:
    """Something, anywhere in the answer, is replaced by anything."""
    run = Run(data)
    run.go(steps=data.draw(st.integers(0, 1)))
    run.start()
    if not run.open:
        return
    call = run.take()
    said = data.draw(honest_answers(call, run.world))
    response = spoil(data, said.response)
    before = [result.dispositions for result in run.read.results()]
    try:
        run.read.answered(call, Answer(response), run.now)
    except LedgerInvariantError:
        assert before == [result.dispositions for result in run.read.results()]
        assert {Decision.REPAIR} == {result.decide() for result in run.read.results()}
        return
    rows, left = understood(response, run.world)
    standing = {
        (index, key): disposition
        for index, result in enumerate(run.read.results())
        for key, disposition in result.disposition_by_key.items()
    }
    for sent in call.sent:
        found, over = rows.count(sent), left.count(sent)
        assert found + over <= 1
        expected = Disposition.RETURNED if found else Disposition.PROCESSED_NOT_RETURNED
        assert (Disposition.UNRESOLVED if over else expected) is standing[sent]
    assert set(call.sent) >= {*rows, *left}


def spoil(data: st.DataObject, response: dict[str, Any]) -> dict[str, Any]:
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for place, value in list(inner):
            places.append((node, place))
            walk(value)

    spoilt = copy.deepcopy(response)
    walk(spoilt)
    for node, place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=2)):
        node[place] = data.draw(json_values)
    return spoilt


def understood(response: Mapping[str, Any], world: list[Table]) -> tuple[list[SentKey], list[SentKey]]:
    """The keys of all rows and all leftovers, read in the plainest way; ``(…, None)`` stands for an unreadable one."""
    index = {table.settings.table_name: i for i, table in enumerate(world)}
    rows = [
        (index[name], world[index[name]].settings.key.key_in(row))
        for name, found in (response.get("Responses") or {}).items()
        for row in found
    ]
    left = [
        (index[name], world[index[name]].settings.key.key_in(key))
        for name, entry in response["UnprocessedKeys"].items()
        for key in entry["Keys"]
    ]
    return rows, left  # type: ignore[return-value]


def _some(data: st.DataObject, choices: list[Any]) -> Any:
    return data.draw(st.sampled_from(choices)) if choices else None


def _keys_in(rows: list[dict[str, Any]], schema: Any) -> list[object]:
    return [schema.key_in(row) for row in rows]
