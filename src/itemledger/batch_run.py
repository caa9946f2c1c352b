"""Chunk after chunk of a batch, each in a ledger of its own in memory; what sends them is the driver's ``work``.

Packing, leftovers, pauses, look-ups and caps are the worker's, as they are for a durable ledger. What is given up here
is only durability: when the process dies, so does the report.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Self, TypedDict

from itemledger.batch_report import BatchItem, BatchReport, Tally
from itemledger.core.outcome import FINAL, Outcome
from itemledger.core.policy import Policy
from itemledger.core.rows import Operation, Row
from itemledger.core.write_api import Entry, WriteApi
from itemledger.crew.clients import policy_for
from itemledger.crew.opening import WorkOptions
from itemledger.crew.result import WorkResult
from itemledger.ledger.ledger import Ledger
from itemledger.ledger.memory import MemoryStore
from itemledger.ledger.planning import new_item

#: The fewest items that are settled together. Memory stays flat however many there are.
CHUNK = 100


class BatchOptions(TypedDict, total=False):
    """``policy`` caps attempts and look-ups and sets the pauses, ``timeout_s`` bounds each chunk (default 60).

    A chunk is as many items as ``concurrency`` full calls take (default 4 calls at a time), and at least a hundred.
    Without a policy it is the default one, with a ``call_timeout_s`` that leaves the client as long as its own timeouts
    let it take. ``on_item(item)`` is told of each item once its chunk is over. ``allow_sdk_retries``: see
    ``WorkOptions``. ``clock`` and ``jitter`` can be replaced in tests.
    """

    policy: Policy | None
    timeout_s: float
    concurrency: int
    on_item: Callable[[BatchItem], object] | None
    allow_sdk_retries: bool
    clock: Callable[[], float]
    jitter: Callable[[float, float], float]


@dataclass(frozen=True, slots=True)
class Given:
    """An item as it came, with its entry as of then: what the caller changes in it afterwards is not sent."""

    position: int
    item: object
    entry: Entry


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is settled together: a planned operation in a ledger of its own, and how ``work`` is to go about it."""

    given: Sequence[Given]
    ledger: Ledger
    operation_id: str
    options: WorkOptions


