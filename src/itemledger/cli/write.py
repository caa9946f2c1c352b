"""``itemledger write``: the items of a file into a DynamoDB table, each with a durable row before its first call."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.cli import options as o
from itemledger.cli import write_options as w
from itemledger.cli.client import Access, describe, key_option, make_client, make_writer
from itemledger.cli.problems import CommandError
from itemledger.cli.signals import Signals
from itemledger.cli.voice import Voice
from itemledger.cli.work_summary import as_json, show
from itemledger.cli.write_run import LEFT_BEHIND, Writing, carry_through, operation_name
from itemledger.core.keys import KeySchema
from itemledger.errors import ManifestError

#: DescribeTable is a read: it may be asked three times, within this.
DESCRIBE_S = 60.0


class ItemFormat(StrEnum):
    """How items are spelled."""

    JSONL = "jsonl"
    DYNAMODB_JSON = "dynamodb-json"

    @property
    def values(self) -> str:
        """The word of the API's target."""
        return "native" if self is ItemFormat.JSONL else "typed"


def write(
    table: Annotated[str, typer.Argument(help="Name or ARN of the table.")],
    items: w.Items,
    ledger: w.LedgerUrl,
    delete: Annotated[
        bool,
        typer.Option("--delete", metavar="", rich_help_panel=w.WRITING, help="Delete: FILE has the keys of the items."),
    ] = False,
    key: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=w.WRITING, metavar="pk:S[,sk:N]", help="The key's attributes.", show_default="DescribeTable"
        ),
    ] = None,
    item_format: Annotated[
        ItemFormat,
        typer.Option("--format", rich_help_panel=w.WRITING, help="Plain JSON, or DynamoDB's own typed JSON."),
    ] = ItemFormat.JSONL,
    operation: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=w.LEDGER, metavar="NAME", help="Its name in the ledger.", show_default="TABLE/FILE"
        ),
    ] = None,
    store_payloads: w.StorePayloads = False,
    moved: w.Moved = False,
    max_attempts: w.MaxAttempts = None,
    lease: w.Lease = None,
    call_timeout: w.CallTimeout = None,
    settle: w.Settle = None,
    on_unknown: w.OnUnknownOption = None,
    retry_code: w.RetryCode = None,
    backoff_cap: w.BackoffCap = None,
    keep: w.Keep = None,
    timeout: w.WorkTimeout = None,
    concurrency: w.Concurrency = 4,
    profile: o.Profile = None,
    region: o.Region = None,
    endpoint_url: o.EndpointUrl = None,
    machine: w.SummaryJson = False,
    debug: o.Debug = False,
) -> None:
    """Write every item of a file into a table. The same line again goes on where it was stopped."""
    voice = Voice(machine=machine)
    with voice.reporting(debug=debug), Signals(left_behind=LEFT_BEHIND) as signals:
        if not table.strip():
            raise CommandError("TABLE is empty; give the name or the ARN of the table")
        operation_id = operation_name(operation, table, items, store_payloads=store_payloads)
        run_policy = w.policy_of(
            ledger, operation_id, max_attempts=max_attempts, lease=lease, call_timeout=call_timeout, settle=settle,
            on_unknown=on_unknown, retry_code=retry_code, backoff_cap=backoff_cap, keep=keep,
        )  # fmt: skip
        timeout_s = w.timeout_of(timeout)
        access = Access(profile, region, endpoint_url)
        schema = key_option(key) if key is not None else _described(access, table, concurrency)
        api = _api(table, schema, delete=delete, item_format=item_format)
        client = make_writer(api.service, access, policy=run_policy.policy, concurrency=concurrency)
        writing = Writing(
            api, client, items, operation_id, ledger, store_payloads, run_policy, concurrency, timeout_s, moved
        )
        ending = carry_through(writing, voice, signals)
        show(voice, ending)
        if machine:
            voice.tell(as_json(ending))
    raise typer.Exit(ending.exit_code)


def _described(access: Access, table: str, concurrency: int) -> KeySchema:
    return describe(make_client(access, deadline_s=DESCRIBE_S, concurrency=concurrency), table).key


def _api(table: str, schema: KeySchema, *, delete: bool, item_format: ItemFormat) -> BatchWriteItem:
    key = {name: str(kind) for name, kind in zip(schema.names, schema.types, strict=True)}
    action = "delete" if delete else "put"
    try:
        return BatchWriteItem(table_name=table, key=key, action=action, values=item_format.values)
    except ManifestError as error:
        raise CommandError(str(error)) from None
