"""Commands, options, make targets and names that the documentation mentions are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, blocks, inline_code, name_of, pages, shell_lines

PAGES = [pytest.param(page, id=name_of(page)) for page in pages()]
#: What ends a command's own words in a shell: an operator, or a redirection with or without its file.
ENDS_A_COMMAND = re.compile(r"\|\|?|&&?|;|[0-9]?[<>].*")
#: The public modules beside the package itself.
MODULES = r"itemledger\.testing|itemledger\.aio|itemledger\.ledger|itemledger\.apis"
#: Options of other programs that pages mention outside of code blocks.
FOREIGN_OPTIONS = {"--cli-input-json", "--randomly-seed"}
#: What only looks like a name of the package: a logger, a schema, a file.
NO_NAMES = {"egg", "md", "py"}


@pytest.mark.parametrize("page", PAGES)
def test_every_itemledger_command_parses(page: Path) -> None:
    wrong = [f"line {line}: {error}" for line, words in _commands(page) if (error := _refused(words)) is not None]
    assert [] == wrong


@pytest.mark.parametrize("page", PAGES)
def test_every_option_named_in_the_text_is_one_of_the_command_line(page: Path) -> None:
    app = _app()
    ours = {name for command in _all_of(app) for option in command.params for name in option.opts}
    named = {found for code in inline_code(page) for found in re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)}
    foreign = {option for code in inline_code(page) if not _is_ours(code) for option in re.findall(r"--[a-z-]+", code)}
    assert set() == named - ours - foreign - FOREIGN_OPTIONS - {"--help"}


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_is_in_the_makefile(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = [line for block in blocks(page) if block.language == "sh" for line in block.text.splitlines()]
    named = {found for text in shown + inline_code(page) for found in re.findall(r"(?:^|\$ |; )make ([a-z-]+)", text)}
    assert set() == named - targets


@pytest.mark.parametrize("page", PAGES)
def test_every_public_name_that_is_mentioned_exists(page: Path) -> None:
    text = "\n".join([*inline_code(page), *(block.text for block in blocks(page) if block.language == "python")])
    missing = set()
    for module, name in re.findall(rf"\b({MODULES}|itemledger|il)\.([A-Za-z_]\w*)", text):
        full = "itemledger" if module == "il" else module
        if name not in NO_NAMES and not _exists(full, name):
            missing.add(f"{module}.{name}")
    assert set() == missing


def _is_ours(code: str) -> bool:
    return code.startswith(("--", "itemledger "))


def _exists(module: str, name: str) -> bool:
    if hasattr(import_module(module), name):
        return True
    try:
        import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def _commands(page: Path) -> Iterator[tuple[int, list[str]]]:
    """Every shown ``itemledger`` command with the page's line that it is on."""
    for block in blocks(page):
        if block.language == "console":
            shown = [(line, command) for line, command, _ in shell_lines(block)]
        elif block.language == "sh":
            joined = block.text.replace("\\\n", " ")
            shown = [(block.line + i, line) for i, line in enumerate(joined.splitlines())]
        else:
            continue
        for line, command in shown:
            words = shlex.split(command.replace("\\\n", " "), comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words.pop(0)
            end = next((i for i, word in enumerate(words) if ENDS_A_COMMAND.fullmatch(word)), len(words))
            if words and Path(words[0]).name == "itemledger":
                yield line, words[1:end]


def _app() -> Any:
    """The command tree; Any, since typer brings its own copy of click in newer releases."""
    typer = pytest.importorskip("typer")
    main = import_module("itemledger.cli.main")
    return typer.main.get_command(main.app)


def _all_of(command: Any) -> Iterator[Any]:
    """Every command below this one, those of groups included."""
    for each in getattr(command, "commands", {}).values():
        yield each
        yield from _all_of(each)


def _refused(words: list[str]) -> str | None:
    """Why the command line would refuse these words; nothing is run."""
    command, rest = _app(), list(words)
    while hasattr(command, "commands"):
        if not rest or (rest[0] not in command.commands and "--help" not in rest):
            return f"no command {' '.join(words[: len(words) - len(rest) + 1])!r}"
        if rest[0] == "--help":
            return None
        command = command.commands[rest.pop(0)]
    if "--help" in rest:
        return None
    try:
        command.make_context(words[0], rest)
    except Exception as error:
        return f"{' '.join(words)}: {error}"
    return None
