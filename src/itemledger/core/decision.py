"""Acceptance apart from completeness: one truth table from what is known to who acts next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from itemledger.core.keys import Key
from itemledger.errors import ManifestError

if TYPE_CHECKING:
    from itemledger.core.result import ReadResult

#: Observations of one manifest (the first read and its resumptions) after which a person decides.
MAX_OBSERVATIONS = 5


class Required(Enum):
    """The two policies that need no list of keys."""

    ALL = "all"
    """Every key of the manifest must have come back."""
    NONE = "none"
    """Absence is a legal answer for every key."""


ALL: Final = Required.ALL
NONE: Final = Required.NONE
Policy: TypeAlias = Required | Collection[object] | Callable[["ReadResult"], bool]


class Decision(Enum):
    """What to do with a read, who owns that, and the next action."""

    ACCEPT = ("accept", "caller", "use the items")
    REJECT = (
        "reject",
        "application",
        "a required item is not visible to this read: decide in the application, do not just ask again",
    )
    RETRY = ("retry", "caller", "resume from the hold record: a new observation of the unresolved keys only")
    HOLD = ("hold", "operator", "keep the hold record, remove the cause, then resume from it")
    REPAIR = ("repair", "engineer", "impossible evidence: keep the answer, look at what served it, use nothing of it")

    def __init__(self, label: str, owner: str, next_action: str) -> None:
        self.label = label
        self.owner = owner
        self.next_action = next_action

    def __str__(self) -> str:
        return self.label


def decide(result: ReadResult, required: Policy) -> Decision:
    """The truth table of the requirements (R10); raises ManifestError when the policy names a key never asked for.

    No policy accepts while a key is unresolved. ``retry`` means that the cause can pass by itself and that the chain of
    observations is below ``MAX_OBSERVATIONS``.
    """
    holds = _policy_holds(result, required)
    if result.complete:
        return Decision.ACCEPT if holds() else Decision.REJECT
    if result.stopped_by_passing_cause and result.observation.number < MAX_OBSERVATIONS:
        return Decision.RETRY
    return Decision.HOLD


def _policy_holds(result: ReadResult, required: Policy) -> Callable[[], bool]:
    """The policy as a question to ask once the read is complete; its own faults are raised before that."""
    if required is Required.NONE:
        return lambda: True
    if required is Required.ALL:
        return lambda: not result.processed_not_returned and not result.earlier.processed_not_returned
    if callable(required):
        return lambda: bool(required(result))
    # A text is a collection to Python, and a single key to everybody else.
    if isinstance(required, str | bytes) or not isinstance(required, Collection):
        raise ManifestError("required= is ALL, NONE, a collection of keys, or a function of the result")
    keys = _asked(result, required)
    return lambda: all(key in result.returned or key in result.earlier.returned for key in keys)


def _asked(result: ReadResult, required: Iterable[object]) -> list[Key]:
    keys = []
    earlier = (result.earlier.returned, result.earlier.processed_not_returned)
    for position, spelling in enumerate(required):
        key = result.key.canonical(spelling, position)
        if not any(key in known for known in (result.disposition_by_key, *earlier)):
            raise ManifestError(
                f"required key at position {position} is not in the manifest; ask for it or leave it out of the policy",
                positions=(position,),
            )
        keys.append(key)
    return keys
