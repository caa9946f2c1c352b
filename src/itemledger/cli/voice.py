"""How a command speaks: data and answers on stdout, everything else on stderr, one JSON object for machines."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from typing import IO, Any, cast

import typer
from rich.console import Console

from itemledger.cli.problems import OTHER, USAGE, CommandError
from itemledger.cli.signals import StoppedError
from itemledger.errors import EvidenceError, ItemLedgerError


class Voice:
    """``machine`` asks for a summary as JSON: on stdout, or on stderr alone when stdout carries the data."""

    def __init__(self, *, machine: bool = False, data_on_stdout: bool = False) -> None:
        self.machine = machine
        self._machine_fd = 2 if data_on_stdout else 1
        self._silent = machine and data_on_stdout
        self.console = Console(
            file=cast(IO[str], _Unbreakable()),
            highlight=False,
            soft_wrap=True,
            quiet=self._silent or sys.stderr is None,
        )

    @property
    def shows_progress(self) -> bool:
        """Whether a person looks at stderr, and no rows run over the same screen."""
        # FORCE_COLOR makes rich take a pipe for a terminal; colours are fine there, a bar is not.
        if self._silent or not _is_terminal(2) or self.console.is_dumb_terminal:
            return False
        return not (self._machine_fd == 2 and _is_terminal(1))

    def busy(self, doing: str) -> contextlib.AbstractContextManager[object]:
        """Shows a person that something goes on; nothing in a pipe."""
        return self.console.status(doing) if self.shows_progress else contextlib.nullcontext()

    def say(self, text: str, *, style: str = "") -> None:
        """One line for people."""
        self.console.print(text, style=style, markup=False)

    def tell(self, summary: Mapping[str, Any]) -> None:
        """The summary for machines, as one line."""
        write_line(self._machine_fd, json.dumps(summary, separators=(",", ":")))

    @contextlib.contextmanager
    def reporting(self, *, debug: bool) -> Iterator[None]:
        """Turns whatever ends the command early into one sentence and an exit code; a traceback only with --debug."""
        try:
            yield
        except typer.Exit:
            raise
        except StoppedError as error:
            self.fail(f"stopped by {error.signal_name} before anything was read; nothing was written", error.exit_code)
        except KeyboardInterrupt:
            self.fail("stopped by SIGINT", 130)
        except Exception as error:
            if debug:
                traceback.print_exc()
            self.fail(*_as_sentence(error))

    def fail(self, sentence: str, exit_code: int) -> None:
        """Says the sentence and ends the command."""
        self.say(f"itemledger: {sentence}", style="red")
        if self.machine:
            self.tell({"error": sentence, "exit_code": exit_code})
        raise typer.Exit(exit_code)


class _Unbreakable:
    """stderr, where nobody listening any more is no reason to stop a read: rich would leave, and take stdout along."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def write_line(fd: int, text: str) -> None:
    """A line for machines, past the interpreter's buffers: a reader that has gone is no error of ours."""
    data = memoryview(text.encode("utf-8", "backslashreplace") + b"\n")
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(fd, data) :]


def _as_sentence(error: Exception) -> tuple[str, int]:
    if isinstance(error, CommandError):
        return str(error), error.exit_code
    if isinstance(error, EvidenceError):
        return str(error), OTHER
    if isinstance(error, ItemLedgerError):
        return str(error), USAGE
    if isinstance(error, OSError):
        return str(error), OTHER
    return f"unexpected {type(error).__name__}: {error} (this is a fault of itemledger; --debug shows where)", OTHER


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False
