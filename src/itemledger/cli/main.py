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
from itemledger.cli import (
    demo,
    lab,
    ledger,
    ledger_files,
    ledger_review,
    query,
    read,
    scan,
    send,
    smoke,
    verify,
    work,
    write,
)
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
app.command(
    epilog=_examples(
        "itemledger write Orders --items orders.jsonl --ledger sqlite:///orders.db",
        "itemledger write Orders -i gone.jsonl -l sqlite:///orders.db --delete --key pk:S,sk:N",
        "jq -c .[] orders.json | itemledger write Orders -i - -l sqlite:///o.db --operation day-1 --store-payloads",
    )
)(write.write)
app.command(
    epilog=_examples(
        "itemledger send sqs.SendMessageBatch --queue-url URL --items msgs.jsonl --ledger sqlite:///msgs.db",
        "itemledger send s3.DeleteObjects --bucket old --quiet -i keys.jsonl -l sqlite:///old.db",
        "itemledger send http.Request --url https://api.example.com/refunds --header-env Authorization=API_TOKEN "
        "-i refunds.jsonl -l sqlite:///refunds.db",
    )
)(send.send)
app.command(
    epilog=_examples(
        "itemledger work --ledger sqlite:///orders.db",
        "itemledger work --ledger sqlite:///orders.db --operation Orders/orders.jsonl --json",
    )
)(work.work)
app.command(
    epilog=_examples(
        "itemledger query Orders --key-condition-expression 'pk = :p' "
        '--expression-attribute-values \'{":p": {"S": "A"}}\'',
        "itemledger query Orders --index-name by-day --key-condition-expression 'd = :d' "
        "--expression-attribute-values file://values.json --max-items 20 -o today.jsonl",
    )
)(query.query)
app.command(
    epilog=_examples(
        "itemledger scan Orders --segments 8 --out orders.jsonl --checkpoint orders.ckpt",
        "itemledger scan Orders -o orders.json.gz --out-format dynamodb-json --checkpoint orders.ckpt "
        "--units-per-second 500",
        "itemledger scan Orders | jq -c .total",
    )
)(scan.scan)
app.command(epilog=_examples("itemledger verify run.jsonl", "itemledger verify run.jsonl report.jsonl --json"))(
    verify.verify
)
app.command(
    epilog=_examples(
        "itemledger explain run.jsonl --key A",
        "itemledger explain run.jsonl --key pk=A,sk=1",
    )
)(verify.explain)
of_ledger = typer.Typer(help="Look into a ledger, decide, report, forget.", no_args_is_help=True)
app.add_typer(of_ledger, name="ledger")
of_ledger.command(
    "list",
    epilog=_examples(
        "itemledger ledger list --ledger sqlite:///orders.db",
        "itemledger ledger list --ledger sqlite:///orders.db --outcome reconcile --json",
    ),
)(ledger.list_)
of_ledger.command(
    epilog=_examples(
        "itemledger ledger show 17 --ledger sqlite:///orders.db",
        "itemledger ledger show --item A --operation Orders/orders.jsonl --ledger sqlite:///orders.db",
    )
)(ledger.show)
of_ledger.command(
    epilog=_examples(
        "itemledger ledger review --ledger sqlite:///orders.db",
        "itemledger ledger review -l sqlite:///o.db --row 17 --decide retry --who ann --why 'not there'",
    )
)(ledger_review.review)
of_ledger.command(
    epilog=_examples("itemledger ledger export -l sqlite:///orders.db --operation Orders/orders.jsonl -o report.jsonl")
)(ledger_files.export)
of_ledger.command("import", epilog=_examples("itemledger ledger import report.jsonl --ledger sqlite:///new.db"))(
    ledger_files.import_
)
of_ledger.command(
    epilog=_examples("itemledger ledger prune -l sqlite:///orders.db --operation Orders/orders.jsonl --older-than 90d")
)(ledger_files.prune)
of_ledger.command(epilog=_examples("itemledger ledger stats --ledger sqlite:///orders.db"))(ledger.stats)
app.command("lab", epilog=_examples("itemledger lab", "itemledger lab --control"))(_reported(lab.command))
app.command("smoke", epilog=_examples("AWS_REGION=… DDB_TABLE=… DDB_CONSISTENT_READ=true itemledger smoke"))(
    _reported(smoke.command)
)
app.command("demo", epilog=_examples("itemledger demo", "itemledger demo --dir demo-output"))(_reported(demo.command))
app.command(epilog=_examples("itemledger version"))(version)
