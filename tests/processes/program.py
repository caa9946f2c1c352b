"""A worker's process: told by one JSON object what to plan and work on, it says on a pipe how far it is.

Started as a program it makes such processes by fork, a few milliseconds each, since starting an interpreter with the
SDK for each of thousands of kills would take hours. It reads starts from stdin, writes every end (and stop) of a child
to stdout, and takes its children along when stdin ends.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, cast

import boto3.session
from botocore.config import Config

import itemledger as il
from itemledger.apis.registry import write_api
from itemledger.core.outcome import Outcome
from itemledger.core.policy import Policy
from itemledger.errors import ItemLedgerError, LedgerError
from itemledger.ledger import Ledger, open_ledger, planning
from itemledger.ledger.store import Store

SESSION = boto3.session.Session(aws_access_key_id="worker", aws_secret_access_key="worker", region_name="us-east-1")
SERVICES = ("dynamodb", "sqs")
VERBS = ("open_operation", "plan", "planning_ended", "claim", "dispatch", "record", "release")


class Steps:
    """Tells each step, and does there what the job asks for: halt for good, stop the process, fail, set the clock."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._pipe = os.open(job["steps"], os.O_WRONLY) if job.get("steps") else None
        self._halt_at = job.get("halt_at")
        self._stop_at = job.get("stop_at")
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def tell(self, step: str) -> None:
        with self._lock:
            self._seen[step] += 1
            here = [step, self._seen[step]]
            if self._pipe is not None:
                os.write(self._pipe, f"{step}\n".encode())
        if here == self._halt_at:
            signal.pause()  # until it is killed
        if here == self._stop_at:
            os.kill(os.getpid(), signal.SIGSTOP)


class Clock:
    """The time of day as this process sees it, with steps: ``[[readings, offset], …]``."""

    def __init__(self, offsets: list[list[float]]) -> None:
        self._offsets = offsets
        self._readings = 0

    def __call__(self) -> float:
        self._readings += 1
        passed = [offset for readings, offset in self._offsets if self._readings > readings]
        return time.time() + (passed[-1] if passed else 0.0)


class Watched:
    """A store that tells of each verb, and fails at the n-th if asked: before it is done, or after."""

    def __init__(self, store: Store, steps: Steps, fail_at: int | None, *, fail_after: bool) -> None:
        self._store = store
        self._steps = steps
        self._fail_at = fail_at
        self._fail_after = fail_after
        self.verbs = 0

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._store, name)
        if name not in VERBS:
            return attribute

        def verb(*arguments: Any, **named: Any) -> Any:
            self.verbs += 1
            failing = self.verbs == self._fail_at
            self._steps.tell(f"{name}>")
            if failing and not self._fail_after:
                raise LedgerError("the test made this verb fail; run this again")
            told = attribute(*arguments, **named)
            if failing:
                raise LedgerError("the test lost the end of this verb; run this again")
            self._steps.tell(f"{name}<")
            return told

        return verb


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Plans and works as told; how it ended."""
    steps = Steps(job)
    if job.get("file_bytes"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_bytes"], resource.RLIM_INFINITY))
    if job.get("chunk"):
        planning.CHUNK = job["chunk"]
    with open_ledger(job["ledger"], clock=Clock(job.get("clock", []))) as opened:
        store = Watched(opened.store, steps, job.get("fail_at"), fail_after=job.get("fail_after", False))
        ledger = Ledger(cast(Store, store))
        api = write_api(job["api"]).of(job["target"])
        items = [json.loads(line) for line in Path(job["items"]).read_text().splitlines()]
        steps.tell("ready")
        if job.get("gate"):
            Path(job["gate"]).read_bytes()  # until the test has opened and closed it
        if job.get("plan", True):
            policy = Policy.from_json(job["policy"])
            ledger.plan(job["operation"], api, items, policy=policy, store_payloads=True).raise_for_conflicts()
        if not job.get("work", True):
            return {"verbs": store.verbs}
        client = _client(api.service, job["endpoint"], job.get("read_timeout_s", 0.4))
        client.meta.events.register(f"before-send.{api.service}", _told(steps))
        result = il.work(
            client,
            ledger,
            job["operation"],
            concurrency=job.get("concurrency", 1),
            timeout_s=job.get("timeout_s", 60.0),
        )
        return {
            "verbs": store.verbs,
            "stop": result.stop.value,
            "waiting": result.waiting,
            "counts": {outcome.value: result.counts[outcome] for outcome in Outcome},
        }


def _told(steps: Steps) -> Callable[..., None]:
    def before_send(**_: object) -> None:
        steps.tell("call>")

    return before_send


def _client(service: str, endpoint: str, read_timeout_s: float) -> Any:
    config = Config(connect_timeout=0.2, read_timeout=read_timeout_s, retries={"total_max_attempts": 1})
    return SESSION.client(service, endpoint_url=endpoint, config=config)  # type: ignore[call-overload]


def _life(job: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        try:
            told = run(job)
            code = 0
        except ItemLedgerError as error:
            told = {"error": str(error)}
        except BaseException:
            told = {"traceback": traceback.format_exc()}
        with suppress(OSError):  # no room is one of the tests
            Path(job["out"]).write_text(json.dumps(told))
    finally:
        os._exit(code)


def main() -> None:
    for service in SERVICES:
        _client(service, "http://127.0.0.1:9", 1.0)  # the session keeps the models it has read
    wakes, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    unread = b""
    while True:
        ready, _, _ = select.select([0, wakes], [], [])
        if wakes in ready:
            os.read(wakes, 65_536)
            _tell_ends()
        if 0 in ready:
            part = os.read(0, 65_536)
            if not part:
                os.killpg(0, signal.SIGKILL)
            *lines, unread = (unread + part).split(b"\n")
            for line in lines:
                _start(json.loads(line))


def _start(job: dict[str, Any]) -> None:
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(0)
        _life(job)
    _say({"started": pid})


def _tell_ends() -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                _say({"stopped": pid})
            else:
                _say({"ended": pid, "code": os.waitstatus_to_exitcode(status)})


def _say(event: dict[str, Any]) -> None:
    os.write(1, json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
