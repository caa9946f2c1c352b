"""HTTP requests under an Idempotency-Key: one call an item, by the IETF draft and what Stripe documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from itemledger.apis.http_target import check_headers, check_path, check_url, join_path
from itemledger.apis.json_body import json_body, read_json, read_member
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import check_choice, read_target
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Finding, Limits, Mention, Silence
from itemledger.core.write_api import Effect, Entry, ItemError, LookUp, Proof, Replay, Scope
from itemledger.errors import ManifestError

#: Stripe forgets a key after 24 hours at the earliest; the IETF draft leaves the life to each server's documentation.
KEY_LIFE_S = 86_400
_SOURCE = (
    "draft-ietf-httpapi-idempotency-key-header (a repeated key returns the first result); its life by the target's "
    "key_life_s, or by Stripe's API reference, 'Idempotent requests': at least 24 hours"
)
#: Idempotent by definition (RFC 9110, 9.2.2), whatever becomes of the key.
_IDEMPOTENT = ("PUT", "DELETE")
_METHODS = ("POST", "PATCH", *_IDEMPOTENT)
_KEY = re.compile(r"[\x21-\x7e]{1,255}")  # Stripe's 255 characters; no blanks, since receivers trim them
_MAX_REF = 1_024

#: Statuses by which the call as a whole is refused: our sender makes failures of them, and ``explain`` reads those.
_BLOCKED = (401, 407)  # RFC 9110: credentials are missing or not valid
_THROTTLED = (429,)  # RFC 6585
_TRANSIENT = frozenset({425, *_THROTTLED})
"""425: RFC 8470, not processed for fear of a replay."""
_OUTSTANDING = 409
"""The draft's "a request is outstanding for this key", whose answer comes by the same key later. A server that knows
no key means a conflict by it: with another's change, or with our own earlier request."""
_OPEN = frozenset({207, 408})
"""207 reports several results in its body, some of them perhaps failures; 408 tells of what did not arrive."""


class HttpRequest:
    """One request an item, whose body is JSON.

    ``effect`` tells what a second send does where no key protects it: a POST or PATCH acts twice, PUT and DELETE do
    not. Within the key's life ``replay`` is what makes the second send safe. A server that knows no Idempotency-Key is
    ``key_life_s=0``: then nothing but a look-up of the caller's own, or a person, allows another send. The key goes
    out bare, as the services do that use it; the draft would have it in quotes.

    ``blocked_statuses`` are those by which this server refuses whoever asks, or the URL as such, beside 401 and 407:
    they end the run and charge no item. Only you know whether a 403 or 404 is about one item or about all.
    """

    name = "http.Request"
    service = "http"
    operation = "request"
    limits = Limits(items=1)
    look_up: LookUp | None = None

    def __init__(
        self,
        *,
        url: str,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        key_life_s: int = KEY_LIFE_S,
        blocked_statuses: Sequence[int] = (),
    ) -> None:
        self._url = check_url(self.name, url)
        check_choice(self.name, "method", method, _METHODS)
        if key_life_s < 0:
            raise ManifestError(f"{self.name}: key_life_s= is negative; 0 is a server that knows no Idempotency-Key")
        self._method = method
        self._headers = check_headers(self.name, headers or {})
        self._key_life_s = key_life_s
        self._blocked = tuple(sorted({_status(self.name, each) for each in blocked_statuses}))
        self._outstanding = _OUTSTANDING if key_life_s else None
        self.effect = Effect.REPEATABLE if method in _IDEMPOTENT else Effect.APPEND
        self.replay = Replay(Scope.ITEM, key_life_s, _SOURCE) if key_life_s else None
        # A precondition that fails, or nothing left to delete: so it looks after our own earlier request, too.
        codes = [412, *((404, 410) if method == "DELETE" else ()), *(() if key_life_s else (_OUTSTANDING,))]
        self.own_effect_codes = frozenset(f"HTTP {status}" for status in codes)

    @property
    def target(self) -> dict[str, Any]:
        return {
            "url": self._url,
            "method": self._method,
            "headers": dict(self._headers),
            "key_life_s": self._key_life_s,
            **({"blocked_statuses": list(self._blocked)} if self._blocked else {}),
        }

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(
            **read_target(
                cls.name,
                target,
                {"url": str},
                {"method": str, "headers": dict, "key_life_s": int, "blocked_statuses": list},
            ),
        )

    def entry(self, value: object, position: int) -> Entry:
        def refuse(problem: str) -> ManifestError:
            return ManifestError(f"item {position} of the input {problem}", positions=(position,))

        if not isinstance(value, Mapping):
            raise refuse('is no JSON object; give {"Body": ...}')
        if unknown := [name for name in value if name not in ("Body", "Path", "Id", "IdempotencyKey")]:
            raise refuse(f"has {len(unknown)} unknown members; an item takes Body, Path, Id and IdempotencyKey")
        if "Body" not in value and self._method != "DELETE":
            raise refuse("has no Body; give the JSON value to send")
        payload = {name: value[name] for name in ("Body", "Path") if name in value}
        if "Path" in payload and (problem := check_path(payload["Path"])):
            raise refuse(f"has a Path that {problem}")
        for name in ("Id", "IdempotencyKey"):
            if name in value and (not isinstance(value[name], str) or not value[name]):
                raise refuse(f"has an {name} that is no text; give text, or leave it out")
        key = value.get("IdempotencyKey")
        if key is not None and not _KEY.fullmatch(key):
            raise refuse("has an IdempotencyKey that is not 1 to 255 printable ASCII characters without blanks")
        size = len(_body_of(payload, position))
        return Entry(value.get("Id", str(position + 1)), payload, size, key)

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        [item] = items
        key = item.idempotency_key
        assert key is not None, "the ledger gives every item a key before it is sent"
        assert _KEY.fullmatch(key), "keys are checked where they enter, and ours are letters and digits"
        path = item.payload.get("Path")
        content_type = {} if "content-type" in map(str.lower, self._headers) else {"Content-Type": "application/json"}
        return {
            "Method": self._method,
            "Url": join_path(self._url, path) if path else self._url,
            "Headers": {**content_type, **self._headers, "Idempotency-Key": key},
            "Body": _body_of(item.payload, None),
            "FailOn": [*_BLOCKED, *_THROTTLED, *self._blocked],
        }

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> list[Mention]:
        assert len(sent) == 1, "one call an item"
        status: int = read_member(response, "Status", int)
        finding = Finding.TRANSIENT if status == self._outstanding else _finding(status)
        # A body that claims to be JSON and is not shows a damaged answer, whatever its status says.
        body = _parsed(response)
        if finding is Finding.SUCCEEDED:
            return [Mention(0, finding, _object_ref(response, body))]
        return [Mention(0, finding, ItemError(f"HTTP {status}", _told(body)))]

    def explain(self, failure: Failure) -> Proof:
        blocked = _codes((*_BLOCKED, *self._blocked))
        return explain_by_code(failure, not_processed=_codes(_THROTTLED), refused=(), blocked=blocked)


