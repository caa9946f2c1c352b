"""``itemledger write``: each item once in the table, whatever happens to calls, lines and processes on the way."""

from __future__ import annotations

import json
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import GIVE_UP_S, InProcess, Itemledger
from tests.cli.proxy import Asked, Broken, Proxy, Reply
from tests.conftest import MakeTable
from tests.engines.launch import Engine

LEDGER = "sqlite:///ledger.db"
#: Short enough for a test; a call that is held by one is let go before.
SHORT = ("--lease", "1.5", "--call-timeout", "1", "--settle", "0.05", "--backoff-cap", "0.1")
ITEMS = [{"pk": f"item-{n}", "n": n, "note": f"private-{n}"} for n in range(60)]


@pytest.fixture
def table(moto: Engine, make_table: MakeTable) -> str:
    return make_table(moto)


def line(table: str, *more: str, items: str = "items.jsonl") -> tuple[str, ...]:
    return ("write", table, "--key", "pk:S", "--items", items, "--ledger", LEDGER, *SHORT, *more)


def stored(engine: Engine, table: str) -> dict[str, int]:
    """The key and the number of each item in the table."""
    pages = engine.client().get_paginator("scan").paginate(TableName=table)
    return {item["pk"]["S"]: int(item["n"]["N"]) for page in pages for item in page["Items"]}


def sent(proxy: Proxy) -> list[str]:
    """Every key that was sent, call by call."""
    return [
        request["PutRequest"]["Item"]["pk"]["S"]
        for call in proxy.requests
        for requests in call["RequestItems"].values()
        for request in requests
    ]


def everything(items: list[dict[str, Any]] = ITEMS) -> dict[str, int]:
    return {item["pk"]: item["n"] for item in items}


def test_every_item_is_written_once_and_the_same_line_again_sends_nothing(
    il: Itemledger, proxy: Proxy, moto: Engine, table: str
) -> None:
    proxy.watched = "BatchWriteItem"
    il.keys(ITEMS, "items.jsonl")

    first, second = il(*line(table)), il(*line(table, "--json"))

    assert (0, 0, "") == (first.exit_code, second.exit_code, first.stdout), first.stderr
    assert "  planned       60 = 60 succeeded\n" in first.stderr
    assert "checked items.jsonl: 60 items" in first.stderr
    assert everything() == stored(moto, table)
    assert sorted(everything()) == sorted(sent(proxy))
    told = json.loads(second.stdout)
    assert ({"new": 0, "repeated": 60, "over_limit": 0, "conflicts": 0, "first_conflicts": []}, 60, 0) == (
        told["planning"],
        told["succeeded"],
        told["calls"],
    )
    assert 0o600 == stat.S_IMODE((il.directory / "ledger.db").stat().st_mode)
    kept = b"".join(path.read_bytes() for path in il.directory.glob("ledger.db*"))
    assert b"item-59" in kept
    assert b"private-" not in kept
    assert b"sealed" not in kept, "credentials"


def left_over(asked: Asked) -> Reply | None:
    if asked.number > 2:
        return None
    [(table, requests)] = asked.request["RequestItems"].items()
    return Reply({"UnprocessedItems": {table: requests}})


