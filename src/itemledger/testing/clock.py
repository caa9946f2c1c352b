"""Time and chance under a test's control: a clock that only moves when told, and a jitter that repeats."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable

Jitter = Callable[[float, float], float]


class FakeClock:
    """A monotonic clock in seconds: call it to read it, hand its ``sleep`` (or ``asleep``) over as the sleep.

    ``sleeps`` lists every pause that was asked for, in order; ``advance`` moves the time without being a pause, which
    is how a slow call or a busy machine is played. All methods may be called from several threads.
    """

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_s = start_s
        self._sleeps: list[float] = []
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            return self._now_s

    @property
    def sleeps(self) -> list[float]:
        with self._lock:
            return list(self._sleeps)

    def advance(self, seconds: float) -> None:
        """Let time pass; a monotonic clock refuses to go back."""
        if not seconds >= 0:
            raise ValueError(f"a monotonic clock cannot move by {seconds!r} s; give a duration of zero or more")
        with self._lock:
            self._now_s += seconds

    def sleep(self, seconds: float) -> None:
        """Return at once, as if ``seconds`` had passed, and remember the pause."""
        self.advance(seconds)
        with self._lock:
            self._sleeps.append(seconds)

    async def asleep(self, seconds: float) -> None:
        """The same for a coroutine; other tasks get their turn, as they would in a real pause."""
        self.sleep(seconds)
        await asyncio.sleep(0)


def seeded_jitter(seed: int) -> Jitter:
    """A ``jitter(low, high)`` drawn evenly from the range, the same sequence for the same seed."""
    source = random.Random(seed)
    lock = threading.Lock()

    def jitter(low: float, high: float) -> float:
        with lock:
            return source.uniform(low, high)

    return jitter
