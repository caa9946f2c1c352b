"""``itemledger scan``: a table into a file, in segments, and on from its checkpoint after whatever ended it."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from itemledger.cli import options as o
from itemledger.cli import table_options as t
from itemledger.cli.client import Access, make_client, place_of
from itemledger.cli.problems import CommandError
from itemledger.cli.scan_progress import ScanBar
from itemledger.cli.scan_summary import Ending, as_json, show
from itemledger.cli.signals import Signals, StoppedError
from itemledger.cli.stopper import Stopper
from itemledger.cli.voice import Voice
from itemledger.errors import LedgerInvariantError, OutputError
from itemledger.paging import MOST_CONCURRENCY, MOST_SEGMENTS
from itemledger.scanning.run import Scan
from itemledger.scanning.scan import SinkOf
from itemledger.tables.page import Page

#: What the SDK's timeouts are made from: a page is a small request, however long the scan.
PAGE_S = 60.0


class ScanOut(StrEnum):
    """What a scan writes."""

    JSON = "json"
    DYNAMODB_JSON = "dynamodb-json"


def scan(
    table: Annotated[str, typer.Argument(help="Name or ARN of the table.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            rich_help_panel=o.FILES,
            help="Items as lines, compressed if it ends with .gz.",
            show_default="stdout",
        ),
    ] = None,
    out_format: Annotated[
        ScanOut,
        typer.Option(rich_help_panel=o.FILES, help="Plain JSON, or what the export to S3 writes."),
    ] = ScanOut.JSON,
    checkpoint: Annotated[
        Path | None,
        typer.Option(rich_help_panel=o.FILES, help="Where each segment stands; the same line again goes on from it."),
    ] = None,
    segments: Annotated[
        int, typer.Option(rich_help_panel=o.READING, min=1, max=MOST_SEGMENTS, help="Parts of the table, in parallel.")
    ] = 1,
    units_per_second: Annotated[
        float | None,
        typer.Option(rich_help_panel=o.BOUNDS, metavar="UNITS", help="A budget of read units.", show_default="none"),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=o.BOUNDS,
            min=1,
            max=MOST_CONCURRENCY,
            help="How many pages are asked for at a time.",
            show_default="one per segment, 16 at most",
        ),
    ] = None,
    index_name: t.IndexName = None,
    filter_expression: t.FilterExpression = None,
    projection_expression: t.ProjectionExpression = None,
    names: t.Names = None,
    values: t.Values = None,
    consistent_read: t.ConsistentRead = False,
    page_size: t.PageSize = None,
    timeout: t.Timeout = None,
    profile: o.Profile = None,
    region: o.Region = None,
    endpoint_url: o.EndpointUrl = None,
    machine: o.Machine = False,
    debug: o.Debug = False,
) -> None:
    """Write a table's items, every page once, also after a kill: then run the same line again."""
    voice = Voice(machine=machine, data_on_stdout=out is None)
    with voice.reporting(debug=debug), Signals(left_behind="its checkpoint stands where the output does") as signals:
        if out is None and checkpoint is not None:
            raise CommandError("what goes to stdout cannot be taken up again; name a file with --out")
        request = t.request_of(
            table,
            index_name,
            filter_expression=filter_expression,
            projection=projection_expression,
            names=names,
            values=values,
            consistent_read=consistent_read,
            page_size=page_size,
            typed=out_format is ScanOut.DYNAMODB_JSON,
        )
        at_a_time = concurrency or min(segments, 16)
        arguments: dict[str, Any] = {**request, "segments": segments, "concurrency": at_a_time, "timeout_s": timeout}
        if units_per_second is not None:
            arguments["units_per_s"] = units_per_second
        client = make_client(Access(profile, region, endpoint_url), deadline_s=timeout or PAGE_S, concurrency=at_a_time)
        sink = SinkOf(out, "json" if out_format is ScanOut.JSON else "dynamodb-json", "native")()
        stopper = Stopper(signals, voice, inline=at_a_time == 1)
        began_at = time.monotonic()
        with ScanBar(voice.console, shown=voice.shows_progress, segments=segments) as bar:

            def each_page(page: Page) -> None:
                bar.take(page)
                stopper.check()

            run = Scan(
                client,
                sink,
                arguments,
                checkpoint=checkpoint,
                progress=each_page,
                begun=bar.begun,
                sleep=stopper.sleep,
                waiting=stopper.waiting,
            )
            signals.shield()
            result, error = None, None
            try:
                result = run.run()
            except (StoppedError, LedgerInvariantError, OutputError) as ended:
                result, error = getattr(ended, "result", None), ended
                if result is None:
                    raise
        ending = Ending(
            result,
            error,
            str(out) if out is not None else "stdout",
            out_format.value,
            checkpoint,
            time.monotonic() - began_at,
            place_of(client),
        )
        show(voice, ending, sys.argv[1:])
        if machine:
            voice.tell(as_json(ending))
    raise typer.Exit(ending.exit_code)
