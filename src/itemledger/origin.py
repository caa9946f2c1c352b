"""Evidence labels read off the answer itself: *observed* only when it came over a socket from an AWS host name."""

from __future__ import annotations

from http.client import HTTPResponse as SocketResponse
from typing import Any
from urllib.parse import urlsplit

from itemledger.core.answer import EvidenceLabel

#: DNS suffixes of the AWS partitions (botocore's partitions.json, ``dnsSuffix`` and ``dualStackDnsSuffix``).
AWS_SUFFIXES = (
    ".amazonaws.com",
    ".amazonaws.com.cn",
    ".api.aws",
    ".api.amazonwebservices.com.cn",
    ".amazonaws.eu",
    ".api.amazonwebservices.eu",
    ".c2s.ic.gov",
    ".api.aws.ic.gov",
    ".sc2s.sgov.gov",
    ".api.aws.scloud",
    ".csp.hci.ic.gov",
    ".api.aws.hci.ic.gov",
    ".cloud.adc-e.uk",
    ".api.cloud-aws.adc-e.uk",
)


def label_of(http_response: Any) -> EvidenceLabel:
    """Observed or synthetic; there is no override, and what cannot be recognised is synthetic."""
    if http_response is None:
        return EvidenceLabel.SYNTHETIC
    host = (urlsplit(getattr(http_response, "url", None) or "").hostname or "").lower()
    if host.endswith(AWS_SUFFIXES) and _came_over_a_socket(getattr(http_response, "raw", None)):
        return EvidenceLabel.OBSERVED
    return EvidenceLabel.SYNTHETIC


def _came_over_a_socket(raw: Any) -> bool:
    """Whether the body's source is a live HTTP connection: urllib3's under botocore, aiohttp's or httpx's under
    aiobotocore.

    Stubs, hooks and replayers hand in an object of their own instead; private attributes are only ever read, and one
    that is missing lowers the label.
    """
    module = type(raw).__module__.partition(".")[0]
    if module == "urllib3":
        return type(getattr(raw, "_original_response", None)) is SocketResponse
    inner = getattr(raw, "__wrapped__", raw)
    module = type(inner).__module__.partition(".")[0]
    if module == "aiohttp":
        return getattr(inner, "_protocol", None) is not None  # set where a connection hands the response over
    # httpx names the stream that an answer came over; a mock transport has none.
    return module in ("httpx", "httpx2") and "network_stream" in getattr(inner, "extensions", {})
