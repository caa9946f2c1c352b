"""Answers that have one result for each item, in the order of the request; a length that differs is refused whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from itemledger.core.reconcile import Finding, Mention, shape_of
from itemledger.core.write_api import Entry, ItemError
from itemledger.errors import LedgerInvariantError


@dataclass(frozen=True, slots=True)
class Positional:
    """How an API names its results: their list, the count of failures, the members of a success, its codes.

    ``count_required`` says that the answer always has the count; ``success`` are members of which a success has each.
    """

    results: str
    count: str
    count_required: bool
    success: tuple[str, ...]
    transient: Collection[str]
    rejected: Collection[str] = ()

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        """A mention for each position, once the list is known to be as long as what was sent."""
        results = response.get(self.results)
        if not isinstance(results, list) or not all(isinstance(result, Mapping) for result in results):
            raise LedgerInvariantError(f"the response has no list of {self.results}", structure=shape_of(response))
        if len(results) != len(sent):
            raise LedgerInvariantError(
                f"the response has {len(results)} {self.results} for {len(sent)} items, so none can be told apart",
                structure=shape_of(response),
            )
        mentions = [self._mention(position, result) for position, result in enumerate(results)]
        self._check_count(response, sum(mention.finding is not Finding.SUCCEEDED for mention in mentions))
        yield from mentions

    def _mention(self, position: int, result: Mapping[str, Any]) -> Mention:
        code, message = result.get("ErrorCode"), result.get("ErrorMessage")
        refs = [result.get(name) for name in self.success]
        if not isinstance(code, str | None) or not isinstance(message, str | None):
            raise _malformed(position, "has an ErrorCode that is no text", result)
        if code is None:
            if message is not None or not all(isinstance(ref, str) and ref for ref in refs):
                raise _malformed(position, f"has neither an ErrorCode nor {' and '.join(self.success)}", result)
            return Mention(position, Finding.SUCCEEDED, "/".join(str(ref) for ref in refs), result)
        if any(ref is not None for ref in refs):
            raise _malformed(position, f"has an ErrorCode and {' or '.join(self.success)}", result)
        finding = Finding.UNKNOWN
        if code in self.transient:
            finding = Finding.TRANSIENT
        elif code in self.rejected:
            finding = Finding.REJECTED
        return Mention(position, finding, ItemError(code, message or ""), result)

    def _check_count(self, response: Mapping[str, Any], failed: int) -> None:
        count = response.get(self.count)
        if count is None and not self.count_required and failed == 0:
            return
        if type(count) is not int or count != failed:
            raise LedgerInvariantError(
                f"{self.count} of the response does not agree with the {failed} failures in {self.results}",
                structure=shape_of(response),
            )


def _malformed(position: int, problem: str, result: Mapping[str, Any]) -> LedgerInvariantError:
    return LedgerInvariantError(
        f"the result of item {position} of this call {problem}", position=position, structure=shape_of(result)
    )
