"""Scans with a checkpoint on scripted answers: what is handed out, committed, taken back and refused."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import itemledger as il
from itemledger.tables.page import Page
from itemledger.tables.page_result import PageStop, SegmentState
from itemledger.testing import Call, ScriptedClient, error

SIZES = {0: [3, 0, 2], 1: [1], 2: [0], 3: [2, 2, 2, 2]}
EVERYTHING = {
    f"{segment}-{page}-{n}" for segment, pages in SIZES.items() for page, size in enumerate(pages) for n in range(size)
}


class Table:
    """Four segments in fixed pages; ``fail`` is asked before each page."""

    def __init__(self, table_id: str = "one") -> None:
        self.table_id = table_id
        self.calls: list[tuple[int, int]] = []
        self.fail: Any = lambda segment, page: None

    def client(self) -> ScriptedClient:
        return ScriptedClient(respond=self.respond)

    def respond(self, call: Call) -> Any:
        if call.operation == "describe_table":
            return {"Table": {"TableId": self.table_id, "ItemCount": 14}}
        segment = call.request["Segment"]
        place = int(call.request.get("ExclusiveStartKey", {"pk": {"N": "0"}})["pk"]["N"])
        self.calls.append((segment, place))
        failure = self.fail(segment, place)
        if failure is not None:
            raise failure
        rows = [{"pk": {"S": f"{segment}-{place}-{n}"}} for n in range(SIZES[segment][place])]
        more = {"LastEvaluatedKey": {"pk": {"N": str(place + 1)}}} if place + 1 < len(SIZES[segment]) else {}
        return {"Items": rows, "Count": len(rows), "ScannedCount": len(rows), **more}


def scan(table: Table, to: Any, **more: Any) -> il.ScanResult:
    arguments = {"TableName": "Orders", "segments": 4, "max_attempts": 1, **more}
    return il.scan(table.client(), to, **arguments)


def names(path: Path) -> list[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line)["pk"] for line in data.splitlines()]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_every_item_is_a_line_and_the_numbers_add_up(tmp_path: Path, name: str) -> None:
    result = scan(Table(), tmp_path / name)
    assert Counter(EVERYTHING) == Counter(names(tmp_path / name))
    assert (True, False, 14, 14, 9) == (
        result.complete,
        result.resumed,
        result.totals.returned,
        result.approximate_items,
        result.totals.pages,
    )


def test_the_services_own_export_format(tmp_path: Path) -> None:
    scan(Table(), tmp_path / "out.json", item_format="dynamodb-json")
    lines = [json.loads(line) for line in (tmp_path / "out.json").read_bytes().splitlines()]
    assert EVERYTHING == {line["Item"]["pk"]["S"] for line in lines}


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_segment_that_fails_ends_alone_and_the_next_run_asks_only_for_what_is_left(tmp_path: Path, name: str) -> None:
    table, to = Table(), tmp_path / name
    table.fail = lambda segment, page: error("ValidationException") if (segment, page) == (3, 2) else None
    first = scan(table, to, checkpoint=tmp_path / "ckpt")
    table.fail, table.calls = lambda segment, page: None, []
    second = scan(table, to, checkpoint=tmp_path / "ckpt")
    third = scan(table, to, checkpoint=tmp_path / "ckpt")

    assert (PageStop.REQUEST_FAILED, {3: "ValidationException"}) == (
        first.stop_reason,
        {number: each.code for number, each in first.errors.items()},
    )
    assert [(3, 2), (3, 3)] == table.calls
    assert [(False, False), (True, True), (True, True)] == [(r.complete, r.resumed) for r in (first, second, third)]
    assert Counter(EVERYTHING) == Counter(names(to))
    assert (14, 9, 10) == (second.totals.returned, second.totals.pages, second.totals.calls)
    assert second.totals == third.totals


def test_what_was_written_after_the_last_commit_is_taken_back(tmp_path: Path) -> None:
    table, to = Table(), tmp_path / "out.jsonl"
    table.fail = lambda segment, page: error("ValidationException") if (segment, page) == (3, 2) else None
    scan(table, to, checkpoint=tmp_path / "ckpt")
    with to.open("ab") as file:
        file.write(b'{"pk":"of a page that was not committed"}\n' * 9)
    table.fail = lambda segment, page: None
    assert scan(table, to, checkpoint=tmp_path / "ckpt").complete
    assert Counter(EVERYTHING) == Counter(names(to))


def test_an_output_that_is_shorter_than_its_checkpoint_knows_is_refused_and_left(tmp_path: Path) -> None:
    table, to = Table(), tmp_path / "out.jsonl"
    scan(table, to, checkpoint=tmp_path / "ckpt")
    to.write_bytes(b"{}\n")
    with pytest.raises(il.CheckpointError, match="put it back"):
        scan(table, to, checkpoint=tmp_path / "ckpt")
    assert b"{}\n" == to.read_bytes()


@pytest.mark.parametrize("checkpoint", [None, "ckpt"])
def test_an_output_that_is_there_already_is_refused_and_left(tmp_path: Path, checkpoint: str | None) -> None:
    to = tmp_path / "out.jsonl"
    to.write_bytes(b"mine\n")
    with pytest.raises(il.ManifestError, match="there already"):
        scan(Table(), to, checkpoint=checkpoint and tmp_path / checkpoint)
    assert b"mine\n" == to.read_bytes()


@pytest.mark.parametrize(
    "more",
    [
        {"segments": 8},
        {"FilterExpression": "attribute_exists(v)"},
        {"ProjectionExpression": "pk"},
        {"ConsistentRead": True},
        {"item_format": "dynamodb-json"},
        {"TableName": "Other"},
    ],
    ids=str,
)
def test_a_checkpoint_of_another_scan_is_refused_before_any_page(tmp_path: Path, more: dict[str, Any]) -> None:
    """T27."""
    table, to = Table(), tmp_path / "out.jsonl"
    scan(table, to, checkpoint=tmp_path / "ckpt")
    before, table.calls = to.read_bytes(), []
    with pytest.raises(il.CheckpointError, match="belongs to another scan"):
        scan(table, to, checkpoint=tmp_path / "ckpt", **more)
    assert ([], before) == (table.calls, to.read_bytes())


def test_a_table_made_anew_under_the_same_name_is_another_one(tmp_path: Path) -> None:
    scan(Table("one"), tmp_path / "out.jsonl", checkpoint=tmp_path / "ckpt")
    with pytest.raises(il.CheckpointError, match="made anew"):
        scan(Table("two"), tmp_path / "out.jsonl", checkpoint=tmp_path / "ckpt")


def test_another_page_size_is_the_same_scan(tmp_path: Path) -> None:
    scan(Table(), tmp_path / "out.jsonl", checkpoint=tmp_path / "ckpt")
    assert scan(Table(), tmp_path / "out.jsonl", checkpoint=tmp_path / "ckpt", Limit=7).complete


class TestHandler:
    def test_a_page_is_behind_us_only_when_the_function_has_returned(self, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []

        def handler(page: Page) -> None:
            if (page.segment, page.number) == (3, 3) and (3, 3) not in seen:
                seen.append((3, 3))
                raise ValueError("mine")
            seen.append((page.segment, page.number))

        table = Table()
        with pytest.raises(ValueError, match="mine") as raised:
            scan(table, handler, checkpoint=tmp_path / "ckpt", concurrency=1)
        result: Any = raised.value.result  # type: ignore[attr-defined]
        assert ({"pk": {"N": "2"}}, 2) == (result.segments[3].last_key, result.segments[3].totals.pages)
        scan(table, handler, checkpoint=tmp_path / "ckpt", concurrency=1)
        expected = Counter((segment, page + 1) for segment, pages in SIZES.items() for page in range(len(pages)))
        assert expected + Counter([(3, 3)]) == Counter(seen)

    def test_it_gets_plain_or_typed_items(self) -> None:
        items: list[Any] = []
        scan(Table(), lambda page: items.extend(page.items), values="typed")
        assert EVERYTHING == {item["pk"]["S"] for item in items}

    def test_without_a_checkpoint_nothing_is_left_behind(self, tmp_path: Path) -> None:
        assert scan(Table(), lambda page: None).complete
        assert [] == list(tmp_path.iterdir())


def test_an_interrupt_commits_what_is_written_and_carries_where_it_stands(tmp_path: Path) -> None:
    table = Table()

    def stop(page: Page) -> None:
        if len(table.calls) >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        scan(table, tmp_path / "out.jsonl", checkpoint=tmp_path / "ckpt", concurrency=1, progress=stop)
    result: Any = raised.value.result  # type: ignore[attr-defined]
    assert 4 == result.totals.pages
    assert SegmentState.DONE in {each.state for each in result.segments}
    assert scan(table, tmp_path / "out.jsonl", checkpoint=tmp_path / "ckpt").complete
    assert Counter(EVERYTHING) == Counter(names(tmp_path / "out.jsonl"))
    assert 9 == len(set(table.calls)) == len(table.calls)
