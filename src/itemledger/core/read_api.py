"""What a keyed-read API has beside the rest: capacity, remarks, and whether its size explains what it left over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from itemledger.core.reconcile import BatchApi
from itemledger.core.steps import SentKey


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A table's part of a call: hash of the request's shape (all but its keys), capacity, remarks."""

    request_hash: str
    consumed: float | None = None
    notes: tuple[str, ...] = ()


class ReadApi(BatchApi[SentKey], Protocol):
    """A partial-success API that reads by key."""

    def cut_by_size(self, response: Mapping[str, Any]) -> bool:
        """Whether the response is so large that its size explains what it left over."""

    def facts(self, item: SentKey, response: Mapping[str, Any] | None) -> CallFacts:
        """What a call shows of the table that ``item`` belongs to, besides its items."""
