"""From a caller's arguments to a crew that is ready to work: everything that can be refused is refused here."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from itemledger.apis.registry import write_api
from itemledger.core.rows import Operation, Row
from itemledger.core.worker_steps import Alert
from itemledger.core.write_api import Entry
from itemledger.crew.clients import check_client, check_kind, place_of
from itemledger.crew.crew import Crew
from itemledger.crew.look_up import HookLookUp, Routed, RoutedAsync
from itemledger.errors import LedgerError, ManifestError
from itemledger.ledger.store import Store
from itemledger.opening import MOST
from itemledger.payloads import Payloads
from itemledger.provider import observe


class WorkOptions(TypedDict, total=False):
    """What a run of work may be told besides its client, ledger and operation.

    ``concurrency`` workers share the run (default 4); ``timeout_s`` ends it (default 3,600), after which calls in
    flight get the policy's ``call_timeout_s`` to end. ``look_up(entries)`` asks the caller's own system of record and
    returns a ``Verdict`` for each entry; it goes before the API's look-up. ``payload(row)`` brings an item that the
    ledger does not keep. ``on_alert(alert)`` is told of every row that became terminal or was set aside.

    ``allow_sdk_retries=True`` lets a client resend by itself where a second send is a second effect: such a success is
    then marked as possibly duplicated. ``moved=True`` says that the target is where this client's calls go from now on,
    region and endpoint; without it a client of another place is refused. ``clock`` and ``jitter`` can be replaced in
    tests.
    """

    concurrency: int
    timeout_s: float
    look_up: Callable[[Sequence[Entry]], Any] | None
    payload: Callable[[Row], object] | None
    on_alert: Callable[[Alert], object] | None
    allow_sdk_retries: bool
    moved: bool
    clock: Callable[[], float]
    jitter: Callable[[float, float], float]


@dataclass(frozen=True, slots=True)
class Opened:
    """A crew, the client that its calls go through, the clock it goes by, and what is to be closed afterwards."""

    crew: Crew
    client: Any
    clock: Callable[[], float]
    payloads: Payloads
    concurrency: int


def open_work(
    client: Any, store: Store, operation_id: str, options: WorkOptions, *, asynchronous: bool = False
) -> Opened:
    """Checks what is asked for and sets up the crew.

    Raises LedgerError for an operation that is not there, not planned to its end, or of a provider that is not built
    in, or whose calls went elsewhere before, and ManifestError for bounds out of range, a client of the other driver,
    or one that could send twice unseen or for longer than the policy lets a call take.
    """
    operation = _operation(store, operation_id)
    api = write_api(operation.api).of(operation.target)
    concurrency, timeout_s = options.get("concurrency", 4), options.get("timeout_s", 3600.0)
    if type(concurrency) is not int or not 1 <= concurrency <= MOST["concurrency"]:
        raise ManifestError(f"concurrency={concurrency!r}: give a whole number from 1 to {MOST['concurrency']}")
    if not (type(timeout_s) in (int, float) and 0 < timeout_s < float("inf")):
        raise ManifestError(f"timeout_s={timeout_s!r}: give seconds, more than zero and finite")
    observe(client, api.operation, api.service)
    hook = options.get("look_up")
    check_kind(client, hook, asynchronous=asynchronous)
    check_client(client, api, operation.policy, allow_sdk_retries=options.get("allow_sdk_retries", False))
    place = place_of(client)
    if place is not None and place != operation.endpoint:
        store.set_endpoint(operation_id, place, moved=options.get("moved", False))
    clock = options.get("clock", time.monotonic)
    payloads = Payloads(api, options.get("payload"))
    crew = Crew(
        store,
        operation,
        api,
        payloads,
        look_up=api.look_up if hook is None else HookLookUp(api),
        jitter=options.get("jitter", random.uniform),
        concurrency=concurrency,
        clock=clock,
        timeout_s=timeout_s,
        on_alert=options.get("on_alert"),
    )
    if hook is not None:
        client = (RoutedAsync if asynchronous else Routed)(client, hook)
    return Opened(crew, client, clock, payloads, concurrency)


def _operation(store: Store, operation_id: str) -> Operation:
    operation = next((each for each in store.operations() if each.operation_id == operation_id), None)
    if operation is None:
        raise LedgerError(f"this ledger has no operation {operation_id!r}; plan it first")
    if operation.planned_at is None:
        raise LedgerError(f"planning of {operation_id!r} was interrupted, so nothing of it is sent; plan it again")
    return operation
