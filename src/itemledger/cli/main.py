"""The command ``itemledger``: its journeys put together; each has a file of its own."""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import boto3
import botocore
import typer

from itemledger import __version__
from itemledger.cli import demo, lab, read, smoke, verify
from itemledger.cli.voice import Voice

P = ParamSpec("P")

app = typer.Typer(
    help="Every item of a batch gets exactly one disposition, with evidence; unknown is never rounded.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 accept, 3 retry, 4 hold, 5 repair, 6 reject, 2 bad usage or input, 130 and 143 stopped by "
    "Ctrl-C and SIGTERM, 1 anything else.",
)


def version() -> None:
    """Say which itemledger this is, and which SDK and Python carry it."""
    typer.echo(
        f"itemledger {__version__} (boto3 {boto3.__version__}, botocore {botocore.__version__}, "
        f"Python {platform.python_version()})"
    )


def _reported(command: Callable[P, None]) -> Callable[P, None]:
    """A command whose errors end it with one sentence and an exit code, like those of the others."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with Voice().reporting(debug=False):
            command(*args, **kwargs)

    return run


def _examples(*lines: str) -> str:
    return "\n\n".join(("Examples:", *lines))


app.command(
    epilog=_examples(
        "itemledger read Orders --keys keys.jsonl --out items.jsonl",
        "itemledger read Orders -k keys.csv -o items.jsonl --evidence run.jsonl",
        "jq -c .id orders.json | itemledger read Orders --keys - --require none",
        "itemledger read Orders -k ids.jsonl --key pk:S,sk:N --projection total,a.b",
    )
)(read.read)
app.command(
    epilog=_examples(
        "itemledger resume hold.json --out rest.jsonl",
        "itemledger resume hold.json -o rest.jsonl --evidence run-2.jsonl --hold hold-2.json",
    )
)(read.resume)
app.command(epilog=_examples("itemledger verify run.jsonl", "itemledger verify run.jsonl run-2.jsonl --json"))(
    verify.verify
)
app.command(
    epilog=_examples(
        "itemledger explain run.jsonl --key A",
        "itemledger explain run.jsonl --key pk=A,sk=1",
    )
)(verify.explain)
app.command("lab", epilog=_examples("itemledger lab", "itemledger lab --control"))(_reported(lab.command))
app.command("smoke", epilog=_examples("AWS_REGION=… DDB_TABLE=… DDB_CONSISTENT_READ=true itemledger smoke"))(
    _reported(smoke.command)
)
app.command("demo", epilog=_examples("itemledger demo", "itemledger demo --dir demo-output"))(_reported(demo.command))
app.command(epilog=_examples("itemledger version"))(version)
