"""The files of a read: complete or absent, never overwritten by accident, and true where they could not be written."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import resource
import select
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from itemledger.cli.output import Paths
from itemledger.cli.problems import CommandError
from itemledger.cli.target import OutputError, Target
from tests.cli.conftest import GIVE_UP_S, Itemledger, put
from tests.cli.proxy import Proxy
from tests.conftest import MakeTable
from tests.engines.launch import Engine

KEYS = [f"k{n}" for n in range(250)]


@pytest.mark.parametrize("taken", ["items.jsonl", "run.jsonl", "hold.json", "where.jsonl"])
def test_a_file_that_exists_is_refused_before_anything_is_asked(
    il: Itemledger, proxy: Proxy, orders: str, taken: str
) -> None:
    il.write(taken, "precious")

    ended = il(
        "read", orders, "--keys", il.keys(KEYS), "--out", "items.jsonl", "--evidence", "run.jsonl", "--hold",
        "hold.json", "--dispositions", "where.jsonl",
    )  # fmt: skip

    assert (2, []) == (ended.exit_code, proxy.requests)
    assert f"{taken} exists already; choose another name, or pass --force to replace it" in ended.stderr
    assert ("precious", {"keys.jsonl", taken}) == ((il.directory / taken).read_text(), il.files())


def test_force_replaces_files_and_leaves_no_hold_record_that_nobody_needs(il: Itemledger, orders: str) -> None:
    for name in ("items.jsonl", "run.jsonl", "hold.json"):
        il.write(name, "old")

    ended = il(
        "read", orders, "--keys", il.keys(KEYS), "--out", "items.jsonl", "--evidence", "run.jsonl", "--hold",
        "hold.json", "--force",
    )  # fmt: skip

    assert 0 == ended.exit_code, ended.stderr
    assert 250 == len(il.rows("items.jsonl"))
    assert 0 == il("verify", "run.jsonl").exit_code
    assert "old" == (il.directory / "hold.json").read_text()


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"evidence": "real"}, "--out and --evidence are one file"),
        ({"dispositions": "soft"}, "--out and --dispositions are one file"),
        ({"hold": "hard"}, "--out and --hold are one file"),
        ({"hold": "linked/real"}, "--out and --hold are one file"),
        ({"dispositions": ".real.part"}, "--out and --dispositions are one file"),
        ({"inputs": {"--keys": Path("soft")}}, "--out would replace soft, which --keys reads"),
        ({"inputs": {"HOLD": Path("hard")}}, "--out would replace hard, which HOLD reads"),
    ],
)
def test_two_outputs_need_two_files_and_none_may_be_an_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("real").write_bytes(b"")
    Path("hard").hardlink_to("real")
    Path("soft").symlink_to("real")
    Path("linked").symlink_to(".")
    paths: dict[str, Any] = {name: Path(value) if isinstance(value, str) else value for name, value in other.items()}

    with pytest.raises(CommandError, match=re.escape(sentence)):
        Paths(items=Path("real"), force=True, **paths)


def test_no_output_may_be_the_token_key_of_the_evidence() -> None:
    with pytest.raises(CommandError, match="--out and the token key of --evidence are one file"):
        Paths(items=Path("run.jsonl.key"), evidence=Path("run.jsonl"))


def test_a_device_may_be_read_and_written() -> None:
    Paths(items=Path(os.devnull), inputs={"--keys": Path(os.devnull), "--require": None})


def test_force_is_no_leave_to_write_over_what_the_command_reads(offline: Itemledger) -> None:
    offline.keys(["a"])
    offline.keys(["a"], "required.jsonl")
    offline.write("hold.json", json.dumps({}))

    keys = offline("read", "Orders", "--keys", "keys.jsonl", "--out", "keys.jsonl", "--force")
    required = offline(
        "read", "Orders", "--keys", "keys.jsonl", "--require", "required.jsonl", "--hold", "./required.jsonl", "--force"
    )

    assert (2, 2) == (keys.exit_code, required.exit_code)
    assert "--out would replace keys.jsonl, which --keys reads; name another file" in keys.stderr
    assert "--hold would replace required.jsonl, which --require reads; name another file" in required.stderr


def test_resume_does_not_replace_the_hold_record_that_it_reads(il: Itemledger, proxy: Proxy, orders: str) -> None:
    proxy.fail_from(1, "ValidationException")
    assert 4 == il("read", orders, "--keys", il.keys(KEYS), "--hold", "hold.json").exit_code
    before = (il.directory / "hold.json").read_bytes()

    ended = il("resume", "hold.json", "--hold", "hold.json", "--force")

    assert 2 == ended.exit_code
    assert "--hold would replace hold.json, which HOLD reads; name another file" in ended.stderr
    assert before == (il.directory / "hold.json").read_bytes()


def test_a_directory_that_is_not_there_is_said_before_the_first_call(il: Itemledger, proxy: Proxy, orders: str) -> None:
    ended = il("read", orders, "--keys", il.keys(KEYS), "--out", "items.jsonl", "--evidence", "no/where.jsonl")

    assert (2, []) == (ended.exit_code, proxy.requests)
    assert "cannot write no/where.jsonl: No such file or directory; nothing was read" in ended.stderr
    assert {"keys.jsonl"} == il.files()


def test_a_full_disk_stops_the_read_and_unwritten_keys_stay_unresolved(il: Itemledger, orders: str) -> None:
    ended = il(
        "read", orders, "--keys", il.keys(KEYS), "--out", "/dev/full", "--evidence", "run.jsonl", "--hold", "hold.json"
    )  # fmt: skip

    assert 4 == ended.exit_code
    assert "cannot write /dev/full: No space left on device; the read was stopped, 0 of 250 keys" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert [[0, 249]] == json.loads((il.directory / "hold.json").read_text())["unresolved"]
    assert 0 == il("verify", "run.jsonl").exit_code
    resumed = il("resume", "hold.json")
    assert (0, set(KEYS)) == (resumed.exit_code, {row["pk"] for row in resumed.rows})


def test_rows_that_could_not_be_delivered_are_not_told_as_complete(il: Itemledger, orders: str) -> None:
    ended = il("read", orders, "--keys", il.keys(["k1"]), "--out", "/dev/full")

    assert 4 == ended.exit_code
    assert "  stopped by    interrupted, because output failed" in ended.stderr.splitlines()
    assert "complete" not in ended.stderr
    assert {"keys.jsonl", il.hold().name} == il.files(), "the hold record has no place beside a device"


def test_a_disk_that_fills_up_keeps_whole_lines_and_resume_reads_the_rest(
    il: Itemledger, moto: Engine, make_table: MakeTable
) -> None:
    table, keys = make_table(moto), [f"k{n}" for n in range(150)]
    put(moto, table, ({"pk": {"S": key}, "v": {"S": "x" * 2_000}} for key in keys))
    reading = il.start(
        "read", table, "--keys", il.keys(keys), "--concurrency", "1", "--out", "items.jsonl", "--dispositions",
        "where.jsonl", "--evidence", "run.jsonl", "--hold", "hold.json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, 250_000)),
    )  # fmt: skip

    stopped = il.end(reading)

    assert 4 == stopped.exit_code, stopped.stderr
    assert (
        "cannot write items.jsonl: File too large; the read was stopped, 100 of 150 keys are settled" in stopped.stderr
    )
    assert 100 == len(il.rows("items.jsonl"))
    assert 150 == len(il.rows("where.jsonl"))
    assert 0 == il("verify", "run.jsonl").exit_code
    resumed = il("resume", "hold.json", "--out", "rest.jsonl")
    assert 0 == resumed.exit_code
    assert sorted(keys) == sorted(row["pk"] for row in il.rows("items.jsonl") + il.rows("rest.jsonl"))


def test_evidence_that_cannot_be_written_stops_the_read_before_the_first_call(
    il: Itemledger, proxy: Proxy, orders: str
) -> None:
    evidence = ("--evidence", "/dev/full", "--plain-keys")

    ended = il("read", orders, "--keys", il.keys(KEYS), "--out", "items.jsonl", *evidence)

    assert (2, []) == (ended.exit_code, proxy.requests)
    assert "cannot write /dev/full: No space left on device; nothing was read" in ended.stderr


def test_a_device_has_no_place_for_a_token_key(il: Itemledger, proxy: Proxy, orders: str) -> None:
    ended = il("read", orders, "--keys", il.keys(KEYS), "--out", "items.jsonl", "--evidence", os.devnull)

    assert (2, []) == (ended.exit_code, proxy.requests)
    assert "/dev/null has no place for a token key beside it; set ITEMLEDGER_TOKEN_KEY" in ended.stderr
    assert {"keys.jsonl"} == il.files()


def test_a_read_that_could_not_begin_takes_its_token_key_away_again(il: Itemledger, proxy: Proxy, orders: str) -> None:
    reading = il.start(
        "read", orders, "--keys", il.keys(KEYS), "--out", "items.jsonl", "--evidence", "run.jsonl",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)),
    )  # fmt: skip

    assert (2, []) == (il.end(reading).exit_code, proxy.requests)
    assert {"keys.jsonl"} == il.files()


def test_evidence_cut_by_a_full_disk_proves_nothing_and_says_so(il: Itemledger, orders: str) -> None:
    reading = il.start(
        "read", orders, "--keys", il.keys(KEYS), "--concurrency", "1", "--evidence", "run.jsonl", "--hold", "hold.json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000)),
    )  # fmt: skip

    stopped = il.end(reading)

    assert 4 == stopped.exit_code, stopped.stderr
    assert "cannot write run.jsonl: File too large; the read was stopped" in stopped.stderr
    assert "the end of run.jsonl, so it proves nothing" in stopped.stderr
    verified = il("verify", "run.jsonl")
    assert 1 == verified.exit_code
    assert "the file ends early, before its summary" in verified.stderr
    resumed = il("resume", "hold.json")
    assert sorted(KEYS) == sorted(row["pk"] for row in stopped.rows + resumed.rows)


def test_a_reader_that_leaves_stops_the_read_without_a_traceback(il: Itemledger, orders: str) -> None:
    reading = il.start("read", orders, "--keys", il.keys(KEYS), "--concurrency", "1")
    assert reading.stdout is not None
    reading.stdout.close()
    reading.stdout = None

    ended = il.end(reading)

    assert 1 == ended.exit_code
    assert (
        "itemledger: the reader of stdout has gone, so the read was stopped; 0 of 250 keys are settled" in ended.stderr
    )
    assert "Traceback" not in ended.stderr
    assert {"keys.jsonl"} == il.files()


def test_a_hold_record_that_was_asked_for_is_written_even_then(il: Itemledger, orders: str) -> None:
    reading = il.start("read", orders, "--keys", il.keys(KEYS), "--hold", "hold.json", "--json")
    assert reading.stdout is not None
    reading.stdout.close()
    reading.stdout = None

    ended = il.end(reading)

    assert (1, "hold") == (ended.exit_code, json.loads(ended.stderr)["decision"])
    assert [[0, 249]] == json.loads((il.directory / "hold.json").read_text())["unresolved"]


def test_a_read_goes_on_when_nobody_listens_on_stderr(il: Itemledger, orders: str) -> None:
    reading = il.start("read", orders, "--keys", il.keys(KEYS), "--concurrency", "1", "--dispositions", "where.jsonl")
    assert reading.stderr is not None
    reading.stderr.close()
    reading.stderr = None

    ended = il.end(reading)

    assert (0, 250, 250) == (ended.exit_code, len(ended.rows), len(il.rows("where.jsonl")))


def test_with_stdout_closed_nothing_is_asked(il: Itemledger, proxy: Proxy, orders: str) -> None:
    closed = il.end(il.start("read", orders, "--keys", il.keys(KEYS), preexec_fn=lambda: os.close(1)))
    to_a_file = il.end(
        il.start(
            "read", orders, "--keys", "keys.jsonl", "--out", "items.jsonl",
            preexec_fn=lambda: os.closerange(0, 3),
        )
    )  # fmt: skip

    assert (2, "itemledger: stdout is closed; name a file with --out\n") == (closed.exit_code, closed.stderr)
    assert (0, 250) == (to_a_file.exit_code, len(il.rows("items.jsonl")))


def test_a_pipe_by_name_is_written_straight(il: Itemledger, orders: str) -> None:
    reader, writer = os.pipe()
    with open(reader) as rows:
        reading = il.start(
            "read", orders, "--keys", il.keys(["k1"]), "--out", f"/dev/fd/{writer}", pass_fds=(writer,)
        )  # fmt: skip
        os.close(writer)

        assert [{"pk": "k1", "n": 1}] == [json.loads(row) for row in rows]
        assert 0 == il.end(reading).exit_code


def test_a_second_signal_leaves_at_once(il: Itemledger, orders: str) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    reading = il.start(
        "read", orders, "--keys", il.keys(KEYS), "--concurrency", "1", "--hold", "hold.json", stdout=writer
    )  # fmt: skip
    try:
        give_up_at = time.monotonic() + GIVE_UP_S
        while select.select([], [writer], [], 0)[1]:  # until it is full: nobody reads, so the command is stuck in it
            assert time.monotonic() < give_up_at
            time.sleep(0.01)

        reading.send_signal(signal.SIGINT)
        reading.send_signal(signal.SIGTERM)
        ended = il.end(reading)
    finally:
        os.close(reader)
        os.close(writer)

    assert 143 == ended.exit_code
    assert "stopped again: left at once" in ended.stderr
    assert "hold.json" not in il.files()


def test_where_the_hold_record_cannot_stand_beside_it_goes_to_the_temporary_directory(
    il: Itemledger, proxy: Proxy, orders: str
) -> None:
    proxy.fail_from(2, "ValidationException")
    elsewhere = il.directory / "tmp"
    elsewhere.mkdir()
    il.environment = {"TMPDIR": str(elsewhere)}

    # Nobody can write into /proc, not even root.
    reading = il.start("read", orders, "--keys", il.keys(KEYS), "--concurrency", "1", "--json", cwd="/proc")
    ended = il.end(reading)

    assert 4 == ended.exit_code
    (hold,) = elsewhere.iterdir()
    assert str(hold) == json.loads(ended.stderr)["files"]["hold"]
    assert 0o600 == stat.S_IMODE(hold.stat().st_mode)


# ------------------------------------------------------------------------------------------------- one file by itself


def test_what_another_process_is_writing_is_refused_before_anything_is_asked(
    il: Itemledger, proxy: Proxy, orders: str
) -> None:
    ours = Target(il.directory / "items.jsonl")
    ours.open()
    ours.write(b"ours")

    ended = il(
        "read", orders, "--keys", il.keys(KEYS), "--evidence", "run.jsonl", "--out", "items.jsonl", "--force"
    )  # fmt: skip

    assert (2, []) == (ended.exit_code, proxy.requests)
    assert "cannot write items.jsonl: another itemledger is writing it; nothing was read" in ended.stderr
    ours.keep()
    assert {"keys.jsonl", "items.jsonl"} == il.files()
    assert b"ours" == (il.directory / "items.jsonl").read_bytes()


def test_what_a_killed_run_left_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "finished").write_bytes(b"finished")
    (tmp_path / ".f.part").hardlink_to(tmp_path / "finished")
    target = Target(tmp_path / "f", private=True)
    target.open()
    target.write(b"new")

    target.keep()

    assert {"f", "finished"} == set(os.listdir(tmp_path))
    assert (b"new", 0o600) == ((tmp_path / "f").read_bytes(), stat.S_IMODE((tmp_path / "f").stat().st_mode))
    assert b"finished" == (tmp_path / "finished").read_bytes()


def test_a_part_that_is_no_file_of_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"victim")
    (tmp_path / ".f.part").symlink_to(tmp_path / "victim")

    with pytest.raises(OutputError, match=r"\.f\.part is in the way .*; remove it"):
        Target(tmp_path / "f").open()

    assert b"victim" == (tmp_path / "victim").read_bytes()


def test_a_target_is_absent_until_it_is_kept(tmp_path: Path) -> None:
    target = Target(tmp_path / "f")
    target.open()
    target.write(b"half")

    assert not (tmp_path / "f").exists()
    target.write(b" and half")
    target.keep()
    assert ["f"] == os.listdir(tmp_path)
    assert b"half and half" == (tmp_path / "f").read_bytes()


def test_a_dropped_target_leaves_nothing(tmp_path: Path) -> None:
    target = Target(tmp_path / "f")
    target.open()
    target.write(b"half")

    target.drop()

    assert [] == os.listdir(tmp_path)


def test_a_file_that_appeared_during_the_run_is_not_overwritten(tmp_path: Path) -> None:
    target = Target(tmp_path / "f")
    target.open()
    target.write(b"ours")
    (tmp_path / "f").write_bytes(b"theirs")

    with pytest.raises(OutputError, match=r"what there is stands in .*\.part"):
        target.keep()

    assert b"theirs" == (tmp_path / "f").read_bytes()
    (aside,) = (path for path in tmp_path.iterdir() if path.name != "f")
    assert b"ours" == aside.read_bytes()


def test_what_is_reserved_is_on_the_disk_and_what_is_unused_is_given_back(tmp_path: Path) -> None:
    target = Target(tmp_path / "f", private=True)
    target.open(reserve=1_000_000)
    (aside,) = tmp_path.iterdir()

    assert 1_000_000 <= aside.stat().st_blocks * 512
    target.write(b"short")
    target.keep()
    assert (b"short", 0o600) == ((tmp_path / "f").read_bytes(), stat.S_IMODE((tmp_path / "f").stat().st_mode))


def test_a_disk_without_room_for_the_reserve_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)

    with pytest.raises(OutputError, match="No space left on device"):
        Target(tmp_path / "f").open(reserve=1)

    assert [] == os.listdir(tmp_path)


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "f")
    target = Target(tmp_path / "link")
    target.open()
    target.write(b"x")

    target.keep()

    assert (True, b"x") == ((tmp_path / "link").is_symlink(), (tmp_path / "real" / "f").read_bytes())


def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    target = Target(Path(os.devnull), force=True)
    target.open()
    target.write(b"x")

    target.keep()

    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
