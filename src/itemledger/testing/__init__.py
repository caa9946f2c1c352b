"""A kit to test code that reads or writes in batches: scripted clients, faults on the wire, and time under control.

``ScriptedClient`` answers in the SDK's place and knows nothing of HTTP. ``FaultInjector`` sits below the SDK, so that
its parser, checksum and retries are part of the test, in front of a local engine or alone. ``FakeClock``,
``seeded_jitter`` and ``instant_retries`` take waiting and chance out. Whatever the kit answers is labelled *synthetic*.
"""

from itemledger.testing.answers import batch_get_response, describe_table_response, error
from itemledger.testing.clock import FakeClock, seeded_jitter
from itemledger.testing.edits import (
    CutBody,
    DropMember,
    DropRow,
    DuplicateRow,
    Edit,
    ForeignRow,
    LeaveUnprocessed,
    WrongCrc,
)
from itemledger.testing.faults import (
    Answer,
    EmptyBody,
    ExpiredToken,
    Fault,
    Hang,
    NotJson,
    Raise,
    ResetAfter,
    ResetBefore,
    ServerError,
    Slow,
    Throttle,
)
from itemledger.testing.injector import FaultInjector, Fired
from itemledger.testing.retries import instant_retries
from itemledger.testing.script import ScriptError
from itemledger.testing.scripted import AsyncScriptedClient, Call, ScriptedClient, Step
from itemledger.testing.upstream import serve_rows
from itemledger.testing.wire import Attempt

__all__ = [
    "Answer",
    "AsyncScriptedClient",
    "Attempt",
    "Call",
    "CutBody",
    "DropMember",
    "DropRow",
    "DuplicateRow",
    "Edit",
    "EmptyBody",
    "ExpiredToken",
    "FakeClock",
    "Fault",
    "FaultInjector",
    "Fired",
    "ForeignRow",
    "Hang",
    "LeaveUnprocessed",
    "NotJson",
    "Raise",
    "ResetAfter",
    "ResetBefore",
    "ScriptError",
    "ScriptedClient",
    "ServerError",
    "Slow",
    "Step",
    "Throttle",
    "WrongCrc",
    "batch_get_response",
    "describe_table_response",
    "error",
    "instant_retries",
    "seeded_jitter",
    "serve_rows",
]
