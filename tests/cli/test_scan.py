"""``itemledger scan``: every item once in the file, whatever ends the command, and one clear sentence for the rest."""

from __future__ import annotations

import gzip
import json
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

import itemledger
from tests.cli.conftest import Itemledger
from tests.conftest import MakeTable
from tests.engines.launch import Engine

COUNT = 120


@pytest.fixture
def table(moto: Engine, make_table: MakeTable) -> str:
    name = make_table(moto)
    with itemledger.batch_writer(moto.client(), name, key={"pk": "S"}) as batch:
        for n in range(COUNT):
            batch.put_item(Item={"pk": f"item-{n}", "n": n, "note": f"private-{n}"})
    return name


def lines(path: Path) -> list[bytes]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.splitlines()


def numbers(path: Path) -> Counter[int]:
    return Counter(json.loads(line)["n"] for line in lines(path))


EACH_ONCE = Counter(range(COUNT))
FILES = ("--out", "orders.jsonl", "--checkpoint", "orders.ckpt")


def test_every_item_is_written_once_and_the_numbers_add_up(il: Itemledger, table: str) -> None:
    ended = il("scan", table, "--segments", "4", *FILES, "--page-size", "9")
    again = il("scan", table, "--segments", "4", *FILES, "--json")

    assert (0, 0) == (ended.exit_code, again.exit_code), ended.stderr
    assert f"{COUNT} returned of {COUNT} examined" in ended.stderr
    assert "4 of 4 done\n" in ended.stderr
    assert "private" not in ended.stderr + again.stdout
    told = json.loads(again.stdout)
    assert (True, True, COUNT, 4) == (
        told["complete"],
        told["resumed"],
        told["totals"]["returned"],
        len(told["segments"]),
    )
    assert EACH_ONCE == numbers(il.directory / "orders.jsonl")


def test_killed_at_any_moment_the_same_line_goes_on(il: Itemledger, table: str) -> None:
    line = ("scan", table, "--segments", "3", *FILES, "--page-size", "4", "--units-per-second", "40")
    kills = 0
    for wait_s in (0.9, 1.1, 1.3):
        process = il.start(*line)
        time.sleep(wait_s)
        kills += process.poll() is None
        process.kill()
        process.communicate()
    ended = il("scan", table, "--segments", "3", *FILES, "--page-size", "4")

    assert (0, True) == (ended.exit_code, kills > 0), ended.stderr
    assert EACH_ONCE == numbers(il.directory / "orders.jsonl")


def test_ctrl_c_keeps_what_is_written_and_says_how_to_go_on(il: Itemledger, table: str) -> None:
    line = ("scan", table, "--segments", "2", *FILES, "--page-size", "4", "--units-per-second", "20")
    process = il.start(*line)
    while not (il.directory / "orders.jsonl").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert 130 == process.returncode, said.decode()
    assert "then go on with the same line: itemledger scan" in said.decode()
    assert 0 == il("scan", table, "--segments", "2", *FILES).exit_code
    assert EACH_ONCE == numbers(il.directory / "orders.jsonl")


@pytest.mark.parametrize(
    ("more", "name"),
    [((), "o.jsonl.gz"), (("--out-format", "dynamodb-json"), "o.json"), (("--segments", "3"), "o.jsonl")],
)
def test_formats(il: Itemledger, table: str, more: tuple[str, ...], name: str) -> None:
    ended = il("scan", table, "--out", name, *more)

    assert 0 == ended.exit_code, ended.stderr
    found = [json.loads(line) for line in lines(il.directory / name)]
    of_item = [each["Item"]["pk"]["S"] if "Item" in each else each["pk"] for each in found]
    assert {f"item-{n}" for n in range(COUNT)} == set(of_item)
    assert COUNT == len(of_item)


def test_what_goes_to_stdout_is_items_only(il: Itemledger, table: str) -> None:
    values = '{":most": {"N": "9"}}'
    ended = il("scan", table, "--filter-expression", "n <= :most", "--expression-attribute-values", values, "--json")

    assert 0 == ended.exit_code, ended.stderr
    assert set(range(10)) == {row["n"] for row in ended.rows}
    told = json.loads(ended.stderr)
    assert (COUNT, 10, "stdout") == (told["totals"]["examined"], told["totals"]["returned"], told["out"])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (("--checkpoint", "c"), "what goes to stdout cannot be taken up again; name a file with --out"),
        (("--out", "there.jsonl"), "there.jsonl is there already; name another file, or remove it"),
        (("--out", "o", "--expression-attribute-values", "{"), "--expression-attribute-values the value is not JSON"),
        (
            ("--out", "o", "--expression-attribute-values", "file://no"),
            "--expression-attribute-values file://no: No such",
        ),
        (("--out", "o", "--expression-attribute-names", '["n"]'), "maps no alias to a name"),
        (("--out", "o", "--units-per-second", "0"), "units_per_s must be more than zero"),
        (("--out", "no/such/o"), "no/such/o: No such file or directory"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    il: Itemledger, table: str, line: tuple[str, ...], sentence: str
) -> None:
    il.write("there.jsonl", "mine\n")
    ended = il("scan", table, *line)

    assert (2, {"there.jsonl"}) == (ended.exit_code, il.files()), ended.stderr
    assert sentence in ended.stderr
    assert 1 == len(ended.stderr.splitlines())
    assert "mine\n" == (il.directory / "there.jsonl").read_text()


def test_a_checkpoint_of_another_scan_is_refused(il: Itemledger, table: str) -> None:
    il("scan", table, "--segments", "2", *FILES)
    before = (il.directory / "orders.jsonl").read_bytes()
    ended = il("scan", table, "--segments", "3", *FILES)

    assert (2, before) == (ended.exit_code, (il.directory / "orders.jsonl").read_bytes())
    assert "orders.ckpt belongs to another scan: 3 segments instead of 2" in ended.stderr


def test_a_missing_table_is_for_a_person_and_a_dead_endpoint_for_a_retry(il: Itemledger, table: str) -> None:
    missing = il("scan", "nowhere", "--out", "a.jsonl")
    il.endpoint_url = "http://127.0.0.1:9"
    dead = il("scan", table, "--out", "b.jsonl", "--timeout", "1")

    assert (4, 3) == (missing.exit_code, dead.exit_code), dead.stderr
    assert "ResourceNotFoundException" in missing.stderr
    assert "check the table's name" in missing.stderr
