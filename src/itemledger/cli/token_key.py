"""The key that turns keys into tokens: from the environment, or from the file beside the evidence."""

from __future__ import annotations

import binascii
import os
import secrets
from base64 import b64decode
from pathlib import Path

from itemledger.cli.problems import CommandError
from itemledger.core.tokens import MIN_KEY_BYTES, Tokeniser

VARIABLE = "ITEMLEDGER_TOKEN_KEY"
KEY_BYTES = 32


def key_file(evidence: Path) -> Path:
    """Where the token key of an evidence file is kept, unless it comes from the environment."""
    return evidence.parent / f"{evidence.name}.key"


def known_tokeniser(evidence: Path) -> Tokeniser | None:
    """The tokeniser that an evidence file's keys are found with; ``None`` when there is no token key."""
    if text := os.environ.get(VARIABLE):
        return Tokeniser(_key_in(text, VARIABLE))
    path = key_file(evidence)
    try:
        return Tokeniser(_key_in(path.read_text(), str(path)))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read the token key {path}: {error}") from None


def new_tokeniser(evidence: Path) -> Tokeniser:
    """A tokeniser with a key of its own, kept beside the evidence file for its owner only."""
    path = key_file(evidence)
    key = secrets.token_bytes(KEY_BYTES)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(f"{key.hex()}\n")
    except OSError as error:
        raise CommandError(f"cannot keep the token key in {path}: {error.strerror or error}") from None
    return Tokeniser(key)


def _key_in(text: str, where: str) -> bytes:
    text = text.strip()
    try:
        key = bytes.fromhex(text)
    except ValueError:
        try:
            key = b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            key = b""
    if len(key) < MIN_KEY_BYTES:
        raise CommandError(
            f"{where} holds no token key: give at least {MIN_KEY_BYTES} random bytes as hexadecimal or base64 text, "
            "such as `openssl rand -hex 32` prints"
        )
    return key
