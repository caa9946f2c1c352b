"""Planning inside the caller's own transaction: the business row and the ledger's rows are kept or lost together."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from itemledger.errors import LedgerError
from itemledger.ledger.sqlite_file import SqliteFile, Transaction
from itemledger.ledger.statements import statements

SQL = statements("meta")


@contextmanager
def inside(file: SqliteFile, connection: sqlite3.Connection, ledger_id: str) -> Iterator[Transaction]:
    """A part of the caller's transaction that can be taken back alone, after checks that it is one of this ledger."""
    if not connection.in_transaction:
        raise LedgerError(
            "plan_within needs an open transaction on its connection; begin one, or write your own rows in it first"
        )
    text_factory = connection.text_factory
    connection.text_factory = str
    try:
        with file.explained():
            connection.execute("SAVEPOINT itemledger_plan")
            try:
                transaction = Transaction(connection, file.now())
                _check(file, transaction, ledger_id)
                yield transaction
            except BaseException:
                with suppress(sqlite3.Error):  # of a full disk: then SQLite has rolled back all of it, his part too
                    connection.execute("ROLLBACK TO itemledger_plan")
                    connection.execute("RELEASE itemledger_plan")
                raise
            connection.execute("RELEASE itemledger_plan")
    finally:
        connection.text_factory = text_factory


def _check(file: SqliteFile, transaction: Transaction, ledger_id: str) -> None:
    try:
        same = transaction.run(SQL["is_this_ledger"], {"ledger_id": ledger_id}) == 1
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        same = False
    if not same:
        raise LedgerError(f"the connection given to plan_within is to another database than {file.path}; open that one")
