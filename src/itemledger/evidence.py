"""Evidence files for users: write one, verify it, and let it tell a key's story.

``verify`` here is the core's with checks that need more than the core knows: that the calls were made as the header
says and within the API's limits, and that nothing is labelled *observed* that did not come from an AWS host name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from itemledger.apis.dynamodb_get import ABSENT_ACCEPTED, BatchGetItem
from itemledger.core.answer import EvidenceLabel
from itemledger.core.evidence import SCHEMA, EvidenceLog, call_event, run_event
from itemledger.core.keys import Key, KeySchema, KeyType
from itemledger.core.story import explain
from itemledger.core.terms import Settings
from itemledger.core.tokens import Tokeniser
from itemledger.core.verify import Verified
from itemledger.core.verify import verify as verify_lines
from itemledger.errors import EvidenceError, ManifestError
from itemledger.origin import AWS_SUFFIXES

__all__ = [
    "SCHEMA",
    "EvidenceLog",
    "Tokeniser",
    "Verified",
    "call_event",
    "explain",
    "request_hash",
    "run_event",
    "verify",
]


def verify(lines: Iterable[bytes]) -> Verified:
    """Checks every byte and recounts every set; raises EvidenceError with a sentence at the first falsehood.

    ``lines`` are raw lines with their newlines, as a file opened in binary mode gives them. Compare ``sha256`` of what
    comes back with the hash that the run printed: who can rewrite a whole file can rewrite its chain.
    """
    return verify_lines(lines, _Origin().check, request_hash=request_hash)


def request_hash(header: Mapping[str, Any]) -> str:
    """What every call of a run with this header carries: the hash of its table, consistency and projection."""
    if header["key"] is None:
        raise EvidenceError("a call was made although the header knows no key attributes")
    names = tuple(attribute["name"] for attribute in header["key"])
    types = tuple(KeyType(attribute["type"]) if attribute["type"] else None for attribute in header["key"])
    projection = header["projection"]
    paths = None if projection is None else tuple(tuple(p) if isinstance(p, list) else p for p in projection)
    key: Key = "any" if len(names) == 1 else ("any", "any")  # the hash is over all but the keys
    try:
        api = BatchGetItem([Settings(header["table"], KeySchema(names, types), header["consistent_read"], paths)])
    except ManifestError as error:
        raise EvidenceError(f"no read can have been made as the header says: {error}") from None
    return api.facts((0, key), None).request_hash


class _Origin:
    """What the lines say of the API, the SDK and the endpoint, against what can be said of them."""

    def __init__(self) -> None:
        self._host: object = None
        self._lenient = False

    def check(self, line: Mapping[str, Any]) -> str | None:
        if line["kind"] == "header":
            return self._check_header(line)
        return self._check_call(line) if line["kind"] == "call" else None

    def _check_header(self, header: Mapping[str, Any]) -> str | None:
        environment, observation = header["environment"], header["observation"]
        self._host, self._lenient = environment.get("endpoint_host"), header["unprocessed_keys_optional"]
        if environment.get("policy") not in (None, header["policy"]):
            return f"the environment was recorded under policy {environment['policy']}, the header says otherwise"
        if observation["id"] in ("", observation["parent_id"], observation["first_id"]):
            return "the observation has no id of its own"
        return None

    def _check_call(self, call: Mapping[str, Any]) -> str | None:
        which = f"call {call['call']}"
        if call["requested"]["count"] > BatchGetItem.limits.items:
            return f"{which} asks for {call['requested']['count']} keys; BatchGetItem takes {BatchGetItem.limits.items}"
        on_aws = isinstance(self._host, str) and self._host.endswith(AWS_SUFFIXES)
        if call["label"] == EvidenceLabel.OBSERVED and not on_aws:
            return f"{which} is labelled observed, but {self._host or 'an unnamed endpoint'} is no host of AWS"
        if ABSENT_ACCEPTED in call["notes"] and not self._lenient:
            return f"{which} accepted an answer without UnprocessedKeys, which the header does not allow"
        return None
