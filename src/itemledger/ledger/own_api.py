"""A provider that is not built in, as far as planning must know it: the caller's own worker makes its calls."""

from __future__ import annotations

from collections.abc import Mapping

from itemledger.core import exact_json
from itemledger.core.reconcile import Limits
from itemledger.core.rows import Operation
from itemledger.core.write_api import Effect, Entry
from itemledger.errors import ManifestError
from itemledger.ledger.planning import at_position


class OwnApi:
    """Items are mappings; ``id`` names the member that is their item id, ``item_bytes`` the most that one may have.

    An item has as many bytes as its exact JSON. With ``looks_up=True`` items whose end is unknown wait for
    ``ledger.reconcile(look_up=...)``; else the operation's policy settles them, at the next claim.
    """

    effect = Effect.APPEND

    def __init__(self, name: str, id: str, *, item_bytes: int | None = None, looks_up: bool = False) -> None:
        if not name or not id:
            raise ManifestError("an API of your own needs a name, and id=, the member that holds an item's id")
        self.name = name
        self.limits = Limits(items=1, item_bytes=item_bytes)
        self._id = id
        self._looks_up = looks_up

    @property
    def target(self) -> dict[str, object]:
        """Under another member as item id the same items would be other ones.

        Whether they are looked up is written down here, for every worker of the operation must go by the same: where
        one leaves an unknown end to a look-up, another must not send it again.
        """
        return {"id": self._id, "looks_up": self._looks_up}

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


def settled_by_policy(operation: Operation) -> bool:
    """Whether nothing can be asked of its provider. What is built in says of itself whether it has a look-up."""
    return operation.target.get("looks_up") is False


def _refused(position: int, problem: str) -> ManifestError:
    return ManifestError(f"item at position {position} {problem}", positions=(position,))
