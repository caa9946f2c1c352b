"""The command line, one file a journey; only ``main`` and what it imports need typer and rich."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich")


def entry() -> None:
    """The console script."""
    _occupy_closed_streams()
    if any(find_spec(package) is None for package in NEEDED):
        print("the command line needs typer and rich: pip install 'itemledger[cli]'", file=sys.stderr)
        sys.exit(2)
    # While the packages load nothing is at stake: a Ctrl-C then just ends the process, without a traceback.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from itemledger.cli.main import app

    signal.signal(signal.SIGINT, before)
    app(prog_name="itemledger")


def _occupy_closed_streams() -> None:
    """Without stdin, stdout or stderr (``>&-``) the next file opened would take its number, and get what goes there."""
    with contextlib.suppress(OSError):
        while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(fd)
