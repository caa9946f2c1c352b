"""Answers of SQS and SNS batches: every entry is named by its Id, in Successful or in Failed; silence is refused.

The Ids on the wire are places in the request: legal and unique whatever the caller's own ids are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from itemledger.core.reconcile import Finding, Mention, shape_of
from itemledger.core.write_api import Entry, ItemError
from itemledger.errors import LedgerInvariantError

#: Says what is wrong with a success, by what was sent; ``None`` where it adds up.
Check = Callable[[Entry, Mapping[str, Any]], str | None]


def wire_entries(items: Sequence[Entry]) -> list[dict[str, Any]]:
    """The payloads under the Ids that the answer will name."""
    return [{"Id": str(place), **item.payload} for place, item in enumerate(items)]


def mentions_by_id(
    sent: Sequence[Entry], response: Mapping[str, Any], throttles: Collection[str], check: Check | None = None
) -> Iterator[Mention]:
    """A mention for every element of both lists; an Id that was not sent is a foreign one.

    ``throttles`` are codes that pass whatever SenderFault says. A list that the answer leaves out is an empty one:
    every entry must be named all the same.
    """
    places = {str(place): place for place in range(len(sent))}
    for told in _elements(response, "Successful"):
        position = _position(told, places)
        if check is not None and position is not None:
            problem = check(sent[position], told)
            if problem is not None:
                raise LedgerInvariantError(
                    f"the success of entry {position} of this call {problem}",
                    position=position,
                    structure=shape_of(told),
                )
        ref = told.get("MessageId")
        yield Mention(position, Finding.SUCCEEDED, ref if isinstance(ref, str) else None, told)
    for told in _elements(response, "Failed"):
        yield _failed(_position(told, places), told, throttles)


def _failed(position: int | None, told: Mapping[str, Any], throttles: Collection[str]) -> Mention:
    code, fault, message = told.get("Code"), told.get("SenderFault"), told.get("Message")
    if not isinstance(code, str) or not isinstance(fault, bool) or not isinstance(message, str | None):
        raise LedgerInvariantError(
            "a failed entry of the response lacks its Code or SenderFault, or has a Message that is no text",
            position=position,
            structure=shape_of(told),
        )
    # Failed holds what "can't be enqueued", so none of it is done; SenderFault divides what stays from what may pass,
    # but for throttles: SNS's model marks them as the sender's fault, and SQS reports RequestThrottled as one
    # (github.com/async-aws/aws issue 1227).
    finding = Finding.REJECTED if fault and code not in throttles else Finding.TRANSIENT
    return Mention(position, finding, ItemError(code, message or ""), told)


def _elements(response: Mapping[str, Any], member: str) -> list[Mapping[str, Any]]:
    found = response.get(member)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(told, Mapping) for told in found):
        raise LedgerInvariantError(f"{member} of the response is no list of entries", structure=shape_of(response))
    return found


def _position(told: Mapping[str, Any], places: Mapping[str, int]) -> int | None:
    wire_id = told.get("Id")
    if not isinstance(wire_id, str):
        raise LedgerInvariantError("an entry of the response has no Id", structure=shape_of(told))
    return places.get(wire_id)
