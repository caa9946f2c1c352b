"""BatchWriteRecord of SageMaker Feature Store: what is not done comes back as the whole entry; silence means done.

Facts: service model 2020-07-01 of sagemaker-featurestore-runtime. Errors and UnprocessedEntries are required members;
an entry has no id, so echoes are matched by value, as a multiset.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from itemledger.apis.feature_entry import read_entry
from itemledger.apis.feature_look_up import RecordLookUp
from itemledger.apis.feature_records import FeatureValue, features_of, group_name, numbers_alike
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.keys import is_mapping
from itemledger.core.reconcile import Finding, Limits, Mention, Silence, shape_of
from itemledger.core.write_api import Effect, Entry, ItemError, LookUp, Proof, Replay
from itemledger.errors import LedgerInvariantError

# An entry's ErrorCode is free text; these are the operation's modelled errors, which the same page documents. As the
# code of one entry the two of the server's side say that this entry was not written.
_FINDINGS: Mapping[str, Finding] = {
    "InternalFailure": Finding.TRANSIENT,
    "ServiceUnavailable": Finding.TRANSIENT,
    "AccessForbidden": Finding.REJECTED,
    "ResourceNotFound": Finding.REJECTED,
    "ValidationError": Finding.REJECTED,
}

_TARGET = {"feature_group_name": str, "record_identifier": str, "event_time": str}


class BatchWriteRecord:
    """Records into one feature group; ``record_identifier`` and ``event_time`` are the names of those two features."""

    name = "sagemaker-featurestore-runtime.BatchWriteRecord"
    service = "sagemaker-featurestore-runtime"
    operation = "batch_write_record"
    #: "Quotas": a record has at most 350 KB. How it is counted is not said; its values are the least it can be.
    limits = Limits(items=25, item_bytes=358_400)
    effect = Effect.APPEND  # the online store keeps one record, the offline store gets a row for each send
    replay: Replay | None = None
    look_up: LookUp | None
    own_effect_codes: frozenset[str] = frozenset()

    def __init__(self, *, feature_group_name: str, record_identifier: str, event_time: str) -> None:
        self._group = feature_group_name
        self._identifier = record_identifier
        self._event_time = event_time
        self.look_up = RecordLookUp(**self.target)

    @property
    def target(self) -> dict[str, Any]:
        return {
            "feature_group_name": self._group,
            "record_identifier": self._identifier,
            "event_time": self._event_time,
        }

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, _TARGET))

    def entry(self, value: object, position: int) -> Entry:
        item_id, payload = read_entry(
            value, position, group=self._group, identifying=(self._identifier, self._event_time)
        )
        features = features_of(payload["Record"]) or {}
        if item_id is None:
            natural = [features[self._identifier], features[self._event_time]]
            item_id = json.dumps(natural, ensure_ascii=False, separators=(",", ":"))
        return Entry(item_id, payload, size_bytes=sum(map(_size, features.values())))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return {"Entries": [{"FeatureGroupName": self._group, **entry.payload} for entry in items]}

    def silence(self) -> Silence:
        return Silence.SUCCEEDED

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        errors, left_over = _listed(response, "Errors"), _listed(response, "UnprocessedEntries")
        findings = [*map(_error, errors), *((Finding.UNPROCESSED, None) for _ in left_over)]
        echoes = [_form(error.get("Entry"), error) for error in errors] + [
            _form(entry, response) for entry in left_over
        ]
        ours = [_form({"FeatureGroupName": self._group, **entry.payload}, response) for entry in sent]
        positions = _matched(ours, echoes)
        for position, (finding, error), told in zip(positions, findings, [*errors, *left_over], strict=True):
            yield Mention(position, finding, error, told)

    def explain(self, failure: Failure) -> Proof:
        # ThrottlingException is common to all services ("Common Errors"); the operation models no throttle of its own.
        return explain_by_code(
            failure,
            not_processed=("ThrottlingException",),
            refused=("ValidationError",),
            blocked=("AccessForbidden", "ResourceNotFound"),
        )


def _size(value: FeatureValue) -> int:
    return sum(map(_size, value)) if isinstance(value, tuple) else len((value or "").encode())


def _listed(response: Mapping[str, Any], member: str) -> list[Mapping[str, Any]]:
    listed = response.get(member)
    if not isinstance(listed, list) or not all(map(is_mapping, listed)):
        raise LedgerInvariantError(
            f"the response has no list of {member}, which it must have, so silence proves nothing",
            structure=shape_of(response),
        )
    return listed


def _error(error: Mapping[str, Any]) -> tuple[Finding, ItemError]:
    code, message = error.get("ErrorCode"), error.get("ErrorMessage")
    if not isinstance(code, str) or not isinstance(message, str):
        raise LedgerInvariantError("an entry of Errors lacks its ErrorCode or ErrorMessage", structure=shape_of(error))
    code = code.removesuffix("Exception")
    return _FINDINGS.get(code, Finding.UNKNOWN), ItemError(code, message)


@dataclass(frozen=True, slots=True)
class _Form:
    """An entry by value. ``alike`` is the same for two entries that differ in target stores or number spelling only."""

    exact: object
    alike: object
    stores: frozenset[str] | None


def _form(entry: object, structure: Mapping[str, Any]) -> _Form:
    features = features_of(entry.get("Record")) if is_mapping(entry) else None
    if not is_mapping(entry) or features is None or not isinstance(entry.get("FeatureGroupName"), str):
        raise LedgerInvariantError("an echoed entry has no readable Record", structure=shape_of(structure))
    stores, ttl = entry.get("TargetStores"), entry.get("TtlDuration")
    if not (stores is None or isinstance(stores, list)) or not (ttl is None or is_mapping(ttl)):
        raise LedgerInvariantError(
            "an echoed entry has malformed TargetStores or TtlDuration", structure=shape_of(structure)
        )
    chosen = None if stores is None else frozenset(map(str, stores))
    rest = (
        group_name(entry["FeatureGroupName"]),
        None if ttl is None else (str(ttl.get("Unit")), str(ttl.get("Value"))),
    )
    exact = (rest, chosen, frozenset(features.items()))
    return _Form(exact, (rest, frozenset(numbers_alike(features).items())), chosen)


def _matched(ours: Sequence[_Form], echoes: Sequence[_Form]) -> list[int | None]:
    """The position of each echo in what was sent, each used once; ``None`` for what was not sent.

    Entries that are equal to the letter come first. An echo may then name a part of the stores, or all where none were
    named, and spell numbers otherwise; where it could be one of several entries that differ, the response is refused.
    """
    free: dict[object, list[int]] = {}
    for position in reversed(range(len(ours))):
        free.setdefault(ours[position].exact, []).append(position)
    positions: list[int | None] = [free[e.exact].pop() if free.get(e.exact) else None for e in echoes]
    for index, echo in enumerate(echoes):
        if positions[index] is not None:
            continue
        fits = [p for p, mine in enumerate(ours) if p not in positions and _fits(mine, echo)]
        if len({ours[p].exact for p in fits}) > 1:
            raise LedgerInvariantError("an echoed entry could be several of those that were sent", position=fits[0])
        positions[index] = fits[0] if fits else None
    return positions


def _fits(ours: _Form, echo: _Form) -> bool:
    return ours.alike == echo.alike and (ours.stores is None or echo.stores is None or echo.stores <= ours.stores)
