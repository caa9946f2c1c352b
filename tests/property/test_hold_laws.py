"""A hold record reads back as it was, and a damaged one is refused or means what an intact record means."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.hold import HoldRecord
from itemledger.core.result import StopReason
from itemledger.core.steps import Call
from itemledger.core.terms import Earlier, Observation
from itemledger.errors import HoldRecordError
from tests.core.support import read_of
from tests.property.strategies import PARTS, Table, honest_answers, tables

revisions = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)


@st.composite
def records(draw: Any) -> HoldRecord:
    """The record of a random read of one table that stopped somewhere."""
    table: Table = draw(tables(most=6))
    parts = [PARTS[kind] for kind in table.settings.key.types if kind is not None]
    others: Any = draw(st.lists(parts[0] if len(parts) == 1 else st.tuples(*parts), max_size=3))
    known = {table.settings.key.canonical(key, 0) for key in others} - set(table.keys)
    half = {key for key in known if draw(st.booleans())}
    number = draw(st.integers(1, 9))
    observation = Observation(
        draw(st.text(max_size=5)),
        number,
        draw(st.text(max_size=5)) if number > 1 else None,
        draw(st.text(max_size=5)) if number > 1 else None,
        draw(st.text(max_size=5)),
        draw(revisions),
    )
    read = read_of(
        (table.settings, table.spelled),
        call_items=2,
        max_passes=2,
        observation=observation,
        earlier=Earlier(frozenset(half), frozenset(known - half)),
        timeout_s=draw(st.sampled_from([60, 2.5])),
    )
    now = 0.0
    for _ in range(draw(st.integers(0, 4))):
        for call in [step for step in read.due(now) if isinstance(step, Call)]:
            said = draw(honest_answers(call, [table]))
            failed = Failure(
                draw(st.sampled_from(FailureCause)), "Code", "secret message", draw(st.none() | st.just("r"))
            )
            answer = Answer(said.response, request_id=f"r-{call.number}")
            read.answered(call, draw(st.sampled_from([answer, answer, failed])), now)
        now += 2.0
    if draw(st.booleans()):
        read.stop(draw(st.sampled_from([StopReason.INTERRUPTED, StopReason.DEADLINE])))
    (result,) = read.results()
    return replace(result.hold_record(), items_reference=draw(st.none() | st.text(max_size=5)))


def through_text(record: HoldRecord, *, sort_keys: bool = False) -> Any:
    return json.loads(json.dumps(record.to_json(), sort_keys=sort_keys))


@given(records(), st.booleans())
def test_a_record_reads_back_as_it_was(record: HoldRecord, sort_keys: bool) -> None:
    read_back = HoldRecord.from_json(through_text(record, sort_keys=sort_keys))
    assert record == read_back
    assert through_text(record) == through_text(read_back)


@given(records())
def test_a_record_divides_its_keys_into_settled_and_unresolved(record: HoldRecord) -> None:
    settled = record.settled()
    assert len(record.manifest) + len(record.earlier.returned) + len(record.earlier.processed_not_returned) == (
        len(record.unresolved) + len(settled.returned) + len(settled.processed_not_returned)
    )
    assert {*record.manifest} <= {*record.unresolved, *settled.returned, *settled.processed_not_returned}
    assert not settled.returned & settled.processed_not_returned
    assert "secret message" not in json.dumps(record.to_json())


json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 5),
        st.floats(allow_nan=True),
        st.sampled_from(
            ["", "S", "N", "pk", "sk", "returned", "complete", "interrupted", "native", "r", "/w==", "10", "²"]
        ),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["S", "N", "B", "pk", "sk", "name", "type", "id", "0", "1"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


@settings(max_examples=300)
@given(records(), st.data())
def test_a_damaged_record_is_refused_or_read_as_what_it_says(record: HoldRecord, data: st.DataObject) -> None:
    check_damaged(record, data)


@pytest.mark.soak
@given(records(), st.data())
def test_soak_a_damaged_record(record: HoldRecord, data: st.DataObject) -> None:
    check_damaged(record, data)


def check_damaged(record: HoldRecord, data: st.DataObject) -> None:
    intact = through_text(record)
    damaged = damage(data, intact)
    try:
        read_back = HoldRecord.from_json(damaged)
    except HoldRecordError:
        return
    # It was read: then it says, member by member, what the damaged text says, and is whole in itself.
    again = through_text(read_back)
    assert read_back == HoldRecord.from_json(again)
    assert normal(damaged, again) == again
    assert len(read_back.manifest) == len(read_back.dispositions) == len(set(read_back.manifest))


def damage(data: st.DataObject, intact: Any) -> Any:
    """One or two places deleted, replaced, doubled, or exchanged."""
    damaged = copy.deepcopy(intact)
    for _ in range(data.draw(st.integers(1, 2))):
        places: list[tuple[Any, Any]] = []
        _walk(damaged, places)
        node, place = data.draw(st.sampled_from(places))
        match data.draw(st.sampled_from(["delete", "replace", "double", "exchange"])):
            case "delete":
                del node[place]
            case "double" if isinstance(node, list):
                node.insert(place, copy.deepcopy(node[place]))
            case "exchange":
                other, there = data.draw(st.sampled_from(places))
                node[place] = copy.deepcopy(other[there])
            case _:
                node[place] = data.draw(json_values)
    return damaged


def _walk(node: Any, places: list[tuple[Any, Any]]) -> None:
    inner = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    for place, value in inner:
        places.append((node, place))
        _walk(value, places)


def normal(damaged: Any, pattern: Any) -> Any:
    """The damaged text in the record's own spelling: positions as ranges, numbers and binary in one form, sets sorted.

    Only members that the record has are compared: unknown ones are passed over, as a later version's would be.
    """
    told = {name: copy.deepcopy(damaged[name]) for name in pattern}
    for name in ("returned", "processed_not_returned", "unresolved"):
        told[name] = pattern[name] if _positions(told[name]) == _positions(pattern[name]) else told[name]
    for keys, same in (
        (told["manifest"], pattern["manifest"]),
        *((told["earlier"][name], pattern["earlier"][name]) for name in ("returned", "processed_not_returned")),
    ):
        assert len(same) <= len(keys)
    told["manifest"], told["earlier"] = pattern["manifest"], pattern["earlier"]
    told["observation"] = {name: told["observation"][name] for name in pattern["observation"]}
    told["deadline"] = {name: told["deadline"][name] for name in pattern["deadline"]}
    told["items"] = {name: told["items"][name] for name in pattern["items"]}
    told["items"]["sha256"] = {str(int(place)): digest for place, digest in told["items"]["sha256"].items()}
    if told["key"] is not None:
        told["key"] = [{name: part[name] for name in ("name", "type")} for part in told["key"]]
        types = [part["type"] for part in told["key"]]
        if None in types:  # a type that is not told is taken from the first key
            told["key"] = pattern["key"]
    if told["terminal_error"] is not None:
        told["terminal_error"] = {
            n: told["terminal_error"][n] for n in pattern["terminal_error"] or told["terminal_error"]
        }
    return told


def _positions(ranges: list[Any]) -> list[int]:
    return sorted(
        p for entry in ranges for p in (range(entry[0], entry[1] + 1) if isinstance(entry, list) else [entry])
    )


@settings(max_examples=150)
@given(
    st.one_of(json_values, st.builds(dict, schema=st.just("itemledger/hold/1"), manifest=json_values, key=json_values))
)
def test_whatever_is_no_record_is_refused_in_one_sentence(record: Any) -> None:
    with pytest.raises(HoldRecordError):
        HoldRecord.from_json(record)
