"""A provider that is not built in, as far as planning must know it: the caller's own worker makes its calls."""

from __future__ import annotations

from collections.abc import Mapping

from itemledger.core import exact_json
from itemledger.core.reconcile import Limits
from itemledger.core.write_api import Entry
from itemledger.errors import ManifestError
from itemledger.ledger.planning import at_position


class OwnApi:
    """Items are mappings; ``id`` names the member that is their item id, ``item_bytes`` the most that one may have.

    An item has as many bytes as its exact JSON.
    """

    def __init__(self, name: str, id: str, *, item_bytes: int | None = None) -> None:
        if not name or not id:
            raise ManifestError("an API of your own needs a name, and id=, the member that holds an item's id")
        self.name = name
        self.limits = Limits(items=1, item_bytes=item_bytes)
        self._id = id

    @property
    def target(self) -> dict[str, str]:
        """Under another member as item id the same items would be other ones."""
        return {"id": self._id}

    def entry(self, value: object, position: int) -> Entry:
        """The item as it is, with its id and its size; ManifestError names its position."""
        if not isinstance(value, Mapping):
            raise _refused(position, f"is a {type(value).__name__}; give a mapping")
        item_id = value.get(self._id)
        if isinstance(item_id, bool) or not isinstance(item_id, str | int) or item_id == "":
            raise _refused(position, f"has no text or whole number as its member {self._id!r}, which is its item id")
        try:
            size_bytes = len(exact_json.dumps(value))
        except ManifestError as error:
            raise at_position(error, position) from None
        return Entry(str(item_id), value, size_bytes)


def _refused(position: int, problem: str) -> ManifestError:
    return ManifestError(f"item at position {position} {problem}", positions=(position,))
