"""The command itself: help, usage errors, and what happens without its packages."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from itemledger import __version__
from tests.cli.conftest import Itemledger

COMMANDS = ("read", "resume", "write", "send", "work", "verify", "explain", "ledger", "lab", "smoke", "demo", "version")
OF_LEDGER = tuple(f"ledger {name}" for name in ("list", "show", "review", "export", "import", "prune", "stats"))


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_packages_the_command_says_how_to_install_them(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from itemledger.cli import entry; entry()"

    ended = subprocess.run([sys.executable, "-c", program, "version"], capture_output=True, text=True, check=False)

    assert (2, "", "the command line needs typer and rich: pip install 'itemledger[cli]'\n") == (
        ended.returncode,
        ended.stdout,
        ended.stderr,
    )


def test_the_library_needs_neither_of_them() -> None:
    program = "import sys; sys.modules['typer'] = sys.modules['rich'] = None; import itemledger"

    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_closed_stdout_is_nobody_elses_number() -> None:
    program = (
        "import os, sys; os.close(1); sys.argv[1:] = ['version']; from itemledger.cli import entry\n"
        "try: entry()\nexcept SystemExit: sys.stderr.write(str(os.open(os.devnull, os.O_RDONLY) > 2))"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "True" == ended.stderr


def test_version_names_what_carries_it(offline: Itemledger) -> None:
    ended = offline("version")

    assert 0 == ended.exit_code
    assert ended.stdout.startswith(f"itemledger {__version__} (boto3 ")


def test_help_lists_every_command_and_the_exit_codes(offline: Itemledger) -> None:
    offline.environment = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}

    ended = offline("--help")

    assert 0 == ended.exit_code
    assert all(re.search(rf"\b{command}\b", ended.stdout) for command in COMMANDS)
    assert "3 retry, 4 hold, 5 repair, 6 reject" in " ".join(ended.stdout.split())
    assert 80 >= max(map(len, ended.stdout.splitlines()))


@pytest.mark.parametrize("command", [*sorted({*COMMANDS} - {"ledger"}), *OF_LEDGER])
def test_every_command_has_examples_whose_options_exist(offline: Itemledger, command: str) -> None:
    offline.environment = {"COLUMNS": "100", "TERMINAL_WIDTH": "100"}

    ended = offline(*command.split(), "--help")

    assert 0 == ended.exit_code
    options, examples = ended.stdout.split("Examples:")
    used = shlex.split(" ".join(line for line in examples.splitlines() if "itemledger" in line))
    assert {*command.split()} <= {*used}
    assert all(option in options for option in used if option.startswith("-") and option != "-" and option != "-c")
    assert "…" not in options


@pytest.mark.parametrize(
    "arguments",
    [
        ["read"],
        ["read", "Orders"],
        ["read", "Orders", "--keys", "-", "--out-format", "xml"],
        ["read", "Orders", "--keys", "-", "--concurrency", "0"],
        ["read", "Orders", "--keys", "-", "--concurrency", "100000000"],
        ["read", "Orders", "--keys", "-", "--max-passes", "1000001"],
        ["nonsense"],
    ],
)
def test_bad_usage_ends_with_2(offline: Itemledger, arguments: list[str]) -> None:
    ended = offline(*arguments)

    assert (2, "") == (ended.exit_code, ended.stdout)
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--plain-keys"], "--plain-keys says how the evidence names keys; give --evidence too"),
        (["--timeout", "0"], "--timeout must be more than zero and finite; got 0"),
        (["--projection", "a,,b"], "projection path '' is malformed"),
        (["--projection", "a,a"], "projection has 'a' at position 1 a second time"),
        (["--endpoint-url", "http://127.0.0.1:99999"], "http://127.0.0.1:99999 is no endpoint; write --endpoint-url"),
        (["--endpoint-url", "localhost:8000"], "Invalid endpoint: localhost:8000; write --endpoint-url like http://"),
        (["--endpoint-url", "ftp://localhost"], "ftp://localhost is no endpoint; write --endpoint-url like http://"),
        (["--require", "missing.jsonl"], "cannot read missing.jsonl: No such file or directory"),
    ],
)
def test_options_that_cannot_be_carried_out_end_with_2_and_a_sentence(
    offline: Itemledger, arguments: list[str], sentence: str
) -> None:
    ended = offline("read", "Orders", "--keys", "-", "--key", "pk:S", *arguments, stdin='"a"\n')

    assert (2, "", set()) == (ended.exit_code, ended.stdout, offline.files())
    assert sentence in ended.stderr
    assert 1 == len(ended.stderr.splitlines())


def test_an_empty_table_name_is_bad_usage(offline: Itemledger) -> None:
    ended = offline("read", "", "--keys", "-", "--key", "pk:S", stdin='"a"\n')

    assert (2, "itemledger: TABLE is empty; give the name or the ARN of the table\n") == (ended.exit_code, ended.stderr)


def test_errors_are_json_for_machines(offline: Itemledger) -> None:
    ended = offline("read", "Orders", "--keys", "missing", "--key", "pk:S", "--out", "items.jsonl", "--json")

    sentence = "cannot read missing: No such file or directory"
    assert [{"error": sentence, "exit_code": 2}] == ended.rows
    assert f"itemledger: {sentence}\n" == ended.stderr


def test_a_traceback_is_shown_on_request_only(offline: Itemledger) -> None:
    arguments = ("read", "Orders", "--keys", "missing", "--key", "pk:S")

    assert "Traceback" not in offline(*arguments).stderr
    assert "Traceback" in offline(*arguments, "--debug").stderr
