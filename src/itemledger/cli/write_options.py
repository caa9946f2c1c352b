"""The options of the commands that write: the ledger, the items, and the policy of the run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import typer

from itemledger.cli import options as o
from itemledger.cli.problems import CommandError
from itemledger.core.policy import OnUnknown, Policy
from itemledger.errors import ManifestError
from itemledger.ledger import open_ledger
from itemledger.ledger.opening import ledger_file
from itemledger.opening import MOST

LEDGER, WRITING, POLICY = "Ledger", "Writing", "Policy of the run"

#: What a person waits for after a kill -9 is the lease, so it is short: three times a call, which gives up in time for
#: that because the client is ours. A call of AWS that has not answered after ten seconds hardly ever does.
LEASE_S, CALL_TIMEOUT_S = 30.0, 10.0
DEFAULTS = Policy(lease_s=LEASE_S, call_timeout_s=CALL_TIMEOUT_S)
DAY_S = 86_400


class UnknownMeans(StrEnum):
    """What becomes of an item whose end is unknown and that nothing can settle."""

    REVIEW = "review"
    AT_LEAST_ONCE = "at-least-once"
    IRREVERSIBLE = "irreversible"

    @property
    def policy(self) -> OnUnknown:
        return OnUnknown[self.name]


LedgerUrl: TypeAlias = Annotated[
    str, typer.Option("--ledger", "-l", rich_help_panel=LEDGER, metavar="URL", help="Such as sqlite:///orders.db.")
]
Items: TypeAlias = Annotated[
    str,
    typer.Option("--items", "-i", rich_help_panel=WRITING, metavar="FILE|-", help="The items, as JSON Lines."),
]
OperationName: TypeAlias = Annotated[
    str | None, typer.Option("--operation", rich_help_panel=LEDGER, metavar="NAME", help="The operation of the ledger.")
]
StorePayloads: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--store-payloads",
        metavar="",
        rich_help_panel=LEDGER,
        help="Keep the items themselves in the ledger; otherwise it keeps their places in FILE.",
    ),
]
# An operation that is there keeps its policy, but for what is given.
MaxAttempts: TypeAlias = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=POLICY,
        min=1,
        max=1_000_000,
        help="Sends of an item before it is given up.",
        show_default=str(DEFAULTS.max_attempts),
    ),
]
Lease: TypeAlias = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=POLICY,
        metavar="SECONDS",
        help="How long a worker that died keeps its items.",
        show_default=f"{LEASE_S:g}",
    ),
]
CallTimeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=POLICY,
        metavar="SECONDS",
        help="When a call is given up; shorter than the lease.",
        show_default=f"{CALL_TIMEOUT_S:g}",
    ),
]
Settle: TypeAlias = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=POLICY,
        metavar="SECONDS",
        help="How long an item is left alone before it is looked up.",
        show_default="the API's own",
    ),
]
OnUnknownOption: TypeAlias = Annotated[
    UnknownMeans | None,
    typer.Option(
        "--on-unknown",
        rich_help_panel=POLICY,
        help="What an unknown end leads to where nothing can settle it: a person, or another send.",
        show_default=UnknownMeans.REVIEW.value,
    ),
]
RetryCode: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(rich_help_panel=POLICY, metavar="CODE", help="An item's error code that passes; can be repeated."),
]
BackoffCap: TypeAlias = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=POLICY,
        metavar="SECONDS",
        help="The longest pause before another send.",
        show_default=f"{DEFAULTS.backoff_cap_s:g}",
    ),
]
Keep: TypeAlias = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=POLICY,
        metavar="90d",
        help="How long a finished item is kept, so that its key is recognised.",
        show_default="30d",
    ),
]
Moved: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--moved",
        metavar="",
        rich_help_panel=LEDGER,
        help="The target is now at this region and endpoint; otherwise another one than before is refused.",
    ),
]
WorkTimeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        rich_help_panel=o.BOUNDS,
        metavar="SECONDS",
        help="When the work on an operation ends whatever happens.",
        show_default="300, and 1 for every call to be made",
    ),
]
EndpointUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(rich_help_panel=o.AWS, metavar="URL", help="Another endpoint; else AWS_ENDPOINT_URL_SQS and so on."),
]
HeaderEnv: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        rich_help_panel=o.OTHER,
        metavar="NAME=VARIABLE",
        help="A header of every HTTP call, its value from the environment; never stored. Can be repeated.",
    ),
]
SummaryJson: TypeAlias = Annotated[
    bool, typer.Option("--json", metavar="", rich_help_panel=o.OTHER, help="The summary as one JSON object, on stdout.")
]
Concurrency: TypeAlias = Annotated[
    int, typer.Option(rich_help_panel=o.BOUNDS, min=1, max=MOST["concurrency"], help="How many calls run at a time.")
]
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": DAY_S}


@dataclass(frozen=True, slots=True)
class RunPolicy:
    """The policy of a run, and the one that its operation had before, where it is in the ledger already."""

    policy: Policy
    recorded: Policy | None = None

    @property
    def changes(self) -> str | None:
        """What is another than before, in words; ``None`` where nothing is."""
        if self.recorded is None or self.recorded == self.policy:
            return None
        old, new = self.recorded.to_json(), self.policy.to_json()
        return ", ".join(f"{name} {_told(old[name])} → {_told(new[name])}" for name in new if old[name] != new[name])


def policy_of(
    ledger_url: str,
    operation_id: str,
    *,
    max_attempts: int | None,
    lease: float | None,
    call_timeout: float | None,
    settle: float | None,
    on_unknown: UnknownMeans | None,
    retry_code: list[str] | None,
    backoff_cap: float | None,
    keep: str | None,
) -> RunPolicy:
    """What the options make of the operation's own policy, else of the defaults; CommandError where that is none."""
    given: dict[str, Any] = {
        "max_attempts": max_attempts,
        "lease_s": lease,
        "call_timeout_s": call_timeout,
        "settle_s": settle,
        "on_unknown": None if on_unknown is None else on_unknown.policy,
        "retry_codes": None if retry_code is None else frozenset(retry_code),
        "backoff_cap_s": backoff_cap,
        "keep_s": None if keep is None else duration_s("--keep", keep),
    }
    recorded = _recorded(ledger_url, operation_id)
    try:
        changes = {name: value for name, value in given.items() if value is not None}
        return RunPolicy(replace(recorded or DEFAULTS, **changes), recorded)
    except ManifestError as error:
        raise CommandError(str(error)) from None


def _recorded(ledger_url: str, operation_id: str) -> Policy | None:
    path = ledger_file(ledger_url)
    if path is None or not path.exists():
        return None
    with open_ledger(ledger_url, create=False) as ledger:
        policies = [each.policy for each in ledger.operations() if each.operation_id == operation_id]
    return policies[0] if policies else None


def _told(value: object) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value)) or "none"
    return f"{value:,}".removesuffix(".0") if isinstance(value, float) else str(value)


def duration_s(option: str, text: str) -> float:
    """The seconds in ``90d``, ``12h``, ``30m`` or ``45s``."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isascii() or not number.isdecimal():
        raise CommandError(f"{option} takes a whole number and its unit: 90d, 12h, 30m or 45s")
    return float(int(number) * _UNITS[unit])


def timeout_of(asked_for: float | None) -> float | None:
    """What --timeout says, if it says something."""
    if asked_for is not None and not 0 < asked_for < math.inf:
        raise CommandError(f"--timeout must be more than zero and finite; got {asked_for:g}")
    return asked_for
