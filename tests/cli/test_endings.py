"""How a read can end: every exit code, a sentence for every cause, a hold record wherever keys stay unresolved."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Itemledger
from tests.cli.proxy import Asked, Proxy, Reply
from tests.engines.launch import Engine

READ = ("--keys", "keys.jsonl", "--concurrency", "1")
FILES = ("--out", "items.jsonl", "--evidence", "run.jsonl", "--hold", "hold.json")


@pytest.fixture
def keys(il: Itemledger) -> list[str]:
    keys = [f"k{n}" for n in range(250)]
    il.keys(keys)
    return keys


def leave_over(asked: Asked, count: int) -> Reply:
    """The engine's answer, with the last ``count`` keys left over as the service would."""
    table, entry = next(iter(asked.request["RequestItems"].items()))
    left = entry["Keys"][-count:]
    answer = asked.forward()
    rows = [row for row in answer["Responses"][table] if {"pk": row["pk"]} not in left]
    return Reply({**answer, "Responses": {table: rows}, "UnprocessedKeys": {table: {"Keys": left}}})


def test_leftovers_at_the_pass_bound_mean_retry_and_resume_asks_only_for_them(
    il: Itemledger, proxy: Proxy, orders: str, keys: list[str]
) -> None:
    proxy.answering = lambda asked: leave_over(asked, 7)

    stopped = il("read", orders, *READ, *FILES, "--max-passes", "1", "--json")
    proxy.answering, proxy.requests[:] = lambda asked: None, []
    resumed = il("resume", "hold.json", "--out", "rest.jsonl", "--evidence", "rest-run.jsonl", "--json")

    assert (3, 0) == (stopped.exit_code, resumed.exit_code), resumed.stderr
    summary, rest = json.loads(stopped.stdout), json.loads(resumed.stdout)
    assert ("retry", "passes_exhausted", 21) == (summary["decision"], summary["stop_reason"], summary["unresolved"])
    assert "the service left 21 of 250 keys unresolved after 1 passes; --max-passes allows more" in stopped.stderr
    assert 21 == len(proxy.asked_keys())
    first, second = il.rows("items.jsonl"), il.rows("rest.jsonl")
    assert (229, 21) == (len(first), len(second))
    assert set(keys) == {row["pk"] for row in first + second}
    assert (summary["observation"]["id"], 2) == (rest["observation"]["parent_id"], rest["observation"]["number"])
    assert 0 == il("verify", "run.jsonl", "rest-run.jsonl").exit_code


def test_a_hold_record_is_for_its_owner_only_and_names_the_items(
    il: Itemledger, proxy: Proxy, orders: str, keys: list[str]
) -> None:
    proxy.fail_from(2, "ValidationException")

    ended = il("read", orders, *READ, "--out", "items.jsonl")

    assert 4 == ended.exit_code
    assert 0o600 == stat.S_IMODE(il.hold().stat().st_mode)
    held = json.loads(il.hold().read_text())
    assert ("items.jsonl", [[0, 99]], [[100, 249]]) == (
        held["items"]["reference"],
        held["returned"],
        held["unresolved"],
    )
    assert f"itemledger resume {il.hold().name}" in ended.stderr


@pytest.mark.parametrize(
    ("code", "exit_code", "next_step"),
    [
        ("ExpiredTokenException", 4, "the credentials have expired: log in again"),
        ("AccessDeniedException", 4, "ask for that permission, or use other credentials"),
        ("ResourceNotFoundException", 4, "check the table's name, the region and the account"),
        ("ProvisionedThroughputExceededException", 3, "wait, ask with less --concurrency"),
    ],
)
def test_an_error_of_the_service_is_one_sentence_and_keeps_what_was_settled(
    il: Itemledger, proxy: Proxy, orders: str, keys: list[str], code: str, exit_code: int, next_step: str
) -> None:
    proxy.fail_from(2, code, "made up by the test")

    ended = il("read", orders, *READ, *FILES)

    assert exit_code == ended.exit_code
    (sentence,) = [line for line in ended.stderr.splitlines() if line.startswith("itemledger: ")]
    assert (
        f"table {orders} at {proxy.endpoint_url} (us-east-1): {code}: made up by the test (request PROXY)" in sentence
    )
    assert next_step in sentence
    assert sentence.endswith("150 of 250 keys unresolved")
    assert "Traceback" not in ended.stderr
    assert set(keys[:100]) == {row["pk"] for row in il.rows("items.jsonl")}
    assert 0 == il("verify", "run.jsonl").exit_code
    assert 0o600 == stat.S_IMODE((il.directory / "hold.json").stat().st_mode)
    proxy.answering = lambda asked: None
    assert 0 == il("resume", "hold.json", "--out", "rest.jsonl").exit_code
    assert set(keys[100:]) == {row["pk"] for row in il.rows("rest.jsonl")}


