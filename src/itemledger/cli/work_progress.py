"""Work on an operation, on a terminal: how many items have their end and how fast, and where the others stand."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from itemledger.cli.progress import clock
from itemledger.core.outcome import Outcome
from itemledger.crew.result import Progress as Step
from itemledger.ledger.store import Store

#: The store counts for the display once a second, and a twentieth of the time at most.
EVERY_S, SHARE = 1.0, 20


class WorkBar:
    """Two lines that fit into 80 columns; without ``shown`` it only tells the time."""

    def __init__(self, console: Console, store: Store, operation_id: str, *, shown: bool, timeout_s: float) -> None:
        self._store = store
        self._operation_id = operation_id
        self._timeout_s = timeout_s
        self._started_at = time.monotonic()
        self._calls = 0
        self._count_again_at = 0.0
        self._count()
        self._done_before = self._done
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TaskProgressColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(compact=True),
            console=console,
            expand=True,
        )
        self._task = self._bar.add_task("items done", total=self._counts.total(), completed=self._done)
        self._live = (
            Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True) if shown else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started_at

    def take(self, step: Step) -> None:
        """One call has ended."""
        self._calls = step.calls
        if self._live is None:
            return
        if time.monotonic() >= self._count_again_at:
            self._count()
        else:
            self._done += step.moved.get(Outcome.SUCCEEDED, 0) + step.moved.get(Outcome.TERMINAL, 0)
        self._bar.update(self._task, completed=self._done)

    def _count(self) -> None:
        began_at = time.monotonic()
        self._counts = Counter(self._store.counts(self._operation_id))
        self._waiting = self._store.reviews(self._operation_id)
        self._done = self._counts[Outcome.SUCCEEDED] + self._counts[Outcome.TERMINAL]
        now = time.monotonic()
        self._count_again_at = now + max(EVERY_S, SHARE * (now - began_at))

    def _render(self) -> Group:
        details = (
            f"{(self._done - self._done_before) / max(self.elapsed_s, 0.001):,.0f}/s"
            f" · {self._counts[Outcome.RETRYABLE]:,} to retry · {self._counts[Outcome.RECONCILE]:,} unknown"
            f" · {self._waiting:,} in review · {self._calls:,} calls"
            f" · {clock(self.elapsed_s)} of {clock(self._timeout_s)}"
        )
        return Group(self._bar, Text(details, style="dim", no_wrap=True, overflow="ellipsis"))
