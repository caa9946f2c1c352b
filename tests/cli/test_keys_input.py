"""Keys from files: what is accepted, and how each fault is named."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from itemledger.cli.client import key_option
from itemledger.cli.keys_input import KeyFormat, read_keys
from itemledger.cli.problems import CommandError
from itemledger.core.keys import KeySchema
from tests.cli.conftest import Itemledger

S = KeySchema.of({"pk": "S"})
N = KeySchema.of({"pk": "N"})
B = KeySchema.of({"pk": "B"})
SN = KeySchema.of({"pk": "S", "sk": "N"})
SB = KeySchema.of({"pk": "S", "sk": "B"})
LONG = "12345678901234567890123456789012345678"


@pytest.mark.parametrize(
    ("name", "schema", "content", "expected"),
    [
        ("k.jsonl", S, b'"a"\n{"pk":"b"}\n["c"]\n{"pk":{"S":"d"}}', ["a", "b", "c", "d"]),
        ("k.jsonl", N, b"1\n1.50\n1e2\n-0\n", [Decimal(1), Decimal("1.5"), Decimal(100), Decimal(0)]),
        ("k.jsonl", N, f"{LONG}\n".encode(), [Decimal(LONG)]),
        ("k.jsonl", N, b'{"pk":{"N":"1.50"}}\n', [Decimal("1.5")]),
        ("k.jsonl", SN, b'["a", 1]\n{"sk": 2, "pk": "a"}\n', [("a", Decimal(1)), ("a", Decimal(2))]),
        ("k.jsonl", SB, b'["a", {"B": "AAE="}]\n', [("a", b"\x00\x01")]),
        ("k.jsonl", B, b'{"pk": {"B": "AAE="}}\n', [b"\x00\x01"]),
        ("k.jsonl", S, b'\xef\xbb\xbf"a"\r\n\r\n  \n"b"\r\n', ["a", "b"]),
        ("k.jsonl", S, '"\u2028ü"\n'.encode(), ["\u2028ü"]),
        ("k.jsonl", S, b"", []),
        ("k.jsonl", S, b"\n\n", []),
        ("k.csv", S, b"\xef\xbb\xbfpk\r\n007\r\n\r\n\"a,b\"\r\n", ["007", "a,b"]),
        ("k.csv", S, b'pk\n"two\nlines"\nnext\n', ["two\nlines", "next"]),
        ("k.csv", SN, b"sk,pk\n1.50, a \n", [(" a ", Decimal("1.5"))]),
        ("k.csv", SB, b"pk,sk\na,AAE=\n", [("a", b"\x00\x01")]),
        ("k.csv", S, b"pk\n", []),
        ("k.csv", S, b"", []),
        ("k.json", S, b'{"pk":{"S":"a"}}\n{"Item":{"pk":{"S":"b"},"x":{"L":[]}}}\n', ["a", "b"]),
        ("k.json", SN, b'{"Keys":{"sk":{"N":"1"},"pk":{"S":"a"}},"NewImage":{}}\n', [("a", Decimal(1))]),
        ("k.json", S, b'{"Key":{"pk":{"S":"a"}}}\n', ["a"]),
        ("K.CSV", S, b"pk\na\n", ["a"]),
        ("keys", S, b'"a"\n', ["a"]),
    ],
)  # fmt: skip
def test_a_file_is_read_exactly(
    tmp_path: Path, name: str, schema: KeySchema, content: bytes, expected: list[object]
) -> None:
    (tmp_path / name).write_bytes(content)

    assert expected == list(read_keys(str(tmp_path / name), None, schema).keys)


@pytest.mark.parametrize(
    ("name", "schema", "content", "fault"),
    [
        ("k.jsonl", S, b'"a"\n\n"b\n', "line 3: key at position 1: the value is not JSON"),
        ("k.jsonl", S, b'"a"\n1\n', "line 2: key at position 1: attribute 'pk' has type N, but the key needs S"),
        ("k.jsonl", N, b"1e400\n", "line 1: key at position 0: attribute 'pk' is not a DynamoDB number: magn"),
        ("k.jsonl", N, b"NaN\n", "line 1: key at position 0: the value has NaN, which JSON does not know"),
        ("k.jsonl", N, f"{LONG}9\n".encode(), "39 significant digits"),
        ("k.jsonl", S, b'{"id":"a"}\n', "line 1: key at position 0 lacks the attribute 'pk'"),
        ("k.jsonl", S, b'{"pk":"a","x":1}\n', "line 1: key at position 0 has 'x' beside the table's key attributes"),
        ("k.jsonl", S, b'{"pk":"a","pk":"b"}\n', "has the name pk twice in one object"),
        ("k.jsonl", S, b'["a","b"]\n', "has 2 parts, but the table's key has 1"),
        ("k.jsonl", SN, b'"a"\n', "is a single str, but the table's key has two attributes"),
        ("k.jsonl", S, b'""\n', "is empty, which DynamoDB refuses in keys"),
        ("k.jsonl", S, b"true\n", "is a bool"),
        ("k.jsonl", S, b'"\xff"\n', "line 1 is not UTF-8 (at byte 2)"),
        ("k.jsonl", S, '"a"\n'.encode("utf-16"), "line 1 starts like UTF-16; save the file as UTF-8"),
        ("k.jsonl", S, b'"a"\n"' + b"x" * 5_000_000, "line 2 is longer than 4,194,304 bytes"),
        ("k.jsonl", B, b'{"pk":{"B":"?"}}\n', "its contents are not base64 text"),
        ("k.jsonl", B, b'"AAE="\n', "has type S, but the key needs B"),
        ("k.csv", S, b"pk,total\na,1\n", "line 1 names the column 'total'; the header must name the key"),
        ("k.csv", S, b" pk\na\n", "line 1 names the column ' pk'; take the spaces around 'pk' away"),
        ("k.csv", SN, b"pk\na\n", "line 1 names 'pk'; the header must name the key attributes (pk, sk)"),
        ("k.csv", S, b"pk\na\nb,c\n", "line 3 has 2 cells, but the header names 1 columns"),
        ("k.csv", SN, b"pk,sk\na,one\n", "line 2 column 'sk' does not hold a number"),
        ("k.csv", SN, b"pk,sk\na,nan\n", "line 2 column 'sk' does not hold a number"),
        ("k.csv", SB, b"pk,sk\na,?\n", "line 2 column 'sk' does not hold base64 text"),
        ("k.csv", S, b'pk\n"a"b\n', "line 2 is not CSV"),
        ("k.csv", S, b'pk\na\n""\n', "line 3: key at position 1: attribute 'pk' is empty"),
        ("k.json", S, b'"a"\n', 'line 1 is no DynamoDB-JSON such as {"pk": {"S": "a"}}; for plain keys give'),
        ("k.json", S, b'{\n  "pk": {"S": "a"}\n}\n', "line 1 is not one whole JSON value; one key per line is wanted"),
        ("k.json", S, b'[{"pk":{"S":"a"}}]\n', "line 1 is an array; one key per line is wanted"),
        ("k.jsonl", S, b'"a\t"\n', "the value is not JSON: Invalid control character at character 3"),
        ("k.jsonl", N, b"9" * 5000, "the value has a number with too many digits or out of range"),
        ("k.jsonl", S, b"[" * 200_000 + b"]" * 200_000, "the value is nested too deeply"),
        ("k.json", S, b'{"pk":"a"}\n', "line 1: key at position 0: attribute pk is of type str where a tagged value"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line(
    tmp_path: Path, name: str, schema: KeySchema, content: bytes, fault: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(CommandError) as raised:
        read_keys(str(tmp_path / name), None, schema)

    assert 2 == raised.value.exit_code
    assert fault in str(raised.value)
    assert name in str(raised.value)


def test_a_position_leads_back_to_its_line(tmp_path: Path) -> None:
    (tmp_path / "k.jsonl").write_text('\n"a"\n"b"\n\n\n"c"\n"d"\n')

    keys = read_keys(str(tmp_path / "k.jsonl"), KeyFormat.JSONL, S)

    assert [2, 3, 6, 7] == [keys.line_of(position) for position in range(4)]


def test_drained_keys_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "k.jsonl").write_text('"a"\n"b"\n')
    keys = read_keys(str(tmp_path / "k.jsonl"), None, S)

    assert (["a", "b"], 0, 2) == (list(keys.drain()), len(keys.keys), keys.count)


@pytest.mark.parametrize("source", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(source: str) -> None:
    with pytest.raises(CommandError, match=r"cannot read (missing\.jsonl|\.): "):
        read_keys(source, None, S)


def test_a_bad_line_ends_the_command_with_2_and_nothing_is_written(offline: Itemledger) -> None:
    offline.write("keys.jsonl", '"a"\n{]\n')

    ended = offline(
        "read", "Orders", "--key", "pk:S", "--keys", "keys.jsonl", "--out", "items.jsonl", "--evidence", "run.jsonl",
        "--hold", "hold.json",
    )  # fmt: skip

    assert (2, "") == (ended.exit_code, ended.stdout)
    assert "itemledger: keys.jsonl line 2: key at position 1: the value is not JSON" in ended.stderr
    assert 1 == len(ended.stderr.splitlines())
    assert {"keys.jsonl"} == offline.files()


def test_stdin_is_named_in_faults(offline: Itemledger) -> None:
    ended = offline("read", "Orders", "--key", "pk:S", "--keys", "-", stdin="1\n")

    assert 2 == ended.exit_code
    assert "itemledger: stdin line 1: key at position 0" in ended.stderr


@pytest.mark.parametrize("key", ["pk", "pk:X", ":S", "pk:S,sk", "a:S,b:S,c:S", "pk:S,pk:N", ""])
def test_a_key_option_that_says_no_schema_is_refused(key: str) -> None:
    with pytest.raises(CommandError, match="write it like pk:S or pk:S,sk:N"):
        key_option(key)


def test_a_name_in_the_key_option_may_hold_a_colon() -> None:
    assert KeySchema.of({"a:b": "S", "sk": "N"}) == key_option("a:b:S,sk:N")