class Run:
    """Everything that is given to one helper. As a context manager it hangs the report on whatever cuts it short.

    ``for chunk in run.give(...)``: each chunk is to be worked on and then ``ended`` before the next is asked for.
    """

    def __init__(self, client: Any, options: BatchOptions) -> None:
        given = options.get("policy")
        self._policy = policy_for(client, Policy()) if given is None else given
        self._options = options
        # Drawn: what the ledger makes idempotency keys of must not come again, or a provider drops the second message.
        self._name = secrets.token_hex(8)
        self._positions, self._chunks = count(), count(1)
        self._waiting: dict[str, tuple[WriteApi, Given]] = {}
        self._keys: set[str] = set()  # the callers' own idempotency keys among them
        self._next: Given | None = None  # the one for which others have to go first
        self._open: Chunk | None = None
        self._stuck_groups: set[str | None] = set()
        self._tally = Tally()
        self.blocked = False  # by an error that every further call would meet: nothing is sent any more

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.abandon(error)

    @property
    def report(self) -> BatchReport:
        """What became of everything that was given and is no longer waiting."""
        return self._tally.report()

    def read(self, api: WriteApi, item: object) -> Given:
        """The next item, checked and measured; ManifestError names its position."""
        position = next(self._positions)
        entry = api.entry(item, position)
        return Given(position, dict(item) if isinstance(item, Mapping) else item, entry)

    def give(self, api: WriteApi, given: Given, *, last_wins: bool = False) -> Iterator[Chunk]:
        """Puts an item by, and sends what is due.

        Items that a ledger would take for one another are sent one after the other, in their order, or with
        ``last_wins`` only the last of those that wait.
        """
        self._next = given
        item_id, key = given.entry.item_id, given.entry.idempotency_key
        if last_wins:
            self._tally.replaced += self._waiting.pop(item_id, None) is not None
        elif item_id in self._waiting or key in self._keys:
            yield from self.flush()
        self._waiting[item_id], self._next = (api, given), None
        if key is not None:
            self._keys.add(key)
        if len(self._waiting) >= max(CHUNK, self._options.get("concurrency", 4) * api.limits.items):
            yield from self.flush()

    def flush(self) -> Iterator[Chunk]:
        """Sends everything that waits."""
        for api in dict.fromkeys(api for api, _ in self._waiting.values()):
            given = [each for of, each in self._waiting.values() if of is api]
            going = [each for each in given if not self.blocked and each.entry.group_id not in self._stuck_groups]
            if going:
                yield self._chunk(api, going)
            self._tell(self._left_over([each for each in given if each.entry.item_id in self._waiting]))
        self._keys.clear()

    def ended(self, result: WorkResult) -> None:
        """The open chunk was worked on to its end."""
        self._tell(self._settled(result))

    def raise_if_blocked(self) -> None:
        """IncompleteBatchError once nothing is sent any more; what waits is left over."""
        if self.blocked:
            self._tell(self._left_over([each for _, each in self._waiting.values()]))
            self.report.raise_unless_complete()

    def abandon(self, error: BaseException) -> None:
        """Sends nothing more of what waits, and hangs the report on what is to blame."""
        ended = [] if self._open is None else self._settled(getattr(error, "result", None))
        waiting = [each for _, each in self._waiting.values()]
        items = [*ended, *self._left_over([*waiting, *([] if self._next is None else [self._next])])]
        self._next = None
        self._keys.clear()
        carries: Any = error
        carries.report = self.report
        with suppress(Exception):  # of the caller's: what cut the run short goes first
            self._tell(items)

    def _chunk(self, api: WriteApi, given: Sequence[Given]) -> Chunk:
        clock = self._options.get("clock", time.monotonic)  # of the ledger too: what lives so short needs no dates
        ledger, name = Ledger(MemoryStore(clock=clock)), f"batch-{self._name}-{next(self._chunks)}"
        options: WorkOptions = {
            "payload": lambda row: given[row.number - 1].entry,
            "clock": clock,
            "jitter": self._options.get("jitter", random.uniform),
            "concurrency": self._options.get("concurrency", 4),
            "timeout_s": self._options.get("timeout_s", 60.0),
            "allow_sdk_retries": self._options.get("allow_sdk_retries", False),
        }
        chunk = Chunk(given, ledger, name, options)
        going = {each.entry.item_id for each in given}
        waiting = {item_id: each for item_id, each in self._waiting.items() if item_id not in going}
        self._open, self._waiting = chunk, waiting  # at once, or an interrupt in between would count them twice
        store = ledger.store
        store.open_operation(Operation(name, api.name, api.target, self._policy, api.effect))
        planned = store.plan(name, [new_item(name, api, each.entry, None) for each in given])
        assert planned.new == len(given), "what a ledger would take for one another is kept apart"
        store.planning_ended(name)
        return chunk

    def _settled(self, result: object) -> list[BatchItem]:
        """How the items of the open chunk stand, counted."""
        chunk = self._open
        assert chunk is not None, "one chunk at a time"
        rows = {row.number: row for row in chunk.ledger.rows(chunk.operation_id)}  # none where planning was cut off
        standing = [(_item(each, rows.get(number)), rows.get(number)) for number, each in enumerate(chunk.given, 1)]
        # Within a message group order is kept: behind one that has no end yet nothing goes.
        self._stuck_groups |= {row.group_id for row in rows.values() if row.outcome not in FINAL} - {None}
        if isinstance(result, WorkResult):
            self._tally.calls += result.calls
            self._tally.terminal_error = self._tally.terminal_error or result.terminal_error
            # Who may write and not read meets an error too, but only where something has to be looked up.
            unsent = any(row.outcome in (Outcome.PENDING, Outcome.RETRYABLE) for row in rows.values())
            self.blocked |= result.terminal_error is not None and unsent
        self._tally.add(standing)
        self._open = None
        return [item for item, _ in standing]

    def _left_over(self, given: Sequence[Given]) -> list[BatchItem]:
        """Counted as never sent, and no longer waiting."""
        items = [_item(each, None) for each in given]
        self._tally.add((item, None) for item in items)
        for each in given:
            self._waiting.pop(each.entry.item_id, None)
        return items

    def _tell(self, items: Iterable[BatchItem]) -> None:
        on_item = self._options.get("on_item")
        if on_item is not None:
            for item in items:
                on_item(item)


def _item(given: Given, row: Row | None) -> BatchItem:
    if row is None:
        return BatchItem(given.position, given.item, given.entry.item_id)
    return BatchItem(
        given.position,
        given.item,
        row.item_id,
        row.outcome,
        row.attempts,
        row.error_code,
        row.error_message,
        row.object_ref,
        row.possible_duplicates,
    )
