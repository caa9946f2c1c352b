"""A capacity budget: so many read units a second, kept by waiting before a page, settled by what it cost."""

from __future__ import annotations

#: How far throttles may lower the pace, and how much of the budget comes back each second without one.
LOWEST_SHARE = 1 / 64
REGAINED_SHARE = 0.05
#: A page that did not tell its units counts as a full one: 1 MB at 4 KB a unit, half of it if eventually consistent
#: (developer guide, "Capacity consumption").
FULL_PAGE_UNITS = 256.0


class Budget:
    """Paces pages to ``units_per_s``: one is begun when all before it are paid for, by estimate while in flight.

    So the mean keeps to the budget, and what is over it at a time is at most the pages in flight. A throttle of the
    whole table halves the pace, which comes back by and by.
    """

    def __init__(self, units_per_s: float, *, consistent_read: bool) -> None:
        self.units_per_s = units_per_s
        self._full_page = FULL_PAGE_UNITS if consistent_read else FULL_PAGE_UNITS / 2
        self._share = 1.0
        self._share_at = 0.0
        self._paid_at = float("-inf")
        self._estimate = 1.0

    def ready_at(self) -> float:
        """When the next page may begin, in the clock's seconds."""
        return self._paid_at

    def begin(self, now: float) -> float:
        """Counts a page that begins now by the last one's units, and says how many that were."""
        self._spend(self._estimate, now)
        return self._estimate

    def settle(self, estimate: float, units: float | None, now: float) -> None:
        """What a page consumed in fact; ``None`` where it did not tell."""
        actual = self._full_page if units is None else units
        self._estimate = actual
        self._spend(actual - estimate, now)

    def give_back(self, estimate: float, now: float) -> None:
        """A page that failed: nothing tells what it consumed, and a throttled one has consumed nothing."""
        self._spend(-estimate, now)

    def throttled(self, now: float) -> None:
        self._share = max(LOWEST_SHARE, self._share_now(now) / 2)
        self._share_at = now

    def pace(self, now: float) -> float:
        """Units a second at this moment."""
        return self.units_per_s * self._share_now(now)

    def _share_now(self, now: float) -> float:
        return min(1.0, self._share + REGAINED_SHARE * max(0.0, now - self._share_at)) if self._share < 1.0 else 1.0

    def _spend(self, units: float, now: float) -> None:
        self._paid_at = max(self._paid_at, now) + units / self.pace(now)
