"""A ledger as its users see it: opened by URL, looked at, decided on, closed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest

import itemledger.ledger as public
from itemledger.core.outcome import Outcome
from itemledger.errors import LedgerError
from itemledger.ledger import Decided, Ledger, MemoryStore, Review, SqliteStore, open_ledger
from itemledger.testing import FakeClock
from tests.ledger.ledgers import (
    BOOKED,
    OP,
    REFUNDS,
    START,
    STORES,
    events,
    longest,
    open_one,
    outcomes,
    planned,
    refunds,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture(params=STORES)
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
    with open_one(request.param, tmp_path, clock) as ledger:
        yield ledger


# --------------------------------------------------------------------------------------------------------- opening it


def test_a_ledger_in_memory_is_opened_by_url() -> None:
    with open_ledger("memory://") as ledger:
        assert isinstance(ledger.store, MemoryStore)


def test_three_slashes_are_a_relative_path_and_four_an_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_ledger("sqlite:///orders.db") as ledger:
        planned(ledger, 1)
    assert (tmp_path / "orders.db").is_file()
    with open_ledger(f"sqlite:///{tmp_path / 'orders.db'}", create=False) as again:  # its own slash is the fourth
        assert ["pending"] == outcomes(again)


@pytest.mark.parametrize(
    ("query", "mode"), [("", "FULL"), ("?synchronous=FULL", "FULL"), ("?synchronous=NORMAL", "NORMAL")]
)
def test_the_synchronous_mode_is_part_of_the_url(
    tmp_path: Path, query: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []

    class Watched(SqliteStore):
        def __init__(self, path: Path, *, clock: Callable[[], float], synchronous: Literal["FULL", "NORMAL"]) -> None:
            told.extend([path, synchronous])
            super().__init__(path, clock=clock, synchronous=synchronous)

    monkeypatch.setattr("itemledger.ledger.opening.SqliteStore", Watched)
    with open_ledger(f"sqlite:///{tmp_path}/orders.db{query}") as ledger:
        planned(ledger, 1)
    assert [tmp_path / "orders.db", mode] == told


@pytest.mark.parametrize(
    "url",
    [
        "",
        "orders.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:////",
        "sqlite://orders.db",
        "sqlite://ann:pw-secret@host/orders.db",
        "postgresql://ann:pw-secret@host/orders",
        "postgresql+psycopg://ann:pw-secret@host/orders?password=pw-secret",
        "memory://pw-secret",
        "sqlite:///orders.db?synchronous=OFF",
        "sqlite:///orders.db?synchronous=",
        "sqlite:///orders.db?password=pw-secret",
        "sqlite:///orders.db?synchronous=FULL&password=pw-secret",
    ],
)
@pytest.mark.parametrize("create", [True, False])
def test_any_other_url_is_refused_with_the_form_and_repeated_nowhere(
    url: str, create: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match=r"such as sqlite:///orders\.db, or memory://") as error:
        open_ledger(url, create=create)
    assert "pw-secret" not in str(error.value)
    assert [] == list(tmp_path.iterdir())


def test_sqlite_in_memory_is_refused_and_the_other_one_named() -> None:
    with pytest.raises(LedgerError, match="memory:// for one that is not kept"):
        open_ledger("sqlite:///:memory:")


def test_looking_at_a_ledger_makes_none(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"there is no ledger at .*orders\.db"):
        open_ledger(f"sqlite:///{tmp_path}/orders.db", create=False)
    assert [] == list(tmp_path.iterdir())
    with pytest.raises(LedgerError, match="nothing in it to look at"):
        open_ledger("memory://", create=False)


def test_leaving_the_block_closes_it(ledger: Ledger) -> None:
    with ledger as same:
        assert same is ledger
    with pytest.raises(LedgerError, match="closed"):
        ledger.operations()


# ---------------------------------------------------------------------------------------------------- looking at it


def test_rows_are_an_iterator_over_pages(ledger: Ledger) -> None:
    planned(ledger, 2005)
    ledger.plan("others", REFUNDS, [{"id": "x"}])
    assert list(range(1, 2006)) == [row.number for row in ledger.rows(OP)]
    assert 2006 == sum(1 for _ in ledger.rows())
    assert [] == list(ledger.rows("nothing"))


def test_rows_are_chosen_by_outcome_and_by_review(ledger: Ledger) -> None:
    planned(ledger, 4)
    with ledger.claim(OP, max_items=3) as batch:
        batch.dispatch()
        one, two, three = batch.rows
        batch.succeeded(one)
        batch.rejected(two, code="No")
        batch.rejected(three, code="No")
    ledger.decide(2, Decided.TERMINAL, who="ann", why="seen")
    assert [2, 3] == [row.number for row in ledger.rows(OP, outcome=Outcome.TERMINAL)]
    assert [3] == [row.number for row in ledger.rows(in_review=True)]


def test_a_row_is_had_by_number_or_by_item(ledger: Ledger) -> None:
    planned(ledger, 2)
    assert ledger.row(2) == ledger.find(OP, "r2")
    assert None is ledger.find(OP, "r3")
    with pytest.raises(LedgerError, match="no row 3"):
        ledger.row(3)


def test_operations_come_in_the_order_of_their_making(ledger: Ledger) -> None:
    for name in ("b", "a"):
        ledger.plan(name, REFUNDS, [])
    assert ["b", "a"] == [operation.operation_id for operation in ledger.operations()]
    assert "a" == ledger.operation("a").operation_id
    with pytest.raises(LedgerError, match="no operation 'c'"):
        ledger.operation("c")


def test_statistics_are_sums_over_the_rows(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 6, BOOKED, backoff_base_s=1.0)
    with ledger.claim(OP, max_items=4, jitter=longest) as batch:
        batch.dispatch()
        one, two, three, four = batch.rows
        batch.succeeded(one)
        batch.rejected(two, code="No")
        batch.unknown(three)
        batch.transient(four, code="Busy")
    with ledger.claim(OP, max_items=1):
        stats = ledger.stats(OP)
    assert (6, 2, 4, 1, 0) == (
        stats.planned,
        stats.not_sent,
        stats.dispatches,
        stats.lost_attempts,
        stats.possible_duplicates,
    )
    assert ledger.counts(OP) == stats.outcomes
    assert {Review.REFUSED: 1} == stats.reviews
    assert (OP, 2) == (stats.operation.operation_id, stats.due), "of two that were never sent one is held"
    clock.advance(3600.0)
    assert 4 == ledger.stats(OP).due, "a look-up, a retry and two that were never sent"


# ------------------------------------------------------------------------------------------------ persons, retention


def test_a_decision_is_kept_with_who_and_why(ledger: Ledger) -> None:
    planned(ledger, 1)
    with ledger.claim(OP) as batch:
        batch.dispatch()
    assert "succeeded" == ledger.decide(1, Decided.SUCCEEDED, who="ann", why="seen at the bank").outcome
    entry = ledger.history(1)[-1]
    assert ("settled", "ann", "seen at the bank") == (entry.event, entry.detail["who"], entry.detail["why"])
    assert ["planned", "dispatched", "lost", "settled"] == events(ledger, 1)


def test_retention_goes_through_the_store(ledger: Ledger, clock: FakeClock) -> None:
    planned(ledger, 2, keep_s=0.0)
    with ledger.claim(OP, max_items=1) as batch:
        batch.dispatch()
        batch.succeeded(batch.rows[0])
    clock.advance(10.0)
    pruned = ledger.prune(OP, older_than_s=5.0)
    assert (1, {"open": 1}) == (pruned.deleted, dict(pruned.kept))


# ------------------------------------------------------------------------------------------------------ the surface


def test_every_public_name_is_there() -> None:
    assert sorted(public.__all__) == public.__all__
    for name in public.__all__:
        assert getattr(importlib.import_module("itemledger.ledger"), name) is not None


def test_two_claims_of_the_same_items_are_two_sends_of_different_rows(ledger: Ledger) -> None:
    """Two workers with the same event: one plans it, one sends it."""
    for _ in range(2):
        ledger.plan(OP, REFUNDS, refunds(1))
    with ledger.claim(OP, worker="one") as one, ledger.claim(OP, worker="two") as two:
        assert [1, 0] == [len(one.rows), len(two.rows)]
        one.dispatch()
        one.succeeded(one.rows[0])
    assert ("succeeded", 1) == (ledger.row(1).outcome, ledger.row(1).dispatches)