def throttled(asked: Asked) -> Reply | None:
    if asked.number > 2:
        return None
    return Reply({"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "slow down"}, 400)


def lost(asked: Asked) -> Broken | None:
    return Broken(asked.forward()) if asked.number <= 2 else None


def cut(asked: Asked) -> Broken | None:
    return Broken(asked.forward(), after_bytes=9) if asked.number <= 2 else None


@pytest.mark.parametrize(("fault", "calls"), [(left_over, 5), (throttled, 5), (lost, 3), (cut, 3)])
def test_after_a_synthetic_fault_each_item_is_there_and_none_was_sent_again_without_proof(
    il: Itemledger,
    proxy: Proxy,
    moto: Engine,
    table: str,
    fault: Callable[[Asked], Reply | Broken | None],
    calls: int,
) -> None:
    proxy.watched, proxy.answering = "BatchWriteItem", fault
    il.keys(ITEMS, "items.jsonl")

    ended = il(*line(table, "--concurrency", "1"))

    assert 0 == ended.exit_code, ended.stderr
    assert everything() == stored(moto, table)
    assert calls == len(proxy.requests)


def test_a_bad_item_is_found_and_alone_becomes_terminal(il: Itemledger, proxy: Proxy, moto: Engine, table: str) -> None:
    def refusing(asked: Asked) -> Reply | None:
        if "item-7" not in sent(Proxy("", "", requests=[asked.request])):
            return None
        return Reply({"__type": "com.amazon.coral.validate#ValidationException", "message": "private-7 is bad"}, 400)

    proxy.watched, proxy.answering = "BatchWriteItem", refusing
    il.keys(ITEMS, "items.jsonl")

    ended = il(*line(table, "--json"))

    assert 6 == ended.exit_code, ended.stderr
    assert "row 8 is terminal: refused, ValidationException, attempt 1, request PROXY\n" in ended.stderr
    assert "private-7" not in ended.stderr + ended.stdout
    assert "item-7" not in ended.stderr + ended.stdout
    told = json.loads(ended.stdout)
    assert ("reject", 59, 1, {"refused": 1}) == (
        told["decision"],
        told["succeeded"],
        told["terminal"],
        told["reviews"],
    )
    assert {key: n for key, n in everything().items() if n != 7} == stored(moto, table)


def test_of_many_terminal_rows_the_first_twenty_are_told_one_by_one(il: Itemledger, proxy: Proxy, table: str) -> None:
    proxy.watched = "BatchWriteItem"
    proxy.fail_from(1, "ValidationException")
    il.keys(ITEMS[:22], "items.jsonl")

    ended = il(*line(table))

    assert 6 == ended.exit_code
    assert 20 == ended.stderr.count(" is terminal: ")
    assert "2 more rows like that\n" in ended.stderr
    assert f"itemledger ledger review --ledger {LEDGER} --operation {table}/items.jsonl" in ended.stderr


def test_credentials_that_are_refused_stop_the_run_and_charge_nothing(
    il: Itemledger, proxy: Proxy, moto: Engine, table: str
) -> None:
    proxy.watched = "BatchWriteItem"
    proxy.fail_from(1, "AccessDeniedException", "not allowed")
    il.keys(ITEMS, "items.jsonl")

    refused = il(*line(table))
    proxy.answering = lambda asked: None
    allowed = il(*line(table))

    assert (4, 0) == (refused.exit_code, allowed.exit_code), allowed.stderr
    assert "AccessDeniedException: not allowed (request PROXY); ask for that permission" in refused.stderr
    assert "60 of 60 items without an end" in refused.stderr
    assert f"    itemledger write {table} --key pk:S" in refused.stderr
    assert everything() == stored(moto, table)


def test_a_dead_endpoint_means_retry_and_nothing_is_lost(il: Itemledger, moto: Engine, table: str) -> None:
    il.keys(ITEMS, "items.jsonl")
    engine, il.endpoint_url = il.endpoint_url, "http://127.0.0.1:9"

    dead = il(*line(table, "--timeout", "0.3", "--json"))
    il.endpoint_url = engine
    elsewhere, alive = il(*line(table)), il(*line(table, "--moved"))

    assert (3, 2, 0) == (dead.exit_code, elsewhere.exit_code, alive.exit_code), alive.stderr
    assert "went to us-east-1 http://127.0.0.1:9 and would now go to" in elsewhere.stderr
    assert "--moved" in elsewhere.stderr
    told = json.loads(dead.stdout)
    assert ("retry", "deadline", 60) == (told["decision"], told["stop_reason"], told["pending"] + told["retryable"])
    assert "--timeout sets another" in dead.stderr
    assert everything() == stored(moto, table)


def test_the_same_line_with_another_policy_changes_it_and_says_so_and_without_one_keeps_it(
    il: Itemledger, moto: Engine, table: str
) -> None:
    il.keys(ITEMS[:5], "items.jsonl")

    first = il(*line(table, "--max-attempts", "3"))
    other = il(*line(table, "--on-unknown", "at-least-once", "--keep", "1d"))
    same = il(*line(table))

    assert [0] * 3 == [each.exit_code for each in (first, other, same)], same.stderr
    notice = "is another from here on: on_unknown review → at_least_once, keep_s 2,592,000 → 86,400\n"
    assert [0, 1, 0] == [each.stderr.count(notice) for each in (first, other, same)]
    told = json.loads(il("ledger", "list", "--ledger", LEDGER, "--json").stdout)
    assert (3, "at_least_once", 86400.0) == tuple(
        told["policy"][name] for name in ("max_attempts", "on_unknown", "keep_s")
    )
    assert ["review"] == [each["policy"]["on_unknown"] for each in told["former_policies"]]


@pytest.mark.parametrize("wrapped", [False, True])
def test_typed_items_are_taken_as_the_export_to_s3_writes_them(
    il: Itemledger, moto: Engine, table: str, wrapped: bool
) -> None:
    typed = [{"pk": {"S": item["pk"]}, "n": {"N": str(item["n"])}} for item in ITEMS[:5]]
    il.write("items.jsonl", "\n".join(json.dumps({"Item": each} if wrapped else each) for each in typed))

    ended = il(*line(table, "--format", "dynamodb-json"))

    assert 0 == ended.exit_code, ended.stderr
    assert {item["pk"] for item in ITEMS[:5]} == set(stored(moto, table))


def test_a_bad_line_changes_nothing(il: Itemledger, proxy: Proxy, table: str) -> None:
    proxy.watched = "BatchWriteItem"
    il.write("items.jsonl", "\n".join([*(json.dumps(item) for item in ITEMS), '{"pk": 17}', ""]))

    ended = il(*line(table))

    assert (2, {"items.jsonl"}, []) == (ended.exit_code, il.files(), proxy.requests)
    assert "itemledger: items.jsonl line 61: this item: attribute 'pk' has type N" in ended.stderr
    assert 1 == len(ended.stderr.splitlines())


def test_a_changed_payload_is_refused_and_named_and_the_others_go_on(il: Itemledger, moto: Engine, table: str) -> None:
    il.keys(ITEMS[:5], "items.jsonl")
    il(*line(table))
    changed = [ITEMS[0], {**ITEMS[1], "n": 99}, *ITEMS[2:7]]
    il.write("items.jsonl", "\n\n".join(json.dumps(item) for item in changed))

    ended = il(*line(table, "--json"))

    assert 6 == ended.exit_code
    told = json.loads(ended.stdout)
    conflict = {"line": 3, "row": 2, "operation": f"{table}/items.jsonl"}
    assert (2, 4, [conflict]) == (
        told["planning"]["new"],
        told["planning"]["repeated"],
        told["planning"]["first_conflicts"],
    )
    assert "itemledger: items.jsonl line 3: its key or item id is that of row 2" in ended.stderr
    assert everything(ITEMS[:7]) == stored(moto, table)


def test_stdin_is_kept_in_the_ledger_on_request_and_refused_otherwise(il: Itemledger, moto: Engine, table: str) -> None:
    content = "".join(f"{json.dumps(item)}\n" for item in ITEMS[:3])

    refused = il(*line(table, items="-"), stdin=content)
    taken = il(*line(table, "--operation", "from-stdin", "--store-payloads", items="-"), stdin=content)

    assert (2, 0) == (refused.exit_code, taken.exit_code), taken.stderr
    assert "so --operation and --store-payloads are needed" in refused.stderr
    assert everything(ITEMS[:3]) == stored(moto, table)
    assert b"private-2" in b"".join(path.read_bytes() for path in il.directory.glob("ledger.db*"))


def test_an_empty_file_is_done_at_once(il: Itemledger, table: str) -> None:
    il.write("items.jsonl", "\n")

    ended = il(*line(table))

    assert 0 == ended.exit_code, ended.stderr
    assert "  planned       0\n" in ended.stderr


def test_items_are_deleted_by_their_keys_and_the_tables_key_is_asked_for(
    il: Itemledger, moto: Engine, table: str
) -> None:
    il.keys(ITEMS[:4], "items.jsonl")
    il.keys(({"pk": {"S": item["pk"]}} for item in ITEMS[:3]), "gone.jsonl")
    il(*line(table))

    ended = il("write", table, "--items", "gone.jsonl", "--ledger", LEDGER, "--delete", "--format", "dynamodb-json")

    assert 0 == ended.exit_code, ended.stderr
    assert {"item-3": 3} == stored(moto, table)


@pytest.mark.parametrize(
    ("signum", "exit_code", "concurrency"), [(signal.SIGINT, 130, "4"), (signal.SIGTERM, 143, "1")]
)
def test_a_stopped_run_records_what_is_in_flight_and_the_line_that_it_prints_goes_on(
    il: Itemledger, proxy: Proxy, moto: Engine, table: str, signum: int, exit_code: int, concurrency: str
) -> None:
    proxy.watched = "BatchWriteItem"
    arrived = proxy.hold_from(3)
    items = [{"pk": f"item-{n}", "n": n} for n in range(200)]
    il.keys(items, "items.jsonl")
    # The calls that are held end by themselves, so their timeout is longer than the test takes to let them go.
    longer = ("--lease", "60", "--call-timeout", "30", "--concurrency", concurrency, "--json")
    writing = il.start(*line(table, *longer))
    assert arrived.wait(GIVE_UP_S)

    writing.send_signal(signum)
    assert writing.stderr is not None
    if concurrency != "1":  # a single call is made where the signal is noticed only after it
        assert any(b"waiting for what is in flight" in told for told in writing.stderr)
    proxy.released.set()
    stopped = il.end(writing)
    again = il(*line(table))

    assert (exit_code, 0) == (stopped.exit_code, again.exit_code), again.stderr
    told = json.loads(stopped.stdout)
    assert ("interrupted", 0, 0) == (told["stop_reason"], told["in_flight"], told["reconcile"])
    assert 75 <= told["succeeded"] < 200
    assert f"this line goes on:\n                itemledger write {table} --key pk:S" in told["next_action"]
    assert everything(items) == stored(moto, table)
    assert sorted(everything(items)) == sorted(sent(proxy)), "each was sent once"


def test_killed_at_any_call_the_same_line_goes_on(il: Itemledger, proxy: Proxy, moto: Engine, table: str) -> None:
    proxy.watched = "BatchWriteItem"
    il.keys(ITEMS, "items.jsonl")
    for effect in (True, False):
        arrived = proxy.hold_from(len(proxy.requests) + 1)
        holding = proxy.answering

        def killing(asked: Asked, effect: bool = effect, holding: Any = holding) -> Any:
            if effect:
                asked.forward()
            return holding(asked)

        proxy.answering = killing
        writing = il.start(*line(table, "--concurrency", "1"))
        assert arrived.wait(GIVE_UP_S)
        writing.kill()
        il.end(writing)
    proxy.answering = lambda asked: None
    proxy.released.set()

    ended = il(*line(table))

    assert 0 == ended.exit_code, ended.stderr
    assert everything() == stored(moto, table)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--lease", "1"), "--call-timeout=1 must be shorter than --lease=1"),
        (("--settle", "-1"), "--settle=-1.0: give seconds"),
        (("--keep", "9 weeks"), "--keep takes a whole number and its unit: 90d, 12h, 30m or 45s"),
        (("--timeout", "0"), "--timeout must be more than zero and finite; got 0"),
        (("--operation", " "), "--operation is empty; give the operation a name"),
        (("--ledger", "orders.db"), "this is no URL of a ledger: a ledger's URL is sqlite:///PATH"),
        (("--ledger", "memory://"), "a ledger in memory ends with the command"),
        (("--items", "missing.jsonl"), "cannot read missing.jsonl: No such file or directory"),
    ],
)
def test_options_that_cannot_be_carried_out_end_with_2_and_change_nothing(
    cli: InProcess, tmp_path: Path, arguments: tuple[str, str], sentence: str
) -> None:
    (tmp_path / "items.jsonl").write_text('{"pk": "A"}\n')

    ended = cli(*line("Orders"), *arguments)

    assert (2, "", ["items.jsonl"]) == (ended.exit_code, ended.stdout, [path.name for path in tmp_path.iterdir()])
    assert sentence in ended.stderr
    assert 1 == len(ended.stderr.splitlines())
