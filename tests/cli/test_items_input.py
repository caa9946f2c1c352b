"""Items from files: what is accepted, where each is found again, and how each fault is named."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import pytest

from itemledger.apis.attribute_json import json_loads_exact
from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.apis.sqs import SendMessageBatch
from itemledger.cli import items_input
from itemledger.cli.items_input import ItemFile
from itemledger.cli.problems import CommandError
from itemledger.core import exact_json

TABLE = BatchWriteItem(table_name="Orders", key={"pk": "S"})
QUEUE = SendMessageBatch(queue_url="https://sqs.us-east-1.amazonaws.com/1/q")
LONG = "12345678901234567890123456789012345678"


def test_items_are_exact_and_found_again_at_their_places(tmp_path: Path) -> None:
    content = f'\ufeff{{"pk": "a", "n": {LONG}}}\r\n\n  \n{{"pk": "ü", "n": 1.50}}\n{{"pk": "c"}}'.encode()
    path = tmp_path / "items.jsonl"
    path.write_bytes(content)

    with ItemFile(str(path), store_payloads=False) as items:
        count = items.check("op", TABLE, lambda _: None)
        sourced = list(items.sourced())

    values = [{"pk": "a", "n": int(LONG)}, {"pk": "ü", "n": Decimal("1.50")}, {"pk": "c"}]
    assert (3, values) == (count, [value for value, _ in sourced])
    places = [source for _, source in sourced if source is not None]
    assert values == [json_loads_exact(content[place.offset : place.offset + place.length]) for place in places]
    assert {os.path.realpath(path)} == {place.path for place in places}
    assert [1, 4, 5] == [items.line_of(position) for position in range(3)]


def test_a_link_is_followed_once_so_that_it_may_lead_elsewhere_later(tmp_path: Path) -> None:
    (tmp_path / "day-1").write_text('{"pk": "a"}\n')
    (tmp_path / "latest").symlink_to("day-1")

    with ItemFile(str(tmp_path / "latest"), store_payloads=False) as items:
        [(_, source)] = items.sourced()

    assert source is not None
    assert str(tmp_path.resolve() / "day-1") == source.path


def test_on_request_the_ledger_keeps_the_item_instead_of_its_place(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"pk": "a", "n": 1.50}\n')

    with ItemFile(str(tmp_path / "items.jsonl"), store_payloads=True) as items:
        [(_, source)] = items.sourced()

    assert source is not None
    assert source.path is None
    assert {"pk": "a", "n": Decimal("1.50")} == exact_json.loads(source.stored or b"")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b'{"pk": "a"}\n{"pk": \n', "line 2: the value is not JSON: Expecting value at character 9"),
        (b'[\n{"pk": "a"}\n]\n', "line 1: the value is not JSON: Expecting value at character 3; one item per line"),
        (b'{"pk": "a"}\n{"pk": "\xff"}\n', "line 2 is not UTF-8 (at byte 9); save the file as UTF-8"),
        (b'\xff\xfe{\x00"\x00', "line 1 starts like UTF-16; save the file as UTF-8"),
        (b'{"pk": "a", "pk": "b"}', "line 1: the value has the name pk twice in one object"),
        (b'{"pk": NaN}', "line 1: the value has NaN, which JSON does not know"),
        (b'\n{"pk": "a"}\n\n["a"]\n', "line 4: this item: "),
        (b'{"pk": 1}\n', "line 1: this item: attribute 'pk' has type N, but the key needs S"),
        (b'{"id": "a"}\n', "line 1: this item lacks the attribute 'pk'"),
        (b'{"pk": "\\ud800"}\n', "line 1: this item: "),
    ],
)
def test_each_fault_names_file_and_line(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(content)

    with ItemFile(str(path), store_payloads=False) as items, pytest.raises(CommandError) as raised:
        items.check("op", TABLE, lambda _: None)

    assert str(raised.value).startswith(f"{path} {fault}")


def test_faults_of_other_apis_name_the_line_too(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"MessageBody": "a"}\n{"Body": "b"}\n')

    with ItemFile(str(path), store_payloads=False) as items, pytest.raises(CommandError) as raised:
        items.check("op", QUEUE, lambda _: None)

    assert f"{path} line 2: this item has a member 'Body'" in str(raised.value)


def test_a_line_that_no_api_could_take_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items_input, "MAX_LINE_BYTES", 20)
    path = tmp_path / "items.jsonl"
    path.write_text('{"pk": "a"}\n{"pk": "bbbbbbbbbbbbbbbbbbbbbbbbbbbb"}\n')

    with ItemFile(str(path), store_payloads=False) as items, pytest.raises(CommandError) as raised:
        items.check("op", TABLE, lambda _: None)

    assert f"{path} line 2 is longer than 20 bytes, so it is no item" in str(raised.value)


def test_a_pipe_is_spooled_so_that_it_is_read_twice(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b'{"pk": "a"}\n{"pk": "b"}\n')
    os.close(write)
    try:
        with ItemFile(f"/dev/fd/{read}", store_payloads=True) as items:
            assert 2 == items.check("op", TABLE, lambda _: None)
            assert [{"pk": "a"}, {"pk": "b"}] == [value for value, _ in items.sourced()]
    finally:
        os.close(read)