def test_the_same_happens_where_the_table_is_described_first(il: Itemledger, keys: list[str]) -> None:
    ended = il("read", "no-such-table", *READ, *FILES)

    assert (4, {"keys.jsonl"}) == (ended.exit_code, il.files())
    (sentence,) = ended.stderr.splitlines()
    assert "table no-such-table at http://127.0.0.1:" in sentence
    assert "ResourceNotFoundException" in sentence
    assert sentence.endswith("(--region, --profile); nothing was read or written")


def test_a_damaged_description_of_the_table_means_retry(il: Itemledger, proxy: Proxy, orders: str) -> None:
    proxy.description = b'{"Table": {"KeySchema": ['

    ended = il("read", orders, "--keys", il.keys(["k1"]))

    assert 3 == ended.exit_code
    assert "DamagedResponse" in ended.stderr
    assert {"keys.jsonl"} == il.files()


def test_a_table_whose_arn_tells_no_account_is_read(il: Itemledger, proxy: Proxy, moto: Engine, orders: str) -> None:
    table = moto.client().describe_table(TableName=orders)["Table"]
    told = {name: table[name] for name in ("TableName", "KeySchema", "AttributeDefinitions")}
    proxy.description = json.dumps({"Table": {**told, "TableArn": "foo"}}).encode()

    assert 0 == il("read", orders, "--keys", il.keys(["k1"])).exit_code


def test_a_dead_endpoint_means_retry_and_says_where(offline: Itemledger) -> None:
    offline.keys(["a"])

    described = offline("read", "Orders", *READ, *FILES)
    asked = offline("read", "Orders", "--key", "pk:S", *READ, *FILES)

    assert (3, 3) == (described.exit_code, asked.exit_code)
    for ended in (described, asked):
        assert "table Orders at http://127.0.0.1:9 (us-east-1): EndpointConnectionError" in ended.stderr
        assert "check the endpoint (--endpoint-url, --region) and the network" in ended.stderr
    assert "nothing was read or written" in described.stderr
    assert {"keys.jsonl", "run.jsonl", "run.jsonl.key", "hold.json"} == offline.files()
    assert 0 == offline("verify", "run.jsonl").exit_code


def test_without_credentials_nothing_begins(offline: Itemledger) -> None:
    offline.keys(["a"])
    offline.environment = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None, "HOME": str(offline.directory)}

    ended = offline("read", "Orders", *READ)

    assert 4 == ended.exit_code
    assert "NoCredentialsError" in ended.stderr
    assert "log in or name a profile (--profile, AWS_PROFILE)" in ended.stderr


def test_without_a_region_or_with_an_unknown_profile_nothing_begins(offline: Itemledger) -> None:
    offline.environment = {"AWS_REGION": None, "AWS_DEFAULT_REGION": None}

    no_region = offline("read", "Orders", "--keys", "-")
    no_profile = offline("read", "Orders", "--keys", "-", "--profile", "nobody", "--region", "eu-west-1")

    assert (2, 2) == (no_region.exit_code, no_profile.exit_code)
    assert "pass --region or set AWS_REGION" in no_region.stderr
    assert "nobody" in no_profile.stderr
    assert 2 == len((no_region.stderr + no_profile.stderr).splitlines())


def test_the_region_of_the_environment_is_taken(offline: Itemledger) -> None:
    offline.environment = {"AWS_REGION": "eu-west-3", "AWS_DEFAULT_REGION": "us-east-1"}

    assert "(eu-west-3)" in offline("read", "Orders", "--keys", "-").stderr


def test_a_deadline_is_a_passing_cause(il: Itemledger, proxy: Proxy, orders: str, keys: list[str]) -> None:
    proxy.answering = lambda asked: leave_over(asked, 1)

    ended = il("read", orders, *READ, *FILES, "--timeout", "2", "--max-passes", "1000", "--json")

    assert 3 == ended.exit_code
    summary = json.loads(ended.stdout)
    assert ("deadline", "retry", 1) == (summary["stop_reason"], summary["decision"], summary["unresolved"])
    assert "the deadline of 2 s came with 1 of 250 keys unresolved; --timeout sets another" in ended.stderr
    assert 0 == il("verify", "run.jsonl").exit_code


