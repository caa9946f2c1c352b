"""One measurement, in a process of its own: ``python -m benchmarks.worker KIND …`` prints a line of JSON."""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable

from benchmarks import items, ledger_worker
from benchmarks.canned import Endpoint
from benchmarks.contenders import Contender
from benchmarks.processes import peak_bytes
from benchmarks.readers import READERS, iter_read, keys_for, read_batch


def cpu(contender: str, keys: str, reads: str) -> dict[str, float]:
    """CPU time of some reads, after one that warms up whatever there is."""
    read, count, times = READERS[Contender(contender)], int(keys), int(reads)
    client = Endpoint(count, items.order_tails(), prepare=True).client()
    asked = keys_for(Contender(contender), count)
    _expect(count, read(client, asked))
    gc.collect()
    begun = time.process_time()
    for _ in range(times):
        _expect(count, read(client, asked))
    return {"items": count * times, "cpu_s": time.process_time() - begun}


def instructions(*calls: str) -> dict[str, float]:
    """Each contender's reads of so many calls, between marks; nothing is measured here, callgrind counts from outside.

    All in one process: under callgrind its start takes longer than the reads, and they do not disturb one another's
    counts as they would disturb one another's times.
    """
    counts = [int(number) * items.CALL_KEYS for number in calls]
    endpoint = Endpoint(max(counts), items.order_tails(), prepare=True)
    for contender, read in READERS.items():
        client, asked = endpoint.client(), keys_for(contender, max(counts))
        for _ in range(2):
            _expect(items.CALL_KEYS, read(client, asked[: items.CALL_KEYS]))
        gc.collect()
        gc.freeze()  # what is there by now is not this reader's to look through
        os.getloadavg()
        for count in counts:
            _expect(count, read(client, asked[:count]))
            os.getloadavg()
    return {}


def memory(reader: str, keys: str, payload_bytes: str) -> dict[str, float]:
    """How far a read raises the process's peak. Keys come one by one, so that none is there but the reader's own."""
    read, count = {"iter_read": iter_read, "read_batch": read_batch}[reader], int(keys)
    client = Endpoint(count, items.payload_tails(int(payload_bytes)), prepare=False).client()
    read(client, items.keys(items.CALL_KEYS))
    before = peak_bytes(resource.getrusage(resource.RUSAGE_SELF))
    _expect(count, read(client, items.keys(count)))
    return {"before_bytes": before, "peak_bytes": peak_bytes(resource.getrusage(resource.RUSAGE_SELF))}


def _expect(count: int, got: int) -> None:
    if got != count:
        raise SystemExit(f"{count} items were expected and {got} came: no measurement")


if __name__ == "__main__":
    kinds: dict[str, Callable[..., dict[str, float]]] = {
        "cpu": cpu,
        "instructions": instructions,
        "memory": memory,
        "ledger_store": ledger_worker.store,
        "ledger_waiting": ledger_worker.waiting,
        "ledger_busy": ledger_worker.busy,
    }
    print(json.dumps(kinds[sys.argv[1]](*sys.argv[2:])))
