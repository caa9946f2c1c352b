"""The report of a shadow comparison: what differed, what would call for a rollback, and who owns that call."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from itemledger.core.decision import Decision
from itemledger.core.ranges import to_ranges


@dataclass(frozen=True, slots=True)
class Criterion:
    """A reason to roll back, who owns that call, and what to do; ``met`` is whether this comparison shows it."""

    name: str
    question: str
    owner: str
    action: str
    met: bool = False


#: What each comparison is asked. All of them are in every report, met or not.
ROLLBACK_CRITERIA = (
    Criterion(
        "impossible_evidence",
        "did the new read meet evidence that cannot be true?",
        Decision.REPAIR.owner,
        "roll back at once; keep the answer and look at what served it",
    ),
    Criterion(
        "new_reader_raised",
        "did the new reader raise anything else?",
        "engineer",
        "roll back at once; a reader that raises on keys the old one took is not ready",
    ),
    Criterion(
        "new_lacks_an_item",
        "did the old list hold a key that the new read says is not there?",
        Decision.REJECT.owner,
        "roll back, unless a repeat with consistent reads shows that the item came or went in between",
    ),
    Criterion(
        "unresolved_left",
        "did the new read end with unresolved keys?",
        Decision.HOLD.owner,
        "roll back when that is more often than the callers can bear; passes, time or capacity settle them",
    ),
    Criterion(
        "policy_outcome_differs",
        "would the policy decide otherwise on the old list than on the new read?",
        Decision.REJECT.owner,
        "decide which of the two the callers have relied on, before the new one decides for them",
    ),
)


@dataclass(frozen=True, slots=True)
class Membership:
    """Where the two readers agree and differ, as positions in the caller's input.

    ``left_out_by_old`` are items that the old list silently lacked. ``unresolved_*`` are the new read's leftovers, by
    whether the old list held them: its callers took the others for missing. ``foreign`` and ``repeated`` are places in
    the old *list*: items of no key that was asked for or of no readable key, and keys that came once too often.
    """

    both: tuple[int, ...] = ()
    neither: tuple[int, ...] = ()
    only_old: tuple[int, ...] = ()
    left_out_by_old: tuple[int, ...] = ()
    unresolved_held_by_old: tuple[int, ...] = ()
    unresolved_left_out_by_old: tuple[int, ...] = ()
    foreign: tuple[int, ...] = ()
    repeated: tuple[int, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the old list holds exactly the keys that the new read proved to be there, and all are proven."""
        agreeing = {"both", "neither"}
        return not any(getattr(self, field.name) for field in fields(self) if field.name not in agreeing)


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """One comparison, without keys, items or messages: positions, decisions, and exceptions by type.

    ``membership`` is ``None`` when one side gave nothing to compare. ``old_outcome`` is what the same policy says of
    the old list, which cannot know of leftovers; ``None`` when nothing came, or the policy is a function of a result.
    """

    mode: str
    served: Literal["old", "new", "nothing"]
    manifest_size: int
    table_name: str | None = None
    observation_id: str | None = None
    membership: Membership | None = None
    old_outcome: Decision | None = None
    new_outcome: Decision | None = None
    old_exception: str | None = None
    new_exception: str | None = None
    rollback_criteria: tuple[Criterion, ...] = ROLLBACK_CRITERIA

    @property
    def leftovers(self) -> tuple[int, ...]:
        """The positions that the new read left unresolved, in order."""
        if self.membership is None:
            return ()
        return tuple(sorted(self.membership.unresolved_held_by_old + self.membership.unresolved_left_out_by_old))

    @property
    def differs(self) -> bool:
        """Whether there is anything for a person to look at."""
        return self.membership is None or not self.membership.same or any(c.met for c in self.rollback_criteria)

    def to_json(self) -> dict[str, Any]:
        """As JSON's own types, positions written as ranges; fit for a shared log."""
        membership = self.membership
        return {
            "schema": "itemledger/shadow/1",
            "mode": self.mode,
            "served": self.served,
            "differs": self.differs,
            "manifest_size": self.manifest_size,
            "table": self.table_name,
            "observation_id": self.observation_id,
            "membership": None
            if membership is None
            else {field.name: to_ranges(getattr(membership, field.name)) for field in fields(membership)},
            "leftovers": to_ranges(self.leftovers),
            "policy_outcome": {
                "old": self.old_outcome and self.old_outcome.label,
                "new": self.new_outcome and self.new_outcome.label,
            },
            "exceptions": {"old": self.old_exception, "new": self.new_exception},
            "rollback_criteria": [
                {field.name: getattr(criterion, field.name) for field in fields(criterion)}
                for criterion in self.rollback_criteria
            ],
        }
