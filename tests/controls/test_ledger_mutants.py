"""Each fence of the ledger taken away, one at a time: a named, quick test must fail, or the suite would not notice.

The table is in ``ledger_mutants.py``; a row more is a mutant more.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import itemledger
from tests.controls.ledger_mutants import MUTANTS, Mutant

#: All mutants of the table run in the set-up of whichever test comes first, beside others on the same cores.
GIVE_UP_S = 500
pytestmark = pytest.mark.timeout(GIVE_UP_S + 20)

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(itemledger.__file__).parent
RUNNER = Path(__file__).with_name("mutant_runner.py")
UNCHANGED = "the unchanged package"

BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
FOUND = [mutant for mutant in MUTANTS if mutant.places(PACKAGE) == 1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, str]]:
    """What pytest said of each mutant's tests, and of all those tests on the package as it is."""
    folder = tmp_path_factory.mktemp("mutants")
    asked = {UNCHANGED: (_copy(folder / "unchanged"), sorted({mutant.test for mutant in FOUND}))}
    for number, mutant in enumerate(FOUND):
        source = _copy(folder / str(number))
        mutant.apply(Path(source) / "itemledger")
        asked[mutant.name] = (source, [mutant.test])
    run = subprocess.run(
        [sys.executable, str(RUNNER)],
        cwd=ROOT,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=GIVE_UP_S,
        check=False,
    )
    assert 0 == run.returncode, run.stdout + run.stderr
    return {name: (code, printed) for name, (code, printed) in json.loads(run.stdout).items()}


def test_mutants_have_names_of_their_own() -> None:
    assert len(MUTANTS) == len(BY_NAME)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_fence_stands_where_the_table_says(name: str) -> None:
    mutant = BY_NAME[name]
    assert 1 == mutant.places(PACKAGE), f"{mutant.file} has changed: bring this row of the table up to date"


def test_the_tests_of_the_table_pass_on_the_unchanged_package(runs: Mapping[str, tuple[int, str]]) -> None:
    code, printed = runs[UNCHANGED]
    assert 0 == code, printed


@pytest.mark.parametrize("name", BY_NAME)
def test_without_the_fence_its_test_fails(runs: Mapping[str, tuple[int, str]], name: str) -> None:
    assert name in runs, "its text was not found"
    code, printed = runs[name]
    assert 1 == code, f"exit code {code}, 1 would be: tests ran and failed\n{printed}"
    assert "SyntaxError" not in printed


def test_a_mutant_whose_text_is_gone_is_noticed(tmp_path: Path) -> None:
    gone = Mutant("gone", "errors.py", "no such text", "", "tests/core/test_outcome.py")

    assert 0 == gone.places(PACKAGE)
    with pytest.raises(AssertionError, match="no such text"):
        gone.apply(Path(_copy(tmp_path)) / "itemledger")


def _copy(folder: Path) -> str:
    shutil.copytree(PACKAGE, folder / "itemledger")  # with times and compiled modules, so that only the change is new
    return str(folder)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_mutant_is_a_program(name: str) -> None:
    mutant = BY_NAME[name]
    if mutant.file.endswith(".py") and mutant.places(PACKAGE) == 1:
        ast.parse(mutant.mutated((PACKAGE / mutant.file).read_text()))
