"""The schema of a SQLite ledger, brought to its newest version, with the ledger's own random name in it."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator

from itemledger.errors import LedgerError
from itemledger.ledger.sqlite_file import SqliteFile, Transaction
from itemledger.ledger.statements import migrations, statements

SQL = statements("meta")


def prepare(file: SqliteFile) -> str:
    """Applies the migrations that are missing, all in one transaction with the version; the ledger's name comes back.

    Raises LedgerError for a schema of a later itemledger.
    """
    scripts = migrations("sqlite")
    with file.reading() as transaction:
        current = _version(file, transaction, len(scripts))
    if current < len(scripts):
        with file.writing() as transaction:
            for script in scripts[_version(file, transaction, len(scripts)) :]:  # another process may have come first
                for statement in _split(script):
                    transaction.run(statement)
            transaction.run(SQL["set_version"], {"version": str(len(scripts))})
            transaction.run(SQL["set_ledger_id"], {"ledger_id": secrets.token_hex(16)})
    with file.reading() as transaction:
        found = transaction.one(SQL["ledger_id"])
    if found is None:
        raise LedgerError(f"{file.path} holds a ledger without its name; restore it from a copy")
    return str(found[0])


def _version(file: SqliteFile, transaction: Transaction, newest: int) -> int:
    if transaction.one(SQL["is_there"]) is None:
        return 0
    found = transaction.one(SQL["version"])
    version = int(found[0]) if found is not None else 0
    if version > newest:
        raise LedgerError(
            f"{file.path} holds a ledger of schema {version} and this itemledger knows schemas up to {newest}; "
            "install the itemledger that wrote it, or a later one"
        )
    return version


def _split(script: str) -> Iterator[str]:
    """One statement at a time: ``executescript`` would commit the transaction that this is part of."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
