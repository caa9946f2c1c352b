"""``itemledger read``: from a file of keys to items, dispositions and evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Itemledger, put
from tests.cli.proxy import Proxy
from tests.conftest import MakeTable
from tests.engines.launch import Engine


def test_every_key_ends_in_the_items_or_is_named_as_absent(
    il: Itemledger, engine: Engine, make_table: MakeTable
) -> None:
    il.endpoint_url = engine.endpoint_url
    table = make_table(engine)
    put(engine, table, ({"pk": {"S": f"k{n}"}, "n": {"N": str(n)}} for n in range(150)))
    il.keys(f"k{n}" for n in range(170))

    ended = il(
        "read", table, "--keys", "keys.jsonl", "--out", "items.jsonl", "--dispositions", "where.jsonl",
        "--evidence", "run.jsonl", "--require", "none", "--json",
    )  # fmt: skip

    assert 0 == ended.exit_code, ended.stderr
    summary = json.loads(ended.stdout)
    assert (170, 150, 20, 0) == tuple(
        summary[name] for name in ("keys", "returned", "processed_not_returned", "unresolved")
    )
    assert ("accept", 0, "synthetic") == (summary["decision"], summary["exit_code"], summary["label"])
    assert {f"k{n}": n for n in range(150)} == {row["pk"]: row["n"] for row in il.rows("items.jsonl")}
    where = {row["position"]: (row["key"], row["disposition"]) for row in il.rows("where.jsonl")}
    assert {n: ({"pk": f"k{n}"}, "returned" if n < 150 else "processed_not_returned") for n in range(170)} == where
    assert 0 == il("verify", "run.jsonl").exit_code
    assert {"keys.jsonl", "items.jsonl", "where.jsonl", "run.jsonl", "run.jsonl.key"} == il.files()


def test_keys_on_stdin_give_items_on_stdout_and_everything_else_on_stderr(il: Itemledger, orders: str) -> None:
    ended = il("read", orders, "--keys", "-", stdin='"k1"\n"k2"\n')

    assert (0, [{"pk": "k1", "n": 1}, {"pk": "k2", "n": 2}]) == (ended.exit_code, ended.rows)
    assert "2 keys of" in ended.stderr
    assert "decision      accept" in ended.stderr
    assert set() == il.files()


def test_json_stands_alone_on_stderr_when_items_go_to_stdout(il: Itemledger, orders: str) -> None:
    ended = il("read", orders, "--keys", "-", "--json", stdin='"k1"\n')

    assert [{"pk": "k1", "n": 1}] == ended.rows
    summary = json.loads(ended.stderr)
    assert ("accept", "stdout", None) == (summary["decision"], summary["files"]["items"], summary["files"]["hold"])


def test_csv_columns_are_the_key_attributes_typed_by_the_table(
    il: Itemledger, moto: Engine, make_table: MakeTable
) -> None:
    table = make_table(moto, (("pk", "S"), ("sk", "N")))
    put(moto, table, [{"pk": {"S": "1"}, "sk": {"N": "2.5"}, "v": {"S": "found"}}])

    ended = il("read", table, "--keys", il.write("keys.csv", "sk,pk\r\n2.50,1\r\n3,1\r\n"), "--require", "none")

    assert (0, [{"pk": "1", "sk": 2.5, "v": "found"}]) == (ended.exit_code, ended.rows)


def test_an_export_in_dynamodb_json_is_a_list_of_keys_and_its_lossless_copy(
    il: Itemledger, moto: Engine, make_table: MakeTable
) -> None:
    table = make_table(moto, (("pk", "B"),))
    item = {
        "pk": {"B": "AAE="},
        "n": {"N": "12345678901234567890123456789012345678"},
        "set": {"NS": ["1"]},
        "nested": {"M": {"l": {"L": [{"B": "/w=="}, {"NULL": True}]}}},
    }
    put(
        moto,
        table,
        [{**item, "pk": {"B": b"\x00\x01"}, "nested": {"M": {"l": {"L": [{"B": b"\xff"}, {"NULL": True}]}}}}],
    )
    export = il.write("export.json", json.dumps({"Item": item}) + "\n")

    ended = il("read", table, "--keys", export, "--out-format", "dynamodb-json")

    assert (0, [item]) == (ended.exit_code, ended.rows)


def test_a_binary_key_is_written_as_a_tagged_value_in_json_lines(
    il: Itemledger, moto: Engine, make_table: MakeTable
) -> None:
    table = make_table(moto, (("pk", "B"),))
    put(moto, table, [{"pk": {"B": b"\x00\x01"}, "v": {"S": "found"}}])

    ended = il("read", table, "--keys", "-", stdin='{"pk": {"B": "AAE="}}\n')

    assert [{"pk": "AAE=", "v": "found"}] == ended.rows


def test_a_number_key_of_38_digits_finds_its_item_and_comes_back_exact(
    il: Itemledger, moto: Engine, make_table: MakeTable
) -> None:
    table, number = make_table(moto, (("pk", "N"),)), "1234567890123456789012345678901234567.8"
    put(moto, table, [{"pk": {"N": number}, "v": {"N": number}}])

    ended = il("read", table, "--keys", "-", stdin=f"{number}\n")

    assert f'{{"pk":{number},"v":{number}}}\n' == ended.stdout


def test_the_line_names_its_key_although_the_projection_leaves_it_out(il: Itemledger, orders: str) -> None:
    ended = il("read", orders, "--keys", "-", "--projection", "n", "--consistent-read", stdin='"k7"\n')

    assert [{"pk": "k7", "n": 7}] == ended.rows
    assert "strong per item reads" in ended.stderr


def test_equal_keys_are_refused_by_line_and_folded_on_request(il: Itemledger, orders: str) -> None:
    il.write("keys.jsonl", '"k1"\n\n"k2"\n"k1"\n')

    refused = il("read", orders, "--keys", "keys.jsonl", "--evidence", "run.jsonl")
    folded = il("read", orders, "--keys", "keys.jsonl", "--fold-duplicates", "--dispositions", "where.jsonl")

    assert (2, "") == (refused.exit_code, refused.stdout)
    assert "keys.jsonl lines 1 and 4" in refused.stderr
    assert "--fold-duplicates" in refused.stderr
    assert 0 == folded.exit_code
    assert ["k1", "k2"] == sorted(row["pk"] for row in folded.rows)
    assert [(0, None), (1, None), (2, 0)] == sorted(
        (row["position"], row.get("duplicate_of")) for row in il.rows("where.jsonl")
    )
    assert {"keys.jsonl", "where.jsonl"} == il.files()


def test_an_empty_manifest_is_complete_at_once(il: Itemledger, proxy: Proxy, orders: str) -> None:
    ended = il("read", orders, "--keys", "-", "--out", "items.jsonl", "--evidence", "run.jsonl")

    assert 0 == ended.exit_code, ended.stderr
    assert [] == proxy.requests
    assert "" == (il.directory / "items.jsonl").read_text()
    assert 0 == il("verify", "run.jsonl").exit_code


@pytest.mark.parametrize(("required", "exit_code"), [(["k1", "k2"], 0), (["k1", "absent"], 6)])
def test_listed_keys_decide_between_accept_and_reject(
    il: Itemledger, orders: str, required: list[str], exit_code: int
) -> None:
    il.keys(required, "required.jsonl")

    ended = il("read", orders, "--keys", il.keys(["k1", "k2", "absent"]), "--require", "required.jsonl")

    assert exit_code == ended.exit_code


def test_a_required_key_that_nobody_asks_for_is_refused_before_the_first_call(
    il: Itemledger, proxy: Proxy, orders: str
) -> None:
    il.keys(["k1", "k9"], "required.jsonl")

    ended = il(
        "read", orders, "--keys", il.keys(["k1"]), "--require", "required.jsonl", "--out", "items.jsonl"
    )  # fmt: skip

    assert (2, []) == (ended.exit_code, proxy.requests)
    assert "required.jsonl line 2" in ended.stderr
    assert {"keys.jsonl", "required.jsonl"} == il.files()


def test_all_is_the_default_policy(il: Itemledger, orders: str) -> None:
    ended = il("read", orders, "--keys", "-", stdin='"k1"\n"absent"\n')

    assert 6 == ended.exit_code
    assert "decision      reject (owner: application)" in ended.stderr


def test_bounds_scale_with_the_manifest_and_are_said_before_the_read(il: Itemledger, orders: str) -> None:
    small = il("read", orders, "--keys", "-", "--out", "/dev/null", stdin='"k1"\n')
    large = il(
        "read", orders, "--keys", il.keys(f"x{n}" for n in range(3_100)), "--out", "/dev/null", "--concurrency", "2",
        "--max-passes", "3",
    )  # fmt: skip

    assert "deadline 1:00, at most 8 passes per key, 4 calls at a time" in small.stderr
    assert "deadline 1:02, at most 3 passes per key, 2 calls at a time" in large.stderr


def test_given_a_key_the_table_is_not_described(il: Itemledger, proxy: Proxy, orders: str) -> None:
    ended = il("read", orders, "--keys", "-", "--key", "pk:S", stdin='"k1"\n')

    assert (0, [{"pk": "k1", "n": 1}]) == (ended.exit_code, ended.rows)


def test_keys_and_values_are_not_printed(il: Itemledger, orders: str) -> None:
    ended = il("read", orders, "--keys", il.keys(["k101"]), "--out", "items.jsonl", "--evidence", "run.jsonl", "--json")

    assert "k101" not in ended.stdout + ended.stderr
    assert "k101" not in (il.directory / "run.jsonl").read_text()


def test_a_client_of_ours_is_recorded_with_its_retries(il: Itemledger, orders: str) -> None:
    il("read", orders, "--keys", "-", "--evidence", "run.jsonl", stdin='"k1"\n')

    environment = il.rows("run.jsonl")[0]["environment"]
    assert ("standard", 3) == (environment["sdk_retries"]["mode"], environment["sdk_retries"]["total_max_attempts"])
    assert ("all", "us-east-1") == (environment["policy"], environment["region"])
    assert environment["account"]


def test_the_evidence_can_name_keys_plainly_on_request(il: Itemledger, orders: str) -> None:
    options = ["--evidence", "run.jsonl", "--plain-keys", "--data-revision", "export of Monday"]
    il("read", orders, "--keys", "-", *options, stdin='"k101"\n')

    assert "export of Monday" == il.rows("run.jsonl")[0]["environment"]["data_revision"]
    assert "k101" in (il.directory / "run.jsonl").read_text()
    assert {"run.jsonl"} == il.files()
    assert 0 == il("verify", Path("run.jsonl")).exit_code
