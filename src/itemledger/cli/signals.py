"""Ctrl-C, SIGTERM and a lost terminal, raised only where nothing that is settled can be lost by it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOW_CURSOR = b"\x1b[?25h"

_Handler: TypeAlias = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


class StoppedError(BaseException):
    """Someone wants this process to end. No ``except Exception`` on the way may take it for a failed call."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signal_name = signal.Signals(signum).name
        self.exit_code = 128 + signum


class Signals:
    """The handlers, for the length of a ``with`` block.

    Until ``shield`` a signal is raised wherever it comes: nothing was begun. From then on it is raised only inside
    ``waiting`` and ``sleep``, so an answer and its rows are never torn apart. A second one ends the process at once.
    """

    def __init__(self, *, left_behind: str = "files being written are left as .part files") -> None:
        self._left_behind = left_behind
        self._raise_anywhere = True
        self._waiting = False
        self._received: int | None = None
        self._before: dict[int, _Handler] = {}

    def __enter__(self) -> Signals:
        for signum in STOPPING:
            if signal.getsignal(signum) is not signal.SIG_IGN:  # nohup and background jobs ignore theirs on purpose
                self._before[signum] = signal.signal(signum, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)

    def shield(self) -> None:
        """From here on something is at stake."""
        self._raise_anywhere = False

    @property
    def received(self) -> int | None:
        """The signal that has come, if one has."""
        return self._received

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._waiting = True
        try:
            if self._received is not None:
                raise StoppedError(self._received)
            yield
        finally:
            self._waiting = False

    def sleep(self, seconds: float) -> None:
        with self.waiting():
            time.sleep(seconds)

    def _handle(self, signum: int, _: FrameType | None) -> None:
        if self._received is not None:
            self._leave_at_once(signum)
        self._received = signum
        if self._raise_anywhere or self._waiting:
            raise StoppedError(signum)

    def _leave_at_once(self, signum: int) -> None:
        try:
            if sys.stderr is not None and sys.stderr.isatty():
                os.write(2, SHOW_CURSOR)
            os.write(2, f"\nitemledger: stopped again: left at once, {self._left_behind}\n".encode())
        except OSError:
            pass
        os._exit(128 + signum)
