"""Where HTTP calls go: addresses and headers that may stand in a ledger, checked to hold no secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from itemledger.errors import ManifestError

#: Parts of names that secrets go by; a ledger keeps its target in the clear, so they are not taken there.
_SECRET = re.compile(
    r"auth|cookie|token|secret|passw|credential|signature|session|api[-_]?key|access[-_]?key|(?:^|[-_])(?:key|sig|pwd)$",
    re.IGNORECASE,
)
#: Made for each call, by the API or by the connection.
_MADE = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "idempotency-key", "te", "transfer-encoding"}
)
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e]*")
_PATH = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*")  # RFC 3986, 3.3


def check_url(api_name: str, url: str, *, query: bool = True) -> str:
    """The address as it is; ManifestError for one that cannot be called or that carries a secret."""
    problem = _url_problem(url, query)
    if problem:
        raise ManifestError(f"{api_name}: url= {problem}")
    return url


def check_path(path: object) -> str | None:
    """What is wrong with a path that is put after an address, or ``None``."""
    if not isinstance(path, str) or not path.startswith("/"):
        return "begins with no slash; give a path such as /orders/17"
    if not _PATH.fullmatch(path):
        return "has characters that a path cannot hold; percent-encode them"
    if any(segment in (".", "..") for segment in re.sub("%2e", ".", path, flags=re.IGNORECASE).split("/")):
        return "has a segment . or .., which would leave the target; name the full path"
    return None


def join_path(url: str, path: str) -> str:
    """The address with a path put after its own; its query stays."""
    parts = urlsplit(url)
    return parts._replace(path=parts.path.rstrip("/") + path).geturl()


def check_headers(api_name: str, headers: Mapping[str, Any]) -> dict[str, str]:
    """Headers that every call carries; ManifestError names one that is a secret, made for each call, or not legal."""
    checked: dict[str, str] = {}
    for name, value in headers.items():
        problem = header_problem(name, value)
        if problem is None and is_secret(name):
            problem = (
                f"names {name}, which a ledger would keep in the clear; give it to the sender: HttpSender(headers=...)"
            )
        if problem is None and name.lower() in map(str.lower, checked):
            problem = f"names {name} twice; give it once"
        if problem:
            raise ManifestError(f"{api_name}: headers= {problem}")
        checked[name] = value
    return checked


def is_secret(name: str) -> bool:
    """Whether a header or a query member of this name is taken for a secret."""
    return _SECRET.search(name) is not None


def header_problem(name: object, value: object, taken: frozenset[str] = frozenset()) -> str | None:
    """Why a header cannot be sent, without its value, or ``None``."""
    if not isinstance(name, str) or not _FIELD_NAME.fullmatch(name):
        return "has a name that is no header's; use letters, digits and dashes"
    if name.lower() in _MADE | taken:
        return f"names {name}, which is made for each call; leave it out"
    if not isinstance(value, str) or not _FIELD_VALUE.fullmatch(value):
        return f"has a value for {name} that is not one line of printable ASCII; encode it"
    return None


def _url_problem(url: str, query: bool) -> str | None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no address; give one such as https://api.example.com/orders"
    if parts.scheme not in ("http", "https") or not host:
        return "is no http:// or https:// address with a host; give one such as https://api.example.com/orders"
    if parts.username is not None or parts.password is not None:
        return "holds a user name or password, which a ledger would keep; give HttpSender(headers=...) the credentials"
    if parts.fragment or (not query and parts.query):
        return "has a fragment or a query that is not sent; leave it out"
    if not url.isascii() or re.search(r"[\s\"<>\\^`{|}\x00-\x1f\x7f]", url) or not _PATH.fullmatch(parts.path):
        return "has characters that an address cannot hold; percent-encode them"
    if parts.path and check_path(parts.path):
        return f"has a path that {check_path(parts.path)}"
    if secret := next((name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if is_secret(name)), None):
        return f"has {secret} in its query, and a ledger would keep it in the clear; send it as a header of the sender"
    return None
