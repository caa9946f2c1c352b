"""What a writing API has beside the rest: its entries, what its failures prove, and how a lost answer is settled.

In a mention of such an API, ``value`` is the object ref of a success (message id, sequence number; text or ``None``)
and an ``ItemError`` for every other finding that came with a code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Protocol, Self

from itemledger.core.answer import Failure
from itemledger.core.reconcile import BatchApi, Limits


@dataclass(frozen=True, slots=True)
class Entry:
    """One item as it is sent.

    ``item_id`` names it within its operation. ``payload`` holds its business fields and nothing that is made for the
    call; values are those of ``json_loads_exact`` and of native items. ``size_bytes`` is what the service counts
    against its limits, ``group_id`` the message group within which order is kept. ``idempotency_key`` is the caller's
    own when the item carries one; the ledger makes one otherwise, the same for every attempt.
    """

    item_id: str
    payload: Mapping[str, Any]
    size_bytes: int
    idempotency_key: str | None = None
    group_id: str | None = None


@dataclass(frozen=True, slots=True)
class ItemError:
    """What the service said of one item. ``message`` may quote the item: it stays in the ledger, out of logs."""

    code: str
    message: str = ""


class Proof(Enum):
    """What a failed call proves of the items that it carried."""

    NOTHING = "nothing"
    """They may have been processed: timeouts, 5xx, lost or damaged answers, codes that no document explains."""
    NOT_PROCESSED = "not_processed"
    """The whole call was refused for load: nothing was processed, and no attempt is charged."""
    REFUSED = "refused"
    """The whole call was refused for what it holds: nothing was processed, and some item of it is at fault."""
    BLOCKED = "blocked"
    """Refused for who asks or for what it asks of (credentials, authorisation, missing target): nothing was processed,
    no item is at fault, and the next call would end alike."""


class Effect(Enum):
    """What sending an item twice does."""

    REPEATABLE = "repeatable"
    """The second send leaves things as the first did: put by key, delete, any call under an idempotency key."""
    APPEND = "append"
    """The second send is a second effect: a message, a record, a call to a webhook."""


class Scope(Enum):
    """What an idempotency token protects."""

    ITEM = "item"
    """One item, in whatever batch it is sent."""
    REQUEST = "request"
    """One request, byte for byte: the same items in the same order."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A documented promise that a repeated send is recognised for ``life_s`` seconds after the first one."""

    scope: Scope
    life_s: float
    source: str
    """The document that promises it."""
    member: str | None = None
    """Where the request carries its own token; an item's token is the API's matter."""


class Verdict(StrEnum):
    """What an exact look-up says of an item whose answer was lost."""

    SAME = "same"
    """There, and what was sent."""
    DIFFERENT = "different"
    """There, with other content: another writer, or an older state."""
    SUPERSEDED = "superseded"
    """Something newer is there, so whether ours ever was cannot be seen."""
    ABSENT_CONCLUSIVE = "absent_conclusive"
    """Not there, and the look-up would show it: the only verdict that allows another send."""
    ABSENT_INCONCLUSIVE = "absent_inconclusive"
    """Not there, but it may appear yet, or have been removed since."""
    UNREADABLE = "unreadable"
    """The look-up gave no usable answer for this item."""


class LookUp(Protocol):
    """The exact look-up of an API's items: data and pure functions, like the API itself."""

    operation: str
    """The method of the API's client that makes the look-up."""
    limits: Limits
    settle_s: float
    """How long after an answer was lost the look-up waits, so that a late effect is seen."""

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        """The look-up's request for these items."""

    def verdicts(self, items: Sequence[Entry], answer: Mapping[str, Any] | Failure) -> list[Verdict]:
        """One verdict for each item, in order. A failure makes all of them unreadable unless its code is an answer
        (a 404 of a HEAD); raises LedgerInvariantError for an answer that does not add up."""


class WriteApi(BatchApi[Entry], Protocol):
    """A partial-success API that writes or sends.

    ``name`` is AWS's own, such as ``sqs.SendMessageBatch``; ``service`` boto3's name of the client. ``target`` says
    what it writes to (table, queue, topic) in JSON's values, and ``of(target)`` makes the API from it again.
    """

    name: str
    service: str
    effect: Effect
    replay: Replay | None
    look_up: LookUp | None
    own_effect_codes: frozenset[str]
    """Codes that, after an attempt whose end is unknown, tell of that attempt's effect (already exists, condition
    failed): evidence, not failure."""

    @property
    def target(self) -> dict[str, Any]:
        """What the API was made for, in JSON's values, in a form that ``of`` takes."""

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        """The API for a target; ManifestError names a member that is missing, unknown or of the wrong type."""

    def entry(self, value: object, position: int) -> Entry:
        """The caller's item, checked as far as the service's rules are known and measured.

        ``position`` is its zero-based place in the input: where the API knows no identity of an item and the item has
        no ``Id`` of its own, its item id is the one-based number of that place. Raises ManifestError naming the
        position for what could never be sent. Being over a limit is no error here: the ledger records it.
        """

    def explain(self, failure: Failure) -> Proof:
        """What a failed call proves; NOTHING unless a document says that nothing was processed."""
