"""The journal of a scan: what a crash may do to it, what damage may, and whose it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemledger.core.answer import EvidenceLabel
from itemledger.errors import CheckpointError
from itemledger.scanning.checkpoint import Checkpoint, ScanIdentity, request_sha256
from itemledger.tables.page import Consumed, LastKey, PageTotals
from itemledger.tables.page_result import Segment, SegmentState

IDENTITY = ScanIdentity("Orders", None, 3, (0, 1, 2), "0" * 64, "json", "table-1")
LABEL = EvidenceLabel.SYNTHETIC
KEYS: list[LastKey] = [{"pk": {"S": "ü"}, "sk": {"N": "1" * 38}}, {"pk": {"B": b"\x00\xff"}}, {"pk": {"S": "c"}}]


def segment(number: int, last_key: LastKey | None, pages: int) -> Segment:
    state = SegmentState.DONE if last_key is None else SegmentState.UNDER_WAY
    consumed = Consumed(0.5 * pages, None, {"by-day": 0.5})
    totals = PageTotals(pages, pages + 1, 10 * pages, pages, consumed, 1, None, 2, LABEL)
    return Segment(number, state, last_key, totals, 1.25)


COMMITS: list[tuple[int, list[Segment]]] = [
    (0, []),
    (100, [segment(0, KEYS[0], 1)]),
    (250, [segment(1, KEYS[1], 1), segment(0, None, 2)]),
    (300, [segment(2, KEYS[2], 1)]),
]


def written(path: Path) -> bytes:
    """A journal with these commits, and what it holds."""
    with Checkpoint.open(path, IDENTITY) as checkpoint:
        assert (None, 3) == (checkpoint.position, len(checkpoint.segments))
        for position, segments in COMMITS:
            checkpoint.commit(segments, position)
    return path.read_bytes()


def standing(count: int) -> tuple[int | None, dict[int, Segment]]:
    """Where the scan stands after so many commits."""
    segments = {n: Segment(n, SegmentState.NOT_STARTED, None, PageTotals(), 0.0) for n in range(3)}
    for _, changed in COMMITS[:count]:
        segments |= {each.number: each for each in changed}
    return COMMITS[count - 1][0] if count else None, segments


def opened(path: Path) -> tuple[int | None, dict[int, Segment]]:
    with Checkpoint.open(path, IDENTITY) as checkpoint:
        return checkpoint.position, checkpoint.segments


def test_it_comes_back_as_it_was_with_keys_of_every_type(tmp_path: Path) -> None:
    path = tmp_path / "scan.ckpt"
    written(path)
    assert standing(4) == opened(path)
    assert 0o600 == path.stat().st_mode & 0o777


def test_cut_off_at_any_byte_it_goes_on_from_the_last_whole_commit(tmp_path: Path) -> None:
    path = tmp_path / "scan.ckpt"
    whole = written(path)
    ends = [at + 1 for at, sign in enumerate(whole) if sign == 0x0A]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        lines = sum(end <= size for end in ends)
        assert standing(max(0, lines - 1)) == opened(path), size


@given(st.data())
def test_damage_is_never_taken_for_another_place(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("checkpoint") / "scan.ckpt"
    whole = bytearray(written(path))
    at = data.draw(st.integers(0, len(whole) - 1))
    other = st.sampled_from(b"0123456789aAfF") | st.integers(0, 255)  # much of it is digits, and stays JSON with others
    whole[at] = data.draw(other.filter(lambda value: value != whole[at]))
    path.write_bytes(whole)
    try:
        found = opened(path)
    except CheckpointError:
        assert bytes(whole) == path.read_bytes()
        return
    assert found in [standing(count) for count in range(5)]


@pytest.mark.parametrize(
    ("old", "new"), [(b'"position":250', b'"position":950'), (b'{"S":"c"}', b'{"S":"d"}'), (b'"pages":1', b'"pages":2')]
)
def test_a_change_that_is_still_a_journal_is_damage_too(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "scan.ckpt"
    whole = written(path)
    assert old in whole
    path.write_bytes(whole.replace(old, new, 1))
    with pytest.raises(CheckpointError, match="damaged"):
        opened(path)


@given(st.binary(max_size=300))
def test_any_other_content_is_refused_or_taken_for_a_line_cut_off(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("checkpoint") / "scan.ckpt"
    path.write_bytes(content)
    try:
        assert standing(0) == opened(path)
    except CheckpointError:
        assert content == path.read_bytes()


def test_lines_of_another_journal_or_in_another_order_are_no_way_to_another_place(tmp_path: Path) -> None:
    path = tmp_path / "scan.ckpt"
    lines = written(path).splitlines(keepends=True)
    for order in ([1, 0, 2], [1, 2, 3], [0, 0, 1]):
        path.write_bytes(b"".join(lines[n] for n in order))
        with pytest.raises(CheckpointError, match="damaged"):
            opened(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"table": "Other"}, "another table"),
        ({"index": "by-day"}, "another index"),
        ({"segments": 4, "numbers": (0, 1, 2)}, "4 segments instead of 3"),
        ({"numbers": (0, 1)}, "other ones of the segments"),
        ({"request_sha256": "1" * 64}, "another filter, projection, or consistency"),
        ({"output": "dynamodb-json"}, "output as dynamodb-json instead of json"),
        ({"table_id": "table-2"}, "made anew under the same name"),
    ],
)
def test_of_another_scan_it_is_refused_and_left_as_it_is(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = tmp_path / "scan.ckpt"
    whole = written(path) + b'{"crc'
    path.write_bytes(whole)
    with pytest.raises(CheckpointError, match=words):
        Checkpoint.open(path, replace(IDENTITY, **change))
    assert whole == path.read_bytes()


def test_where_a_tables_id_may_not_be_asked_for_its_name_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "scan.ckpt"
    written(path)
    Checkpoint.open(path, replace(IDENTITY, table_id=None)).close()


def test_one_process_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "scan.ckpt"
    with Checkpoint.open(path, IDENTITY), pytest.raises(CheckpointError, match="in use by another process"):
        Checkpoint.open(path, IDENTITY)
    Checkpoint.open(path, IDENTITY).close()


@pytest.mark.parametrize("name", ["", "no/such/place"])
def test_where_there_can_be_none_it_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match=r"directory|Is a"):
        Checkpoint.open(tmp_path / name, IDENTITY)


def test_what_decides_which_items_come_is_part_of_the_hash_and_nothing_else() -> None:
    request = {"TableName": "Orders", "FilterExpression": "v = :v", "ExpressionAttributeValues": {":v": {"B": b"\xff"}}}
    first = request_sha256(request)
    assert first == request_sha256({**request, "Limit": 7})
    assert first != request_sha256({**request, "ExpressionAttributeValues": {":v": {"B": b"\xfe"}}})
    assert first != request_sha256({**request, "ConsistentRead": True})
    assert first != request_sha256({**request, "ProjectionExpression": "pk"})
