"""A scan on an executor of the caller's: a job a segment, each with a client, an output and a checkpoint of its own.

Any ``concurrent.futures.Executor`` will do: threads, processes, or a cluster's. Everything that a job is given can be
pickled, so it may run on another machine, as long as the output directory is one that all of them share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from itemledger.errors import ManifestError
from itemledger.paging import plan_scan
from itemledger.scanning.result import ScanResult, sum_of
from itemledger.scanning.run import Scan
from itemledger.scanning.sinks import Sink
from itemledger.tables.page_result import PageStop, Segment, SegmentState


@dataclass(frozen=True, slots=True)
class ScanJob:
    """One segment, as it goes to a worker. ``client`` makes the worker's client, ``sink`` its sink."""

    client: Callable[[], Any]
    sink: Callable[[int], Sink]
    arguments: Mapping[str, Any]
    segment: int
    checkpoint: Path | None

    def __call__(self) -> ScanResult:
        arguments = {**self.arguments, "starts": {self.segment: None}, "concurrency": 1}
        return Scan(self.client(), self.sink(self.segment), arguments, checkpoint=self.checkpoint).run()


def scan_parallel(
    executor: Executor,
    client: Callable[[], Any],
    sink: Callable[[int], Sink],
    arguments: Mapping[str, Any],
    *,
    checkpoints: Path | None = None,
) -> ScanResult:
    """Scans every segment as a job of the executor; one that fails does not stop the others.

    ``units_per_s`` is shared out evenly over the segments. With ``checkpoints``, a directory, a segment goes on where
    an earlier run left it. An interrupt takes back the jobs that have not begun.
    """
    plan = plan_scan(arguments)
    segments = plan.total_segments or 1
    if plan.units_per_s is not None:
        arguments = {**arguments, "units_per_s": plan.units_per_s / segments}
    for name in ("starts", "concurrency", "max_items", "max_examined"):
        if arguments.get(name) is not None:
            raise ManifestError(f"{name}= is of one run; it cannot be kept across the jobs of an executor")
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
    jobs: dict[Future[ScanResult], int] = {}
    standing: dict[int, Segment] = {}
    failures: dict[int, BaseException] = {}
    resumed, approximate_items = False, None
    try:
        for number in range(segments):
            path = None if checkpoints is None else checkpoints / f"segment-{number:05}.ckpt"
            jobs[executor.submit(ScanJob(client, sink, arguments, number, path))] = number
        for job in as_completed(jobs):
            number = jobs[job]
            if (error := job.exception()) is not None:
                failures[number] = error
                continue
            result = job.result()
            standing[number] = result.segments[0]
            resumed |= result.resumed
            approximate_items = approximate_items or result.approximate_items
    finally:
        for job in jobs:
            job.cancel()
    stood = tuple(standing[number] for number in sorted(standing))
    whole = not failures and all(segment.state is SegmentState.DONE for segment in stood)
    return ScanResult(
        plan.request["TableName"],
        plan.request.get("IndexName"),
        stood,
        sum_of(stood),
        PageStop.COMPLETE if whole else PageStop.REQUEST_FAILED,
        next((segment.error for segment in stood if segment.error is not None), None),
        resumed,
        approximate_items,
        failures,
    )
