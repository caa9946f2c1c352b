"""What scripted calls share: the error of a script that was not followed, and the list that is taken step by step."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

StepT = TypeVar("StepT")


class ScriptError(AssertionError):
    """A test asked its script for something that is not in it; the test is wrong, or the code under test is.

    Code that turns every exception into a result would hide it, so the scripted clients and the injector also keep
    what they raised and raise it again when their ``with`` block ends.
    """


class Script(Generic[StepT]):
    """Steps handed out one by one, each exactly once whatever the number of threads.

    Only a sequence has a number of steps that can be left over; an iterator (``itertools.repeat(...)``) may be endless.
    """

    def __init__(self, steps: Iterable[StepT]) -> None:
        self._planned = len(steps) if isinstance(steps, Sequence) else None
        self._steps: Iterator[StepT] = iter(steps)
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        with self._lock:
            return self._taken

    @property
    def left_over(self) -> int:
        """How many planned steps nobody asked for; 0 for a script of unknown length."""
        with self._lock:
            return 0 if self._planned is None else self._planned - self._taken

    def take(self) -> StepT:
        """The next step; ``StopIteration`` when there is none."""
        with self._lock:
            step = next(self._steps)
            self._taken += 1
            return step