def test_impossible_evidence_means_repair_and_is_kept_for_whoever_looks_into_it(
    il: Itemledger, proxy: Proxy, orders: str, keys: list[str]
) -> None:
    def foreign_row(asked: Asked) -> Reply | None:
        answer: dict[str, Any] = asked.forward()
        answer["Responses"][orders][0] = {"pk": {"S": "never asked for"}, "n": {"N": "1"}}
        return Reply(answer) if asked.number == 2 else None

    proxy.answering = foreign_row

    ended = il("read", orders, *READ, *FILES, "--json")

    assert 5 == ended.exit_code
    summary = json.loads(ended.stdout)
    assert ("repair", "invariant_broken", None) == (
        summary["decision"],
        summary["stop_reason"],
        summary["files"]["hold"],
    )
    assert "impossible evidence: the response names an item outside this call" in ended.stderr
    repair = Path(il.directory, summary["files"]["repair"])
    assert 0o600 == stat.S_IMODE(repair.stat().st_mode)
    told = json.loads(repair.read_text())
    assert ({"pk": "S", "n": "N"}, "PROXY") == (told["structure"], told["calls"][0]["request_id"])
    assert ([[0, 99]], [[100, 249]]) == (told["before"]["returned"], told["before"]["unresolved"])
    assert set(keys[:100]) == {row["pk"] for row in il.rows("items.jsonl")}
    assert 0 == il("verify", "run.jsonl").exit_code
    assert {"keys.jsonl", "items.jsonl", "run.jsonl", "run.jsonl.key", repair.name} == il.files()


def test_an_endpoint_that_leaves_out_unprocessed_keys_is_accepted_on_request(
    il: Itemledger, proxy: Proxy, orders: str, keys: list[str]
) -> None:
    def without(asked: Asked) -> Reply:
        answer = asked.forward()
        del answer["UnprocessedKeys"]
        return Reply(answer)

    proxy.answering = without

    refused = il("read", orders, *READ, "--out", "refused.jsonl")
    accepted = il("read", orders, *READ, "--out", "items.jsonl", "--unprocessed-keys-optional")

    assert (5, 0) == (refused.exit_code, accepted.exit_code)
    assert "pass --unprocessed-keys-optional" in refused.stderr


def test_after_five_observations_a_person_decides(il: Itemledger, proxy: Proxy, orders: str, keys: list[str]) -> None:
    proxy.answering = lambda asked: leave_over(asked, 1)
    exit_codes = [il("read", orders, *READ, "--out", "i1", "--hold", "h1", "--max-passes", "1").exit_code]

    for number in range(2, 6):
        ended = il(
            "resume", f"h{number - 1}", "--out", f"i{number}", "--hold", f"h{number}", "--max-passes", "1"
        )  # fmt: skip
        exit_codes.append(ended.exit_code)
        assert f"number {number} of its chain" in ended.stderr

    assert [3, 3, 3, 3, 4] == exit_codes


def test_resume_keeps_the_first_reads_settings(il: Itemledger, proxy: Proxy, orders: str, keys: list[str]) -> None:
    proxy.fail_from(2, "ValidationException")
    il(
        "read", orders, *READ, *FILES, "--projection", "n", "--consistent-read", "--out-format", "dynamodb-json"
    )  # fmt: skip
    proxy.answering = lambda asked: None

    resumed = il("resume", "hold.json")

    assert 0 == resumed.exit_code
    assert {"pk": {"S": "k100"}, "n": {"N": "100"}} in resumed.rows
    first, last = proxy.requests[0]["RequestItems"][orders], proxy.requests[-1]["RequestItems"][orders]
    assert {**first, "Keys": None} == {**last, "Keys": None}
    assert first["ConsistentRead"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "cannot read hold.json: No such file or directory"),
        ("{", "hold.json: it is not JSON"),
        ("[" * 200_000 + "]" * 200_000, "hold.json: it is nested too deeply for a hold record"),
        ("{}", "hold.json: not a hold record of schema"),
        ('{"schema": "itemledger/hold/1"}', "hold.json: the hold record is damaged"),
    ],
)
def test_a_hold_record_that_cannot_be_read_is_bad_input(offline: Itemledger, content: str | None, fault: str) -> None:
    if content is not None:
        offline.write("hold.json", content)

    ended = offline("resume", "hold.json")

    assert 2 == ended.exit_code
    assert fault in ended.stderr
    assert 1 == len(ended.stderr.splitlines())


def test_a_resumption_with_nothing_unresolved_is_complete_at_once(
    il: Itemledger, proxy: Proxy, orders: str, keys: list[str]
) -> None:
    proxy.fail_from(2, "ValidationException")
    il("read", orders, *READ, *FILES)
    held = json.loads((il.directory / "hold.json").read_text())
    held["returned"], held["unresolved"] = [[0, 249]], []
    il.write("done.json", json.dumps(held))
    proxy.requests.clear()

    assert (0, []) == (il("resume", "done.json").exit_code, proxy.requests)
