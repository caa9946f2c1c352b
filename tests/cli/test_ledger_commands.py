"""``itemledger ledger …``: looking changes nothing, deciding needs who and why, reports prove themselves."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from itemledger.core.outcome import Event
from itemledger.ledger import Outcome, Policy, Replay, Scope
from tests.cli.conftest import InProcess
from tests.cli.ledgers import OPERATION, START, URL, Made

L = ("--ledger", URL)
OP = ("--operation", OPERATION)
WINDOW = Replay(Scope.ITEM, 3e8, "made up for this test")
BY = ("--who", "ann", "--why", "seen in the log")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


@pytest.fixture
def ledger(made: Made) -> Made:
    """Five mails: one succeeded, one refused, one to be sent again in ten minutes, one unknown, one never sent."""
    made.plan(4)
    made.send(Event.CONFIRMED, Event.REFUSED, Event.FAILED_TRANSIENTLY, Event.LOST)
    made.settle()
    made.plan(5)
    return made


def test_the_list_has_each_operation_with_its_counts(cli: InProcess, ledger: Made) -> None:
    ledger.plan(2, "others")

    people, machines = cli("ledger", "list", *L), cli("ledger", "list", *L, "--json")

    head, first, second = people.stdout.splitlines()
    assert head.split() == ["planned", *Outcome, "review", "operation", "api"]
    assert ["5", "1", "0", "1", "1", "1", "1", "2", "mails", "sqs.SendMessageBatch"] == first.split()
    assert ["2", "2", "0", "0", "0", "0", "0", "0", "others", "sqs.SendMessageBatch"] == second.split()
    assert [("mails", 5, 2), ("others", 2, 0)] == [
        (told["operation"], told["planned"], told["waiting"]) for told in machines.rows
    ]


def test_rows_are_listed_by_operation_outcome_and_review(cli: InProcess, ledger: Made) -> None:
    unknown = cli("ledger", "list", *L, "--outcome", "reconcile")
    waiting = cli("ledger", "list", *L, *OP, "--in-review", "--json")
    none = cli("ledger", "list", *L, "--outcome", "in_flight")

    assert ["4", "1", "reconcile", "no_look_up", "ReadTimeoutError", "mails", "mails-4"] == (
        unknown.stdout.splitlines()[1].split()
    )
    assert [(2, "terminal", "refused"), (4, "reconcile", "no_look_up")] == [
        (row["number"], row["outcome"], row["review"]) for row in waiting.rows
    ]
    assert "private" not in unknown.stdout + waiting.stdout
    assert "no such rows\n" == none.stdout


def test_a_row_is_shown_with_its_whole_history_and_the_evidence(cli: InProcess, ledger: Made) -> None:
    by_number, by_item = cli("ledger", "show", "2", *L), cli("ledger", "show", "--item", "mails-2", *OP, *L)
    told = json.loads(cli("ledger", "show", "2", *L, "--json").stdout)

    assert (0, by_number.stdout) == (by_number.exit_code, by_item.stdout)
    assert by_number.stdout.startswith("row 2, as of 2026-01-01T00:00:00Z\n  operation     mails\n")
    assert "  outcome       terminal, waits for a person (refused)\n" in by_number.stdout
    assert "pending → in_flight      the call was about to begin [epoch 1]" in by_number.stdout
    (refused,) = [text for text in by_number.stdout.splitlines() if "the service rejects it" in text]
    assert "(code InvalidMessageContents, request REQUEST, label synthetic, took 12 ms) [epoch 1]" in refused
    assert ["planned", "dispatched", "refused"] == [entry["event"] for entry in told["history"]]
    assert "private" not in json.dumps(told)


def test_a_hostile_item_id_writes_nothing_else_on_the_terminal(cli: InProcess, made: Made) -> None:
    made.plan(1, "\x1b[31mred")

    shown, listed = cli("ledger", "show", "1", *L), cli("ledger", "list", *L, "--outcome", "pending")

    assert "\x1b" not in shown.stdout + listed.stdout
    assert "\\x1b[31mred-1" in listed.stdout


def test_stats_add_up_and_say_what_is_due_and_who_holds_what(cli: InProcess, ledger: Made) -> None:
    (told,) = cli("ledger", "stats", *L, "--json").rows
    text = cli("ledger", "stats", *L, *OP).stdout

    assert 5 == told["planned"] == sum(told[outcome] for outcome in Outcome)
    assert ({"refused": 1, "no_look_up": 1}, 1, {"InvalidMessageContents": 1, "ReadTimeoutError": 1, "Busy": 1}) == (
        told["reviews"],
        told["not_sent"],
        told["codes"],
    )
    assert "  planned       5 = 1 succeeded + 1 terminal + 1 retryable + 1 reconcile + 1 pending\n" in text
    assert "  sends         4 of items, 1 with an unknown end\n" in text


def test_a_decision_is_recorded_with_who_and_why(cli: InProcess, ledger: Made) -> None:
    queue = cli("ledger", "review", *L)
    decided = cli("ledger", "review", *L, "--row", "4", "--decide", "succeeded", *BY)
    again = cli("ledger", "review", *L, "--row", "2", "--decide", "retry", *BY)
    empty = cli("ledger", "review", *L)

    assert ["2", "4"] == [text.split()[0] for text in queue.stdout.splitlines()[1:]]
    assert (0, "row 4 is succeeded now, by ann\n") == (decided.exit_code, decided.stderr)
    assert "`itemledger work` sends what is to be sent again" in again.stderr
    assert "nothing waits for a person\n" == empty.stdout
    shown = cli("ledger", "show", "4", *L).stdout
    assert "reconcile → succeeded    a person decided (decided succeeded, who ann, why seen in the log)" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--row", "4", "--decide", "retry", "--why", "x"], "give --who too"),
        (["--row", "4", "--decide", "retry", "--who", " ", "--why", "x"], "give --who too"),
        (["--row", "4", *BY], "give --decide too"),
        (["--decide", "retry", *BY], "give --row too"),
        (["--row", "4", "--row", "1", "--decide", "retry", *BY], "row 1 is succeeded and not for a person to decide"),
        (["--row", "4", "--row", "99", "--decide", "retry", *BY], "this ledger has no row 99"),
        (["--row", "3", "--decide", "terminal", *BY], "row 3 is retryable and not for a person to decide as terminal"),
    ],
)
def test_what_is_not_to_be_decided_is_refused_and_nothing_of_it_is(
    cli: InProcess, ledger: Made, arguments: list[str], sentence: str
) -> None:
    refused = cli("ledger", "review", *L, *arguments)

    assert 2 == refused.exit_code
    assert sentence in refused.stderr
    with ledger.open() as opened:
        assert Outcome.RECONCILE is opened.row(4).outcome


def test_a_report_is_written_whole_verified_and_put_into_another_ledger(
    cli: InProcess, ledger: Made, tmp_path: Path
) -> None:
    export = ("ledger", "export", *L, *OP, "--out", "report.jsonl")
    written, taken, forced = cli(*export), cli(*export), cli(*export, "--force")
    verified, machine = cli("verify", "report.jsonl"), cli("verify", "report.jsonl", "--json")
    imported = cli("ledger", "import", "report.jsonl", "--ledger", "sqlite:///new.db")
    twice = cli("ledger", "import", "report.jsonl", "--ledger", "sqlite:///new.db")

    assert (0, 2, 0, 0, 0) == tuple(ended.exit_code for ended in (written, taken, forced, verified, imported)), (
        imported.stderr
    )
    total = "5 = 1 succeeded + 1 terminal + 1 retryable + 1 reconcile + 1 pending"
    assert (
        f"report.jsonl: 5 items of mails (sqs.SendMessageBatch): {total}; 1 never sent; 2 in review" in written.stderr
    )
    assert "exists already" in taken.stderr
    assert 0o600 == stat.S_IMODE((tmp_path / "report.jsonl").stat().st_mode)
    assert "private" not in (tmp_path / "report.jsonl").read_text()
    assert verified.stdout.startswith("report.jsonl: verified. 5 items of mails")
    assert (True, "mails", 5) == tuple(
        json.loads(machine.stdout)[name] for name in ("verified", "operation", "planned")
    )
    assert f"5 rows of mails put in: {total}" in imported.stderr
    assert 2 == twice.exit_code
    (there,) = cli("ledger", "list", "--ledger", "sqlite:///new.db", "--json").rows
    assert (5, 2) == (there["planned"], there["waiting"])


def test_a_forged_report_is_neither_verified_nor_imported(cli: InProcess, ledger: Made, tmp_path: Path) -> None:
    cli("ledger", "export", *L, *OP, "--out", "report.jsonl")
    report = (tmp_path / "report.jsonl").read_text()
    (tmp_path / "forged.jsonl").write_text(report.replace('"outcome":"terminal"', '"outcome":"succeeded"'))

    verified = cli("verify", "forged.jsonl")
    imported = cli("ledger", "import", "forged.jsonl", "--ledger", "sqlite:///new.db")

    assert (1, 1) == (verified.exit_code, imported.exit_code)
    assert "forged.jsonl: NOT VERIFIED: line 4: " in verified.stderr
    assert "forged.jsonl: line 4: " in imported.stderr
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize(
    ("keep_s", "replay", "older_than", "exit_code", "sentence"),
    [
        (0.0, None, "0s", 0, "mails: 1 row deleted\n"),
        (0.0, None, "9999d", 0, "mails: 0 rows deleted\n"),
        (1e9, None, "0s", 4, "  1 kept: they are younger than the run's policy keeps them (--keep)\n"),
        (
            0.0,
            WINDOW,
            "0s",
            4,
            "  1 kept: they are within the provider's window, in which a repeated send is recognised\n",
        ),
    ],
)
def test_pruning_says_what_it_kept_and_exits_with_4_where_that_was_a_refusal(
    cli: InProcess, made: Made, keep_s: float, replay: Replay | None, older_than: str, exit_code: int, sentence: str
) -> None:
    made.policy = Policy(keep_s=keep_s)
    made.plan(1)
    made.send(Event.CONFIRMED, replay=replay)

    ended = cli("ledger", "prune", *L, *OP, "--older-than", older_than)

    assert (exit_code, True) == (ended.exit_code, sentence in ended.stderr), ended.stderr


def test_an_open_review_is_kept_and_so_is_what_has_no_end_yet(cli: InProcess, ledger: Made) -> None:
    ended = cli("ledger", "prune", *L, *OP, "--older-than", "0s")

    assert 4 == ended.exit_code
    assert "mails: 1 row deleted\n  1 kept: they wait for a person: itemledger ledger review\n" in ended.stderr
    assert "  3 kept: they have no end yet\n" in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["show", "1"],
        ["stats"],
        ["review"],
        ["review", "--row", "1", "--decide", "retry", *BY],
        ["export", *OP, "--out", "report.jsonl"],
        ["prune", *OP, "--older-than", "90d"],
        ["import", "missing.jsonl"],
    ],
)
def test_no_command_makes_a_ledger_where_none_is(cli: InProcess, tmp_path: Path, arguments: list[str]) -> None:
    ended = cli("ledger", *arguments, *L)

    assert 2 == ended.exit_code
    assert 1 == len(ended.stderr.splitlines())
    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show"], "name one row: its number, or --item with --operation"),
        (["show", "1", "--item", "mails-1"], "name one row"),
        (["show", "--item", "mails-1"], "give --operation too"),
        (["show", "--item", "nobody", *OP], "operation mails has no row with that item id"),
        (["show", "99"], "this ledger has no row 99"),
        (["list", "--operation", "nothing"], "this ledger has no operation 'nothing'"),
        (["export", "--operation", "nothing", "--out", "r"], "this ledger has no operation 'nothing'"),
        (["prune", *OP, "--older-than", "soon"], "--older-than takes a whole number and its unit"),
    ],
)
def test_what_is_not_there_is_one_sentence(cli: InProcess, ledger: Made, arguments: list[str], sentence: str) -> None:
    ended = cli("ledger", *arguments, *L)

    assert (2, "") == (ended.exit_code, ended.stdout)
    assert sentence in ended.stderr
    assert 1 == len(ended.stderr.splitlines())


def test_times_are_those_of_the_ledger(cli: InProcess, ledger: Made) -> None:
    assert START == json.loads(cli("ledger", "show", "1", *L, "--json").stdout)["updated_at"]