def _finding(status: int) -> Finding:
    if status in _OPEN:
        return Finding.UNKNOWN
    if 200 <= status <= 299:
        return Finding.SUCCEEDED
    if status in _TRANSIENT:
        return Finding.TRANSIENT
    # 422 among them: the draft's answer to a key that was used before with another payload.
    return Finding.REJECTED if 400 <= status <= 499 else Finding.UNKNOWN  # 3xx: 303 means done, 307 means not


def _status(api_name: str, status: object) -> int:
    """One that can end a run: no success, and none that means something else already."""
    if type(status) is int and 400 <= status <= 499 and status not in {_OUTSTANDING, *_TRANSIENT, *_OPEN}:
        return status
    raise ManifestError(f"{api_name}: blocked_statuses= takes 4xx that no retry heals, such as 403 or 404")


def _codes(statuses: Sequence[int]) -> frozenset[str]:
    return frozenset(f"HTTP {status}" for status in statuses)


def _body_of(payload: Mapping[str, Any], position: int | None) -> bytes:
    where = "the item's Body" if position is None else f"item {position} of the input: its Body"
    return json_body(payload["Body"], where, position) if "Body" in payload else b""


def _parsed(response: Mapping[str, Any]) -> Any:
    headers = {name.lower(): value for name, value in read_member(response, "Headers", dict).items()}
    body: bytes = read_member(response, "Body", bytes)
    kind = str(headers.get("content-type", "")).partition(";")[0].strip().lower()
    is_json = kind in ("application/json", "text/json") or kind.endswith("+json")
    return read_json(body, "the response's body") if is_json and body else None


def _object_ref(response: Mapping[str, Any], body: object) -> str | None:
    location = {name.lower(): value for name, value in response["Headers"].items()}.get("location")
    of_body = body.get("id") if isinstance(body, Mapping) else None
    for ref in (location, of_body):
        if isinstance(ref, str) and 0 < len(ref) <= _MAX_REF:
            return ref
    return None


def _told(body: object) -> str:
    """What an error's body says for people: the title and detail of RFC 9457, or a message."""
    if not isinstance(body, Mapping):
        return ""
    error = body["error"] if isinstance(body.get("error"), Mapping) else body
    return " - ".join(text for name in ("title", "detail", "message") if isinstance(text := error.get(name), str))
