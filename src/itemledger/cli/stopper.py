"""Ctrl-C and SIGTERM while work goes on: no more claims, and what is in flight is recorded before the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from itemledger.cli.signals import Signals, StoppedError
from itemledger.cli.voice import Voice


class Stopper:
    """Raises what a signal asks for, once, where no answer can be lost by it: after that what is in flight ends.

    ``inline`` calls are made inside of what ``waiting`` surrounds, so nothing is raised there.
    """

    def __init__(self, signals: Signals, voice: Voice, *, inline: bool) -> None:
        self._signals = signals
        self._voice = voice
        self._inline = inline
        self._raised = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        if not self._inline:
            self.check()
        yield

    def sleep(self, seconds: float) -> None:
        if self._raised:
            time.sleep(seconds)
            return
        try:
            self._signals.sleep(seconds)
        except StoppedError as stopped:
            self._told(stopped)
            raise

    def check(self) -> None:
        if not self._raised and self._signals.received is not None:
            stopped = StoppedError(self._signals.received)
            self._told(stopped)
            raise stopped

    def _told(self, stopped: StoppedError) -> None:
        self._raised = True
        self._voice.say(
            f"stopped by {stopped.signal_name}: waiting for what is in flight; a second one leaves at once",
            style="yellow",
        )
