"""The shadow comparison (R15): an old list-returning reader beside a reconciled one. Scripted answers are synthetic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

import itemledger as il
from itemledger import aio
from itemledger.shadow import ShadowOutcome, SwitchedOffError, shadow_read
from itemledger.testing import AsyncScriptedClient, FakeClock, ScriptedClient, batch_get_response, error
from tests.conftest import MakeTable
from tests.engines.launch import Engine

TABLE, KEY = "Orders", {"pk": "S"}
Item = dict[str, Any]


def items(*pks: str) -> list[Item]:
    return [{"pk": pk, "total": Decimal(1)} for pk in pks]


def old_list(*pks: str) -> Callable[[list[str]], list[Item]]:
    return lambda _: items(*pks)


def answer(*pks: str, left_over: Sequence[str] = ()) -> dict[str, Any]:
    rows = [{"pk": {"S": pk}, "total": {"N": "1"}} for pk in pks]
    return batch_get_response(rows, table=TABLE, unprocessed=[{"pk": {"S": pk}} for pk in left_over])


def reader(*steps: Any, **options: Any) -> Callable[[list[str]], il.ReadResult]:
    clock = FakeClock()
    settled: dict[str, Any] = {"concurrency": 1, "clock": clock, "sleep": clock.sleep, **options}
    return partial(_read, ScriptedClient(steps), settled)


def _read(client: ScriptedClient, options: dict[str, Any], keys: list[str]) -> il.ReadResult:
    return il.read_batch(client, TABLE, keys, KEY, **options)


def raising(exception: BaseException) -> Callable[[list[str]], Any]:
    def read(_: list[str]) -> Any:
        raise exception

    return read


def met(outcome: ShadowOutcome[Any]) -> set[str]:
    return {criterion.name for criterion in outcome.report.rollback_criteria if criterion.met}


def never(_: list[str]) -> Any:
    pytest.fail("nobody may read while the switch is off")


# ------------------------------------------------------------------------------------------------- who serves, and when


def test_observe_serves_the_old_list_where_the_new_read_proves_exactly_its_keys() -> None:
    outcome = shadow_read(old_list("B", "A"), reader(answer("A", "B")), ["A", "B"])

    assert items("B", "A") == outcome.items()  # the old list as it came, its order included
    assert ("old", False) == (outcome.report.served, outcome.report.differs)
    assert set() == met(outcome)


def test_enforce_serves_the_new_list_in_the_caller_s_order() -> None:
    outcome = shadow_read(old_list("B"), reader(answer("B", "A")), ["A", "B"], mode="enforce")

    assert ["A", "B"] == [item["pk"] for item in outcome.items()]
    assert ("new", True) == (outcome.report.served, outcome.report.differs)


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_an_unsure_new_read_never_falls_back_to_the_old_list(mode: str) -> None:
    new = reader(answer("A", left_over=["B"]), max_passes=1)

    outcome = shadow_read(old_list("A", "B"), new, ["A", "B"], required=il.NONE, mode=mode)

    with pytest.raises(il.IncompleteReadError) as caught:
        outcome.items()
    assert il.Decision.RETRY is caught.value.decision
    assert ("nothing", None) == (outcome.report.served, outcome.served)


def test_observe_serves_nothing_where_the_policy_refuses_the_new_read() -> None:
    outcome = shadow_read(old_list("A"), reader(answer("A")), ["A", "Z"])

    with pytest.raises(il.IncompleteReadError) as caught:
        outcome.items()
    assert il.Decision.REJECT is caught.value.decision


@pytest.mark.parametrize(
    "old",
    [old_list("A"), old_list("A", "B", "B"), old_list("A", "B", "X"), old_list("A", "X"), old_list("A", "B", "Z")],
    ids=["lacks-one", "repeats-one", "adds-a-foreign-one", "same-count-other-key", "holds-an-absent-one"],
)
def test_observe_serves_nothing_where_the_lists_differ_though_the_new_read_is_accepted(
    old: Callable[[list[str]], list[Item]],
) -> None:
    outcome = shadow_read(old, reader(answer("A", "B")), ["A", "B", "Z"], required=["A", "B"])

    with pytest.raises(il.IncompleteReadError, match="does not hold exactly its keys") as caught:
        outcome.items()
    assert il.Decision.HOLD is caught.value.decision
    assert il.Decision.ACCEPT is outcome.report.new_outcome
    assert outcome.report.differs


@pytest.mark.parametrize("mode", ["off", "", "OBSERVE", "enforced", "false"])
def test_a_switch_that_is_off_or_misspelt_reads_nothing_and_serves_nothing(mode: str) -> None:
    outcome = shadow_read(never, never, ["A"], mode=mode)

    with pytest.raises(SwitchedOffError, match=repr(mode)):
        outcome.items()
    assert ("nothing", None, 1) == (outcome.report.served, outcome.result, outcome.report.manifest_size)


def test_a_failure_stays_a_failure_however_often_it_is_asked() -> None:
    outcome = shadow_read(never, never, ["A"], mode="off")

    for _ in range(2):
        with pytest.raises(SwitchedOffError):
            outcome.items()


# ----------------------------------------------------------------------------------------------------- what is compared


def test_membership_is_told_by_position_for_every_combination() -> None:
    """Positions 0 to 6: both, neither, only old, left out by old, unresolved and held, unresolved and left out."""
    keys = ["both", "neither", "only-old", "only-new", "open-held", "open-not"]
    new = reader(answer("both", "only-new", left_over=["open-held", "open-not"]), max_passes=1)
    old = old_list("both", "foreign", "only-old", "both", "open-held")

    report = shadow_read(old, new, keys).report

    assert report.membership is not None
    assert {
        "both": [0],
        "neither": [1],
        "only_old": [2],
        "left_out_by_old": [3],
        "unresolved_held_by_old": [4],
        "unresolved_left_out_by_old": [5],
        "foreign": [1],
        "repeated": [3],
    } == report.to_json()["membership"]
    assert (4, 5) == report.leftovers


def test_equal_row_counts_do_not_hide_another_membership() -> None:
    report = shadow_read(old_list("A", "C"), reader(answer("A", "B")), ["A", "B", "C"], required=il.NONE).report

    assert report.membership is not None
    assert ((2,), (1,)) == (report.membership.only_old, report.membership.left_out_by_old)


@pytest.mark.parametrize(
    ("required", "old_says", "new_says"),
    [
        (il.ALL, il.Decision.REJECT, il.Decision.RETRY),
        (il.NONE, il.Decision.ACCEPT, il.Decision.RETRY),
        (["A"], il.Decision.ACCEPT, il.Decision.RETRY),
        (["A", "B"], il.Decision.REJECT, il.Decision.RETRY),
        (lambda _: True, None, il.Decision.RETRY),
    ],
    ids=["all", "none", "held", "not-held", "function"],
)
def test_the_policy_s_outcome_on_both_sides_is_compared(
    required: Any, old_says: il.Decision | None, new_says: il.Decision
) -> None:
    new = reader(answer("A", left_over=["B"]), max_passes=1)

    report = shadow_read(old_list("A"), new, ["A", "B"], required=required).report

    assert (old_says, new_says) == (report.old_outcome, report.new_outcome)


def test_folded_duplicates_may_stand_in_the_old_list_once_or_at_every_position() -> None:
    for held, same in ((["A", "B"], True), (["A", "A", "B"], True), (["A", "A", "A", "B"], False)):
        new = reader(answer("A", "B"), fold_duplicates=True)

        report = shadow_read(old_list(*held), new, ["A", "B", "A"]).report

        assert report.membership is not None
        assert (same, (0, 1, 2)) == (report.membership.same, report.membership.both)


# ----------------------------------------------------------------------------------- how an old item's key is looked up


def test_keys_are_compared_by_value_however_the_old_items_spell_them() -> None:
    schema = {"pk": "S", "sk": "N"}
    rows = [{"pk": {"S": "A"}, "sk": {"N": "1"}}, {"pk": {"S": "B"}, "sk": {"N": "2"}}]
    client = ScriptedClient([batch_get_response(rows, table=TABLE)])
    plain_and_typed = [{"pk": "A", "sk": Decimal("1.0")}, {"pk": {"S": "B"}, "sk": {"N": "2E0"}, "x": {"S": "y"}}]

    outcome = shadow_read(
        lambda _: plain_and_typed, lambda k: il.read_batch(client, TABLE, k, schema), [("A", 1), ("B", 2)]
    )

    assert plain_and_typed == outcome.items()


def test_a_function_finds_the_key_of_items_that_are_no_mappings() -> None:
    outcome = shadow_read(
        lambda _: ["order A", "order B"], reader(answer("A", "B")), ["A", "B"], key=lambda item: item.split()[1]
    )

    assert ["order A", "order B"] == outcome.items()


def test_named_attributes_find_the_key_where_the_table_could_not_be_described() -> None:
    client = ScriptedClient([error("AccessDeniedException", operation="DescribeTable")] * 2)
    new = partial(il.read_batch, client, TABLE)

    blind = shadow_read(old_list("A"), new, ["A", "B"]).report
    told = shadow_read(old_list("A"), new, ["A", "B"], key="pk").report

    assert blind.membership is None
    assert told.membership is not None
    assert ((0,), (1,)) == (told.membership.unresolved_held_by_old, told.membership.unresolved_left_out_by_old)


@pytest.mark.parametrize("item", [{"total": 1}, {"pk": 1.5}, {"pk": None}, {"pk": 7}, "A", None])
def test_an_old_item_without_a_readable_key_counts_as_foreign_and_is_not_served(item: Any) -> None:
    outcome = shadow_read(lambda _: [item, *items("A")], reader(answer("A")), ["A"])

    assert outcome.report.membership is not None
    assert (0,) == outcome.report.membership.foreign
    assert None is outcome.served


# ----------------------------------------------------------------------------------------------------------- exceptions


def test_what_the_old_reader_raises_is_reported_and_raised_to_its_callers_as_before() -> None:
    broken = KeyError("Responses")

    outcome = shadow_read(raising(broken), reader(answer("A")), ["A"])

    with pytest.raises(KeyError) as caught:
        outcome.items()
    assert caught.value is broken
    assert ("KeyError", None) == (outcome.report.old_exception, outcome.report.new_exception)
    assert None is outcome.report.membership
    assert set() == met(outcome)  # no reason to roll the new reader back


def test_enforce_serves_the_new_list_although_the_old_reader_raised() -> None:
    outcome = shadow_read(raising(RuntimeError()), reader(answer("A")), ["A"], mode="enforce")

    assert ["A"] == [item["pk"] for item in outcome.items()]
    assert outcome.report.differs


def test_an_exception_halfway_through_the_old_reader_s_generator_is_its_exception() -> None:
    def old(_: list[str]) -> Iterator[Item]:
        yield from items("A")
        raise TimeoutError

    assert "TimeoutError" == shadow_read(old, reader(answer("A", "B")), ["A", "B"]).report.old_exception


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_what_the_new_reader_raises_is_raised_and_calls_for_a_rollback(mode: str) -> None:
    outcome = shadow_read(old_list("A", "A"), reader(), ["A", "A"], mode=mode)

    with pytest.raises(il.ManifestError):
        outcome.items()
    assert "itemledger.errors.ManifestError" == outcome.report.new_exception
    assert {"new_reader_raised"} == met(outcome)


def test_impossible_evidence_calls_for_a_rollback_and_still_compares_what_was_settled_before() -> None:
    new = reader(answer("A", left_over=["B"]), answer("X"))

    outcome = shadow_read(old_list("A"), new, ["A", "B"], required=[1.5])  # unusable

    with pytest.raises(il.LedgerInvariantError):
        outcome.items()
    assert {"impossible_evidence", "unresolved_left"} == met(outcome)
    assert il.Decision.REPAIR is outcome.report.new_outcome
    assert outcome.report.membership is not None
    assert ((0,), (1,)) == (outcome.report.membership.both, outcome.report.leftovers)


def test_a_service_error_is_named_with_its_code_and_without_its_message() -> None:
    denied = error("AccessDeniedException", "not authorized on customer-4711")

    report = shadow_read(raising(denied), reader(denied), ["A"]).report

    assert "botocore.exceptions.ClientError (AccessDeniedException)" == report.old_exception
    assert (None, il.Decision.HOLD) == (report.new_exception, report.new_outcome)  # the new reader returns it instead


def test_a_new_reader_that_does_not_answer_for_every_key_has_failed() -> None:
    wrong: list[Callable[[list[str]], Any]] = [old_list("A"), lambda keys: reader(answer("A"))(keys[:1])]
    for new, named in zip(wrong, ("TypeError", "ValueError"), strict=True):
        outcome = shadow_read(old_list("A"), new, ["A", "B"])

        assert named == outcome.report.new_exception
        assert None is outcome.served


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(3)], ids=["ctrl-c", "exit"])
def test_an_interrupt_in_either_reader_passes_through(interrupt: BaseException) -> None:
    with pytest.raises(type(interrupt)):
        shadow_read(raising(interrupt), reader(answer("A")), ["A"])
    with pytest.raises(type(interrupt)):
        shadow_read(old_list("A"), raising(interrupt), ["A"])


# ----------------------------------------------------------------------------------------------------------- the report


def test_the_report_names_every_rollback_criterion_and_its_owner_met_or_not() -> None:
    told = shadow_read(old_list("A"), reader(answer("A")), ["A"]).report.to_json()

    assert {
        "impossible_evidence": "engineer",
        "new_reader_raised": "engineer",
        "new_lacks_an_item": "application",
        "unresolved_left": "operator",
        "policy_outcome_differs": "application",
    } == {criterion["name"]: criterion["owner"] for criterion in told["rollback_criteria"]}
    assert all(criterion["action"] and not criterion["met"] for criterion in told["rollback_criteria"])


@pytest.mark.parametrize(
    ("criteria", "old", "new", "required"),
    [
        ({"new_lacks_an_item"}, old_list("A", "B"), reader(answer("A")), il.NONE),
        ({"new_lacks_an_item", "policy_outcome_differs"}, old_list("A", "B"), reader(answer("A")), il.ALL),
        ({"policy_outcome_differs"}, old_list("A"), reader(answer("A", "B")), il.ALL),
        (
            {"unresolved_left", "policy_outcome_differs"},
            old_list("A", "B"),
            reader(answer("A", left_over=["B"]), max_passes=1),
            il.ALL,
        ),
    ],
    ids=["item-lacking", "policy-too", "old-list-short", "leftovers"],
)
def test_a_criterion_is_met_by_what_it_asks_for_and_nothing_else(
    criteria: set[str],
    old: Callable[[list[str]], list[Item]],
    new: Callable[[list[str]], il.ReadResult],
    required: Any,
) -> None:
    assert criteria == met(shadow_read(old, new, ["A", "B"], required=required))


def test_the_report_is_json_and_names_no_key_item_or_message() -> None:
    new = reader(answer("key-4711", left_over=["key-4712"]), answer("key-4713"))

    told = json.dumps(shadow_read(raising(ValueError("key-4714")), new, ["key-4711", "key-4712"]).report.to_json())

    assert "key-47" not in told


def test_positions_are_written_as_ranges() -> None:
    keys = [f"k{number:02}" for number in range(10)]

    told = shadow_read(old_list(), reader(answer(*keys)), keys).report.to_json()

    assert [[0, 9]] == told["membership"]["left_out_by_old"]


# --------------------------------------------------------------------------------------------------- the readers' input


def test_both_readers_get_lists_of_their_own_over_the_same_keys() -> None:
    def greedy(keys: list[str]) -> list[Item]:
        found = items(*keys)
        keys.clear()
        return found

    outcome = shadow_read(greedy, reader(answer("A", "B")), (key for key in ["A", "B"]))

    assert items("A", "B") == outcome.items()


def test_an_empty_manifest_is_an_empty_list_in_both() -> None:
    for mode in ("observe", "enforce"):
        assert [] == shadow_read(old_list(), reader(), [], mode=mode).items()


def test_items_that_cannot_be_compared_are_not_served_even_for_an_empty_manifest() -> None:
    client = ScriptedClient([error("AccessDeniedException", operation="DescribeTable")])

    outcome = shadow_read(old_list("A"), partial(il.read_batch, client, TABLE), [])

    assert (il.Decision.ACCEPT, None) == (outcome.report.new_outcome, outcome.report.membership)
    assert None is outcome.served


# -------------------------------------------------------------------------------------------------------- real engines


def one_call_reader(client: Any, table: str, keys: list[str]) -> list[Item]:
    """The helper that people have: it never looks at UnprocessedKeys."""
    response = client.batch_get_item(RequestItems={table: {"Keys": [{"pk": {"S": pk}} for pk in keys]}})
    found: list[Item] = response["Responses"][table]
    return found


def test_on_a_real_engine_two_right_readers_agree(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(client)
    for pk in ("A", "B", "C"):
        client.put_item(TableName=table, Item={"pk": {"S": pk}})

    outcome = shadow_read(
        partial(one_call_reader, client, table),
        partial(il.read_batch, client, table),
        ["A", "Z", "C"],
        required=il.NONE,
    )

    assert {"A", "C"} == {item["pk"]["S"] for item in outcome.items()}
    assert not outcome.report.differs


def test_on_a_real_engine_what_the_one_call_reader_loses_is_named_by_position(
    dynalite: Engine, make_table: MakeTable
) -> None:
    client = dynalite.client()
    table = make_table(client)
    keys = [f"k{number}" for number in range(8)]
    for pk in keys:
        client.put_item(TableName=table, Item={"pk": {"S": pk}, "body": {"S": "x" * 300_000}})

    outcome = shadow_read(partial(one_call_reader, client, table), partial(il.read_batch, client, table), keys)

    membership = outcome.report.membership
    assert membership is not None
    assert membership.left_out_by_old, "8 items of 300 KB are more than dynalite puts into one answer"
    assert sorted(membership.both + membership.left_out_by_old) == list(range(8))
    assert (il.Decision.REJECT, il.Decision.ACCEPT) == (outcome.report.old_outcome, outcome.report.new_outcome)
    with pytest.raises(il.IncompleteReadError):
        outcome.items()


@pytest.mark.parametrize("mode", ["observe", "enforce", "off"])
def test_the_asyncio_twin_reports_what_the_blocking_one_does(mode: str) -> None:
    keys = ["A", "B", "Z"]
    answer = batch_get_response([{"pk": {"S": "A"}}], table="T")

    def listed(asked: list[str]) -> list[dict[str, str]]:
        return [{"pk": "A"}, {"pk": "B"}]

    async def listed_async(asked: list[str]) -> list[dict[str, str]]:
        return listed(asked)

    async def read_async(asked: list[str]) -> il.ReadResult:
        return await aio.read_batch(AsyncScriptedClient([answer]), "T", asked, "pk")

    async def run() -> il.ShadowOutcome[dict[str, str]]:
        return await aio.shadow_read(listed_async, read_async, keys, "pk", required=il.NONE, mode=mode)

    def read(asked: list[str]) -> il.ReadResult:
        return il.read_batch(ScriptedClient([answer]), "T", asked, "pk")

    blocking = il.shadow_read(listed, read, keys, "pk", required=il.NONE, mode=mode)
    twin = asyncio.run(run())

    assert replace(blocking.report, observation_id=None) == replace(twin.report, observation_id=None)
    assert (type(blocking.failure), blocking.served) == (type(twin.failure), twin.served)
