"""The tables that follow from the code say what the code says, and the vocabulary leaves no word of it out."""

from __future__ import annotations

import re
from enum import Enum

import pytest

import itemledger as il
from itemledger import testing
from itemledger.core.answer import BodyCheck, FailureCause
from itemledger.core.reconcile import Finding
from tests.docs import generated
from tests.docs.pages import ROOT

VOCABULARY = ROOT / "docs" / "vocabulary.md"


def test_the_tables_of_how_it_ends_are_those_of_the_code() -> None:
    pytest.importorskip("typer")  # two of the tables are the command line's
    page = generated.PAGE.read_text()
    assert generated.written_anew(page) == page, "run: python -m tests.docs.generated"


def test_the_page_of_commands_is_the_command_tree() -> None:
    pytest.importorskip("typer")
    assert generated.commands() == generated.COMMANDS.read_text(), "run: python -m tests.docs.generated"


def test_no_generated_table_has_lost_its_place() -> None:
    marked = re.findall(r"<!-- generated: ([^\n]+) -->", generated.PAGE.read_text())
    assert sorted(generated.TABLES) == sorted(marked)


@pytest.mark.parametrize(
    "words", [il.Disposition, il.StopReason, il.LeftoverCause, il.EvidenceLabel, il.Decision, BodyCheck, Finding]
)
def test_the_vocabulary_has_every_word_of_an_enum(words: type[Enum]) -> None:
    text = VOCABULARY.read_text()
    assert [] == [str(word) for word in words if f"`{word}`" not in text]


def test_the_vocabulary_has_every_cause_of_a_failure() -> None:
    text = VOCABULARY.read_text()
    assert [] == [cause.label for cause in FailureCause if f"`{cause.label}`" not in text]


def test_the_vocabulary_has_every_public_name() -> None:
    text = VOCABULARY.read_text()
    assert [] == [name for name in il.__all__ if not name.startswith("__") and f"`{name}`" not in text]


def test_the_page_of_the_test_kit_has_every_name_of_it() -> None:
    text = (ROOT / "docs" / "howto" / "test-your-reader.md").read_text()
    assert [] == [name for name in testing.__all__ if not re.search(rf"\b{name}\b", text)]
