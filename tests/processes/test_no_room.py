"""No room for the ledger, or no right to write it: one sentence, nothing sent that is not written down, and then on."""

from __future__ import annotations

import ctypes
import os
import re
import resource
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Ended, Itemledger
from tests.engines.launch import Engine
from tests.processes.bench import Bench, orders
from tests.processes.conftest import MakeBench
from tests.processes.wire import Wire, wire_to

HOUR_S, KB = 3600.0, 1024
UNHURRIED = {"lease_s": 60.0, "call_timeout_s": 40.0}
READ_TIMEOUT_S = 30.0
#: From too little for the first transaction to the middle of the work.
ROOMS_KB = [8, 100, 350, 450, 600]
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def test_wherever_the_room_ends_nothing_is_sent_that_is_not_written_down_and_with_room_it_goes_on(
    moto: Engine, make_bench: MakeBench
) -> None:
    sent = []
    for room in ROOMS_KB:
        with wire_to(moto.endpoint_url) as wire:
            bench = make_bench(moto, wire, orders(300), **UNHURRIED)
            cut_off = bench.start(file_bytes=room * KB, concurrency=2, read_timeout_s=READ_TIMEOUT_S)
            assert 1 == cut_off.end(), f"{room} KB"
            assert re.fullmatch(r"\S+/ledger.db could not be read or written \(.*\); check the disk and run this again",
                                cut_off.told()["error"])  # fmt: skip
            check_written_down(bench)
            sent.append(wire.sends().total())

            bench.start(clock=[[0, HOUR_S]], concurrency=2, read_timeout_s=READ_TIMEOUT_S).ends_well()

            bench.check_all_written(moto.client())
            assert [] == wire.unproven()
    assert 0 in sent, "none of these rooms ended while it planned"
    assert max(sent) > 0, "none of these rooms ended while it worked"


def test_the_command_says_in_a_sentence_that_there_is_no_room_and_the_same_line_goes_on(
    moto: Engine, wire: Wire, make_bench: MakeBench, itemledger: Itemledger
) -> None:
    bench = make_bench(moto, wire, orders(300))
    line = bench.command_line()

    cut_off = itemledger.end(itemledger.start(*line, preexec_fn=room_of(600 * KB)))

    assert 0 != cut_off.exit_code
    assert re.search(r"^itemledger: \S+ could not be read or written .*check the disk and run this again",
                     cut_off.stderr, re.MULTILINE), cut_off.stderr  # fmt: skip
    assert "Traceback" not in cut_off.stderr
    check_written_down(bench)
    assert 0 == itemledger(*line).exit_code
    bench.check_all_written(moto.client())
    assert [] == wire.unproven()


def test_without_the_right_to_write_the_command_says_so_sends_nothing_and_goes_on_when_it_has_it(
    moto: Engine, wire: Wire, make_bench: MakeBench, itemledger: Itemledger
) -> None:
    bench = make_bench(moto, wire, orders(30))
    line = bench.command_line()

    def refused(path: Path, mode: int) -> str:
        before = path.stat().st_mode
        path.chmod(mode)
        try:
            ended = itemledger.end(itemledger.start(*line, preexec_fn=give_up_roots_rights))
        finally:
            path.chmod(before)
        assert 0 != ended.exit_code
        assert "Traceback" not in ended.stderr
        return said(ended)

    file = bench.directory / "ledger.db"
    assert re.fullmatch(r"\S+ cannot be made \(Permission denied\); give a path in a directory that this user can "
                        "write to", refused(bench.directory, 0o555))  # fmt: skip
    bench.start(work=False).ends_well()
    for path, mode in ((file, 0o444), (bench.directory, 0o555)):
        assert re.fullmatch(r"\S+ cannot be (written; make|opened; check) .*", refused(path, mode))
    assert {} == wire.sends()
    assert 0 == itemledger(*line).exit_code
    bench.check_all_written(moto.client())


def said(ended: Ended) -> str:
    """The one sentence with which a command that could not begin ends."""
    (sentence,) = [line for line in ended.stderr.splitlines() if line.startswith("itemledger: ")]
    return sentence.removeprefix("itemledger: ")


def check_written_down(bench: Bench) -> None:
    bench.wire.wait_until_idle()
    sends = bench.wire.sends()
    if sends:
        rows = dict(zip(bench.items, bench.rows(), strict=True))
        assert [] == [name for name, times in sends.items() if rows[name].dispatches < times]


def room_of(file_bytes: int) -> Callable[[], None]:
    """No file may become longer; the interpreter ignores the signal, so a write fails like one on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))


def give_up_roots_rights() -> None:
    """Root may write everything, unless the right to pass over permissions is taken from what it starts."""
    if os.geteuid() == 0:
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "this root may not give up its rights; run the tests as a user")


_libc = ctypes.CDLL(None, use_errno=True)
