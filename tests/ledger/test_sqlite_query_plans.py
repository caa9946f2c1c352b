"""No verb of the SQLite store goes through a whole table: SQLite's own plans say so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from itemledger.ledger.sqlite import SqliteStore
from itemledger.ledger.statements import statements


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "orders.db"
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


INDEX_OF = {
    "lapsed": "itemledger_batch_open",
    "late": "itemledger_item_late",
    "replays": "itemledger_item_replay",
    "of_broken_replays": "itemledger_item_replay",
    "windows_closing": "itemledger_item_window",
    "given_up": "itemledger_item_lapses",
    "attempts_used_up": "itemledger_item_attempts",
    "lapses_used_up": "itemledger_item_lapses",
    "look_ups_used_up": "itemledger_item_look_ups",
    "due_reconcile": "itemledger_item_reconcile",
    "due_retryable": "itemledger_item_retryable",
    "due_pending": "itemledger_item_pending",
    "next_pending": "itemledger_item_pending",
    "next_retryable": "itemledger_item_retryable",
    "next_reconcile": "itemledger_item_reconcile",
    "next_lease": "itemledger_batch_open",
}


def test_every_question_of_a_claim_goes_by_its_partial_index_and_scans_no_table(connection: sqlite3.Connection) -> None:
    asked = statements("claims")
    assert {*INDEX_OF, "take"} == set(asked)
    for name, index in INDEX_OF.items():
        steps = _steps(connection, asked[name])
        assert any(step.startswith("SEARCH") and index in step for step in steps), f"{name}: {steps}"
        assert [] == [step for step in steps if step.startswith("SCAN") and "json_each" not in step], name


@pytest.mark.parametrize("name", ["due_reconcile", "due_retryable", "due_pending"])
def test_what_is_due_comes_in_order_without_sorting(connection: sqlite3.Connection, name: str) -> None:
    assert [] == [step for step in _steps(connection, statements("claims")[name]) if "TEMP B-TREE" in step]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("rows", "fetch"),
        ("rows", "find"),
        ("rows", "by_key"),
        ("rows", "by_item_id"),
        ("rows", "history"),
        ("rows", "wake"),
        ("rows", "reviews"),
        ("rows", "page_of_operation"),
        ("rows", "page_of_operation_in_review"),
        ("batches", "dispatch"),
        ("batches", "note_dispatch"),
        ("batches", "held_within_windows"),
        ("claims", "take"),
        ("retention", "last_window"),
        ("retention", "delete_history"),
    ],
)
def test_no_other_verb_scans_a_table(connection: sqlite3.Connection, file: str, name: str) -> None:
    steps = _steps(connection, statements(file)[name])
    assert [] == [step for step in steps if step.startswith("SCAN") and "json_each" not in step and "asked" not in step]


def _steps(connection: sqlite3.Connection, statement: str) -> list[str]:
    class Anything(dict[str, object]):
        def __missing__(self, name: str) -> object:
            return "[]" if name in ("numbers", "items", "outcomes", "broken", "whole") else 1

    return [found[3] for found in connection.execute(f"EXPLAIN QUERY PLAN {statement}", Anything())]
