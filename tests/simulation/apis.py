"""Small writing APIs of the simulated provider: one for each way in which a lost answer can be settled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from itemledger.core.answer import Failure
from itemledger.core.policy import OnUnknown
from itemledger.core.reconcile import Finding, Limits, Mention, Silence
from itemledger.core.write_api import Effect, Entry, ItemError, LookUp, Proof, Replay, Scope, Verdict
from itemledger.errors import LedgerInvariantError


class Kind(StrEnum):
    """What the provider of one run is like."""

    PUT = "put"
    """Overwrites by key, and a look-up is conclusive."""
    CREATE = "create"
    """A second effect is refused with a code that tells of the first; a look-up is conclusive."""
    CREATE_ANYWAY = "create_anyway"
    """The same with nothing to ask, under an at-least-once policy."""
    APPEND = "append"
    """A second send is a second effect, and nothing can be asked: unknown waits for a person."""
    ANYWAY = "anyway"
    """The same under an at-least-once policy."""
    WINDOW = "window"
    """Recognises an item by its key for a while."""
    WINDOW_ANYWAY = "window_anyway"
    """The same under an at-least-once policy, which goes on where the window has closed."""
    TOKEN = "token"
    """Recognises a whole request by its token for a while, byte for byte."""
    IRREVERSIBLE = "irreversible"
    """Looked up once; then a person decides."""
    IRREVERSIBLE_WINDOW = "irreversible_window"
    """A person decides although the provider would recognise the item."""
    GROUPS = "groups"
    """Recognises an item by its key for a while, and keeps the order of a group."""


LOOKS_UP = frozenset({Kind.PUT, Kind.CREATE, Kind.IRREVERSIBLE})
AT_LEAST_ONCE = frozenset({Kind.ANYWAY, Kind.WINDOW_ANYWAY, Kind.CREATE_ANYWAY})
PERSON_ONLY = frozenset({Kind.IRREVERSIBLE, Kind.IRREVERSIBLE_WINDOW})
WINDOWED = frozenset({Kind.WINDOW, Kind.WINDOW_ANYWAY, Kind.TOKEN, Kind.IRREVERSIBLE_WINDOW, Kind.GROUPS})
REFUSES_SECOND = frozenset({Kind.CREATE, Kind.CREATE_ANYWAY})
#: Where at most one effect of an item can ever be seen, whatever happens.
ONE_EFFECT = frozenset(Kind) - {Kind.PUT, Kind.ANYWAY, Kind.WINDOW_ANYWAY}


def on_unknown(kind: Kind) -> OnUnknown:
    """The policy of such a run."""
    if kind in PERSON_ONLY:
        return OnUnknown.IRREVERSIBLE
    return OnUnknown.AT_LEAST_ONCE if kind in AT_LEAST_ONCE else OnUnknown.REVIEW


TOKEN = "token"  # where a request of that kind of provider carries its own
LIFE_S = 300.0
LOOK_UP_LIMITS = Limits(items=100)

FINDINGS = {
    "ok": Finding.SUCCEEDED,
    "Unprocessed": Finding.UNPROCESSED,
    "Busy": Finding.TRANSIENT,
    "Invalid": Finding.REJECTED,
    "Exists": Finding.REJECTED,
}
PROOFS = {
    "Throttled": Proof.NOT_PROCESSED,
    "ValidationError": Proof.REFUSED,
    "AccessDenied": Proof.BLOCKED,
    "ExpiredToken": Proof.BLOCKED,
}


@dataclass(slots=True)
class SimLookUp:
    """Asks for the state of items by id."""

    settle_s: float
    limits: Limits = LOOK_UP_LIMITS
    operation: str = "look_up"

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return {"ids": [item.item_id for item in items]}

    def verdicts(self, items: Sequence[Entry], answer: Mapping[str, Any] | Failure) -> list[Verdict]:
        if isinstance(answer, Failure):
            return [Verdict.UNREADABLE] * len(items)
        if len(answer["states"]) != len(items):
            raise LedgerInvariantError("the look-up answers for another number of items")
        return [Verdict(state) for state in answer["states"]]


class SimApi:
    """One kind of provider. ``silent`` responses name only what is not done; others answer for every position."""

    service = "sim"
    operation = "send"

    def __init__(self, kind: Kind, *, items: int = 10, settle_s: float = 5.0, silent: bool = False) -> None:
        self.kind = kind
        self.name = f"sim.{kind}"
        self.silent = silent
        self.limits = Limits(items, 10_000, 1_000)
        self.effect = Effect.REPEATABLE if kind is Kind.PUT or kind in REFUSES_SECOND else Effect.APPEND
        self.replay: Replay | None = None
        if kind in WINDOWED:
            by_request = kind is Kind.TOKEN
            scope, member = (Scope.REQUEST, TOKEN) if by_request else (Scope.ITEM, None)
            self.replay = Replay(scope, LIFE_S, "the simulation", member)
        self.look_up: LookUp | None = SimLookUp(settle_s) if kind in LOOKS_UP else None
        self.own_effect_codes = frozenset({"Exists"})

    @property
    def target(self) -> dict[str, Any]:
        return {"kind": self.kind.value}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(Kind(target["kind"]))

    def entry(self, value: object, position: int) -> Entry:
        assert isinstance(value, dict)
        return Entry(value["id"], {"v": value["v"]}, value.get("bytes", 10), value.get("key"), value.get("group"))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return {"items": [(item.item_id, item.idempotency_key, item.payload["v"]) for item in items]}

    def silence(self) -> Silence:
        return Silence.SUCCEEDED if self.silent else Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        results = response["results"]
        if response["named"] != len(results) or (not self.silent and len(results) != len(sent)):
            raise LedgerInvariantError("the response has another number of results than it says")
        positions = {item.item_id: position for position, item in enumerate(sent)}
        for result in results:
            code = result["code"]
            value = result["ref"] if code == "ok" else ItemError(code, "made up")
            yield Mention(positions.get(result["id"]), FINDINGS.get(code, Finding.UNKNOWN), value, result)

    def explain(self, failure: Failure) -> Proof:
        return PROOFS.get(failure.code, Proof.NOTHING)
