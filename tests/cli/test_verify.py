"""``itemledger verify`` and ``itemledger explain``: evidence files as whoever gets one handles them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Itemledger, put
from tests.conftest import MakeTable
from tests.core.evidence_files import rechained
from tests.engines.launch import Engine


@pytest.fixture
def run(il: Itemledger, orders: str) -> Path:
    """The evidence of a read of three keys, one of them absent."""
    ended = il(
        "read", orders, "--keys", "-", "--evidence", "run.jsonl", "--require", "none", stdin='"k1"\n"k2"\n"absent"\n'
    )  # fmt: skip
    assert 0 == ended.exit_code, ended.stderr
    return il.directory / "run.jsonl"


def test_verify_says_what_the_file_proves_and_its_hash(il: Itemledger, run: Path, orders: str) -> None:
    ended = il("verify", "run.jsonl")

    assert 0 == ended.exit_code
    assert ended.stdout.startswith(
        f"run.jsonl: verified. 3 keys of {orders}: 2 returned, 1 processed_not_returned, 0 unresolved; 1 call, "
        "label synthetic; decision accept; observation "
    )


def test_verify_and_the_read_name_the_same_hash(il: Itemledger, orders: str) -> None:
    read = il("read", orders, "--keys", "-", "--out", "i", "--evidence", "r", "--json", stdin='"k1"\n')

    verified = json.loads(il("verify", "r", "--json").stdout)

    assert (True, json.loads(read.stdout)["files"]["evidence_sha256"]) == (verified["verified"], verified["sha256"])


def test_calls_shared_with_other_tables_are_told(il: Itemledger, run: Path) -> None:
    key = run.with_name("two.jsonl.key")
    Path(f"{run}.key").rename(key)
    lines = [json.loads(line) for line in run.read_bytes().splitlines()]
    lines[0]["tables"] = 3
    il.write("two.jsonl", b"".join(rechained(lines)))

    verified, explained = il("verify", "two.jsonl"), il("explain", "two.jsonl", "--key", "k1")

    assert "; 1 call, shared with 2 other tables, label " in verified.stdout, verified.stderr
    assert "The run shares its calls with 2 other tables, so gaps" in explained.stdout


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_one_flipped_byte_fails_with_exit_code_1(il: Itemledger, run: Path, share: float) -> None:
    content = bytearray(run.read_bytes())
    content[int(len(content) * share)] ^= 1
    run.write_bytes(content)

    ended = il("verify", "run.jsonl")

    assert (1, "") == (ended.exit_code, ended.stdout)
    assert "run.jsonl: NOT VERIFIED: line " in ended.stderr
    assert 1 == len(ended.stderr.splitlines())


def test_one_bad_file_does_not_hide_the_others(il: Itemledger, run: Path) -> None:
    il.write("cut.jsonl", run.read_bytes()[:-1])

    ended = il("verify", "cut.jsonl", "missing.jsonl", "run.jsonl", "--json")

    told = [(row["file"], row["verified"]) for row in ended.rows]
    assert [("cut.jsonl", False), ("missing.jsonl", False), ("run.jsonl", True)] == told
    assert 1 == ended.exit_code


def test_a_missing_file_is_bad_input(il: Itemledger) -> None:
    ended = il("verify", "missing.jsonl")

    assert 2 == ended.exit_code
    assert "missing.jsonl: NOT VERIFIED: cannot be read: No such file or directory" in ended.stderr


def test_explain_tells_a_key_by_its_plain_name(il: Itemledger, run: Path) -> None:
    returned, absent = il("explain", "run.jsonl", "--key", "k2"), il("explain", "run.jsonl", "--key", "absent")

    assert (0, 0) == (returned.exit_code, absent.exit_code)
    assert "k2 (position 1) " in returned.stdout
    assert "Ends returned: its item was read." in returned.stdout
    assert "Ends processed_not_returned" in absent.stdout


def test_explain_does_not_know_a_key_that_was_not_asked_for(il: Itemledger, run: Path) -> None:
    ended = il("explain", "run.jsonl", "--key", "k3")

    assert (1, "") == (ended.exit_code, ended.stdout)
    assert "is not in this run's manifest" in ended.stderr


def test_the_token_key_may_come_from_the_environment(il: Itemledger, orders: str) -> None:
    il.environment = {"ITEMLEDGER_TOKEN_KEY": "00" * 32}
    il("read", orders, "--keys", "-", "--evidence", "run.jsonl", stdin='"k1"\n')
    assert {"run.jsonl"} == il.files()

    known = il("explain", "run.jsonl", "--key", "k1")
    il.environment = {"ITEMLEDGER_TOKEN_KEY": "11" * 32}
    other = il("explain", "run.jsonl", "--key", "k1")
    il.environment = {}
    none = il("explain", "run.jsonl", "--key", "k1")
    il.environment = {"ITEMLEDGER_TOKEN_KEY": "too short"}
    short = il("explain", "run.jsonl", "--key", "k1")

    assert (0, 2, 2, 2) == (known.exit_code, other.exit_code, none.exit_code, short.exit_code)
    assert "the token key at hand is" in other.stderr
    assert "neither in ITEMLEDGER_TOKEN_KEY nor in run.jsonl.key" in none.stderr
    assert "`openssl rand -hex 32`" in short.stderr


def test_the_token_key_is_made_once_and_for_its_owner_only(il: Itemledger, orders: str, run: Path) -> None:
    key = Path(f"{run}.key")
    before = key.read_text()

    il("read", orders, "--keys", "-", "--evidence", "run.jsonl", "--force", stdin='"k1"\n')

    assert (before, 0o600) == (key.read_text(), key.stat().st_mode & 0o777)
    assert 0 == il("explain", "run.jsonl", "--key", "k1").exit_code


@pytest.mark.parametrize(
    ("spelling", "found"),
    [
        ("pk=a,sk=1", True),
        ("pk=a,sk=1.0", True),
        ('["a", 1]', True),
        ('["a", "1"]', True),
        ("pk=a,sk=3", False),
        ("a", None),
        ("pk=a,sk=one", None),
        ('["a"]', None),
    ],
)
def test_a_key_of_two_attributes_is_given_by_name_or_as_an_array(
    composite: Itemledger, spelling: str, found: bool | None
) -> None:
    ended = composite("explain", "run.jsonl", "--key", spelling)

    assert {True: 0, False: 1, None: 2}[found] == ended.exit_code
    if found is None:
        assert "--key does not fit the table's key, pk (S) and sk (N); write pk=…,sk=…" in ended.stderr


@pytest.fixture
def composite(il: Itemledger, moto: Engine, make_table: MakeTable) -> Itemledger:
    table = make_table(moto, (("pk", "S"), ("sk", "N")))
    put(moto, table, [{"pk": {"S": "a"}, "sk": {"N": "1"}}])
    ended = il("read", table, "--keys", "-", "--evidence", "run.jsonl", stdin='["a", 1]\n')
    assert 0 == ended.exit_code, ended.stderr
    return il


@pytest.mark.parametrize(
    "content", ["", "{}\n", "not json\n", '{"kind":"header"}\n', "[" * 200_000 + "]" * 200_000 + "\n"]
)
def test_explain_refuses_what_is_no_evidence_file(offline: Itemledger, content: str) -> None:
    offline.write("run.jsonl", content)

    ended = offline("explain", "run.jsonl", "--key", "A")

    assert 1 == ended.exit_code
    assert "run.jsonl: its first line is no header of an evidence file" in ended.stderr
