"""Planning through a ledger: durable before the first send, repeatable, and strict about keys."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from itemledger.core import exact_json
from itemledger.errors import KeyReusedError, LedgerError, ManifestError
from itemledger.ledger import Ledger, OwnApi, Policy, Source, stored
from itemledger.testing import FakeClock
from tests.ledger.ledgers import OP, REFUNDS, START, STORES, open_one, outcomes, planned, refunds


@pytest.fixture(params=STORES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    with open_one(request.param, tmp_path, FakeClock(START)) as ledger:
        yield ledger


def test_every_item_has_a_row_before_anything_is_sent(ledger: Ledger) -> None:
    result = ledger.plan(OP, REFUNDS, refunds(3))
    assert (3, 3, 0, 0, []) == (result.total, result.new, result.repeated, result.over_limit, result.conflicts)
    assert ["pending"] * 3 == outcomes(ledger)
    assert ["r1", "r2", "r3"] == [row.item_id for row in ledger.rows(OP)]
    assert {0} == {row.dispatches for row in ledger.rows(OP)}


def test_planning_the_same_items_again_changes_nothing(ledger: Ledger) -> None:
    before = list(ledger.rows()) if ledger.plan(OP, REFUNDS, refunds(3)).new else []
    respelled = [{**dict(reversed(item.items())), "amount": item["amount"] + Decimal("0.00")} for item in refunds(3)]
    result = ledger.plan(OP, REFUNDS, respelled)
    assert (0, 3, []) == (result.new, result.repeated, result.conflicts)
    assert before == list(ledger.rows())


def test_items_of_any_number_are_planned_in_chunks(ledger: Ledger) -> None:
    told: list[int] = []
    items = ((item, Source("refunds.jsonl", 10 * at, 10)) for at, item in enumerate(refunds(2500)))
    result = ledger.plan_sourced(OP, REFUNDS, items, on_chunk=lambda so_far: told.append(so_far.total))
    assert ([1000, 2000, 2500], 2500) == (told, result.new)
    assert Source("refunds.jsonl", 24990, 10) == list(ledger.rows(OP))[-1].source


def test_fc_64_the_same_key_with_a_changed_amount_is_refused_and_the_others_go_on(ledger: Ledger) -> None:
    planned(ledger, 1200)
    with ledger.claim(OP, max_items=1) as batch:
        batch.dispatch()
        batch.succeeded(batch.rows[0], object_ref="refund-17")
    changed = refunds(1202)
    changed[0]["amount"] += 1
    changed[1100]["amount"] = str(changed[1100]["amount"])
    result = ledger.plan(OP, REFUNDS, changed)
    assert [(0, 1), (1100, 1101)] == [(conflict.position, conflict.row) for conflict in result.conflicts]
    assert (2, 1198) == (result.new, result.repeated)
    assert "succeeded" == ledger.row(1).outcome
    with pytest.raises(
        KeyReusedError, match=r"position 0 has the key or the item id of row 1; .* 1100 .* row 1101"
    ) as error:
        result.raise_for_conflicts()
    assert tuple(result.conflicts) == error.value.conflicts
    assert "refund-17" not in str(error.value)
    with ledger.claim(OP, max_items=2000) as batch:
        assert 1201 == len(batch.rows), "nothing is sent for the refused ones beyond what was planned first"


def test_an_error_of_many_conflicts_names_the_first_and_counts_the_rest(ledger: Ledger) -> None:
    planned(ledger, 9)
    with pytest.raises(KeyReusedError, match=r"position 4 has .* row 5; 4 more, with another payload") as error:
        ledger.plan(OP, REFUNDS, [{**item, "amount": 0} for item in refunds(9)]).raise_for_conflicts()
    assert 9 == len(error.value.conflicts)
    assert "position 5" not in str(error.value)


def test_without_conflicts_nothing_is_raised(ledger: Ledger) -> None:
    ledger.plan(OP, REFUNDS, refunds(1)).raise_for_conflicts()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("r2", "is a str; give a mapping"),
        ({"amount": 1}, "member 'id'"),
        ({"id": ""}, "member 'id'"),
        ({"id": True}, "member 'id'"),
        ({"id": "r2", "amount": 0.1}, "of type float"),
    ],
)
def test_an_item_that_could_never_be_sent_is_named_by_its_position(ledger: Ledger, value: object, told: str) -> None:
    with pytest.raises(ManifestError, match=f"position 1.*{told}") as error:
        ledger.plan(OP, REFUNDS, [{"id": "r1"}, value])
    assert (1,) == error.value.positions
    assert "0.1" not in str(error.value)
    with pytest.raises(LedgerError, match="planning of 'refunds' was interrupted"):
        ledger.claim(OP)


def test_a_payload_that_cannot_be_stored_exactly_is_named_by_its_position(ledger: Ledger) -> None:
    class Anything(OwnApi):
        def entry(self, value: object, position: int) -> Any:
            return super().entry({"id": str(position)}, position)

    with pytest.raises(ManifestError, match="position 1: an item holds a value of type tuple") as error:
        ledger.plan(OP, Anything("any", "id"), [{}, (1,)], store_payloads=True)
    assert (1,) == error.value.positions


def test_payloads_are_kept_only_where_asked_for(ledger: Ledger) -> None:
    item = {"id": "r1", "amount": Decimal("1.50"), "scan": b"\x00", "tags": {"a"}}
    ledger.plan(OP, REFUNDS, [item])
    assert Source() == ledger.row(1).source
    ledger.plan("others", REFUNDS, [item], store_payloads=True)
    kept = ledger.row(2).source.stored
    assert kept is not None
    assert item == exact_json.loads(kept)
    assert ledger.row(2).source == stored(item)


def test_an_item_over_its_own_limit_is_never_sent(ledger: Ledger) -> None:
    api = OwnApi("payments.refund", "id", item_bytes=len(b'{"id":"r1"}'))
    assert 1 == ledger.plan(OP, api, [{"id": "r1"}, {"id": "r20"}]).over_limit
    assert ["pending", "terminal"] == outcomes(ledger)
    row = ledger.row(2)
    assert ("OverLimit", "refused", 12) == (row.error_code, row.review, row.size_bytes)
    assert "12 bytes as payments.refund counts them, 11 are the most" in (row.error_message or "")


def test_a_whole_number_can_be_an_item_id(ledger: Ledger) -> None:
    ledger.plan(OP, REFUNDS, [{"id": 17}])
    assert "17" == ledger.row(1).item_id


def test_a_name_belongs_to_one_api_and_target(ledger: Ledger) -> None:
    planned(ledger, 1)
    for other in (OwnApi("payments.pay", "id"), OwnApi("payments.refund", "amount")):
        with pytest.raises(LedgerError, match=r"is for payments\.refund with another target or API"):
            ledger.plan(OP, other, [])


def test_the_policy_is_recorded_and_the_last_one_counts(ledger: Ledger) -> None:
    planned(ledger, 1, max_attempts=3)
    assert Policy(max_attempts=3) == ledger.operation(OP).policy
    planned(ledger, 1, max_attempts=4)
    assert [4] == [each.policy.max_attempts for each in ledger.operations()]


@pytest.mark.parametrize(("name", "member"), [("", "id"), ("payments.refund", "")])
def test_an_api_of_ones_own_needs_its_names(name: str, member: str) -> None:
    with pytest.raises(ManifestError, match="needs a name"):
        OwnApi(name, member)
