"""The one way in: a scan to a file, to a directory, or to the caller's own function."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from itemledger.errors import ManifestError
from itemledger.scanning.parallel import scan_parallel
from itemledger.scanning.result import ScanResult
from itemledger.scanning.run import Scan
from itemledger.scanning.sinks import HandlerSink, LinesSink, Sink
from itemledger.tables.page import Page

ScanFormat = Literal["json", "dynamodb-json"]
#: ``None`` is stdout.
Destination = str | Path | Callable[[Page], object] | None


@dataclass(frozen=True, slots=True)
class SinkOf:
    """Makes the sink of a run, or of one segment's job; a directory has a file for each segment."""

    to: Destination
    item_format: ScanFormat
    values: Literal["native", "typed"]
    compress: bool = False

    def __call__(self, segment: int | None = None) -> Sink:
        if self.to is None:
            return LinesSink(None, self.item_format, compress=self.compress)
        if not isinstance(self.to, str | Path):
            return HandlerSink(self.to, self.values)
        path = Path(self.to)
        if segment is not None:
            ending = "json" if self.item_format == "dynamodb-json" else "jsonl"
            path = path / f"segment-{segment:05}.{ending}{'.gz' if self.compress else ''}"
        return LinesSink(path, self.item_format, compress=path.suffix == ".gz")


def scan(
    client: Any,
    to: Destination,
    *,
    item_format: ScanFormat = "json",
    values: Literal["native", "typed"] = "native",
    compress: bool = False,
    checkpoint: str | Path | None = None,
    executor: Executor | None = None,
    progress: Callable[[Page], object] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    **arguments: Any,
) -> ScanResult:
    """Scans a table into a file, or hands every page to a function; with ``checkpoint`` it goes on where it ended.

    A file has an item a line: plain JSON with exact numbers, or with ``item_format="dynamodb-json"`` what the service's
    own export to S3 writes; a name that ends with ``.gz`` is compressed. Other arguments are those of the client's
    ``scan`` and of ``ScanOptions``. A page is on disk, or the function has returned, before the checkpoint says so;
    whatever ended the process, the same call again takes up each segment after its last page in the checkpoint, and
    takes back what was written later.

    With ``executor`` each segment is a job of its own: ``client`` is then a function that makes a client (``partial(
    boto3.client, "dynamodb")``), ``to`` a directory or a function that can be pickled, ``checkpoint`` a directory.

    What the service refuses is in the result. Raises ManifestError for bad arguments and an output that is there
    already, CheckpointError for a checkpoint of another scan, OutputError when nothing more can be written, and an
    interrupt, or what the function raises, as it came, with ``.result``.
    """
    if item_format not in ("json", "dynamodb-json"):
        raise ManifestError(f"item_format must be 'json' or 'dynamodb-json'; got {item_format!r}")
    path = None if checkpoint is None else Path(checkpoint)
    sink = SinkOf(to, item_format, values, compress)
    if executor is None:
        return Scan(client, sink(), arguments, checkpoint=path, progress=progress, sleep=sleep).run()
    if not callable(client):
        raise ManifestError('with executor= give a function that makes a client: partial(boto3.client, "dynamodb")')
    if isinstance(to, str | Path):
        Path(to).mkdir(parents=True, exist_ok=True)
    return scan_parallel(executor, client, sink, arguments, checkpoints=path)
