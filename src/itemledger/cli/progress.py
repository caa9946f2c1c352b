"""A read's progress on a terminal: how much is settled and how fast, what was left over, and when it must end."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from itemledger.core.passes import Totals
from itemledger.core.reconcile import Finding
from itemledger.core.steps import Progress as Step


class ProgressBar:
    """Two lines that fit into 80 columns; without ``shown`` it only counts."""

    def __init__(self, console: Console, *, shown: bool, keys: int, deadline_s: float) -> None:
        self._started_at = time.monotonic()
        self._deadline_s = deadline_s
        self._settled = 0
        self._left_over = 0
        self._totals = Totals()
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
        self._task = self._bar.add_task("keys settled", total=keys)
        self._live = (
            Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True) if shown else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started_at

    def take(self, step: Step) -> None:
        """One call has ended."""
        for entry in step.evidence:
            left_over = entry.findings.count(Finding.UNPROCESSED)
            self._left_over += left_over
            self._settled += len(entry.findings) - left_over
            self._totals = self._totals.plus(entry)
        self._bar.update(self._task, completed=self._settled)

    def _render(self) -> Group:
        retries = self._totals.sdk_retry_attempts
        details = (
            f"{self._settled / max(self.elapsed_s, 0.001):,.0f}/s · {self._left_over:,} left over"
            f" · {'?' if retries is None else f'{retries:,}'} SDK retries · {self._totals.calls:,} calls"
            f" · {clock(self.elapsed_s)} of {clock(self._deadline_s)}"
        )
        return Group(self._bar, Text(details, style="dim", no_wrap=True, overflow="ellipsis"))


def clock(seconds: float) -> str:
    """``1:02:03`` or ``2:03``."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
