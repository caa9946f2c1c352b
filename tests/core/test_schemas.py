"""The published JSON Schemas: what the package writes is valid under them, and what it never writes is not."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import itemledger as il
from itemledger.environment import environment
from itemledger.testing import ScriptedClient, batch_get_response, error
from tests.core.evidence_files import PLAIN, file_of, parsed, published, random_result, schema_faults

HOLD = Draft202012Validator(published("hold-1.json"))


def read(*steps: Any, keys: Any, key: Any = ("pk",), **options: Any) -> il.ReadResult:
    with ScriptedClient(list(steps)) as client:
        return il.read_batch(client, "KnownAnswer", keys, key, sleep=lambda _: None, **options)


@pytest.mark.parametrize("name", ["evidence-1.json", "hold-1.json"])
def test_a_published_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(published(name))


@given(st.integers(0, 2**32))
@example_settings(max_examples=100)
def test_every_line_that_a_run_writes_is_valid(seed: int) -> None:
    """Failed calls, broken invariants, resumptions, empty manifests: all that random reads come across."""
    for line in parsed(file_of(random_result(random.Random(seed)))):
        assert [] == schema_faults(line)


def test_every_line_of_a_read_with_everything_in_it_is_valid() -> None:
    result = read(
        {**batch_get_response([]), "ConsumedCapacity": [{"TableName": "KnownAnswer", "CapacityUnits": 1.5}]},
        keys=[("a", Decimal("2.5")), ("b", 7)],
        key=("pk", "sk"),
        projection=["total", ("a.b", 2)],
        consistent_read=True,
    )
    for line in parsed(file_of(result, tokeniser=PLAIN)):
        assert [] == schema_faults(line)


def test_the_header_with_a_real_environment_is_valid() -> None:
    (header, *_) = parsed(file_of(read(batch_get_response([]), keys=["A"])))
    with ScriptedClient(respond=lambda call: {}) as client:
        told = environment(client, policy="all", account="000000000000", dependency_lock="0" * 64)
    assert [] == schema_faults({**header, "environment": told})
    assert [] == schema_faults({**header, "environment": environment(None, policy=None)})


def test_a_member_that_the_format_does_not_know_is_refused_wherever_it_is() -> None:
    left = batch_get_response([], unprocessed=[{"pk": {"S": "A"}}])
    lines = parsed(file_of(read(left, error("ThrottlingException"), keys=["A"])))
    lines[2]["observation"] = lines[0]["observation"]  # not a member of a call line
    assert schema_faults(lines.pop(2))
    for line in lines:
        for changed in with_one_more_member(line):
            assert schema_faults(changed)


def test_a_member_left_out_is_refused_wherever_it_is() -> None:
    left = batch_get_response([], unprocessed=[{"pk": {"S": "A"}}])
    for line in parsed(file_of(read(left, error("ThrottlingException"), keys=["A"]))):
        for changed in with_one_member_less(line):
            assert schema_faults(changed)


HOLDS: dict[str, Callable[[], il.ReadResult]] = {
    "left over": lambda: read(
        batch_get_response([{"pk": {"S": "A"}, "n": {"N": "1"}}], unprocessed=[{"pk": {"S": "B"}}]),
        keys=["A", "B", "Z"],
        max_passes=1,
    ),
    "composite": lambda: read(
        error("ThrottlingException"),
        keys=[(b"\x00\xff", Decimal("1E-7"))],
        key=("pk", "sk"),
        projection=["a", ("b", 0)],
    ),
    "not described": lambda: read(error("AccessDeniedException"), keys=[("a", 1)], key=None),
    "not described, named": lambda: read(error("AccessDeniedException"), keys=[{"pk": "a", "sk": 1}], key=None),
    "typed": lambda: read(error("ThrottlingException"), keys=["A"], values="typed", unprocessed_keys_optional=True),
    "empty": lambda: read(keys=[]),
}


@pytest.mark.parametrize("name", HOLDS)
def test_every_hold_record_is_valid_and_no_other_member_is(name: str) -> None:
    record = HOLDS[name]().hold_record().to_json()
    assert [] == [fault.message for fault in HOLD.iter_errors(record)]
    assert not HOLD.is_valid({**record, "remark": "kept"})
    for member in record:
        assert not HOLD.is_valid({n: v for n, v in record.items() if n != member})


def test_the_record_of_a_resumption_is_valid() -> None:
    with ScriptedClient([error("ThrottlingException")]) as client:
        record = il.resume(client, HOLDS["left over"]().hold_record(), sleep=lambda _: None).hold_record().to_json()
    assert (2, 1) == (record["observation"]["number"], len(record["earlier"]["returned"]))
    assert [] == [fault.message for fault in HOLD.iter_errors(record)]


@given(st.integers(0, 2**32))
@example_settings(max_examples=50)
def test_the_hold_record_of_any_read_is_valid(seed: int) -> None:
    assert HOLD.is_valid(random_result(random.Random(seed)).hold_record().to_json())


def with_one_more_member(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The line again and again, each time with an unknown member in another of its objects."""
    for path in objects(line):
        changed = copy.deepcopy(line)
        at(changed, path)["unknown"] = "member"
        yield changed


def with_one_member_less(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in objects(line):
        for name in at(line, path):
            changed = copy.deepcopy(line)
            del at(changed, path)[name]
            yield changed


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all objects whose members the format fixes; environment and revisions are the caller's."""
    if isinstance(value, dict):
        if path[-1:] not in (("environment",), ("revisions",)):
            yield path
            for name, inner in value.items():
                yield from objects(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from objects(inner, (*path, index))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value
