"""``itemledger smoke``: one small live run against a table of your own, recorded with what it ran on.

Five calls at most, one at a time and each with a single attempt: DescribeTable, a Scan of five items for keys that
exist, BatchGetItem for those and one random key that does not, a second one for leftovers, and GetCallerIdentity.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlsplit

import boto3
import typer
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from itemledger.cli.client import place_of
from itemledger.cli.problems import EXIT_CODES, CommandError, cannot_begin
from itemledger.core.answer import Answer, EvidenceLabel, Failure, FailureCause, weakest
from itemledger.core.decision import Decision
from itemledger.core.keys import Key, KeySchema, KeyType
from itemledger.core.result import Disposition, ReadResult
from itemledger.environment import environment
from itemledger.errors import LedgerInvariantError
from itemledger.origin import AWS_SUFFIXES
from itemledger.provider import call, described, observe
from itemledger.sync import read_batch

SCHEMA = "itemledger/smoke/1"
SCANNED = 5
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")
_ONE_ATTEMPT = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 1})


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where to run, from AWS_REGION, DDB_TABLE and DDB_CONSISTENT_READ."""

    region: str
    table: str
    consistent_read: bool


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as one JSON document.")] = False,
) -> None:
    """Read a few keys of your own table, live, and record account, region, schema and versions.

    Set AWS_REGION, DDB_TABLE, and DDB_CONSISTENT_READ to true or false; credentials come from the SDK's own chain. The
    run makes five calls at most, one at a time, and asks for six keys at most. It writes nothing. Rights it needs:
    dynamodb:DescribeTable, Scan and BatchGetItem.
    """
    at = wanted(os.environ)
    try:
        client = boto3.client("dynamodb", region_name=at.region, config=_ONE_ATTEMPT)
    except (BotoCoreError, ValueError) as error:
        raise CommandError(f"no DynamoDB client can be made: {error}; check the AWS settings") from None
    try:
        record, decision = run(client, at)
    except LedgerInvariantError as error:
        sentence = f"{error} (structure: {json.dumps(error.structure)}); {Decision.REPAIR.next_action}"
        raise CommandError(sentence, exit_code=EXIT_CODES[Decision.REPAIR]) from None
    finally:
        client.close()
    typer.echo(json.dumps(record) if as_json else _text(record))
    raise typer.Exit(EXIT_CODES[decision])


def wanted(environ: Mapping[str, str]) -> Wanted:
    """The three variables; CommandError names every one that is missing: nothing runs against a table by accident."""
    names = ("AWS_REGION", "DDB_TABLE", "DDB_CONSISTENT_READ")
    missing = [name for name in names if not environ.get(name)]
    if missing:
        raise CommandError(f"set {', '.join(missing)}: this run goes only where these variables point")
    region, table, consistent = (environ[name] for name in names)
    if consistent.lower() not in _TRUE + _FALSE:
        raise CommandError(f"DDB_CONSISTENT_READ is {consistent!r}; set it to true or false")
    return Wanted(region, table, consistent.lower() in _TRUE)


def run(client: Any, at: Wanted) -> tuple[dict[str, Any], Decision]:
    """The record of one run, and what is decided on it."""
    observe(client)
    answer = _usable(client, at, call(client, "describe_table", {"TableName": at.table}))
    description = described(answer)
    if description is None:
        sentence = f"DescribeTable of {at.table} answered without a key schema; check what served it"
        raise CommandError(sentence, exit_code=EXIT_CODES[Decision.HOLD])
    scan = _scan(client, at, description.key)
    present = _keys(description.key, scan)
    absent = absent_key(description.key)
    result = read_batch(
        client,
        at.table,
        [*present, absent],
        {name: kind for name, kind in zip(description.key.names, description.key.types, strict=True) if kind},
        projection=description.key.names,  # the payload is nobody's business here
        consistent_read=at.consistent_read,
        concurrency=1,
        max_passes=2,
        timeout_s=20.0,
        backoff_base_s=1.0,
    )
    decision = result.decide(required=present)
    standing = result.disposition_by_key[absent]
    if standing is Disposition.RETURNED:
        raise CommandError("a random key that nobody wrote came back with an item; distrust this endpoint", exit_code=1)
    labels = (answer.label, scan.label, result.totals.label)
    record = {
        "schema": SCHEMA,
        "table": at.table,
        "table_account": _account_of(description.arn),
        "caller_account": _caller_account(client, at.region),
        "region": at.region,
        "endpoint": client.meta.endpoint_url,
        "key": dict(zip(description.key.names, description.key.types, strict=True)),
        "consistent_read": at.consistent_read,
        "evidence_label": weakest(label for label in labels if label),
        "asked": {"scanned": len(present), "absent": 1},
        "scan_refused": scan.code if isinstance(scan, Failure) else None,
        **_told(result),
        "absent_key": standing,
        "decision": str(decision),
        "owner": decision.owner,
        "next_action": decision.next_action,
        "environment": environment(client, policy="every scanned key", account=_account_of(description.arn)),
    }
    return record, decision


