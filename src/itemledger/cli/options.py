"""The options that commands share, each with its one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from itemledger.opening import MOST

AWS, BOUNDS, FILES, READING, OTHER = "AWS", "Bounds", "Files", "Reading", "Other"

Profile: TypeAlias = Annotated[
    str | None, typer.Option(rich_help_panel=AWS, help="Named profile; else AWS_PROFILE and the SDK's own chain.")
]
Region: TypeAlias = Annotated[
    str | None,
    # The SDK for Python reads AWS_DEFAULT_REGION only; the AWS CLI and the other SDKs read AWS_REGION first.
    typer.Option(rich_help_panel=AWS, envvar="AWS_REGION", help="Region; else the SDK's own chain."),
]
EndpointUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(rich_help_panel=AWS, metavar="URL", help="Another endpoint; else AWS_ENDPOINT_URL_DYNAMODB."),
]

Out: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", "-o", rich_help_panel=FILES, help="Items as JSON Lines.", show_default="stdout"),
]
Dispositions: TypeAlias = Annotated[
    Path | None,
    typer.Option(rich_help_panel=FILES, help="A line per input position: its key and where it stands."),
]
Evidence: TypeAlias = Annotated[
    Path | None,
    typer.Option(rich_help_panel=FILES, help="What was asked and what each call proved; see `verify`, `explain`."),
]
PlainKeys: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--plain-keys", metavar="", rich_help_panel=FILES, help="Keys themselves in the evidence, instead of tokens."
    ),
]
DataRevision: TypeAlias = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=FILES, metavar="TEXT", help="Recorded in the evidence: which state of the data this is."
    ),
]
Hold: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=FILES,
        help="Hold record, written when keys stay unresolved; it has plain keys, so it is 0600.",
        show_default="hold-OBSERVATION.json beside the items",
    ),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", metavar="", rich_help_panel=FILES, help="Replace files that exist already.")
]

Require: TypeAlias = Annotated[
    str,
    typer.Option(
        rich_help_panel=READING,
        metavar="all|none|FILE",
        help="Which keys must be there to accept: all, none, or those that a file lists.",
    ),
]

MaxPasses: TypeAlias = Annotated[
    int,
    typer.Option(
        rich_help_panel=BOUNDS,
        min=1,
        max=MOST["max_passes"],
        help="How often a key that was left over is asked at most.",
    ),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=BOUNDS,
        metavar="SECONDS",
        help="When the read ends whatever happens.",
        show_default="60, or 1 for every 50 keys if that is more",
    ),
]
Concurrency: TypeAlias = Annotated[
    int,
    typer.Option(rich_help_panel=BOUNDS, min=1, max=MOST["concurrency"], help="How many calls run at a time."),
]

Machine: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--json",
        metavar="",
        rich_help_panel=OTHER,
        help="The summary as one JSON object: on stdout, or alone on stderr when items go to stdout.",
    ),
]
Debug: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--debug", metavar="", rich_help_panel=OTHER, help="A traceback when something unexpected ends the command."
    ),
]
