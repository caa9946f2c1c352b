"""``itemledger send``: the items of a file through any of the partial-success APIs that are built in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.apis.registry import WRITE_APIS, write_api
from itemledger.cli import options as o
from itemledger.cli import write_options as w
from itemledger.cli.client import Access, make_sender, make_writer
from itemledger.cli.problems import CommandError
from itemledger.cli.signals import Signals
from itemledger.cli.voice import Voice
from itemledger.cli.work_summary import as_json, show
from itemledger.cli.write_run import LEFT_BEHIND, Writing, carry_through, operation_name
from itemledger.core.policy import Policy
from itemledger.core.write_api import WriteApi
from itemledger.errors import ManifestError

TARGET = "Target"


def _text(metavar: str, help: str) -> Any:
    return typer.Option(rich_help_panel=TARGET, metavar=metavar, help=help)


def send(
    api_name: Annotated[str, typer.Argument(metavar="OPERATION", help="AWS's name, such as sqs.SendMessageBatch.")],
    items: w.Items,
    ledger: w.LedgerUrl,
    queue_url: Annotated[str | None, _text("URL", "SQS.")] = None,
    topic_arn: Annotated[str | None, _text("ARN", "SNS.")] = None,
    max_bytes: Annotated[int | None, _text("BYTES", "SNS: the topic's MaximumMessageSize where it was raised.")] = None,
    stream_name: Annotated[str | None, _text("NAME", "Kinesis.")] = None,
    delivery_stream_name: Annotated[str | None, _text("NAME", "Firehose.")] = None,
    event_bus_name: Annotated[str | None, _text("NAME", "EventBridge.")] = None,
    bucket: Annotated[str | None, _text("NAME", "S3.")] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", metavar="", rich_help_panel=TARGET, help="S3: failures only are answered.")
    ] = False,
    feature_group_name: Annotated[str | None, _text("NAME", "Feature Store.")] = None,
    record_identifier: Annotated[str | None, _text("NAME", "Feature Store: the feature that identifies.")] = None,
    event_time: Annotated[str | None, _text("NAME", "Feature Store: the feature with the event's time.")] = None,
    url: Annotated[str | None, _text("URL", "HTTP and _bulk.")] = None,
    method: Annotated[str | None, _text("METHOD", "HTTP: POST, PUT, PATCH or DELETE.")] = None,
    header: Annotated[
        list[str] | None, _text("NAME=VALUE", "HTTP: a header that is no secret; can be repeated.")
    ] = None,
    key_life: Annotated[
        int | None, _text("SECONDS", "HTTP: how long the server knows an Idempotency-Key; 0 if it knows none.")
    ] = None,
    blocked_status: Annotated[
        list[int] | None,
        _text("STATUS", "HTTP: ends the run, such as 403 where it is about the credentials; can be repeated."),
    ] = None,
    index: Annotated[str | None, _text("NAME", "_bulk: the index.")] = None,
    request_bytes: Annotated[int | None, _text("BYTES", "_bulk: the largest request that the server takes.")] = None,
    header_env: w.HeaderEnv = None,
    operation: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=w.LEDGER, metavar="NAME", help="Its name in the ledger.", show_default="OPERATION/FILE"
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
    endpoint_url: w.EndpointUrl = None,
    machine: w.SummaryJson = False,
    debug: o.Debug = False,
) -> None:
    """Send every item of a file: messages, records, events, deletions. The same line again goes on."""
    voice = Voice(machine=machine)
    with voice.reporting(debug=debug), Signals(left_behind=LEFT_BEHIND) as signals:
        target = {
            "queue_url": queue_url, "topic_arn": topic_arn, "max_bytes": max_bytes, "stream_name": stream_name,
            "delivery_stream_name": delivery_stream_name, "event_bus_name": event_bus_name, "bucket": bucket,
            "quiet": quiet or None, "feature_group_name": feature_group_name, "record_identifier": record_identifier,
            "event_time": event_time, "url": url, "method": method, "headers": _headers(header),
            "key_life_s": key_life, "blocked_statuses": blocked_status, "index": index, "request_bytes": request_bytes,
        }  # fmt: skip
        operation_id = operation_name(operation, api_name, items, store_payloads=store_payloads)
        run_policy = w.policy_of(
            ledger, operation_id, max_attempts=max_attempts, lease=lease, call_timeout=call_timeout, settle=settle,
            on_unknown=on_unknown, retry_code=retry_code, backoff_cap=backoff_cap, keep=keep,
        )  # fmt: skip
        timeout_s = w.timeout_of(timeout)
        api = api_of(api_name, {name: value for name, value in target.items() if value is not None})
        client = client_for(api, Access(profile, region, endpoint_url), header_env, run_policy.policy, concurrency)
        writing = Writing(
            api, client, items, operation_id, ledger, store_payloads, run_policy, concurrency, timeout_s, moved
        )
        ending = carry_through(writing, voice, signals)
        show(voice, ending)
        if machine:
            voice.tell(as_json(ending))
    raise typer.Exit(ending.exit_code)


def api_of(name: str, target: Mapping[str, Any]) -> WriteApi:
    """The API of this name for this target; CommandError says what is missing."""
    if name == BatchWriteItem.name:
        raise CommandError(f"for {name} there is a command of its own: itemledger write TABLE")
    if name not in WRITE_APIS:
        raise CommandError(f"{name} is none of the operations that are built in: {', '.join(WRITE_APIS)}")
    try:
        return write_api(name).of(target)
    except ManifestError as error:
        raise CommandError(str(error)) from None


def client_for(api: WriteApi, access: Access, header_env: list[str] | None, policy: Policy, concurrency: int) -> Any:
    """What makes the API's calls, once each."""
    if api.service == "http":
        return make_sender(header_env or (), call_timeout_s=policy.call_timeout_s)
    if header_env:
        raise CommandError(f"--header-env is for HTTP calls; {api.name} is signed with the credentials of the SDK")
    return make_writer(api.service, access, policy=policy, concurrency=concurrency)


def _headers(options: list[str] | None) -> dict[str, str] | None:
    headers = {}
    for option in options or ():
        name, equals, value = option.partition("=")
        if not equals:
            raise CommandError("--header takes NAME=VALUE, such as Accept=application/json")
        headers[name] = value
    return headers or None
