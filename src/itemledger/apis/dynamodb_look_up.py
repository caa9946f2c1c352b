"""The exact look-up of items that were put or deleted: BatchGetItem by primary key, strongly consistent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from itemledger.apis.attribute_values import AttributeValueError, TypedItem, item_from_native, item_to_native
from itemledger.apis.dynamodb_get import BatchGetItem
from itemledger.core.answer import Failure
from itemledger.core.keys import KeySchema
from itemledger.core.reconcile import Finding, Mention, reconcile
from itemledger.core.steps import SentKey
from itemledger.core.terms import Settings
from itemledger.core.write_api import Entry, Verdict


class ItemLookUp:
    """Whether each item is there as it was put, or gone as it was deleted.

    What is found is what the last writer left. An absent put counts as never done, which is conclusive where nobody
    else deletes these keys. A delete has no old content to compare: an item that is still there may not have been
    deleted yet, or have been written again since, and a second delete would then undo a newer write. So it is reported
    as different and not sent again without a person, or a run's recorded at-least-once policy.
    """

    operation = BatchGetItem.operation
    limits = BatchGetItem.limits
    #: No document says how long a request may still take effect once its client has given up: a guess on the long side.
    settle_s = 5.0

    def __init__(self, *, table_name: str, key: KeySchema, deleted: bool) -> None:
        self._key = key
        self._deleted = deleted
        self._api = BatchGetItem([Settings(table_name, key, consistent_read=True, values="typed")])

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return self._api.request(self._sent(list(map(_typed, items))))

    def verdicts(self, items: Sequence[Entry], answer: Mapping[str, Any] | Failure) -> list[Verdict]:
        if isinstance(answer, Failure):
            return [Verdict.UNREADABLE] * len(items)
        typed = list(map(_typed, items))
        mentions = reconcile(len(items), self._api.mentions(self._sent(typed), answer), self._api.silence())
        return [self._verdict(ours, mention) for ours, mention in zip(typed, mentions, strict=True)]

    def _sent(self, typed: Sequence[TypedItem]) -> list[SentKey]:
        keys = [key for key in map(self._key.key_in, typed) if key is not None]
        assert len(set(keys)) == len(typed), "an operation has one item for each key"
        return [(0, key) for key in keys]

    def _verdict(self, ours: TypedItem, mention: Mention) -> Verdict:
        match mention.finding:
            case Finding.RETURNED if self._deleted:
                return Verdict.DIFFERENT
            case Finding.RETURNED:
                return _compared(ours, mention.value)
            case Finding.PROCESSED_NOT_RETURNED:
                return Verdict.SAME if self._deleted else Verdict.ABSENT_CONCLUSIVE
            case _:
                return Verdict.UNREADABLE


def _compared(ours: TypedItem, row: TypedItem) -> Verdict:
    try:
        return Verdict.SAME if canonical_item(row) == ours else Verdict.DIFFERENT
    except AttributeValueError:
        return Verdict.UNREADABLE


def canonical_item(item: TypedItem) -> dict[str, dict[str, Any]]:
    """The typed item in its one spelling: equal by value means equal, and ``true`` is no 1 as it is to Python."""
    return item_from_native(item_to_native(item))


def _typed(entry: Entry) -> dict[str, dict[str, Any]]:
    return item_from_native(entry.payload)
