"""Figures and versions that README states are those of the code."""

from __future__ import annotations

import tomllib

import pytest

import itemledger as il
from itemledger import known_answer
from itemledger.apis import WRITE_APIS
from tests.docs.pages import README, ROOT

TEXT = README.read_text()


def test_it_names_the_exit_code_of_every_decision() -> None:
    problems = pytest.importorskip("itemledger.cli.problems")
    stated = TEXT[TEXT.index("Exit codes: ") :].split(". ")[0]
    codes = [f"{code} {decision}" for decision, code in problems.EXIT_CODES.items()]
    assert [] == [
        code
        for code in [*codes, f"{problems.USAGE} bad usage", f"{problems.OTHER} anything else"]
        if code not in stated
    ]


def test_it_states_the_size_of_the_demo() -> None:
    pytest.importorskip("typer")
    from itemledger.cli.demo_table import ABSENT, LARGE, SMALL

    assert f"loads {SMALL + LARGE:,} items, reads {SMALL + LARGE + ABSENT:,} keys" in TEXT


def test_it_counts_the_cases_of_the_lab() -> None:
    assert 10 == len(known_answer.CASES)
    assert "ten known answers" in TEXT
    assert "ten cases" in (ROOT / "docs" / "tutorial.md").read_text()


def test_it_counts_the_apis_that_write() -> None:
    assert 13 == len(WRITE_APIS)
    assert "thirteen batch APIs" in TEXT
    assert "Thirteen writing APIs" in (ROOT / "CHANGELOG.md").read_text()


def test_it_states_the_supported_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = [
        c.rpartition(" ")[2] for c in project["classifiers"] if c.startswith("Programming Language :: Python :: 3.")
    ]
    assert ["boto3>=1.35.50,<2"] == project["dependencies"]
    assert "boto3 ≥ 1.35.50, < 2" in TEXT
    assert f"Python {pythons[0]}–{pythons[-1]}" in TEXT
    assert f"Version {il.__version__}" in TEXT
