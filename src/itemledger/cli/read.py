"""``itemledger read`` and ``itemledger resume``: a manifest in, every key's disposition out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from itemledger.cli import options as o
from itemledger.cli.client import Access, describe, key_option, make_client
from itemledger.cli.keys_input import KeyFormat, read_keys
from itemledger.cli.output import Outputs, Paths
from itemledger.cli.policy import Acceptance, required_file
from itemledger.cli.problems import CommandError
from itemledger.cli.rows import ItemFormat
from itemledger.cli.run import Job, carry_out
from itemledger.cli.signals import Signals
from itemledger.cli.summary import show
from itemledger.cli.voice import Voice
from itemledger.core.hold import HoldRecord
from itemledger.core.keys import KeySchema
from itemledger.core.manifest import TableRead
from itemledger.core.terms import Bounds
from itemledger.errors import HoldRecordError, ManifestError
from itemledger.opening import ReadOptions, plan, plan_resumption
from itemledger.provider import TableDescription

DEFAULTS = Bounds()
#: A call has up to 100 keys, so with the default of four calls at a time each may take eight seconds.
KEYS_PER_SECOND = 50


def read(
    table: Annotated[str, typer.Argument(help="Name or ARN of the table.")],
    keys: Annotated[
        str,
        typer.Option(
            "--keys", "-k", rich_help_panel=o.READING, metavar="FILE|-", help="The keys to read, one per line or row."
        ),
    ],
    key_format: Annotated[
        KeyFormat | None,
        typer.Option(
            "--format", rich_help_panel=o.READING, help="How FILE spells keys.", show_default="by its name, else jsonl"
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=o.READING, metavar="pk:S[,sk:N]", help="The key's attributes.", show_default="DescribeTable"
        ),
    ] = None,
    projection: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=o.READING, metavar="a,b.c", help="Attributes to read.", show_default="whole items"
        ),
    ] = None,
    consistent_read: Annotated[
        bool,
        typer.Option(
            "--consistent-read", metavar="", rich_help_panel=o.READING, help="Strongly consistent, item by item."
        ),
    ] = False,
    require: o.Require = "all",
    fold_duplicates: Annotated[
        bool,
        typer.Option(
            "--fold-duplicates",
            metavar="",
            rich_help_panel=o.READING,
            help="Ask for equal keys once instead of refusing them.",
        ),
    ] = False,
    unprocessed_keys_optional: Annotated[
        bool,
        typer.Option(
            "--unprocessed-keys-optional",
            metavar="",
            rich_help_panel=o.READING,
            help="For endpoints known to leave UnprocessedKeys out.",
        ),
    ] = False,
    out: o.Out = None,
    out_format: Annotated[
        ItemFormat, typer.Option(rich_help_panel=o.FILES, help="Plain JSON, or lossless DynamoDB-JSON.")
    ] = ItemFormat.JSON,
    dispositions: o.Dispositions = None,
    evidence: o.Evidence = None,
    plain_keys: o.PlainKeys = False,
    data_revision: o.DataRevision = None,
    hold: o.Hold = None,
    force: o.Force = False,
    timeout: o.Timeout = None,
    max_passes: o.MaxPasses = DEFAULTS.max_passes,
    concurrency: o.Concurrency = DEFAULTS.concurrency,
    profile: o.Profile = None,
    region: o.Region = None,
    endpoint_url: o.EndpointUrl = None,
    machine: o.Machine = False,
    debug: o.Debug = False,
) -> None:
    """Read every key of a manifest and say of each where it stands."""
    voice = Voice(machine=machine, data_on_stdout=out is None)
    with voice.reporting(debug=debug), Signals() as signals:
        if not table.strip():
            raise CommandError("TABLE is empty; give the name or the ARN of the table")
        sources = {"--keys": None if keys == "-" else Path(keys), "--require": required_file(require)}
        outputs = Outputs(Paths(out, dispositions, evidence, hold, force, plain_keys, sources), out_format)
        schema = key_option(key) if key is not None else None
        client = make_client(
            Access(profile, region, endpoint_url), deadline_s=_timeout(timeout, 0), concurrency=concurrency
        )
        table_key = TableDescription(schema, None) if schema is not None else describe(client, table)
        with voice.busy("reading the keys"):
            manifest = read_keys(keys, key_format, table_key.key)
        wanted: ReadOptions = {
            "max_passes": max_passes,
            "timeout_s": _timeout(timeout, manifest.count),
            "concurrency": concurrency,
            "values": out_format.values,
            "fold_duplicates": fold_duplicates,
            "unprocessed_keys_optional": unprocessed_keys_optional,
        }
        paths = None if projection is None else [path.strip() for path in projection.split(",")]
        asked = TableRead(table, manifest.drain(), _named(table_key.key), paths, consistent_read)
        acceptance = Acceptance.of(require, table_key.key)
        job = Job(
            client, plan([asked], wanted, keep=False), acceptance, outputs, _account(table_key.arn), data_revision
        )
        try:
            ending = carry_out(job, voice, signals)
        except ManifestError as error:
            raise manifest.fault(error) from None
        show(voice, ending)
    raise typer.Exit(ending.exit_code)


def resume(
    record: Annotated[Path, typer.Argument(metavar="HOLD", help="The hold record that a stopped read wrote.")],
    require: o.Require = "all",
    out: o.Out = None,
    dispositions: o.Dispositions = None,
    evidence: o.Evidence = None,
    plain_keys: o.PlainKeys = False,
    data_revision: o.DataRevision = None,
    hold: o.Hold = None,
    force: o.Force = False,
    timeout: o.Timeout = None,
    max_passes: o.MaxPasses = DEFAULTS.max_passes,
    concurrency: o.Concurrency = DEFAULTS.concurrency,
    profile: o.Profile = None,
    region: o.Region = None,
    endpoint_url: o.EndpointUrl = None,
    machine: o.Machine = False,
    debug: o.Debug = False,
) -> None:
    """Read what a hold record left unresolved, as a new observation with files of its own."""
    voice = Voice(machine=machine, data_on_stdout=out is None)
    with voice.reporting(debug=debug), Signals() as signals:
        with voice.busy("reading the hold record"):
            held = _hold_record(record)
        item_format = ItemFormat.of(held.settings.values)
        sources = {"HOLD": record, "--require": required_file(require)}
        outputs = Outputs(Paths(out, dispositions, evidence, hold, force, plain_keys, sources), item_format)
        wanted: ReadOptions = {
            "max_passes": max_passes,
            "timeout_s": _timeout(timeout, len(held.unresolved)),
            "concurrency": concurrency,
        }
        client = make_client(
            Access(profile, region, endpoint_url), deadline_s=wanted["timeout_s"], concurrency=concurrency
        )
        acceptance = Acceptance.of(require, held.settings.key)
        ending = carry_out(
            Job(client, plan_resumption(held, wanted, keep=False), acceptance, outputs, data_revision=data_revision),
            voice,
            signals,
        )
        show(voice, ending)
    raise typer.Exit(ending.exit_code)


def _hold_record(path: Path) -> HoldRecord:
    try:
        return HoldRecord.from_json(json.loads(path.read_bytes()))
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror or error}") from None
    except RecursionError:
        raise CommandError(f"{path}: it is nested too deeply for a hold record") from None
    except ValueError as error:  # HoldRecordError is one too
        reason = str(error) if isinstance(error, HoldRecordError) else "it is not JSON"
        raise CommandError(f"{path}: {reason}") from None


def _timeout(asked_for: float | None, keys: int) -> float:
    if asked_for is None:
        return max(DEFAULTS.timeout_s, math.ceil(keys / KEYS_PER_SECOND))
    if not 0 < asked_for < math.inf:
        raise CommandError(f"--timeout must be more than zero and finite; got {asked_for:g}")
    return asked_for


def _named(schema: KeySchema) -> dict[str, str]:
    return {name: key_type for name, key_type in zip(schema.names, schema.types, strict=True) if key_type is not None}


def _account(arn: str | None) -> str | None:
    """The account in ``arn:aws:dynamodb:eu-west-1:123456789012:table/Orders``."""
    parts = (arn or "").split(":")
    return parts[4] if len(parts) > 5 and parts[4] else None
