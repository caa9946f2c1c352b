"""Two readers over one manifest: what an old list-returning reader says, beside what a reconciled read can prove.

Compared are membership, leftovers, policy outcome and exceptions, never row counts: two lists of equal length can hold
different keys. The two reads are two moments, so a write between them shows as a difference.

The switch fails closed. Whatever is not proven is a typed failure: the old list is served only where an accepted read
proves exactly its keys, and with the switch off, or set to a word it does not know, nothing is read or served at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from itemledger.core.decision import ALL, Decision, Policy, Required
from itemledger.core.keys import Key, KeySchema
from itemledger.core.manifest import KeyNames
from itemledger.core.result import Disposition, Item, ReadResult
from itemledger.errors import IncompleteReadError, ItemLedgerError, LedgerInvariantError, ManifestError
from itemledger.shadow_report import ROLLBACK_CRITERIA, Criterion, Membership, ShadowReport

T = TypeVar("T")
KeyT = TypeVar("KeyT")
ItemT = TypeVar("ItemT")
#: How to find the key of one of the old reader's items: the names of its key attributes, or a function of the item.
KeyOf: TypeAlias = KeyNames | Callable[[ItemT], object]
MODES = ("observe", "enforce")


class SwitchedOffError(ItemLedgerError):
    """The switch of a shadow read is off, or says a word it does not know; nothing was read."""

    decision = Decision.HOLD
    result: ReadResult | None = None


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """How one reader ended: with a value, or with the exception it raised."""

    value: T | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ShadowOutcome(Generic[ItemT]):
    """The comparison's report, the new read's result where there is one, and what may be served."""

    report: ShadowReport
    result: ReadResult | None
    served: tuple[ItemT | Item, ...] | None
    failure: Exception | None

    def items(self) -> list[ItemT | Item]:
        """The list to serve; raises IncompleteReadError, or what a reader raised, where none can be vouched for."""
        if self.failure is not None:
            raise self.failure
        return list(self.served or ())


def shadow_read(
    old: Callable[[list[KeyT]], Iterable[ItemT]],
    new: Callable[[list[KeyT]], ReadResult],
    keys: Iterable[KeyT],
    key: KeyOf[ItemT] | None = None,
    *,
    required: Policy = ALL,
    mode: str = "observe",
) -> ShadowOutcome[ItemT]:
    """Runs the old reader, then the new one, over the same keys, and compares them.

    ``mode`` is the switch. ``"observe"`` serves the old list, but only where the new read is accepted under
    ``required`` and holds exactly the same keys. ``"enforce"`` serves the new one. Any other word means off: neither
    reader is called. ``key`` finds the key of an old item; left out, the new read's key attributes are looked up in it.
    What either reader raises is kept for ``items()`` and named in the report; interrupts pass through.
    """
    manifest = list(keys)
    if mode not in MODES:
        return switched_off(mode, len(manifest))
    return compare(
        len(manifest), ended(lambda: list(old([*manifest]))), ended(lambda: new([*manifest])), key, required, mode
    )


def switched_off(mode: str, manifest_size: int) -> ShadowOutcome[ItemT]:
    """What every read gets while the switch is off: a failure, never the old list."""
    failure = SwitchedOffError(
        f"the shadow read's switch says {mode!r}; set it to 'observe' or 'enforce'. An unproven list is not served "
        "instead: who wants it calls the old reader, and owns that"
    )
    return ShadowOutcome(ShadowReport(mode, "nothing", manifest_size), None, None, failure)


def ended(run: Callable[[], T]) -> Ended[T]:
    """Runs one reader to its end, whatever that is."""
    try:
        return Ended(run())
    except Exception as error:
        return Ended(error=error)


def compare(
    manifest_size: int,
    old: Ended[list[ItemT]],
    new: Ended[ReadResult],
    key: KeyOf[ItemT] | None,
    required: Policy,
    mode: str,
) -> ShadowOutcome[ItemT]:
    """The comparison alone, for any driver: both readers have ended."""
    new = _checked(new, manifest_size)
    result = new.value if new.error is None else _carried(new.error)
    found = None if result is None else _keys_of(old.value, key, result)
    membership = None if result is None or found is None else _membership(result, found)
    new_outcome = None if result is None else result.decide(required)
    report = ShadowReport(
        mode,
        "nothing",
        manifest_size,
        None if result is None else result.table_name,
        None if result is None else result.observation.id,
        membership,
        None if result is None or found is None else _old_outcome(result, found, required),
        new_outcome,
        _named(old.error),
        _named(new.error),
    )
    report = replace(report, rollback_criteria=_judged(report, new.error))
    failure = (old.error if mode == "observe" else None) or new.error
    if failure is None:
        assert result is not None
        try:
            items = result.items(required)
            if mode == "enforce":
                return ShadowOutcome(replace(report, served="new"), result, tuple(items), None)
            _refuse_differing(result, membership)
            return ShadowOutcome(replace(report, served="old"), result, tuple(old.value or ()), None)
        except IncompleteReadError as error:
            failure = error
    return ShadowOutcome(report, result, None, failure)


def _checked(new: Ended[ReadResult], manifest_size: int) -> Ended[ReadResult]:
    """A new reader that gave something else than one answer per key has not ended well."""
    if new.error is not None:
        return new
    if not isinstance(new.value, ReadResult):
        return Ended(error=TypeError(f"the new reader returned a {type(new.value).__name__}; return its ReadResult"))
    if len(new.value.outcomes) != manifest_size:
        count = len(new.value.outcomes)
        return Ended(error=ValueError(f"the new reader answers for {count} of {manifest_size} keys; read all of them"))
    return new


def _carried(error: Exception) -> ReadResult | None:
    """What an error of the new reader says was settled before it, where that is one table's result."""
    result = error.result if isinstance(error, LedgerInvariantError) else None
    return result if isinstance(result, ReadResult) else None


