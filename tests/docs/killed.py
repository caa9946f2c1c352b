"""A command that is killed at the worst moment: its first write is carried out, and the answer has not come back."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
from pathlib import Path

from tests.cli.proxy import Asked, Proxy, Reply

GIVE_UP_S = 60.0


def kill_after_first_write(command: str, proxy: Proxy) -> None:
    """Runs ``command`` here and ends it with SIGKILL; every BatchWriteItem of it that came so far is in the engine.

    It goes the same way as all commands of the page: an operation does not go on at another endpoint.
    """
    written, gone = threading.Event(), threading.Event()

    def answering(asked: Asked) -> Reply:
        answer = asked.forward()
        written.set()
        gone.wait(GIVE_UP_S)
        return Reply(answer)

    before = proxy.watched, proxy.answering
    proxy.watched, proxy.answering = "BatchWriteItem", answering
    program, *words = shlex.split(command)
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / program), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert written.wait(GIVE_UP_S), f"{command} ended with {process.poll()} and wrote nothing"
    finally:
        process.kill()
        process.wait()
        gone.set()
        proxy.watched, proxy.answering = before
