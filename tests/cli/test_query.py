"""``itemledger query``: to the real end, with what it cost."""

from __future__ import annotations

import json

import pytest

import itemledger
from tests.cli.conftest import Itemledger
from tests.conftest import MakeTable
from tests.engines.launch import Engine
from tests.engines.tables import KeySchema

KEY: KeySchema = (("pk", "S"), ("n", "N"))
OF_A = ("--key-condition-expression", "pk = :p", "--expression-attribute-values", '{":p": {"S": "A"}}')


@pytest.fixture
def table(moto: Engine, make_table: MakeTable) -> str:
    name = make_table(moto, KEY)
    with itemledger.batch_writer(moto.client(), name, key=dict(KEY)) as batch:
        for n in range(30):
            batch.put_item(Item={"pk": "A", "n": n, "kind": f"k{n % 10}"})
    return name


def test_every_page_to_the_end_and_what_it_cost(il: Itemledger, table: str) -> None:
    ended = il("query", table, *OF_A, "--page-size", "7")

    assert 0 == ended.exit_code, ended.stderr
    assert list(range(30)) == [row["n"] for row in ended.rows]
    assert "30 returned of 30 examined, 5 pages" in ended.stderr
    assert "to its end" in ended.stderr


def test_the_first_matching_items_backward_and_typed(il: Itemledger, table: str) -> None:
    values = '{":p": {"S": "A"}, ":k": {"S": "k3"}}'
    ask = ("--key-condition-expression", "pk = :p", "--filter-expression", "kind = :k")
    more = ("--max-items", "2", "--no-scan-index-forward", "--out-format", "dynamodb-json", "-o", "o.jsonl", "--json")
    ended = il("query", table, *ask, "--expression-attribute-values", values, *more)

    assert 0 == ended.exit_code, ended.stderr
    rows = [json.loads(line) for line in (il.directory / "o.jsonl").read_text().splitlines()]
    assert ["23", "13"] == [row["n"]["N"] for row in rows]
    told = json.loads(ended.stdout)
    assert ("max_items", False, 2) == (told["stop_reason"], told["complete"], told["totals"]["returned"])


def test_a_filter_with_a_page_size_is_told_of(il: Itemledger, table: str) -> None:
    values = '{":p": {"S": "A"}, ":k": {"S": "none"}}'
    ask = ("--key-condition-expression", "pk = :p", "--filter-expression", "kind = :k", "--page-size", "10")
    ended = il("query", table, *ask, "--expression-attribute-values", values)

    assert (0, []) == (ended.exit_code, ended.rows)
    assert "page 1 read 10 items, returned 0, and there is more to come" in ended.stderr


def test_a_refused_query_keeps_nothing_and_says_what_the_service_said(il: Itemledger, table: str) -> None:
    ended = il("query", table, "--key-condition-expression", "nokey = :p", *OF_A[2:], "-o", "o.jsonl")

    assert 4 == ended.exit_code
    assert "ValidationException" in ended.stderr
    assert "" == (il.directory / "o.jsonl").read_text()
