"""A ledger of refunds in each store, under a clock that moves only when told."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import pytest

from itemledger.core.worker_steps import Alert
from itemledger.ledger import Ledger, OwnApi, Policy, open_ledger
from itemledger.testing import FakeClock

START = 1_700_000_000.0
STORES = ["memory", "sqlite"]
REFUNDS = OwnApi("payments.refund", "id")
#: The same where the caller's own books show what was refunded.
BOOKED = OwnApi("payments.refund", "id", looks_up=True)
OP = "refunds"


def open_one(kind: str, directory: Path, clock: FakeClock) -> Ledger:
    return open_ledger("memory://" if kind == "memory" else f"sqlite:///{directory}/ledger.db", clock=clock)


def refunds(count: int) -> list[dict[str, Any]]:
    return [{"id": f"r{number}", "amount": Decimal(number), "currency": "EUR"} for number in range(1, count + 1)]


def planned(ledger: Ledger, count: int, api: OwnApi = REFUNDS, **policy: Any) -> Ledger:
    """The ledger with so many refunds in it, ready to be worked on."""
    ledger.plan(OP, api, refunds(count), policy=Policy(**policy)).raise_for_conflicts()
    return ledger


def outcomes(ledger: Ledger) -> list[str]:
    """Where each row stands, in order."""
    return [row.outcome.value for row in ledger.rows(OP)]


def events(ledger: Ledger, number: int) -> list[str]:
    return [entry.event for entry in ledger.history(number)]


def longest(_: float, high: float) -> float:
    """The jitter that always waits as long as it may."""
    return high


def at_once(low: float, _: float) -> float:
    """The one that never waits."""
    return low


ErrorT = TypeVar("ErrorT", bound=BaseException)


@contextlib.contextmanager
def ends_with(error: type[ErrorT], match: str | None = None) -> Iterator[pytest.ExceptionInfo[ErrorT]]:
    """``pytest.raises`` around a claim's whole block: the error comes when it is left, not from one statement."""
    with pytest.raises(error, match=match) as caught:
        yield caught


class Alerts(list[Alert]):
    """An ``on_alert`` that remembers."""

    def __call__(self, alert: Alert) -> None:
        self.append(alert)
