"""``itemledger query``: items as they come, to the real end, and what they cost."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from itemledger.apis.attribute_json import native_to_json_text, typed_to_json
from itemledger.cli import options as o
from itemledger.cli import table_options as t
from itemledger.cli.client import Access, make_client, place_of
from itemledger.cli.problems import EXIT_CODES, CommandError, service_sentence
from itemledger.cli.rows import ItemFormat
from itemledger.cli.scan import PAGE_S
from itemledger.cli.scan_summary import decision_of, told, totals_json, units_of
from itemledger.cli.signals import Signals, StoppedError
from itemledger.cli.summary import STYLES, count
from itemledger.cli.target import OutputError, Target
from itemledger.cli.voice import Voice
from itemledger.core.result import Item
from itemledger.errors import IncompletePagesError, LedgerInvariantError
from itemledger.pages import Pages
from itemledger.paging import plan_query
from itemledger.tables.page_result import ASKED_FOR, PagesResult


def query(
    table: Annotated[str, typer.Argument(help="Name or ARN of the table.")],
    key_condition: t.KeyCondition,
    index_name: t.IndexName = None,
    filter_expression: t.FilterExpression = None,
    projection_expression: t.ProjectionExpression = None,
    names: t.Names = None,
    values: t.Values = None,
    consistent_read: t.ConsistentRead = False,
    backward: t.Backward = False,
    out: o.Out = None,
    out_format: Annotated[
        ItemFormat, typer.Option(rich_help_panel=o.FILES, help="Plain JSON, or lossless DynamoDB-JSON.")
    ] = ItemFormat.JSON,
    force: o.Force = False,
    max_items: t.MaxItems = None,
    max_examined: t.MaxExamined = None,
    page_size: t.PageSize = None,
    timeout: t.Timeout = None,
    profile: o.Profile = None,
    region: o.Region = None,
    endpoint_url: o.EndpointUrl = None,
    machine: o.Machine = False,
    debug: o.Debug = False,
) -> None:
    """Query a table or an index to its end, and say what was examined, returned and consumed."""
    voice = Voice(machine=machine, data_on_stdout=out is None)
    with voice.reporting(debug=debug), Signals() as signals:
        request = t.request_of(
            table,
            index_name,
            key_condition=key_condition,
            filter_expression=filter_expression,
            projection=projection_expression,
            names=names,
            values=values,
            consistent_read=consistent_read,
            backward=backward,
            page_size=page_size,
            typed=out_format is ItemFormat.DYNAMODB_JSON,
        )
        bounds = {"max_items": max_items, "max_examined": max_examined, "timeout_s": timeout}
        plan = plan_query({**request, **bounds, "values": out_format.values})
        try:
            target = Target(out, force=force)
        except FileExistsError as error:
            raise CommandError(str(error)) from None
        client = make_client(Access(profile, region, endpoint_url), deadline_s=timeout or PAGE_S, concurrency=1)
        target.open()
        began_at = time.monotonic()
        line = _plain if out_format is ItemFormat.JSON else _typed
        pages = Pages(client, plan, signals.sleep, signals.waiting)
        signals.shield()
        failed: BaseException | None = None
        try:
            for page in pages:
                target.write(b"".join(map(line, page.items)))
            target.keep()
        except (IncompletePagesError, StoppedError, LedgerInvariantError) as error:
            failed = error
            target.keep()  # what came is whole, and the summary says that there is more
        except OutputError:
            target.drop()
            raise
        exit_code = _told(voice, pages.result, failed, place_of(client), time.monotonic() - began_at)
    raise typer.Exit(exit_code)


def _told(voice: Voice, result: PagesResult, failed: BaseException | None, place: str, duration_s: float) -> int:
    errors = [] if result.terminal_error is None else [result.terminal_error]
    cause = None if isinstance(failed, IncompletePagesError) else failed
    decision = decision_of(result.stop_reason in ASKED_FOR, result.stop_reason, errors, cause)
    exit_code = failed.exit_code if isinstance(failed, StoppedError) else EXIT_CODES[decision]
    if errors:
        voice.say(f"itemledger: {service_sentence(errors[0], result.table_name, place)}", style="red")
    elif isinstance(failed, LedgerInvariantError):
        voice.say(f"itemledger: {failed}", style="red")
    if voice.machine:
        voice.tell(
            {
                "table": result.table_name,
                "index": result.index_name,
                "complete": result.complete,
                "stop_reason": result.stop_reason.value,
                "decision": decision.label,
                "exit_code": exit_code,
                "totals": totals_json(result.totals),
                "finding": None if result.finding is None else str(result.finding),
                "duration_s": round(duration_s, 3),
            }
        )
        return exit_code
    totals = result.totals
    of = f"index {result.index_name} of {result.table_name}" if result.index_name else f"table {result.table_name}"
    pages = count(totals.pages, "page")
    voice.say(f"query of {of} at {place}: {'to its end' if result.complete else result.stop_reason}")
    voice.say(f"  items         {totals.returned:,} returned of {told(totals.examined)} examined, {pages}")
    voice.say(f"  consumed      {units_of(totals)}")
    if result.finding is not None:
        voice.say(f"  finding       {result.finding}", style="yellow")
    voice.say(f"  decision      {decision} (owner: {decision.owner})", style=STYLES[decision])
    return exit_code


def _plain(item: Item) -> bytes:
    return native_to_json_text(item).encode("utf-8", "backslashreplace") + b"\n"


def _typed(item: Item) -> bytes:
    text = json.dumps(typed_to_json(item), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"
