"""Sends HTTP requests once, with the secrets that no ledger sees, and never says more of the end than is known."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import urllib3
from botocore import exceptions as sdk
from urllib3 import exceptions as wire

from itemledger.apis.http_target import header_problem
from itemledger.errors import ManifestError

#: More than this is not read: the largest answer to what a search engine takes at most (100 MB) has room.
MAX_BODY_BYTES = 128 * 2**20
_CHUNK_BYTES = 16 * 2**10
_REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "x-amz-request-id")
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_TAKEN = frozenset({"content-type"})


class HttpSender:
    """A client with one method, ``request``, made so that ``provider.call`` understands what it returns and raises.

    ``headers`` go out with every request and are the only place for secrets; one of the same name in a request gives
    way. ``timeout_s`` bounds connecting and sending as well as the whole answer, looked at between its parts;
    ``itemledger.work`` takes no sender with a longer one than the policy's ``call_timeout_s``. Nothing is sent twice:
    no retries, and no redirects, which would also carry the headers to another host. Environment proxies are not used.
    """

    def __init__(self, *, headers: Mapping[str, str] = _NO_HEADERS, timeout_s: float = 20.0) -> None:
        for name, value in headers.items():
            if problem := header_problem(name, value, _TAKEN):
                raise ManifestError(f"HttpSender: headers= {problem}")
        if not timeout_s > 0:
            raise ManifestError("HttpSender: timeout_s= is not above zero; give seconds")
        self._headers = dict(headers)
        self.timeout_s = timeout_s
        self._pool = urllib3.PoolManager(ssl_context=ssl.create_default_context(), block=False, maxsize=16)

    def request(self, **request: Any) -> dict[str, Any]:
        """Takes Method, Url, Headers, Body (bytes) and FailOn, gives Status, Headers (names in lower case) and Body.

        A status that FailOn names refuses the call as a whole: it is raised as a ClientError with the code
        ``HTTP <status>``. What breaks on the way is raised as the SDK's own exception for it.
        """
        url, body = request["Url"], request.get("Body") or None
        deadline = time.monotonic() + self.timeout_s
        origin = _origin(url)
        response = self._opened(request["Method"], url, self._merged(request.get("Headers") or {}), body, origin)
        try:
            content = b"".join(_parts(response, deadline, origin))
        except sdk.BotoCoreError:  # ours; some of the SDK's exceptions are an OSError, too
            raise
        except wire.ReadTimeoutError:
            raise sdk.ReadTimeoutError(endpoint_url=origin) from None
        except (wire.HTTPError, OSError) as error:  # cut, reset, or a broken chunk
            raise sdk.ResponseStreamingError(error=type(error).__name__) from None
        finally:
            response.close()  # no-op for a body that was read to its end: then the connection is back in the pool
        headers = {name.lower(): value for name, value in response.headers.items()}
        _check_whole(content, headers)
        metadata = {
            "HTTPStatusCode": response.status,
            "RequestId": next((headers[name] for name in _REQUEST_IDS if name in headers), None),
            "RetryAttempts": 0,
        }
        if response.status in request.get("FailOn", ()):
            # The body may say why; it stays in the ledger, out of logs, as every service's message does.
            told = {"Code": f"HTTP {response.status}", "Message": content[:500].decode("utf-8", "replace")}
            error_response: Any = {"Error": told, "ResponseMetadata": metadata}
            raise sdk.ClientError(error_response, "request")
        return {"Status": response.status, "Headers": headers, "Body": content, "ResponseMetadata": metadata}

    def close(self) -> None:
        """Closes every connection that is kept open."""
        self._pool.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _merged(self, headers: Mapping[str, str]) -> dict[str, str]:
        ours = {name.lower() for name in self._headers}
        kept = {name: value for name, value in headers.items() if name.lower() not in ours}
        # Encoded bodies are not asked for: a bound on their length would say nothing of what they grow to.
        return {"User-Agent": "itemledger", **kept, **self._headers, "Accept-Encoding": "identity"}

    def _opened(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, origin: str
    ) -> urllib3.BaseHTTPResponse:
        try:
            return self._pool.urlopen(
                method,
                url,
                redirect=False,
                retries=False,
                body=body,
                headers=headers,
                timeout=urllib3.Timeout(total=self.timeout_s),
                preload_content=False,
            )
        except wire.NewConnectionError as error:  # refused, or no such host: nothing was sent
            raise sdk.EndpointConnectionError(endpoint_url=origin, error=error) from None
        except wire.ConnectTimeoutError:
            raise sdk.ConnectTimeoutError(endpoint_url=origin) from None
        except wire.ReadTimeoutError:
            raise sdk.ReadTimeoutError(endpoint_url=origin) from None
        except wire.SSLError as error:
            raise sdk.SSLError(endpoint_url=origin, error=error) from None
        except wire.ProtocolError:  # reset or closed, before or after the request was read
            raise sdk.ConnectionClosedError(endpoint_url=origin) from None
        except wire.HTTPError as error:
            raise sdk.HTTPClientError(error=type(error).__name__) from None


def _parts(response: urllib3.BaseHTTPResponse, deadline: float, origin: str) -> Iterator[bytes]:
    length = 0
    for part in response.stream(_CHUNK_BYTES, decode_content=False):
        length += len(part)
        if length > MAX_BODY_BYTES:
            raise sdk.ResponseStreamingError(error=f"the body is longer than {MAX_BODY_BYTES} bytes")
        if time.monotonic() > deadline:
            raise sdk.ReadTimeoutError(endpoint_url=origin)
        yield part


def _check_whole(content: bytes, headers: Mapping[str, str]) -> None:
    """Some releases of urllib3 hand out a body that ended early."""
    length = headers.get("content-length")
    if length is not None and length != str(len(content)):
        raise sdk.ResponseStreamingError(error=f"{len(content)} bytes came where content-length says otherwise")
    if headers.get("content-encoding", "identity") != "identity":
        raise sdk.ResponseStreamingError(error="the body is encoded, which was not asked for")


def _origin(url: str) -> str:
    """Scheme and host alone: paths and queries may name items, and these texts get into messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
