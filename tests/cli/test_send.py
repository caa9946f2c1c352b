"""``itemledger send``: every built-in API from the command line; a lost message is a question, never a second send."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from itemledger.apis.registry import WRITE_APIS, write_api
from itemledger.cli.problems import MEMBERS, CommandError
from tests.cli.conftest import InProcess, Itemledger
from tests.cli.proxy import Asked, Broken, Proxy
from tests.engines.launch import REGION, Engine
from tests.local_http import Reply, Request, serving

LEDGER = "sqlite:///ledger.db"
SHORT = ("--lease", "3", "--call-timeout", "2", "--settle", "0.05", "--backoff-cap", "0.1")


@pytest.fixture
def sqs(moto: Engine) -> Iterator[Any]:
    client = boto3.client("sqs", endpoint_url=moto.endpoint_url, region_name=REGION)
    yield client
    client.close()


@pytest.fixture
def queue(sqs: Any, tmp_path: Path) -> Iterator[str]:
    url: str = sqs.create_queue(QueueName=tmp_path.name.replace("_", "-")[-80:])["QueueUrl"]
    yield url
    sqs.delete_queue(QueueUrl=url)


def bodies(sqs: Any, queue: str) -> list[str]:
    """Every message of the queue, once for each time that it is there."""
    found: list[str] = []
    while messages := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
        found += [message["Body"] for message in messages]
    return sorted(found)


def line(queue: str, proxy: Proxy, *more: str) -> tuple[str, ...]:
    return (
        "send", "sqs.SendMessageBatch", "--queue-url", queue, "--items", "messages.jsonl", "--ledger", LEDGER,
        "--endpoint-url", proxy.endpoint_url, *SHORT, *more,
    )  # fmt: skip


def lost_at_first(asked: Asked) -> Broken | None:
    return Broken(asked.forward()) if asked.number == 1 else None


def test_each_message_arrives_once_and_a_lost_answer_waits_for_a_person(
    il: Itemledger, proxy: Proxy, sqs: Any, queue: str
) -> None:
    proxy.watched, proxy.answering = "SendMessageBatch", lost_at_first
    expected = sorted(f"private-{n}" for n in range(25))
    il.keys(({"MessageBody": body} for body in expected), "messages.jsonl")

    asked, again = il(*line(queue, proxy)), il(*line(queue, proxy, "--json"))

    assert (4, 4) == (asked.exit_code, again.exit_code), asked.stderr
    assert "  planned       25 = 15 succeeded + 10 reconcile\n" in asked.stderr
    assert "  in review     10 for a person: 10 no_look_up\n" in asked.stderr
    next_line = f"itemledger ledger review --ledger {LEDGER} --operation sqs.SendMessageBatch/messages.jsonl"
    assert f"a person decides what is unknown:\n                {next_line}\n" in asked.stderr
    told = json.loads(again.stdout)
    assert ("hold", 10, {"no_look_up": 10}) == (told["decision"], told["waiting"], told["reviews"])
    assert expected == bodies(sqs, queue)
    assert b"private-" not in b"".join(path.read_bytes() for path in il.directory.glob("ledger.db*"))


def test_at_least_once_sends_again_and_says_so(il: Itemledger, proxy: Proxy, sqs: Any, queue: str) -> None:
    proxy.watched, proxy.answering = "SendMessageBatch", lost_at_first
    il.keys(({"MessageBody": f"m{n}"} for n in range(5)), "messages.jsonl")

    ended = il(*line(queue, proxy, "--on-unknown", "at-least-once"))

    assert 0 == ended.exit_code, ended.stderr
    assert sorted(2 * [f"m{n}" for n in range(5)]) == bodies(sqs, queue)


def test_a_queue_that_is_not_there_holds_with_the_next_step(il: Itemledger, proxy: Proxy, queue: str) -> None:
    il.keys([{"MessageBody": "m"}], "messages.jsonl")

    ended = il(*line(f"{queue}-gone", proxy))

    assert 4 == ended.exit_code
    assert "QueueDoesNotExist" in ended.stderr
    assert "check the queue's URL, the region and the account; 1 of 1 item without an end" in ended.stderr


def test_the_secret_of_an_http_call_comes_from_the_environment_and_is_kept_nowhere(
    cli: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived: list[Request] = []

    def answer(request: Request) -> Reply:
        arrived.append(request)
        return Reply(201, b"{}", {"Content-Type": "application/json"})

    monkeypatch.setenv("REFUNDS_TOKEN", "Bearer hush")
    (tmp_path / "refunds.jsonl").write_text('{"Body": {"amount": 1}}\n{"Body": {"amount": 2}}\n')
    with serving(answer) as url:
        ended = cli(
            "send", "http.Request", "--url", f"{url}/refunds", "--header", "Accept=text/plain", "--key-life", "60",
            "--header-env", "Authorization=REFUNDS_TOKEN", "--items", "refunds.jsonl", "--ledger", LEDGER,
        )  # fmt: skip

    assert 0 == ended.exit_code, ended.stderr
    assert {("Bearer hush", "text/plain")} == {
        (request.headers["authorization"], request.headers["accept"]) for request in arrived
    }
    assert 2 == len({request.headers["idempotency-key"] for request in arrived})
    assert b"hush" not in b"".join(path.read_bytes() for path in tmp_path.glob("ledger.db*"))
    assert "hush" not in ended.stderr


def test_what_a_stranger_says_to_a_refused_caller_stays_out_of_the_terminal(cli: InProcess, tmp_path: Path) -> None:
    (tmp_path / "refunds.jsonl").write_text('{"Body": {"amount": 1}}\n')
    with serving(lambda request: Reply(401, b"private: " + request.body)) as url:
        ended = cli("send", "http.Request", "--url", f"{url}/refunds", "--items", "refunds.jsonl", "--ledger", LEDGER)

    assert 4 == ended.exit_code
    assert "HTTP 401; check the credentials (--header-env); 1 of 1 item without an end" in ended.stderr
    assert "private" not in ended.stderr


def test_every_member_of_every_target_is_an_option_and_arrives_there(
    cli: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {
        member
        for name in WRITE_APIS
        if name != "dynamodb.BatchWriteItem"  # has a command of its own
        for member in inspect.signature(write_api(name)).parameters
    }
    spelled: dict[str, tuple[list[str], object]] = {
        "quiet": ([], True),
        "headers": (["A=b"], {"A": "b"}),
        "blocked_statuses": (["403"], [403]),
    }
    numbers = {member: (["7"], 7) for member in members if member.endswith(("_s", "_bytes"))}
    given = {member: {**numbers, **spelled}.get(member, ([f"a {member}"], f"a {member}")) for member in members}
    arrived: list[dict[str, object]] = []

    def api_of(name: str, target: dict[str, object]) -> None:
        arrived.append(target)
        raise CommandError("seen")

    monkeypatch.setattr("itemledger.cli.send.api_of", api_of)
    options = [word for member, (words, _) in given.items() for word in (MEMBERS[member], *words)]
    ended = cli("send", "sqs.SendMessageBatch", *options, "--items", "x", "--ledger", LEDGER)

    assert "itemledger: seen\n" == ended.stderr
    assert [{member: value for member, (_, value) in given.items()}] == arrived


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sqs.SendMessageBatch"], "sqs.SendMessageBatch needs --queue-url to know where to send; give it"),
        (["sqs.SendMessageBatch", "--queue-url", "q", "--bucket", "b"], "knows no --bucket; it takes --queue-url"),
        (["sqs.Nonsense"], "sqs.Nonsense is none of the operations that are built in: dynamodb.BatchWriteItem, "),
        (["dynamodb.BatchWriteItem"], "there is a command of its own: itemledger write TABLE"),
        (
            ["http.Request", "--url", "http://127.0.0.1:9", "--header", "Authorization=hush"],
            "--header names Authorization, which a ledger would keep in the clear; give it with --header-env",
        ),
        (["http.Request", "--url", "http://127.0.0.1:9", "--header", "hush"], "--header takes NAME=VALUE"),
        (["http.Request", "--url", "http://127.0.0.1:9", "--header-env", "X=hush"], "--header-env X: there is no var"),
        (["http.Request", "--url", "http://u:hush@h/"], "give the credentials with --header-env"),
        (["sqs.SendMessageBatch", "--queue-url", "q", "--header-env", "A=HOME"], "--header-env is for HTTP calls"),
    ],
)
def test_a_target_that_makes_no_sense_ends_with_2_in_the_words_of_the_command_line(
    cli: InProcess, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    (tmp_path / "items.jsonl").write_text("{}\n")

    ended = cli("send", *arguments, "--items", "items.jsonl", "--ledger", LEDGER)

    assert (2, "", ["items.jsonl"]) == (ended.exit_code, ended.stdout, [path.name for path in tmp_path.iterdir()])
    assert sentence in ended.stderr
    assert "hush" not in ended.stderr
    assert 1 == len(ended.stderr.splitlines())
