"""A table cut into pages beforehand, and a scheduler that hands out their answers in any order: for runs of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from itemledger.core.answer import Answer, EvidenceLabel, Failure, FailureCause
from itemledger.core.steps import WaitUntil
from itemledger.tables.budget import Budget
from itemledger.tables.page import LastKey, Page
from itemledger.tables.page_answer import PageCall
from itemledger.tables.page_run import PageBounds, PageRun

Response = dict[str, Any]


def key(segment: int, position: int) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"{segment}/{position}"}}


def row(name: str) -> dict[str, dict[str, str]]:
    return {"pk": {"S": name}}


def answer(
    names: Iterable[str] = (), *, examined: int | None = None, last: LastKey | None = None, units: float | None = 0.5
) -> Answer:
    """A page that holds these rows."""
    rows = [row(name) for name in names]
    response: Response = {
        "Items": rows,
        "Count": len(rows),
        "ScannedCount": len(rows) if examined is None else examined,
    }
    if last is not None:
        response["LastEvaluatedKey"] = last
    if units is not None:
        response["ConsumedCapacity"] = {"TableName": "T", "CapacityUnits": units, "Table": {"CapacityUnits": units}}
    return Answer(response, "r", 0, EvidenceLabel.SYNTHETIC)


def failure(cause: FailureCause = FailureCause.TRANSIENT, code: str = "InternalServerError", **more: Any) -> Failure:
    return Failure(cause, code, "", "r", 0, EvidenceLabel.SYNTHETIC, **more)


@dataclass(slots=True)
class Pages:
    """Per segment the pages, each the names of its rows; a page may be empty, and the last may have a key, too."""

    segments: Mapping[int, Sequence[Sequence[str]]]
    dangling: frozenset[int] = frozenset()
    """Segments whose last page has a key that leads to an empty page."""
    units: float | None = 0.5

    def __call__(self, call: PageCall) -> Answer:
        number = call.segment
        pages = [*self.segments[number], *([[]] if number in self.dangling else [])]
        start = call.request.get("ExclusiveStartKey")
        place = 0 if start is None else int(start["pk"]["S"].partition("/")[2])
        last = key(number, place + 1) if place + 1 < len(pages) else None
        return answer(pages[place] if pages else [], last=last, units=self.units)


@dataclass(slots=True)
class World:
    """Drives a run: ``step`` answers one call in flight, chosen by ``choose``."""

    run: PageRun
    respond: Callable[[PageCall], Answer | Failure]
    now: float = 0.0
    calls: list[PageCall] = field(default_factory=list)
    flying: list[PageCall] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def step(self, choose: Callable[[int], int] = lambda count: 0) -> Page | Failure | None:
        """The next answer; ``None`` when the run is over."""
        while not self.run.done:
            for each in self.run.due(self.now):
                if isinstance(each, WaitUntil):
                    self.waits.append(each.at - self.now)
                    if not self.flying:
                        self.now = each.at
                else:
                    self.calls.append(each)
                    self.flying.append(each)
            if self.flying:
                call = self.flying.pop(choose(len(self.flying)))
                end = self.run.answered(call, self.respond(call), self.now)
                if isinstance(end, Page):
                    self.pages.append(end)
                return end
        return None

    def through(self, choose: Callable[[int], int] = lambda count: 0) -> list[Page]:
        while self.step(choose) is not None:
            pass
        return self.pages

    @property
    def names(self) -> list[str]:
        return [str(each["pk"]["S"]) for page in self.pages for each in page.rows]


def world(
    respond: Callable[[PageCall], Answer | Failure],
    *,
    starts: Mapping[int, LastKey | None] | None = None,
    bounds: PageBounds | None = None,
    budget: Budget | None = None,
    total: int | None = None,
    known_key: Sequence[str] = (),
    **request: Any,
) -> World:
    """A run over these segments (one, if not given), with pauses as long as they may be."""
    run = PageRun(
        "scan",
        {"TableName": "T", **request},
        {0: None} if starts is None else starts,
        bounds or PageBounds(concurrency=8),
        decode=dict,
        started_at=0.0,
        jitter=lambda low, high: high,
        total_segments=total,
        budget=budget,
        key=known_key,
    )
    return World(run, respond)
