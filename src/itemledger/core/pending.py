"""Keys still to be asked: in which order, how many at a time, and after which pause.

Leftovers of several calls wait together, by how often they were already left over, and share the next request. Every
key leaves for good after ``max_passes`` charged passes; a pass is not charged only when the answer's size explains
the leftovers and it settled at least one key, so the number of calls is bounded whatever the service does.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from itemledger.core.passes import LeftoverCause
from itemledger.core.terms import Bounds

Jitter: TypeAlias = Callable[[float, float], float]


class Pending:
    """The slots of one read that wait for a call."""

    def __init__(self, count: int, call_items: int, bounds: Bounds, jitter: Jitter) -> None:
        self._count = count
        self._call_items = call_items
        self._bounds = bounds
        self._jitter = jitter
        self._fresh = 0
        self._leftover: deque[int] = deque()
        self._cooling: dict[int, tuple[float, list[int]]] = {}  # by charged passes: when the pause ends, and for whom
        self._chunk = call_items
        self._asked = array("L", [0]) * count  # passes of each key, as numbered in the evidence
        self._charged = array("L", [0]) * count  # those that count against max_passes

    @property
    def empty(self) -> bool:
        """Whether nothing is left to ask, now or after a pause."""
        return not (self._leftover or self._cooling) and self._fresh >= self._count

    def ready(self, now: float) -> bool:
        """Whether a call could start now."""
        return bool(self._leftover) or self._fresh < self._count or any(at <= now for at, _ in self._cooling.values())

    @property
    def pause_ends(self) -> float | None:
        """When the first pause ends; ``None`` when nobody waits."""
        return min((at for at, _ in self._cooling.values()), default=None)

    def take(self, now: float) -> tuple[Sequence[int], int]:
        """The slots of the next call, leftovers first, and the number of the application pass that it makes."""
        for charged in [c for c, (at, _) in self._cooling.items() if at <= now]:
            self._leftover.extend(self._cooling.pop(charged)[1])
        slots = [self._leftover.popleft() for _ in range(min(self._chunk, len(self._leftover)))]
        fresh = min(self._chunk - len(slots), self._count - self._fresh)
        slots.extend(range(self._fresh, self._fresh + fresh))
        self._fresh += fresh
        for slot in slots:
            self._asked[slot] += 1
        return tuple(slots), max((self._asked[slot] for slot in slots), default=0)

    def put_back(self, slots: Sequence[int]) -> None:
        """Slots to be asked again at once, before all others."""
        self._leftover.extendleft(reversed(slots))

    def all_fitted(self, asked: int) -> None:
        """A call came back without leftovers; after a full one the next may ask a little more."""
        if asked >= self._chunk:
            self._chunk = min(self._call_items, self._chunk + 1 + self._chunk // 4)

    def left_over(self, slots: Sequence[int], cause: LeftoverCause, *, processed: int, now: float) -> None:
        """Slots that an answer left over, and how many it did process."""
        if cause is LeftoverCause.RESPONSE_SIZE and processed:
            self._chunk = processed
            self.put_back(slots)
            return
        for slot in slots:
            self._charged[slot] += 1
            charged = self._charged[slot]
            if charged >= self._bounds.max_passes:
                continue  # that was its last pass: it ends unresolved
            group = self._cooling.get(charged)
            if group is None or group[0] <= now:  # a pause that is over, though no call was free, is nobody else's
                self._leftover.extend(group[1] if group else ())
                group = self._cooling[charged] = (now + self._pause(charged), [])
            group[1].append(slot)

    def _pause(self, charged: int) -> float:
        """Full jitter over a range that doubles with each charged pass, up to the cap."""
        doubled = self._bounds.backoff_base_s * 2.0 ** min(charged - 1, 60)
        return self._jitter(0.0, min(self._bounds.backoff_cap_s, doubled))
