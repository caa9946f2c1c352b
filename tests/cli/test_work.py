"""``itemledger work``: what is due goes on, in one operation or in all; what cannot be worked on is said."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from itemledger.apis import BatchWriteItem
from itemledger.cli.signals import Signals, StoppedError
from itemledger.cli.stopper import Stopper
from itemledger.cli.voice import Voice
from itemledger.core.batches import Ask
from itemledger.core.outcome import Event
from itemledger.core.rows import Operation
from itemledger.ledger import Policy
from tests.cli.conftest import InProcess
from tests.cli.ledgers import OPERATION, QUEUE, QUEUE_URL, URL, Made
from tests.conftest import MakeTable
from tests.engines.launch import Engine

L = ("--ledger", URL)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path, now=time.time())


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody listens where calls go."""
    with socket.socket() as bound:  # and not listening: the connection is refused
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        yield


def test_all_that_is_due_is_sent_and_then_nothing_is_left(
    cli: InProcess, made: Made, moto: Engine, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(moto)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", moto.endpoint_url)
    api = BatchWriteItem(table_name=table, key={"pk": "S"})
    with made.open() as ledger:
        for name in ("first", "second"):
            ledger.plan(name, api, [{"pk": f"{name}-{n}"} for n in range(3)], policy=Policy(), store_payloads=True)

    one, rest, none = cli("work", *L, "--operation", "second"), cli("work", *L, "--json"), cli("work", *L)

    assert (0, 0, 0) == (one.exit_code, rest.exit_code, none.exit_code), rest.stderr
    assert "working on 3 items of second: dynamodb.BatchWriteItem at " in one.stderr
    assert [("first", 3)] == [(told["operation"], told["succeeded"]) for told in json.loads(rest.stdout)["operations"]]
    assert "nothing is left that a worker could move\n" == none.stderr
    assert 6 == moto.client().scan(TableName=table, Select="COUNT")["Count"]


def test_what_only_a_person_moves_holds_and_the_next_command_is_named(cli: InProcess, made: Made, dead: None) -> None:
    made.plan(2)
    made.send(Event.LOST, Event.CONFIRMED)

    ended = cli("work", *L)

    assert 4 == ended.exit_code, ended.stderr
    assert "  in review     1 for a person: 1 no_look_up\n" in ended.stderr
    assert f"itemledger ledger review --ledger {URL} --operation {OPERATION}\n" in ended.stderr


def test_what_is_left_at_the_deadline_is_a_retry(cli: InProcess, made: Made, dead: None) -> None:
    made.plan(1)

    ended = cli("work", *L, "--timeout", "0.2")

    assert 3 == ended.exit_code
    assert "the deadline of 0.2 s came with 1 of 1 item without an end; --timeout sets another" in ended.stderr


def test_the_lease_of_a_worker_that_died_is_told(cli: InProcess, made: Made, dead: None) -> None:
    made.plan(3)
    with made.open() as ledger:
        claimed = ledger.store.claim(OPERATION, Ask("dead", QUEUE.limits))
        assert claimed.batch is not None
        ledger.store.dispatch(claimed.batch.epoch)

    ended = cli("work", *L, "--timeout", "0.2")

    assert 3 == ended.exit_code
    assert "3 items wait for the lease of an earlier or another worker (" in ended.stderr


def test_an_item_that_is_gone_from_its_file_waits_for_a_person_and_is_not_sent(
    cli: InProcess, made: Made, dead: None, tmp_path: Path
) -> None:
    (tmp_path / "mails.jsonl").write_text('{"MessageBody": "a"}\n')
    target = ("--queue-url", QUEUE_URL, "--items", "mails.jsonl", "--operation", "file")
    planned = cli("send", QUEUE.name, *target, *L, "--timeout", "0.2", "--backoff-cap", "0.1")
    (tmp_path / "mails.jsonl").write_text('{"MessageBody": "b"}\n')

    ended = cli("work", *L, "--json")

    assert (3, 4) == (planned.exit_code, ended.exit_code), ended.stderr
    assert "row 1 is set aside: its payload is no longer what was planned\n" in ended.stderr
    (told,) = json.loads(ended.stdout)["operations"]
    assert ("hold", 0, {"source_changed": 1}) == (told["decision"], told["calls"], told["reviews"])
    assert "put the input back as it was, then this line goes on" in told["next_action"]


def test_a_file_that_cannot_be_read_ends_the_run_and_says_so(
    cli: InProcess, made: Made, dead: None, tmp_path: Path
) -> None:
    (tmp_path / "mails.jsonl").write_text('{"MessageBody": "a"}\n')
    target = ("--queue-url", QUEUE_URL, "--items", "mails.jsonl", "--operation", "file")
    cli("send", QUEUE.name, *target, *L, "--timeout", "0.2", "--backoff-cap", "0.1")
    (tmp_path / "mails.jsonl").unlink()

    ended = cli("work", *L, "--operation", "file", "--json")

    (told,) = json.loads(ended.stdout)["operations"]
    assert (4, "hold", 0, {}) == (ended.exit_code, told["decision"], told["calls"], told["reviews"])
    assert "mails.jsonl cannot be read" in told["problem"]
    assert "remove the cause, then this line goes on" in told["next_action"]


def test_what_is_not_built_in_or_not_planned_to_its_end_is_left_out_and_said(
    cli: InProcess, made: Made, dead: None
) -> None:
    made.plan_own()
    with made.open() as ledger:
        ledger.store.open_operation(Operation("half", QUEUE.name, QUEUE.target, Policy()))

    ended, named = cli("work", *L, "--json"), cli("work", *L, "--operation", "refunds")

    assert (4, 2) == (ended.exit_code, named.exit_code)
    left_out = {told["operation"]: told["reason"] for told in json.loads(ended.stdout)["left_out"]}
    assert "bank.refund is not built in; its 1 item wait for your own worker" == left_out["refunds"]
    assert "its planning was interrupted" in left_out["half"]
    assert "bank.refund is not built in" in named.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--header-env", "Authorization=HOME"], "--header-env would go to every HTTP server of the ledger"),
        (["--operation", "nothing"], "this ledger has no operation 'nothing'"),
        (["--timeout", "0"], "--timeout must be more than zero and finite; got 0"),
    ],
)
def test_options_that_make_no_sense_end_with_2(
    cli: InProcess, made: Made, dead: None, arguments: list[str], sentence: str
) -> None:
    made.plan(1)

    ended = cli("work", *L, *arguments)

    assert (2, True) == (ended.exit_code, sentence in ended.stderr), ended.stderr


@pytest.mark.parametrize("inline", [True, False])
def test_a_signal_is_raised_once_and_never_where_it_would_lose_a_call(inline: bool) -> None:
    with Signals() as signals:
        signals.shield()
        stopper = Stopper(signals, Voice(), inline=inline)
        os.kill(os.getpid(), signal.SIGINT)

        entered = 0
        for _ in range(2):
            with suppress(StoppedError), stopper.waiting():
                entered += 1
        if inline:
            with pytest.raises(StoppedError):
                stopper.check()
        stopper.check()
        stopper.sleep(0.0)

    assert (2 if inline else 1) == entered


def test_working_makes_no_ledger(cli: InProcess, tmp_path: Path) -> None:
    assert 2 == cli("work", *L).exit_code
    assert [] == [*tmp_path.iterdir()]
