"""``itemledger smoke`` on real engines. They are local, so its evidence is synthetic, and it has to say so itself."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

from itemledger.cli.problems import CommandError
from itemledger.cli.smoke import Wanted, absent_key, run, wanted
from itemledger.core.decision import Decision
from itemledger.core.keys import KeySchema
from itemledger.errors import LedgerInvariantError
from itemledger.testing import Answer, DropMember, FaultInjector, ForeignRow, LeaveUnprocessed, Throttle
from tests.conftest import MakeTable
from tests.engines.launch import REGION, Engine
from tests.engines.tables import KeySchema as TableKey

ENTRY = "from itemledger.cli import entry; entry()"


def smoke(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ENTRY, "smoke", *arguments],
        env={**{name: value for name, value in os.environ.items() if name != "AWS_REGION"}, **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def at(engine: Engine, table: str, consistent_read: str = "true") -> dict[str, str]:
    return {
        "AWS_REGION": REGION,
        "DDB_TABLE": table,
        "DDB_CONSISTENT_READ": consistent_read,
        "AWS_ENDPOINT_URL_DYNAMODB": engine.endpoint_url,
    }


def fill(engine: Engine, table: str, rows: list[dict[str, Any]]) -> None:
    client = engine.client()
    for row in rows:
        client.put_item(TableName=table, Item=row)


# ------------------------------------------------------------------------------------------------- where it goes at all


def test_every_missing_variable_is_named_and_nothing_runs() -> None:
    run_ = smoke()

    assert 2 == run_.returncode
    assert "set AWS_REGION, DDB_TABLE, DDB_CONSISTENT_READ" in run_.stderr
    assert "" == run_.stdout


@pytest.mark.parametrize("name", ["AWS_REGION", "DDB_TABLE", "DDB_CONSISTENT_READ"])
def test_only_the_missing_variable_is_named(name: str) -> None:
    given = {"AWS_REGION": REGION, "DDB_TABLE": "T", "DDB_CONSISTENT_READ": "true"}

    with pytest.raises(CommandError, match=rf"^set {name}:") as caught:
        wanted({**given, name: ""})

    assert 2 == caught.value.exit_code


@pytest.mark.parametrize(
    ("spelled", "means"), [("true", True), ("TRUE", True), ("1", True), ("false", False), ("0", False), ("no", False)]
)
def test_consistency_is_spelled_out(spelled: str, means: bool) -> None:
    given = {"AWS_REGION": REGION, "DDB_TABLE": "T", "DDB_CONSISTENT_READ": spelled}

    assert Wanted(REGION, "T", means) == wanted(given)


def test_a_consistency_that_is_neither_true_nor_false_is_refused() -> None:
    with pytest.raises(CommandError, match="DDB_CONSISTENT_READ is 'strong'; set it to true or false"):
        wanted({"AWS_REGION": REGION, "DDB_TABLE": "T", "DDB_CONSISTENT_READ": "strong"})


# -------------------------------------------------------------------------------------------------------- a healthy run


def test_a_run_tells_people_what_it_did_where_and_that_it_proves_nothing_about_aws(
    engine: Engine, make_table: MakeTable
) -> None:
    table = make_table(engine, [("pk", "S"), ("sk", "N")])
    fill(engine, table, [{"pk": {"S": "customer-4711"}, "sk": {"N": str(n)}, "v": {"S": "secret"}} for n in range(3)])

    run_ = smoke(**at(engine, table))

    assert (0, "") == (run_.returncode, run_.stderr)
    for text in (
        f"synthetic: the answers came from {engine.endpoint_url}, so this run proves nothing about AWS",
        f"{table} in {REGION}, account ",
        "pk (S), sk (N)",
        "strongly consistent, per item",
        "3 keys that a Scan showed, 1 random key",
        "3 returned, 1 processed_not_returned, 0 unresolved; the random key: processed_not_returned",
        "accept (owner: caller)",
        "itemledger 0.",
    ):
        assert text in run_.stdout
    assert "customer-4711" not in run_.stdout
    assert "secret" not in run_.stdout


@pytest.mark.parametrize(
    ("key", "row"),
    [
        ([("pk", "S")], {"pk": {"S": "A"}}),
        ([("pk", "N")], {"pk": {"N": "12345678901234567890123456789012345678"}}),
        ([("pk", "B")], {"pk": {"B": b"\x00\xff"}}),
        ([("pk", "B"), ("sk", "S")], {"pk": {"B": b"A"}, "sk": {"S": "1"}}),
    ],
    ids=["S", "N", "B", "B-S"],
)
def test_the_record_holds_what_another_run_is_compared_by(
    engine: Engine, make_table: MakeTable, key: TableKey, row: dict[str, Any]
) -> None:
    table = make_table(engine, key)
    fill(engine, table, [row])

    record, decision = run(engine.client(), Wanted(REGION, table, consistent_read=True))

    record = json.loads(json.dumps(record))
    assert Decision.ACCEPT is decision
    assert {
        "schema": "itemledger/smoke/1",
        "table": table,
        "region": REGION,
        "endpoint": engine.endpoint_url,
        "key": dict(key),
        "consistent_read": True,
        "evidence_label": "synthetic",
        "asked": {"scanned": 1, "absent": 1},
        "complete": True,
        "stop_reason": "complete",
        "returned": 1,
        "processed_not_returned": 1,
        "unresolved": 0,
        "absent_key": "processed_not_returned",
        "sdk_retry_attempts": 0,
        "application_passes": 1,
        "decision": "accept",
    }.items() <= record.items()
    assert record["table_account"] == record["environment"]["account"]
    assert record["table_account"].isdigit()
    assert {"mode": "standard", "total_max_attempts": 1, "set_by": "client configuration"} == record["environment"][
        "sdk_retries"
    ]


def test_the_json_form_is_the_record(moto: Engine, make_table: MakeTable) -> None:
    table = make_table(moto)

    run_ = smoke("--json", **at(moto, table), AWS_ENDPOINT_URL_STS=moto.endpoint_url)

    record = json.loads(run_.stdout)
    assert 0 == run_.returncode
    assert ("itemledger/smoke/1", "synthetic", table) == (record["schema"], record["evidence_label"], record["table"])
    assert record["table_account"] == record["caller_account"]  # moto answers for both, and names one account


def test_aws_is_not_asked_who_calls_a_local_engine(dynalite: Engine, make_table: MakeTable) -> None:
    record, _ = run(dynalite.client(), Wanted(REGION, make_table(dynalite), consistent_read=True))

    assert None is record["caller_account"]


def test_consistency_reaches_every_read_of_the_run(dynalite: Engine, make_table: MakeTable) -> None:
    table = make_table(dynalite)
    fill(dynalite, table, [{"pk": {"S": "A"}}])
    client = dynalite.client()
    asked: list[Any] = []
    client.meta.events.register("provide-client-params", lambda params, **_: asked.append(params))

    strong, _ = run(client, Wanted(REGION, table, consistent_read=True))
    eventual, _ = run(client, Wanted(REGION, table, consistent_read=False))

    scans = [request.get("ConsistentRead") for request in asked if "Limit" in request]
    reads = [request["RequestItems"][table].get("ConsistentRead") for request in asked if "RequestItems" in request]
    assert ([True, False], [True, None]) == (scans, reads)
    assert (2.0, 1.0) == (strong["consumed"], eventual["consumed"])


def test_a_big_table_is_asked_for_five_keys_in_three_calls_one_at_a_time(
    dynalite: Engine, make_table: MakeTable
) -> None:
    table = make_table(dynalite)
    fill(dynalite, table, [{"pk": {"S": str(n)}, "body": {"S": "x" * 1000}} for n in range(20)])
    client = dynalite.client()
    wire: list[str] = []
    client.meta.events.register(
        "before-send.dynamodb", lambda event_name, **_: wire.append("+" + event_name.rpartition(".")[2])
    )
    client.meta.events.register(
        "after-call.dynamodb", lambda event_name, **_: wire.append("-" + event_name.rpartition(".")[2])
    )

    record, _ = run(client, Wanted(REGION, table, consistent_read=True))

    assert {"scanned": 5, "absent": 1} == record["asked"]
    calls = ["+DescribeTable", "-DescribeTable", "+Scan", "-Scan", "+BatchGetItem", "-BatchGetItem"]
    assert calls == wire


def test_an_empty_table_is_asked_for_the_absent_key_alone(engine: Engine, make_table: MakeTable) -> None:
    record, decision = run(engine.client(), Wanted(REGION, make_table(engine), consistent_read=True))

    assert ({"scanned": 0, "absent": 1}, Decision.ACCEPT) == (record["asked"], decision)


@pytest.mark.parametrize(
    ("types", "kinds"),
    [("S", (str,)), ("N", (Decimal,)), ("B", (bytes,)), ("SN", (str, Decimal)), ("BB", (bytes,) * 2)],
)
def test_an_absent_key_has_the_table_s_types_and_never_comes_twice(types: str, kinds: tuple[type, ...]) -> None:
    schema = KeySchema.of(dict(zip(("pk", "sk"), types, strict=False)))

    keys = [absent_key(schema) for _ in range(50)]

    assert 50 == len(set(keys))
    for key in keys:
        assert key == schema.canonical(key, 0)
        assert kinds == tuple(type(part) for part in (key if isinstance(key, tuple) else (key,)))


# --------------------------------------------------------------------------------------------------- when it goes wrong


def test_a_missing_table_is_one_sentence_and_waits_for_somebody(engine: Engine) -> None:
    run_ = smoke(**at(engine, "no-such-table"))

    assert (4, "") == (run_.returncode, run_.stdout)
    assert 1 == run_.stderr.count("\n")
    assert "ResourceNotFoundException" in run_.stderr


def test_a_dead_endpoint_is_one_sentence_and_may_be_tried_again() -> None:
    with socket.socket() as nobody:  # bound and not listening: a port that surely refuses
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"

        run_ = smoke(AWS_REGION=REGION, DDB_TABLE="T", DDB_CONSISTENT_READ="true", AWS_ENDPOINT_URL_DYNAMODB=url)

    assert (3, "") == (run_.returncode, run_.stdout)
    assert "EndpointConnectionError" in run_.stderr
    assert "Traceback" not in run_.stderr


def test_who_may_not_scan_goes_on_with_the_absent_key_and_says_so(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    denied = Answer({"__type": "com.amazon.coral.service#AccessDeniedException", "message": "no"}, status=400)

    with FaultInjector(client, [denied], operation="scan"):
        record, decision = run(client, Wanted(REGION, make_table(dynalite), consistent_read=True))

    assert (Decision.ACCEPT, "AccessDeniedException") == (decision, record["scan_refused"])
    assert {"scanned": 0, "absent": 1} == record["asked"]


@pytest.mark.parametrize("operation", ["describe_table", "scan"])
def test_a_throttled_run_stops_at_once_instead_of_asking_again(
    dynalite: Engine, make_table: MakeTable, operation: str
) -> None:
    client = dynalite.client()
    table = make_table(dynalite)

    with (
        FaultInjector(client, [Throttle()], operation=operation) as injector,
        pytest.raises(CommandError, match="ProvisionedThroughputExceededException") as caught,
    ):
        run(client, Wanted(REGION, table, consistent_read=True))

    assert (3, 1) == (caught.value.exit_code, injector.attempts)


def test_a_throttled_read_ends_as_retry_with_its_error_in_the_record(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    table = make_table(dynalite)

    with FaultInjector(client, [Throttle()], operation="batch_get_item") as injector:
        record, decision = run(client, Wanted(REGION, table, consistent_read=True))

    assert (Decision.RETRY, 1, "unresolved") == (decision, injector.attempts, record["absent_key"])
    assert record["terminal_error"].startswith("ProvisionedThroughputExceededException; request_id=")
    assert None is record["consumed"]


def test_a_row_that_the_read_does_not_see_any_more_is_a_reject(dynalite: Engine, make_table: MakeTable) -> None:
    table = make_table(dynalite)
    fill(dynalite, table, [{"pk": {"S": "A"}}])
    client = dynalite.client()

    def somebody_deletes_it(**_: Any) -> None:
        dynalite.client().delete_item(TableName=table, Key={"pk": {"S": "A"}})

    client.meta.events.register("provide-client-params.dynamodb.BatchGetItem", somebody_deletes_it)

    record, decision = run(client, Wanted(REGION, table, consistent_read=True))

    assert (Decision.REJECT, 0, 2) == (decision, record["returned"], record["processed_not_returned"])


@pytest.mark.parametrize(
    "fault", [ForeignRow({"pk": {"S": "X"}}), DropMember("UnprocessedKeys")], ids=["foreign-row", "member-missing"]
)
def test_impossible_evidence_is_not_swallowed(dynalite: Engine, make_table: MakeTable, fault: Any) -> None:
    client = dynalite.client()
    table = make_table(dynalite)

    with FaultInjector(client, [fault], operation="batch_get_item"), pytest.raises(LedgerInvariantError):
        run(client, Wanted(REGION, table, consistent_read=True))


def test_leftovers_are_asked_for_once_more_and_no_more_than_that(dynalite: Engine, make_table: MakeTable) -> None:
    client = dynalite.client()
    table = make_table(dynalite)
    fill(dynalite, table, [{"pk": {"S": str(n)}} for n in range(5)])

    with FaultInjector(client, [LeaveUnprocessed(keep=2)] * 2, operation="batch_get_item") as injector:
        record, decision = run(client, Wanted(REGION, table, consistent_read=True))

    assert (Decision.RETRY, 2, 2) == (decision, injector.attempts, record["unresolved"])
    assert "passes_exhausted" == record["stop_reason"]
