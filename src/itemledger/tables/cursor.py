"""Cursors for a web API: where a page ended, as a text that only this service can make and only for one query.

A cursor is text in the alphabet of URLs. Under it are bytes::

    form 1 · key id 8 · expiry 6 · last key, signed or encrypted

Query and principal are not in it: they are part of what is signed, so a cursor that comes with another query fails
exactly as an altered one does, at the same step.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from itemledger.errors import CursorError, ManifestError
from itemledger.tables.cursor_codec import MOST_KEY_BYTES, StartKey, from_text, key_from_bytes, key_to_bytes, to_text
from itemledger.tables.cursor_query import QueryShape
from itemledger.tables.cursor_seals import KEY_ID_BYTES, MIN_KEY_BYTES, Encrypted, Seal, Signed, key_id

_EXPIRY_BYTES = 6
_NEVER = 0
_NAME_BYTES = 1 + KEY_ID_BYTES
_HEADER_BYTES = _NAME_BYTES + _EXPIRY_BYTES
#: Longer text is refused unread. Far more than a request line usually may have: see docs/howto/cursors.md.
MOST_CURSOR_CHARACTERS = math.ceil((_HEADER_BYTES + MOST_KEY_BYTES + Signed.TAG_BYTES) * 4 / 3)

#: One text for every reason: whoever tries cursors out learns nothing from it.
_REFUSED = "the cursor is not valid for this request; leave it out to begin with the first page"


class Cursors:
    """Seals last keys into cursors, and opens them. The first key seals, every key opens: put a new one in front.

    ``keys`` are secrets of 16 random bytes or more, the same on every server. ``encrypt`` hides the key's values from
    those who hold a cursor (needs ``itemledger[cursors]``); cursors that were only signed then still open.
    ``clock`` gives seconds since 1970.
    """

    def __init__(self, keys: Sequence[bytes], *, encrypt: bool = False, clock: Callable[[], float] = time.time) -> None:
        forms: list[Callable[[bytes], Seal]] = [Encrypted, Signed] if encrypt else [Signed]
        seals = [(form(key), name) for form in forms for name, key in _checked(keys).items()]
        self._seals = {bytes([seal.form]) + name: seal for seal, name in seals}
        self._first_name, self._first = next(iter(self._seals.items()))
        self._clock = clock

    @overload
    def seal(
        self, query: QueryShape, last_key: None, *, principal: str | None = None, ttl_s: float | None = None
    ) -> None: ...

    @overload
    def seal(
        self,
        query: QueryShape,
        last_key: Mapping[str, Mapping[str, Any]],
        *,
        principal: str | None = None,
        ttl_s: float | None = None,
    ) -> str: ...

    def seal(
        self,
        query: QueryShape,
        last_key: Mapping[str, Mapping[str, Any]] | None,
        *,
        principal: str | None = None,
        ttl_s: float | None = None,
    ) -> str | None:
        """The cursor of a page's typed ``last_key``; ``None``, the end, has none.

        Only the same ``principal`` (a user, a tenant) can open it, and for at least ``ttl_s`` seconds, less than one
        longer. Raises ManifestError for a key that is none, or one whose attributes are not typed.
        """
        context, expiry = _context(query, principal), self._expiry(ttl_s)
        if last_key is None:
            return None
        header = self._first_name + expiry.to_bytes(_EXPIRY_BYTES)
        return to_text(header + self._first.seal(header, context, key_to_bytes(last_key)))

    @overload
    def open(self, text: None, query: QueryShape, *, principal: str | None = None) -> None: ...

    @overload
    def open(self, text: str, query: QueryShape, *, principal: str | None = None) -> StartKey: ...

    def open(self, text: str | None, query: QueryShape, *, principal: str | None = None) -> StartKey | None:
        """The ExclusiveStartKey to go on with; ``None``, no cursor, is the first page, and an empty one is an error.

        Raises CursorError, always the same, for any text that this service has not sealed for this query and
        principal, or whose time is over.
        """
        context = _context(query, principal)
        if text is None:
            return None
        key = self._opened(text, context)
        if key is None:
            raise CursorError(_REFUSED)
        return key

    def _opened(self, text: Any, context: bytes) -> StartKey | None:
        """For texts of one length the work is the same, whatever is wrong with them; only an accepted one is read."""
        if not isinstance(text, str) or len(text) > MOST_CURSOR_CHARACTERS:
            return None
        data = from_text(text) or b""
        header, sealed = data[:_HEADER_BYTES], data[_HEADER_BYTES:]
        # Form and key id are part of what is sealed: under those of no key of ours, the first says no as well as any.
        seal = self._seals.get(header[:_NAME_BYTES], self._first)
        body = seal.open(header, context, sealed)
        expiry = int.from_bytes(header[_NAME_BYTES:])
        in_time = expiry == _NEVER or self._clock() < expiry
        return key_from_bytes(body) if body is not None and in_time else None

    def _expiry(self, ttl_s: Any) -> int:
        if ttl_s is None:
            return _NEVER
        if isinstance(ttl_s, bool) or not isinstance(ttl_s, int | float) or not 0 < ttl_s < math.inf:
            raise ManifestError(f"ttl_s must be a number of seconds, more than zero and finite; got {ttl_s!r}")
        expiry = math.ceil(self._clock() + ttl_s)
        if not _NEVER < expiry < 256**_EXPIRY_BYTES:
            raise ManifestError(f"ttl_s={ttl_s!r} lies further ahead than a cursor can say; give less")
        return expiry


def _checked(keys: Any) -> dict[bytes, bytes]:
    """The keys by their ids, in the caller's order."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Sequence) or not keys:
        raise ManifestError("keys= must be a list with at least one secret key in bytes, the one that seals first")
    ids: dict[bytes, bytes] = {}
    for position, key in enumerate(keys):
        if not isinstance(key, bytes):
            raise ManifestError(f"key {position} of keys= is a {type(key).__name__}; give bytes")
        if len(key) < MIN_KEY_BYTES:
            raise ManifestError(
                f"key {position} of keys= has {len(key)} bytes, so it could be guessed; give at least {MIN_KEY_BYTES} "
                "random ones, such as secrets.token_bytes(32)"
            )
        identity = key_id(key)
        if identity in ids:
            raise ManifestError(f"key {position} of keys= is there twice; leave one out")
        ids[identity] = key
    return ids


def _context(query: Any, principal: Any) -> bytes:
    """What a cursor is bound to and does not hold, in 64 bytes."""
    if not isinstance(query, QueryShape):
        raise ManifestError(f"query must be a QueryShape, not a {type(query).__name__}; use QueryShape.of(request)")
    if principal is None:
        return query.digest + bytes(32)
    if not isinstance(principal, str):
        raise ManifestError(f"principal must be text; got a {type(principal).__name__}")
    return query.digest + hashlib.sha256(principal.encode("utf-8", "surrogatepass")).digest()
