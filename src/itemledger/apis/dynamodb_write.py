"""BatchWriteItem: what was left over is named by key and echoed whole; silence means done.

Facts: service model 2012-08-10, BatchWriteItem. No output member is marked required there, but the text promises an
UnprocessedItems map that is empty when all is done; a response without it cannot prove that anything was written.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from itemledger.apis.attribute_json import typed_from_json
from itemledger.apis.attribute_values import AttributeValueError, TypedItem, item_from_native, item_to_native
from itemledger.apis.dynamodb_look_up import ItemLookUp, canonical_item
from itemledger.apis.item_size import ITEM_LIMIT_BYTES, item_size
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import check_choice, read_target
from itemledger.core.answer import Failure
from itemledger.core.keys import Key, KeySchema, KeyType, is_mapping, read_part
from itemledger.core.manifest import table_of_arn
from itemledger.core.reconcile import Finding, Limits, Mention, Silence, shape_of
from itemledger.core.tokens import key_text
from itemledger.core.write_api import Effect, Entry, LookUp, Proof, Replay
from itemledger.errors import LedgerInvariantError, ManifestError

#: Each action's request member, and in it the member that holds the item or its key.
_REQUESTS = {"put": ("PutRequest", "Item"), "delete": ("DeleteRequest", "Key")}

# The model: all three may mean that nothing was processed, and then no items are named. Its text promises them for a
# call none of whose items was processed.
_NOT_PROCESSED = ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded")

# The model lists what makes DynamoDB refuse the entire batch, as ValidationException. That an item collection which is
# too large refuses all of it too is inferred; a put or delete that was done beside it is harmless to repeat.
_REFUSED = ("ValidationException", "ItemCollectionSizeLimitExceededException")


class BatchWriteItem:
    """Puts into, or deletes from, one table.

    ``key`` maps the key attributes to S, N or B, partition key first. ``values`` says how items are spelled: as plain
    values or as AttributeValues (DynamoDB-JSON), also inside of ``{"Item": ...}`` or ``{"Key": ...}``. A delete takes
    the key attributes only.
    """

    name = "dynamodb.BatchWriteItem"
    service = "dynamodb"
    operation = "batch_write_item"
    limits = Limits(items=25, request_bytes=16 * 1024 * 1024, item_bytes=ITEM_LIMIT_BYTES)
    effect = Effect.REPEATABLE
    replay: Replay | None = None
    look_up: LookUp | None
    own_effect_codes: frozenset[str] = frozenset()

    def __init__(self, *, table_name: str, key: Mapping[str, str], action: str = "put", values: str = "native") -> None:
        check_choice(self.name, "action", action, tuple(_REQUESTS))
        check_choice(self.name, "values", values, ("native", "typed"))
        self._table_name = table_name
        self._key = KeySchema.of(key)
        self._binary = {n for n, kind in zip(self._key.names, self._key.types, strict=True) if kind is KeyType.B}
        self._action = action
        self._values = values
        self._kind, self._member = _REQUESTS[action]
        self.look_up = ItemLookUp(table_name=table_name, key=self._key, deleted=action == "delete")

    @property
    def target(self) -> dict[str, Any]:
        key = {name: str(kind) for name, kind in zip(self._key.names, self._key.types, strict=True)}
        return {"table_name": self._table_name, "key": key, "action": self._action, "values": self._values}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(
            **read_target(cls.name, target, {"table_name": str, "key": dict}, {"action": str, "values": str}),
        )

    def entry(self, value: object, position: int) -> Entry:
        try:
            typed = self._typed(value, position)
        except AttributeValueError as fault:
            raise _unfit(position, str(fault)) from None
        key = self._key_of(typed, position)
        return Entry(key_text(key), payload=item_to_native(typed), size_bytes=item_size(typed))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        requests = [{self._kind: {self._member: item_from_native(entry.payload)}} for entry in items]
        return {"RequestItems": {self._table_name: requests}}

    def silence(self) -> Silence:
        return Silence.SUCCEEDED

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        echoes = [self._echo(request) for request in self._leftovers(response)]
        ours = [item_from_native(entry.payload) for entry in sent] if echoes else []
        position_of = {self._key.key_in(item): position for position, item in enumerate(ours)}
        for echo in echoes:
            position = position_of.get(self._key.key_in(echo))
            if position is not None and echo != ours[position]:
                raise LedgerInvariantError(
                    f"UnprocessedItems names item {position} of this call with other content than was sent",
                    position=position,
                    structure=shape_of(echo),
                )
            yield Mention(position, Finding.UNPROCESSED, structure=echo)

    def explain(self, failure: Failure) -> Proof:
        return explain_by_code(failure, not_processed=_NOT_PROCESSED, refused=_REFUSED)

    def _typed(self, value: object, position: int) -> dict[str, dict[str, Any]]:
        if self._values == "typed":
            return canonical_item(typed_from_json(self._unwrapped(value)))
        if is_mapping(value):
            value = {name: self._plain(name, member, position) for name, member in value.items()}
        return item_from_native(value)  # type: ignore[arg-type]  # it says itself what is no mapping

    def _unwrapped(self, value: object) -> object:
        """``{"Item": {...}}``, as the export to S3 and the SDK's own requests have it, stands for the item in it.

        An item with this one attribute could not be meant, unless that is its whole key.
        """
        if isinstance(value, Mapping) and set(value) == {self._member} and self._key.names != (self._member,):
            return value[self._member]
        return value

    def _plain(self, name: object, value: object, position: int) -> object:
        """JSON has no binary, so text in a binary key attribute is base64, as where keys are read."""
        if name not in self._binary or not isinstance(value, str):
            return value
        try:
            return b64decode(value, validate=True)
        except ValueError:
            raise _unfit(position, f"key attribute {name!r} is binary, and its text is not base64") from None

    def _key_of(self, typed: TypedItem, position: int) -> Key:
        for name in self._key.names:
            if name in typed and read_part(typed[name]) is None:
                hint = ", or values= is to be typed" if self._values == "native" and "M" in typed[name] else ""
                raise _unfit(position, f"key attribute {name!r} is neither text, number nor binary{hint}")
        if self._action == "delete":
            return self._key.canonical(typed, position)  # refuses attributes beside the key
        return self._key.canonical({name: typed[name] for name in self._key.names if name in typed}, position)

    def _leftovers(self, response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        tables = response.get("UnprocessedItems")
        if not is_mapping(tables):
            raise LedgerInvariantError(
                "the response has no map UnprocessedItems, so silence proves nothing", structure=shape_of(response)
            )
        for name, requests in tables.items():
            if name not in (self._table_name, table_of_arn(self._table_name)):
                raise LedgerInvariantError(
                    f"UnprocessedItems names table {name!r}, which was not written to",
                    structure={"UnprocessedItems": {name: "?"}},
                )
            if not isinstance(requests, list) or not all(map(is_mapping, requests)):
                raise LedgerInvariantError(
                    f"UnprocessedItems of table {name!r} has no list of requests", structure=shape_of(tables)
                )
            yield from requests

    def _echo(self, request: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The item or key that a leftover request holds, in its one spelling."""
        told = {kind: body for kind, body in request.items() if body is not None}
        body = told.get(self._kind)
        if len(told) != 1 or not is_mapping(body):
            raise LedgerInvariantError(
                f"UnprocessedItems holds something else than a {self._kind}, which is all that was sent",
                structure=shape_of(request),
            )
        try:
            return canonical_item(body.get(self._member) or {})
        except AttributeValueError as fault:
            raise LedgerInvariantError(
                f"a {self._kind} in UnprocessedItems cannot be decoded: {fault}", structure=shape_of(body)
            ) from None


def _unfit(position: int, problem: str) -> ManifestError:
    return ManifestError(f"item at position {position}: {problem}; correct it or take it out", positions=(position,))
