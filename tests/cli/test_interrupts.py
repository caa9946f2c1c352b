"""Ctrl-C, SIGTERM and a lost terminal in the middle of a read: what is settled is kept, the rest can be resumed."""

from __future__ import annotations

import json
import signal

import pytest

from tests.cli.conftest import GIVE_UP_S, Itemledger
from tests.cli.proxy import Proxy

KEYS = [f"k{n}" for n in range(250)] + [f"absent{n}" for n in range(50)]


@pytest.mark.parametrize("concurrency", ["1", "3"])
@pytest.mark.parametrize(("signum", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stopped_read_keeps_what_it_settled_and_resume_does_the_rest(
    il: Itemledger, proxy: Proxy, orders: str, signum: int, exit_code: int, concurrency: str
) -> None:
    arrived = proxy.hold_from(3)
    reading = il.start(
        "read", orders, "--keys", il.keys(KEYS), "--concurrency", concurrency, "--out", "items.jsonl", "--dispositions",
        "where.jsonl", "--evidence", "run.jsonl", "--hold", "hold.json", "--require", "none", "--json",
    )  # fmt: skip
    assert arrived.wait(GIVE_UP_S)

    reading.send_signal(signum)
    stopped = il.end(reading)
    proxy.released.set()

    assert exit_code == stopped.exit_code, stopped.stderr
    assert "Traceback" not in stopped.stderr
    summary = json.loads(stopped.stdout)
    assert ("hold", "interrupted", exit_code) == (summary["decision"], summary["stop_reason"], summary["exit_code"])
    assert f"stopped by {signal.Signals(signum).name}" in stopped.stderr
    assert summary["unresolved"] > 0
    assert len(KEYS) == len(il.rows("where.jsonl"))
    assert 0 == il("verify", "run.jsonl").exit_code

    resumed = il(
        "resume", "hold.json", "--out", "rest.jsonl", "--dispositions", "rest-where.jsonl", "--require", "none"
    )

    assert 0 == resumed.exit_code, resumed.stderr
    first, second = il.rows("items.jsonl") if "items.jsonl" in il.files() else [], il.rows("rest.jsonl")
    assert summary["returned"] == len(first)
    assert sorted(KEYS[:250]) == sorted(row["pk"] for row in first + second)
    settled = [row for row in il.rows("where.jsonl") if row["disposition"] != "unresolved"]
    assert sorted(KEYS) == sorted(row["key"]["pk"] for row in settled + il.rows("rest-where.jsonl"))


def test_the_hold_record_is_written_without_being_asked_for(il: Itemledger, proxy: Proxy, orders: str) -> None:
    arrived = proxy.hold_from(2)
    reading = il.start("read", orders, "--keys", il.keys(KEYS), "--concurrency", "1", "--out", "items.jsonl")
    assert arrived.wait(GIVE_UP_S)

    reading.send_signal(signal.SIGINT)
    stopped = il.end(reading)

    assert 130 == stopped.exit_code
    assert f"itemledger resume {il.hold().name}" in stopped.stderr
    assert [[100, 299]] == json.loads(il.hold().read_text())["unresolved"]


def test_before_anything_was_asked_a_signal_leaves_nothing_behind(il: Itemledger, orders: str) -> None:
    reading = il.start("read", orders, "--keys", "-", "--out", "items.jsonl", "--evidence", "run.jsonl", "--debug")
    assert reading.stdin is not None
    # It blocks on its stdin once the pipe is drained, so its handlers are in place by then.
    reading.stdin.write(b'"k1"\n' * 100_000)
    reading.stdin.flush()

    reading.send_signal(signal.SIGINT)
    stopped = il.end(reading)

    assert (130, set()) == (stopped.exit_code, il.files())
    assert "itemledger: stopped by SIGINT before anything was read; nothing was written\n" == stopped.stderr


def test_a_signal_that_was_ignored_on_purpose_stays_ignored(il: Itemledger, proxy: Proxy, orders: str) -> None:
    arrived = proxy.hold_from(2)
    reading = il.start(
        "read", orders, "--keys", il.keys(KEYS), "--concurrency", "1", "--out", "items.jsonl", "--require", "none",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    assert arrived.wait(GIVE_UP_S)

    reading.send_signal(signal.SIGHUP)
    proxy.released.set()

    assert 0 == il.end(reading).exit_code
