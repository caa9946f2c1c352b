"""``python -m itemledger`` is the command ``itemledger``."""

from itemledger.cli import entry

entry()
