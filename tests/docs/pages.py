"""The documentation as data: its pages, the blocks of code in them, their links and their headings.

A page is written like this:

- ```` ```python ```` runs, one block after the other, all blocks of a page in one namespace and one empty directory.
  ```` ```python needs=MODULE ```` is left out where that module is not installed.
- ``<!-- setup`` … ``-->`` is Python too: it runs at its place and readers do not see it. ``service`` is at hand there.
- ```` ```text ```` straight after one of these is what it printed; ``...`` stands for what differs from run to run.
- ```` ```console ```` runs line by line what follows a ``$``, and shows what that printed.
- ```` ```sh ```` is only shown: what it says to ``itemledger`` and ``make`` must exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"

_BLOCK = re.compile(
    r"^<!-- (?P<hidden>setup)\n(?P<setup>.*?)^-->$|^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|^\[[^\]\n]+\]: +(\S+)$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_INLINE_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page; ``line`` is the page's line on which its text begins, counted from 1."""

    language: str
    needs: str | None
    text: str
    line: int
    follows_directly: bool
    """Whether nothing but blank lines stands between this block and the one before."""


def pages() -> list[Path]:
    """Every page that users read."""
    beside = (ROOT / name / "README.md" for name in ("benchmarks", "examples", "tests"))
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(page for page in beside if page.exists())])


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in order; setup blocks have the language ``setup``."""
    text = page.read_text()
    found: list[Block] = []
    end = 0
    for match in _BLOCK.finditer(text):
        group = "setup" if match["hidden"] else "code"
        language, _, option = ("setup" if match["hidden"] else match["info"].strip()).partition(" ")
        needs = option.removeprefix("needs=") if option.startswith("needs=") else None
        line = text.count("\n", 0, match.start(group)) + 1
        follows_directly = bool(found) and not text[end : match.start()].strip()
        found.append(Block(language, needs, match[group], line, follows_directly))
        end = match.end()
    return found


def prose(page: Path) -> str:
    """The page's text without its blocks and comments."""
    return _COMMENT.sub("", _BLOCK.sub("", page.read_text()))


def links(page: Path) -> list[str]:
    return [inline or reference for inline, reference in _LINK.findall(prose(page))]


def inline_code(page: Path) -> list[str]:
    return _INLINE_CODE.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """The names under which its headings can be linked to, as code hosts make them."""
    slugs = set()
    for heading in _HEADING.findall(_BLOCK.sub("", page.read_text())):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slugs.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return slugs


def shell_lines(block: Block) -> Iterator[tuple[int, str, str]]:
    """Each command of a console block: its line in the page, the command, and what the page says that it prints."""
    command: str | None = None
    shown: list[str] = []
    at = block.line
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if line.startswith("$ "):
            if command is not None:
                yield at, command, "\n".join(shown)
            command, shown, at = line[2:], [], number
        elif command is None:
            raise ValueError(f"line {number}: a console block begins with a command, after a dollar sign")
        elif not shown and command.endswith("\\"):
            command += f"\n{line}"
        else:
            shown.append(line)
    if command is not None:
        yield at, command, "\n".join(shown)
