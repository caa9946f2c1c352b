"""What is measured against what. The readers themselves are in readers.py, which only the workers load."""

from __future__ import annotations

from enum import Enum


class Contender(Enum):
    """A reader, by the name it has in the tables."""

    BOTO3 = "boto3 loop"
    """Asks for chunk after chunk, collects what comes, and looks at nothing else."""
    READ_BATCH_TYPED = "read_batch, typed"
    BOTO3_NATIVE = "boto3 loop + TypeDeserializer"
    """The same loop, with each item decoded by what boto3 offers for it."""
    READ_BATCH = "read_batch, native"
    ITER_READ = "iter_read, native"
    BOTO3_SORT_KEY = "boto3 loop, with sort key"
    """The first loop on a table whose keys have a number beside the text."""
    READ_BATCH_SORT_KEY = "read_batch, typed, with sort key"

    @property
    def counterpart(self) -> Contender:
        """The boto3 loop that ends with the same items, in the same form."""
        return _COUNTERPARTS.get(self, self)


_COUNTERPARTS = {
    Contender.READ_BATCH_TYPED: Contender.BOTO3,
    Contender.READ_BATCH: Contender.BOTO3_NATIVE,
    Contender.ITER_READ: Contender.BOTO3_NATIVE,
    Contender.READ_BATCH_SORT_KEY: Contender.BOTO3_SORT_KEY,
}
