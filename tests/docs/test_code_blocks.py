"""The documentation's code runs, and prints what the pages say that it prints."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient

from tests.docs.pages import Block, blocks, name_of, pages, shell_lines
from tests.docs.service import Service

GIVE_UP_S = 60.0
RUNNABLE = {"setup", "python", "console"}


def _with_code(*, on_a_service: bool) -> list[Any]:  # Any: pytest's ParameterSet has no public name
    with_code = []
    for page in pages():
        found = blocks(page)
        if not any(block.language in RUNNABLE for block in found):
            continue
        if any(block.language == "setup" and "service." in block.text for block in found) is not on_a_service:
            continue
        asynchronous = any("import aiobotocore" in b.text or "from aiobotocore" in b.text for b in found)
        with_code.append(pytest.param(page, id=name_of(page), marks=[pytest.mark.aio] if asynchronous else []))
    return with_code


@pytest.mark.parametrize("page", _with_code(on_a_service=False))
def test_the_code_of_a_page_does_what_the_page_says(page: Path, directory: Path) -> None:
    _run(page, directory, {})


@pytest.mark.parametrize("page", _with_code(on_a_service=True))
def test_the_code_of_a_page_that_calls_a_service_does_what_the_page_says(
    page: Path, directory: Path, service: Service
) -> None:
    _run(page, directory, {"service": service})


def _run(page: Path, directory: Path, at_hand: dict[str, Any]) -> None:
    namespace = {"__name__": "page", **at_hand}
    printed: str | None = None
    try:
        for block in blocks(page):
            match block.language:
                case "setup" | "python":
                    printed = _python(page, block, namespace)
                case "text" if printed is not None and block.follows_directly:
                    _same(f"{name_of(page)}:{block.line}", block.text, printed)
                case "console":
                    _console(page, block, directory)
            if block.language not in ("setup", "python"):
                printed = None
    finally:
        for value in namespace.values():
            if isinstance(value, BaseClient) and hasattr(value, "close"):
                value.close()


def _python(page: Path, block: Block, namespace: dict[str, Any]) -> str | None:
    if block.needs is not None and importlib.util.find_spec(block.needs) is None:
        return None
    # As many empty lines before it as the page has: a traceback then names the page and the line.
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, namespace)
    return out.getvalue()


def _console(page: Path, block: Block, directory: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    status = 0
    for line, command, shown in shell_lines(block):
        ended = subprocess.run(
            ["sh", "-c", f"(exit {status}); {command}"],  # so that `echo $?` tells of the command before
            cwd=directory,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=GIVE_UP_S,
        )
        status = ended.returncode
        _same(f"{name_of(page)}:{line}: {command}", shown, ended.stdout)


def _same(where: str, shown: str, printed: str) -> None:
    want, got = (f"{text.rstrip()}\n" for text in (shown, printed))
    if not doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS):
        pytest.fail(f"{where}\n--- the page shows\n{want}--- but this was printed\n{got}", pytrace=False)
