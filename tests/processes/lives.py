"""Worker processes from a test's side: started with a job, followed step by step, killed, stopped and waited for."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.engines.launch import ROOT

Json = dict[str, Any]
GIVE_UP_S = 60.0


@dataclass(slots=True)
class Life:
    """One process."""

    pid: int
    out: Path
    _pipe: int
    _nursery: Nursery
    _unread: bytes = b""
    _told: deque[str] = field(default_factory=deque)
    over: bool = False
    """The pipe has ended, for the process is gone; or nobody listens any more."""

    def next_step(self) -> str | None:
        """The next step that it tells; ``None`` when it is gone."""
        give_up_at = time.monotonic() + GIVE_UP_S
        while not self._told and not self.over:
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, give_up_at - time.monotonic()))
            assert ready, "a worker says nothing any more"
            part = os.read(self._pipe, 65_536)
            *lines, self._unread = (self._unread + part).split(b"\n")
            self._told.extend(line.decode() for line in lines)
            if not part:
                self.close()
        return self._told.popleft() if self._told else None

    def reaches(self, step: str, time_: int = 1) -> bool:
        """Whether it tells this step so many times before it is gone."""
        while (told := self.next_step()) is not None:
            time_ -= told == step
            if time_ == 0:
                return True
        return False

    def kill(self) -> str:
        """SIGKILL; the last step that it told."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        last = ""
        while (told := self.next_step()) is not None:
            last = told
        self.end()
        return last

    def wake(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def stopped(self) -> None:
        """Waits until it is stopped."""
        event = self._nursery.event(self.pid)
        assert "stopped" in event, f"it was to stop: {event} {self.told()}"

    def end(self) -> int:
        """Waits for its end; its exit code, negative for a signal."""
        while "code" not in (event := self._nursery.event(self.pid)):
            pass
        code: int = event["code"]
        return code

    def told(self) -> Json:
        """What it left: its result, or its error."""
        return dict(json.loads(self.out.read_text())) if self.out.exists() and self.out.stat().st_size else {}

    def ends_well(self) -> Json:
        assert self.end() == 0, self.told()
        return self.told()

    def close(self) -> None:
        if not self.over:
            os.close(self._pipe)
        self.over = True


@dataclass(slots=True)
class Nursery:
    """Where workers are forked from one warm process; none of them outlives it."""

    process: subprocess.Popen[bytes]
    directory: Path
    _events: queue.SimpleQueue[Json] = field(default_factory=queue.SimpleQueue)
    _of_pid: dict[int, deque[Json]] = field(default_factory=dict)
    _lives: int = 0

    def start(self, job: Json) -> Life:
        self._lives += 1
        steps = self.directory / f"steps-{self._lives}"
        os.mkfifo(steps)
        pipe = os.open(steps, os.O_RDONLY | os.O_NONBLOCK)
        out = self.directory / f"out-{self._lives}.json"
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({**job, "steps": str(steps), "out": str(out)}).encode() + b"\n")
        self.process.stdin.flush()
        while "started" not in (event := self._next()):
            self._of_pid[_pid(event)].append(event)
        self._of_pid[event["started"]] = deque()
        return Life(event["started"], out, pipe, self)

    def event(self, pid: int) -> Json:
        """What happens to one of them next."""
        mine = self._of_pid[pid]
        while not mine:
            event = self._next()
            self._of_pid[_pid(event)].append(event)
        return mine.popleft()

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._events.put(json.loads(line))

    def _next(self) -> Json:
        try:
            return self._events.get(timeout=GIVE_UP_S)
        except queue.Empty:
            raise AssertionError("nothing is heard of a worker any more") from None


def _pid(event: Json) -> int:
    pid: int = event.get("stopped") or event["ended"]
    return pid


@contextlib.contextmanager
def nursery(directory: Path) -> Iterator[Nursery]:
    """A warm process to fork from; at the end it and all its children are killed, whatever they were doing."""
    command = [sys.executable, "-B", "-m", "tests.processes.program"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True)
    nursery = Nursery(process, directory)
    listener = threading.Thread(target=nursery.listen, daemon=True)
    listener.start()
    try:
        yield nursery
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(GIVE_UP_S)
        listener.join(GIVE_UP_S)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
