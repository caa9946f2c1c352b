"""A scan on a terminal: how many items against how many the table is said to have, its pace, and what is done."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from itemledger.cli.progress import clock
from itemledger.scanning.result import ScanResult
from itemledger.tables.page import Page, PageTotals


class ScanBar:
    """Two lines that fit into 80 columns; nothing without ``shown``."""

    def __init__(self, console: Console, *, shown: bool, segments: int) -> None:
        self._started_at = time.monotonic()
        self._segments = segments
        self._totals = PageTotals()
        self._before = self._done = 0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]}"),
            console=console,
            expand=True,
        )
        self._task = self._bar.add_task("items", total=None, count="")
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

    def begun(self, standing: ScanResult) -> None:
        """Where the scan stands before its first page, and how many items the service says that there are."""
        self._total = standing.approximate_items
        self._before = standing.totals.examined or 0
        self._done = sum(segment.state.value == "done" for segment in standing.segments)
        self._show()

    def take(self, page: Page) -> None:
        self._totals = self._totals.plus(page.totals)
        self._done += page.last_key is None
        self._show()

    def _show(self) -> None:
        examined = self._before + (self._totals.examined or 0)
        about = "" if self._total is None else f" of about {self._total:,} (the service's six-hourly estimate)"
        total = None if self._total is None else max(self._total, examined)
        self._bar.update(self._task, total=total, completed=examined, count=f"{examined:,}{about}")

    def _render(self) -> Group:
        seconds = max(time.monotonic() - self._started_at, 0.001)
        more = "at least " if self._totals.untold_calls else ""
        details = (
            f"{self._totals.returned / seconds:,.0f}/s · {self._totals.pages:,} pages · {more}"
            f"{self._totals.reported.units / seconds:,.1f} units/s · {self._done:,} of {self._segments:,} segments done"
            f" · {clock(seconds)}"
        )
        return Group(self._bar, Text(details, style="dim", no_wrap=True, overflow="ellipsis"))