def _scan(client: Any, at: Wanted, key: KeySchema) -> Answer | Failure:
    """A few keys that exist. Who may not scan goes on with the absent key alone."""
    aliases = {f"#k{index}": name for index, name in enumerate(key.names)}
    request = {
        "TableName": at.table,
        "Limit": SCANNED,
        "ProjectionExpression": ", ".join(aliases),
        "ExpressionAttributeNames": aliases,
        "ConsistentRead": at.consistent_read,
    }
    end = call(client, "scan", request)
    if isinstance(end, Failure) and end.cause is FailureCause.REFUSED:
        return end
    return _usable(client, at, end)


def _keys(schema: KeySchema, scan: Answer | Failure) -> list[Key]:
    rows = scan.response.get("Items", []) if isinstance(scan, Answer) else []
    keys = [schema.key_in(row) for row in rows]
    if None in keys:
        raise LedgerInvariantError("a scanned row lacks a readable key; check what served it")
    return [key for key in keys if key is not None]


def absent_key(schema: KeySchema) -> Key:
    """A key of the table's types that nobody ever wrote: its parts have at least 122 random bits."""
    parts: list[str | Decimal | bytes] = []
    for kind in schema.types:
        if kind is KeyType.N:
            parts.append(Decimal(secrets.randbelow(10**38)))
        else:
            text = f"itemledger-smoke-absent-{secrets.token_hex(16)}"
            parts.append(text if kind is KeyType.S else text.encode())
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])


def _usable(client: Any, at: Wanted, end: Answer | Failure) -> Answer:
    if isinstance(end, Failure):
        raise cannot_begin(end.error, at.table, place_of(client))
    return end


def _told(result: ReadResult) -> dict[str, Any]:
    return {
        "complete": result.complete,
        "stop_reason": result.stop_reason,
        "terminal_error": str(result.terminal_error) if result.terminal_error else None,
        "returned": len(result.returned),
        "processed_not_returned": len(result.processed_not_returned),
        "unresolved": len(result.unresolved),
        "application_passes": result.totals.application_passes,
        "sdk_retry_attempts": result.totals.sdk_retry_attempts,
        "consumed": result.totals.consumed,
        "request_ids": list(result.request_ids),
        "observation": result.observation.id,
    }


def _account_of(arn: str | None) -> str | None:
    parts = (arn or "").split(":")
    return parts[4] if len(parts) > 5 and parts[4] else None


def _caller_account(client: Any, region: str) -> str | None:
    """Who called, where that can be told: a local engine's table says nothing of an account that AWS would name."""
    try:
        sts: Any = boto3.client("sts", region_name=region, config=_ONE_ATTEMPT)
        if _is_aws(client) != _is_aws(sts):
            return None
        try:
            return str(sts.get_caller_identity()["Account"])
        finally:
            sts.close()
    except Exception:  # the run does not need it, and any way of not telling is "unknown"
        return None


def _is_aws(client: Any) -> bool:
    return (urlsplit(client.meta.endpoint_url).hostname or "").endswith(AWS_SUFFIXES)


def _text(record: Mapping[str, Any]) -> str:
    label = record["evidence_label"]
    proves = (
        "the answers came from AWS over a socket"
        if label == EvidenceLabel.OBSERVED
        else f"the answers came from {record['endpoint']}, so this run proves nothing about AWS"
    )
    refused = f" (Scan refused: {record['scan_refused']})" if record["scan_refused"] else ""
    capacity = "unknown" if record["consumed"] is None else record["consumed"]
    retries = "unknown" if record["sdk_retry_attempts"] is None else record["sdk_retry_attempts"]
    lines = {
        "evidence": f"{label}: {proves}",
        "table": f"{record['table']} in {record['region']}, account {record['table_account'] or 'unknown'}",
        "caller": f"account {record['caller_account'] or 'unknown'}",
        "key": ", ".join(f"{name} ({kind})" for name, kind in record["key"].items()),
        "read": "strongly consistent, per item" if record["consistent_read"] else "eventually consistent",
        "asked": f"{record['asked']['scanned']} keys that a Scan showed{refused}, 1 random key that cannot exist",
        "found": f"{record['returned']} returned, {record['processed_not_returned']} processed_not_returned, "
        f"{record['unresolved']} unresolved; the random key: {record['absent_key']}",
        "stopped by": f"{record['stop_reason']}"
        + (f" ({record['terminal_error']})" if record["terminal_error"] else ""),
        "effort": f"{record['application_passes']} passes, SDK retry attempts {retries}, consumed {capacity}",
        "decision": f"{record['decision']} (owner: {record['owner']}): {record['next_action']}",
        "versions": ", ".join(f"{name} {version}" for name, version in _versions(record["environment"]).items()),
    }
    return "\n".join(f"{name + ':':<12}{line}" for name, line in lines.items())


def _versions(env: Mapping[str, Any]) -> dict[str, Any]:
    return {name: env[name] for name in ("itemledger", "boto3", "botocore", "python") if name in env}
