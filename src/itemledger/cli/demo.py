"""``itemledger demo``: the main job for real on an embedded engine, beside what a one-call reader would have said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import boto3
import typer
from botocore.config import Config
from rich.console import Console
from rich.table import Table

from itemledger.apis.item_size import item_size
from itemledger.cli import demo_engine, demo_interrupt
from itemledger.cli.demo_table import ABSENT, LARGE, TABLE, load, manifest
from itemledger.core.decision import NONE
from itemledger.core.keys import Key, KeySchema
from itemledger.core.result import ReadResult
from itemledger.sync import read_batch
from itemledger.tables.capacity import Consistency, items_read
from itemledger.tables.units import measured
from itemledger.testing import Attempt, Fault, FaultInjector, LeaveUnprocessed, ResetAfter

#: By wire attempt. Everything that these answer is marked *synthetic*, like the rest of the demo.
FAULTS: Mapping[int, Fault] = {
    3: LeaveUnprocessed(every_nth=4),
    9: ResetAfter(),
    15: LeaveUnprocessed(keep=40),
    28: LeaveUnprocessed(every_nth=10),
}


def command(
    directory: Annotated[Path, typer.Option("--dir", help="Where the demo leaves its files.")] = Path("demo-output"),
) -> None:
    """Run the whole journey on an embedded engine; needs no AWS account.

    Starts moto's server on loopback, loads a table through the SDK, reads a manifest with absent keys, leftovers and a
    lost response, interrupts a read, resumes it from its hold record, and verifies the evidence files.
    """
    console = Console(highlight=False)
    directory.mkdir(parents=True, exist_ok=True)
    with demo_engine.running() as url:
        client = demo_client(url)
        console.print(f"[bold]1. Engine[/]  moto on {url} (so all evidence here is [italic]synthetic[/])")
        console.print(f"   loaded {load(client):,} items through the SDK into table {TABLE}")
        keys = manifest()
        console.print(
            f"   manifest: {len(keys):,} composite keys, {ABSENT} of them absent, {LARGE} with items so large that the "
            "engine's 16 MB limit leaves keys over\n"
        )
        console.print(
            "[bold]2. One read, two readers[/]  same keys, same faults: leftovers in three answers, one answer lost"
        )
        naive = one_call_reader(demo_client(url), keys)
        result = reconciled_reader(demo_client(url), keys)
        console.print(comparison(naive, result))
        console.print(verdict(naive, result))
        demo_interrupt.run(console, url, keys, directory)


def demo_client(url: str) -> Any:
    """A client of our own, so its retries are set explicitly."""
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="demo",
        aws_secret_access_key="demo",
        config=Config(retries={"mode": "standard", "total_max_attempts": 3}, read_timeout=30),
    )


def faults(attempt: Attempt) -> Fault | None:
    return FAULTS.get(attempt.number)


def one_call_reader(client: Any, keys: Sequence[Key]) -> set[Key]:
    """What many programs do: a call per 100 keys, and what is not in the answer is taken for missing."""
    schema = KeySchema.of(("customer", "order"))
    found: set[Key] = set()
    with FaultInjector(client, faults, operation="batch_get_item"):
        for chunk in _chunks(keys, 100):
            answer = client.batch_get_item(RequestItems={TABLE: {"Keys": [schema.typed(key) for key in chunk]}})
            for row in answer["Responses"][TABLE]:
                key = schema.key_in(row)
                assert key is not None
                found.add(key)
    return found


def reconciled_reader(client: Any, keys: Sequence[Key]) -> ReadResult:
    with FaultInjector(client, faults, operation="batch_get_item"):
        return read_batch(client, TABLE, keys, values="typed")


def comparison(found: set[Key], result: ReadResult) -> Table:
    table = Table("", "one-call reader", "itemledger", title=None, show_edge=False, pad_edge=False)
    asked = len(result.requested_order)
    totals = result.totals
    unknown = "[dim]not known[/]"
    table.add_row("keys asked", f"{asked:,}", f"{asked:,}")
    table.add_row("returned", f"{len(found):,}", f"{len(result.returned):,}")
    table.add_row("reported missing", f"[red]{asked - len(found):,}[/]", f"{len(result.processed_not_returned):,}")
    table.add_row("unresolved", unknown, f"{len(result.unresolved):,}")
    table.add_row("truth: absent from the table", f"{ABSENT:,}", f"{ABSENT:,}")
    table.add_row("application passes", "1", f"{totals.application_passes}")
    table.add_row("calls", f"{math.ceil(asked / 100)}", f"{totals.calls}")
    table.add_row("SDK retry attempts", unknown, f"{totals.sdk_retry_attempts}")
    table.add_row("read units, reported", unknown, f"{totals.consumed}")
    table.add_row("read units, by DynamoDB's rules", unknown, f"{predicted_units(result)}")
    table.add_row("stopped by", unknown, str(result.stop_reason))
    table.add_row("evidence label", "none", str(totals.label))
    table.add_row("decision, all required", "none", f"{result.decide()}")
    table.add_row("decision, absence allowed", "none", str(result.decide(required=NONE)))
    return table


def verdict(found: set[Key], result: ReadResult) -> str:
    lost = result.returned - found
    reported, ours = result.totals.consumed, predicted_units(result)
    return (
        f"   [bold]{len(lost):,} keys are in the table and the one-call reader calls them missing.[/] "
        "It cannot know.\n"
        f"   The engine reports {reported} units, DynamoDB's rules give {ours}: moto counts keys, not bytes and "
        "consistency,\n   and whatever the lost answer consumed was reported to nobody.\n"
    )


def predicted_units(result: ReadResult) -> float:
    """By the service's rules: what was returned, and each absent key."""
    returned = [measured(item, item_size) for item in result.items_by_key.values()]
    return float(items_read([*returned, *[None] * len(result.processed_not_returned)], Consistency.EVENTUAL).units)


def _chunks(keys: Sequence[Key], size: int) -> Iterator[Sequence[Key]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]
