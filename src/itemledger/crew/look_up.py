"""The caller's own system of record, asked where an API's look-up would be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from itemledger.core.answer import Failure
from itemledger.core.write_api import Entry, Verdict, WriteApi


class HookLookUp:
    """The caller's own system of record in the place of a look-up: asked like a client, judged like an API."""

    operation = "itemledger_look_up"

    def __init__(self, api: WriteApi) -> None:
        self.limits = api.look_up.limits if api.look_up is not None else api.limits
        self.settle_s = api.look_up.settle_s if api.look_up is not None else 0.0

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return {"entries": list(items)}

    def verdicts(self, items: Sequence[Entry], answer: Mapping[str, Any] | Failure) -> list[Verdict]:
        """Unreadable when the hook raised, or did not give one verdict for each."""
        told = [] if isinstance(answer, Failure) else answer["verdicts"]
        if len(told) != len(items) or not all(isinstance(verdict, Verdict) for verdict in told):
            return [Verdict.UNREADABLE] * len(items)
        return list(told)


class Routed:
    """A client with one method more: the caller's look-up."""

    def __init__(self, client: Any, look_up: Callable[[Sequence[Entry]], Any]) -> None:
        self._client = client
        self._look_up = look_up

    def itemledger_look_up(self, entries: Sequence[Entry]) -> Mapping[str, Any]:
        return {"verdicts": list(self._look_up(entries))}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


class RoutedAsync(Routed):
    """The same for a client of aiobotocore; the look-up may be a coroutine function or a plain one."""

    async def itemledger_look_up(self, entries: Sequence[Entry]) -> Mapping[str, Any]:  # type: ignore[override]
        told = self._look_up(entries)
        return {"verdicts": list(await told if inspect.isawaitable(told) else told)}
