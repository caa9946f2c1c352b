"""The SQL of the stores: kept in SQL files, where a line ``-- name: …`` heads each statement."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

_HEAD = "-- name: "


def statements(name: str) -> Mapping[str, str]:
    """The statements of ``sql/NAME.sql`` by their names."""
    text = files("itemledger.ledger").joinpath("sql", f"{name}.sql").read_text("utf-8")
    found: dict[str, str] = {}
    for part in text.split(_HEAD)[1:]:
        title, _, statement = part.partition("\n")
        found[title.strip()] = statement.strip().removesuffix(";")
    return MappingProxyType(found)


def migrations(dialect: str) -> list[str]:
    """The scripts of ``migrations/DIALECT/`` in the order of their numbers: the first makes schema version 1."""
    scripts = files("itemledger.ledger").joinpath("migrations", dialect).iterdir()
    return [script.read_text("utf-8") for script in sorted(scripts, key=lambda each: each.name)]
