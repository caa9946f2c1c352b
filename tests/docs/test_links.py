"""Links between the pages lead somewhere, and nothing on them is of one machine only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, links, name_of, pages

PAGES = [pytest.param(page, id=name_of(page)) for page in pages()]
OF_ONE_MACHINE = re.compile(r"(?<![\w.])/(?:work|root|tmp|home|opt)/|localhost:\d")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(page: Path) -> None:
    broken = []
    for link in links(page):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link)
    assert [] == broken


@pytest.mark.parametrize("page", PAGES)
def test_no_page_names_a_path_of_one_machine(page: Path) -> None:
    assert [] == OF_ONE_MACHINE.findall(page.read_text())


def test_every_page_of_the_documentation_can_be_reached_from_its_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    decisions = ROOT / "docs" / "decisions"
    assert set() == {
        name_of(page)
        for page in (ROOT / "docs").rglob("*.md")
        if page != index and page not in linked and (decisions not in page.parents or decisions not in linked)
    }
