"""Item ids of two parts: one text that no other pair gives."""

from __future__ import annotations


def qualified_id(name: str, mark: str, qualifier: str | None) -> str:
    """``name`` alone, or ``name + mark + qualifier``; a qualifier never holds the mark.

    A bare name that holds the mark gets another one behind it, so that it cannot be taken for a pair.
    """
    if qualifier is None:
        return name + mark if mark in name else name
    return f"{name}{mark}{qualifier}"