def _keys_of(items: Sequence[ItemT] | None, key: KeyOf[ItemT] | None, result: ReadResult) -> list[Key | None] | None:
    """The canonical key of each old item, ``None`` where there is none to be read."""
    schema = result.key
    if key is not None and not callable(key):
        names = KeySchema.of(key)
        schema = names if not result.requested_order else names.typed_as(result.requested_order[0])
    elif not schema.known:
        return None  # the table could not be looked at, so nobody knows which attributes are its key
    return None if items is None else [_key_of(item, key, schema) for item in items]


def _key_of(item: ItemT, key: KeyOf[ItemT] | None, schema: KeySchema) -> Key | None:
    try:
        if callable(key):
            return schema.canonical(key(item), 0)
        if isinstance(item, Mapping):
            return schema.canonical({name: item[name] for name in schema.names}, 0)
    except Exception:  # the caller's function may fail in any way, and all of them mean "not readable"
        return None
    return None


def _membership(result: ReadResult, found: Sequence[Key | None]) -> Membership:
    places = Counter(outcome.key for outcome in result.outcomes)
    came: Counter[Key] = Counter()
    foreign, repeated = [], []
    for place, key in enumerate(found):
        if key is None or key not in places:
            foreign.append(place)
            continue
        came[key] += 1
        if came[key] > places[key]:  # folded duplicates may come once per position
            repeated.append(place)
    at: dict[tuple[Disposition, bool], list[int]] = {(d, held): [] for d in Disposition for held in (True, False)}
    for position, outcome in enumerate(result.outcomes):
        at[outcome.disposition, outcome.key in came].append(position)
    return Membership(
        both=tuple(at[Disposition.RETURNED, True]),
        neither=tuple(at[Disposition.PROCESSED_NOT_RETURNED, False]),
        only_old=tuple(at[Disposition.PROCESSED_NOT_RETURNED, True]),
        left_out_by_old=tuple(at[Disposition.RETURNED, False]),
        unresolved_held_by_old=tuple(at[Disposition.UNRESOLVED, True]),
        unresolved_left_out_by_old=tuple(at[Disposition.UNRESOLVED, False]),
        foreign=tuple(foreign),
        repeated=tuple(repeated),
    )


def _old_outcome(result: ReadResult, found: Sequence[Key | None], required: Policy) -> Decision | None:
    """What the policy says of the old list, taken for complete as its callers take it."""
    if required is Required.NONE:
        return Decision.ACCEPT
    if required is not Required.ALL and callable(required):
        return None
    try:
        wanted = result.requested_order if required is Required.ALL else [result.key.canonical(k, 0) for k in required]
    except ManifestError:
        return None  # after impossible evidence the policy was not looked at; its faults must not hide that
    return Decision.ACCEPT if set(wanted) <= set(found) else Decision.REJECT


def _judged(report: ShadowReport, error: Exception | None) -> tuple[Criterion, ...]:
    impossible = isinstance(error, LedgerInvariantError)
    met = {
        "impossible_evidence": impossible,
        "new_reader_raised": error is not None and not impossible,
        "new_lacks_an_item": report.membership is not None and bool(report.membership.only_old),
        "unresolved_left": bool(report.leftovers),
        "policy_outcome_differs": report.old_outcome is not None and report.old_outcome is not report.new_outcome,
    }
    return tuple(replace(criterion, met=met[criterion.name]) for criterion in ROLLBACK_CRITERIA)


def _refuse_differing(result: ReadResult, membership: Membership | None) -> None:
    if membership is not None and membership.same:
        return
    raise IncompleteReadError(
        "the new read is accepted, but the old list does not hold exactly its keys, so it is not served; the report "
        "names the positions",
        result=result,
        decision=Decision.HOLD,
    )


def _named(error: Exception | None) -> str | None:
    """An exception's type, and the service's code where it has one; never its message, which may quote keys."""
    if error is None:
        return None
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    response = getattr(error, "response", None)
    told = response.get("Error") if isinstance(response, Mapping) else None
    code = told.get("Code") if isinstance(told, Mapping) else None
    return f"{name} ({code})" if isinstance(code, str) else name
