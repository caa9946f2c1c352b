"""The two ways to seal a cursor: signed, so that nobody alters it; encrypted, so that nobody reads it either.

Each key of the caller's is only a source: what signs, what encrypts and the public key id are derived from it.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Protocol

from itemledger.errors import ManifestError

#: Below it a key could be guessed; HMAC itself would take any length.
MIN_KEY_BYTES = 16
KEY_ID_BYTES = 8


class Seal(Protocol):
    """One key in one form. ``header`` travels with the cursor, ``context`` does not; both are vouched for."""

    form: int
    """The first byte of a cursor, and its version."""

    def seal(self, header: bytes, context: bytes, body: bytes) -> bytes: ...

    def open(self, header: bytes, context: bytes, sealed: bytes) -> bytes | None:
        """The body; ``None`` if header, context and sealed are not exactly those of one ``seal``."""


class Signed:
    """HMAC-SHA-256 after the body, which everybody can read."""

    form = 1
    TAG_BYTES = hashlib.sha256().digest_size

    def __init__(self, key: bytes) -> None:
        self._key = _derived(key, b"sign", "sha256")

    def seal(self, header: bytes, context: bytes, body: bytes) -> bytes:
        return body + self._tag(header, context, body)

    def open(self, header: bytes, context: bytes, sealed: bytes) -> bytes | None:
        body, tag = sealed[: -self.TAG_BYTES], sealed[-self.TAG_BYTES :]
        return body if hmac.compare_digest(tag, self._tag(header, context, body)) else None

    def _tag(self, header: bytes, context: bytes, body: bytes) -> bytes:
        """The first two have fixed sizes, so no other three parts are the same bytes."""
        return hmac.digest(self._key, header + context + body, "sha256")


class Encrypted:
    """AES-SIV (RFC 5297) with 256-bit keys: no nonce to repeat, however many servers share the key for how long.

    The price: sealing the same position of the same query for the same principal and expiry gives the same text.
    """

    form = 2

    def __init__(self, key: bytes) -> None:
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESSIV
        except ImportError as missing:
            raise ManifestError(
                "encrypt=True needs the cryptography package; run: pip install 'itemledger[cursors]'"
            ) from missing
        self._cipher = AESSIV(_derived(key, b"encrypt", "sha512"))
        self._refused = InvalidTag

    def seal(self, header: bytes, context: bytes, body: bytes) -> bytes:
        return self._cipher.encrypt(body, [header, context])

    def open(self, header: bytes, context: bytes, sealed: bytes) -> bytes | None:
        try:
            return self._cipher.decrypt(sealed, [header, context])
        except self._refused:
            return None


def key_id(key: bytes) -> bytes:
    """The key's public name, by which it is found among others."""
    return _derived(key, b"id", "sha256")[:KEY_ID_BYTES]


def _derived(key: bytes, purpose: bytes, digest: str) -> bytes:
    return hmac.digest(key, b"itemledger cursor key: " + purpose, digest)
