"""The exact look-up of records that were ingested: BatchGetRecord, which sees the online store only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from itemledger.apis.feature_records import Features, features_of, group_name, later
from itemledger.core.answer import Failure
from itemledger.core.keys import is_mapping
from itemledger.core.reconcile import Finding, Limits, Mention, Silence, reconcile, shape_of
from itemledger.core.write_api import Entry, Verdict
from itemledger.errors import LedgerInvariantError


class RecordLookUp:
    """Whether the online store has each record, by record identifier and event time.

    PutRecord's documentation: a record is written to the online store only if its event time is greater than that of
    the one there; otherwise it goes to the offline store alone. So a newer record hides whether ours ever came, and an
    older one proves that ours did not. A record with a time to live may have expired, so its absence proves nothing; a
    feature group's own time to live is not seen here.
    """

    operation = "batch_get_record"
    #: 100 identifiers in one group; the service would take 100 groups beside one another.
    limits = Limits(items=100)
    #: No document tells how soon an ingested record can be read: a guess on the long side.
    settle_s = 5.0

    def __init__(self, *, feature_group_name: str, record_identifier: str, event_time: str) -> None:
        self._group = feature_group_name
        self._identifier = record_identifier
        self._event_time = event_time

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        ids = self._ids(items)
        return {"Identifiers": [{"FeatureGroupName": self._group, "RecordIdentifiersValueAsString": ids}]}

    def verdicts(self, items: Sequence[Entry], answer: Mapping[str, Any] | Failure) -> list[Verdict]:
        if isinstance(answer, Failure):
            return [Verdict.UNREADABLE] * len(items)
        ids = self._ids(items)
        mentions = reconcile(len(ids), self._mentions(ids, answer), Silence.PROCESSED_NOT_RETURNED)
        of_id = dict(zip(ids, mentions, strict=True))
        return [self._verdict(entry, of_id[self._id(entry)]) for entry in items]

    def _ids(self, items: Sequence[Entry]) -> list[str]:
        """Each identifier once: an operation may hold several event times of one record."""
        return list(dict.fromkeys(map(self._id, items)))

    def _id(self, entry: Entry) -> str:
        identifier = _features(entry)[self._identifier]
        assert isinstance(identifier, str)
        return identifier

    def _mentions(self, ids: Sequence[str], answer: Mapping[str, Any]) -> Iterator[Mention]:
        position_of = {identifier: position for position, identifier in enumerate(ids)}

        def mention(part: Mapping[str, Any], identifier: object, finding: Finding) -> Mention:
            group = part.get("FeatureGroupName")
            ours = isinstance(group, str) and group_name(group) == group_name(self._group)
            position = position_of.get(identifier) if ours and isinstance(identifier, str) else None
            return Mention(position, finding, part.get("Record"), part)

        for part in _parts(answer, "Records"):
            yield mention(part, part.get("RecordIdentifierValueAsString"), Finding.RETURNED)
        for part in _parts(answer, "Errors"):
            yield mention(part, part.get("RecordIdentifierValueAsString"), Finding.UNKNOWN)
        for part in _parts(answer, "UnprocessedIdentifiers"):
            identifiers = part.get("RecordIdentifiersValueAsString")
            if not isinstance(identifiers, list):
                raise LedgerInvariantError(
                    "UnprocessedIdentifiers has no list of identifiers", structure=shape_of(part)
                )
            for identifier in identifiers:
                yield mention(part, identifier, Finding.UNPROCESSED)

    def _verdict(self, entry: Entry, mention: Mention) -> Verdict:
        stores = entry.payload.get("TargetStores")
        if stores is not None and "OnlineStore" not in stores:
            return Verdict.UNREADABLE
        absent = Verdict.ABSENT_INCONCLUSIVE if "TtlDuration" in entry.payload else Verdict.ABSENT_CONCLUSIVE
        if mention.finding is Finding.PROCESSED_NOT_RETURNED:
            return absent
        theirs = features_of(mention.value) if mention.finding is Finding.RETURNED else None
        their_time = theirs and theirs.get(self._event_time)
        ours = _features(entry)
        our_time = ours[self._event_time]
        if theirs is None or not isinstance(their_time, str) or not isinstance(our_time, str):
            return Verdict.UNREADABLE
        if later(their_time, our_time):
            return Verdict.SUPERSEDED
        if later(our_time, their_time):
            return absent
        same_time = later(our_time, their_time) is False
        return Verdict.SAME if same_time and self._values(ours) == self._values(theirs) else Verdict.DIFFERENT

    def _values(self, features: Features) -> dict[str, Any]:
        """What is compared: features without a value are not given back, and the event time is compared as a time."""
        return {name: value for name, value in features.items() if value is not None and name != self._event_time}


def _features(entry: Entry) -> Features:
    features = features_of(entry.payload["Record"])
    assert features is not None
    return features


def _parts(answer: Mapping[str, Any], member: str) -> list[Mapping[str, Any]]:
    """All three lists are required members of BatchGetRecord's output."""
    parts = answer.get(member)
    if not isinstance(parts, list) or not all(map(is_mapping, parts)):
        raise LedgerInvariantError(f"the response has no list of {member}", structure=shape_of(answer))
    return parts
