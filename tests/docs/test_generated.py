"""The tables that follow from the code say what the code says, and the vocabulary leaves no word of it out."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

import pytest

import itemledger as il
from itemledger import apis, ledger, testing
from itemledger.apis import WRITE_APIS
from itemledger.core.answer import BodyCheck, FailureCause
from itemledger.core.batches import BatchState, Kind
from itemledger.core.outcome import TRANSITIONS, Event, Outcome
from itemledger.core.policy import OnUnknown
from itemledger.core.reconcile import Finding
from itemledger.core.rows import Decided, Review
from itemledger.core.write_api import Effect, Proof, Scope, Verdict
from tests.docs import generated, generated_ledger
from tests.docs.pages import ROOT

VOCABULARY = ROOT / "docs" / "vocabulary.md"
APIS = ROOT / "docs" / "apis.md"
#: Every word that a reader can meet in a result, a ledger, a report.
WORDS: list[type[Enum]] = [
    il.Disposition, il.StopReason, il.LeftoverCause, il.EvidenceLabel, il.Decision, BodyCheck, Finding, il.WorkStop,
    Outcome, Event, Kind, BatchState, Review, Decided, OnUnknown, Verdict, Proof, Effect, Scope,
]  # fmt: skip


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in generated.PAGES])
def test_the_tables_of_a_page_are_those_of_the_code(page: Path) -> None:
    pytest.importorskip("typer")  # some of the tables are the command line's
    text = page.read_text()
    assert generated.written_anew(text) == text, "run: python -m tests.docs.generated"


def test_the_page_of_commands_is_the_command_tree() -> None:
    pytest.importorskip("typer")
    assert generated.commands() == generated.COMMANDS.read_text(), "run: python -m tests.docs.generated"


def test_no_generated_table_has_lost_its_place() -> None:
    pages = "\n".join(page.read_text() for page in generated.PAGES)
    marked = re.findall(r"<!-- generated: ([^\n]+) -->", pages)
    assert sorted([*generated.TABLES, *generated.TEXTS]) == sorted(marked)


@pytest.mark.parametrize("words", WORDS)
def test_the_vocabulary_has_every_word_of_an_enum(words: type[Enum]) -> None:
    text = VOCABULARY.read_text()
    assert [] == [name for word in words if f"`{(name := _spelled(word))}`" not in text]


@pytest.mark.parametrize("words", [Outcome, Event, OnUnknown, Review, Decided, Verdict, Proof])
def test_every_member_that_a_page_explains_has_a_sentence(words: type[Enum]) -> None:
    assert {word.name for word in words} == generated_ledger.sentences(words).keys()


def test_the_diagram_has_every_move_of_the_law() -> None:
    drawn = generated_ledger.diagram()
    missing = [
        (source, event, target)
        for source, moves in TRANSITIONS.items()
        for event, targets in moves.items()
        for target in targets
        if not re.search(rf"^    {source} --> {target}: (.*, )?{event}(,|$)", drawn, re.MULTILINE)
    ]
    assert [] == missing


def test_the_vocabulary_has_every_cause_of_a_failure() -> None:
    text = VOCABULARY.read_text()
    assert [] == [cause.label for cause in FailureCause if f"`{cause.label}`" not in text]


def test_the_vocabulary_has_every_public_name() -> None:
    text = VOCABULARY.read_text()
    names = [*il.__all__, *ledger.__all__]
    assert [] == [name for name in names if not name.startswith("__") and f"`{name}`" not in text]


def test_the_page_of_the_apis_has_a_row_for_each_with_its_class() -> None:
    text = APIS.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    named = {name: sum(line.startswith(f"| `{name}`") for line in rows) for name in WRITE_APIS}
    least = {name: 2 * len(generated_ledger.TARGETS[name]) + 2 for name in WRITE_APIS}  # generated twice, written twice
    assert {} == {name: named[name] for name in WRITE_APIS if named[name] < least[name]}
    assert [] == [name for name in apis.__all__ if f"`{name}`" not in text and f"`{name}(" not in text]


def test_the_page_of_the_apis_writes_its_numbers_only_where_they_are_generated() -> None:
    by_hand = re.sub(r"<!-- generated.*?<!-- end -->", "", APIS.read_text(), flags=re.DOTALL)
    assert [] == re.findall(r"\b\d[\d,]* (?:items|records|messages|events|keys|statements|B|MiB|KiB|bytes)\b", by_hand)


def test_the_page_of_the_test_kit_has_every_name_of_it() -> None:
    text = (ROOT / "docs" / "howto" / "test-your-reader.md").read_text()
    assert [] == [name for name in testing.__all__ if not re.search(rf"\b{name}\b", text)]


def _spelled(word: Enum) -> str:
    return word.value if isinstance(word.value, str) else str(word)
