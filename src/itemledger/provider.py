"""Where answers enter: sends through the caller's client, and reads label, checksum and metadata off what comes back.

The client is observed, never altered: two read-only event handlers, registered once per client, see each attempt and
each finished call. They are needed because the SDK's ``standard`` retry mode hands out a damaged 200 as ``{}`` or as
plain data (measured on botocore 1.34 to 1.44): only the bytes tell.
"""

from __future__ import annotations

import inspect
import json
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from botocore import exceptions as sdk

from itemledger.apis.aws_errors import classify, normalise_code
from itemledger.core.answer import Answer, BodyCheck, Failure, FailureCause
from itemledger.core.keys import KeySchema
from itemledger.errors import ManifestError
from itemledger.origin import label_of

#: Exceptions of the SDK by what they prove about the next call; the first match counts, so the narrow ones come first.
_SDK_EXCEPTIONS: tuple[tuple[tuple[type[BaseException], ...], FailureCause], ...] = (
    ((sdk.SSLError, sdk.ParamValidationError, sdk.NoRegionError, sdk.InvalidRegionError), FailureCause.REFUSED),
    ((sdk.ChecksumError,), FailureCause.DAMAGED),
    (
        (
            sdk.NoCredentialsError,
            sdk.PartialCredentialsError,
            sdk.CredentialRetrievalError,
            sdk.TokenRetrievalError,
            sdk.SSOError,
        ),
        FailureCause.CREDENTIALS,
    ),
    ((sdk.HTTPClientError, sdk.ConnectionError, TimeoutError, ConnectionError), FailureCause.TRANSIENT),
)


@dataclass(slots=True)
class _Seen:
    """What the observers saw of the call that this thread or task is making."""

    http: Any = None
    attempts: int = 0
    answered: bool = False
    request_id: str | None = None  # of the last attempt; ChecksumError does not carry it
    throttled: bool = False


_seen: ContextVar[_Seen | None] = ContextVar("itemledger_seen", default=None)


@dataclass(frozen=True, slots=True)
class TableDescription:
    """What DescribeTable tells of a table's identity and key."""

    key: KeySchema
    arn: str | None


def observe(client: Any, operation: str = "batch_get_item", service: str = "dynamodb") -> None:
    """Puts the two observers on a client; again is a no-op, and a client without events is left as it is.

    Raises ManifestError for what is no client of that service at all.
    """
    if not callable(getattr(client, operation, None)):
        raise ManifestError(
            f"client= is a {type(client).__name__} without {operation}; give a low-level client, such as "
            f'boto3.client("{service}")'
        )
    meta = getattr(client, "meta", None)
    events, model = getattr(meta, "events", None), getattr(meta, "service_model", None)
    if events is None or model is None:
        return
    service = model.service_id.hyphenize()
    events.register_last(f"response-received.{service}", _attempt_ended, unique_id="itemledger-attempt")
    events.register_last(f"after-call.{service}", _call_ended, unique_id="itemledger-call")


def call(client: Any, operation: str, request: Mapping[str, Any]) -> Answer | Failure:
    """One call through a boto3 client. Every ``Exception`` becomes a Failure; interrupts pass through."""
    seen = _Seen()
    token = _seen.set(seen)
    try:
        parsed = getattr(client, operation)(**request)
        if inspect.iscoroutine(parsed):
            parsed.close()
            return Failure(FailureCause.REFUSED, "AsyncClient", "this is a client for asyncio; use itemledger.aio")
        return _usable(parsed, seen, _content(seen.http, operation))
    except Exception as error:  # R8: an exception the SDK never documents is "no usable response" too
        return _failure(error, seen)
    finally:
        _seen.reset(token)


async def call_async(client: Any, operation: str, request: Mapping[str, Any]) -> Answer | Failure:
    """The same through an aiobotocore client; cancellation passes through."""
    seen = _Seen()
    token = _seen.set(seen)
    try:
        sent = getattr(client, operation)(**request)
        if not inspect.isawaitable(sent):
            return Failure(FailureCause.REFUSED, "BlockingClient", "this client blocks; use itemledger.read_batch")
        parsed = await sent
        body = _content(seen.http, operation)
        if inspect.isawaitable(body):
            body = await body
        return _usable(parsed, seen, body)
    except Exception as error:
        return _failure(error, seen)
    finally:
        _seen.reset(token)


def described(answer: Answer) -> TableDescription | None:
    """Key schema and ARN out of a DescribeTable answer; ``None`` when it does not hold them."""
    try:
        return _description(answer.response["Table"])
    except (LookupError, TypeError, AttributeError, ManifestError):
        return None


def _description(table: Mapping[str, Any]) -> TableDescription | None:
    types = {d.get("AttributeName"): d.get("AttributeType") for d in table.get("AttributeDefinitions") or ()}
    parts = {e.get("KeyType"): e.get("AttributeName") for e in table.get("KeySchema") or ()}
    names = [parts[kind] for kind in ("HASH", "RANGE") if kind in parts]
    if "HASH" not in parts or any(types.get(name) not in ("S", "N", "B") for name in names):
        return None
    arn = table.get("TableArn")
    return TableDescription(KeySchema.of({name: types[name] for name in names}), arn if isinstance(arn, str) else None)


def _attempt_ended(parsed_response: Any = None, **_: Any) -> None:
    seen = _seen.get()
    if seen is None:
        return
    seen.attempts += 1
    seen.answered |= parsed_response is not None
    parsed = parsed_response if isinstance(parsed_response, Mapping) else {}
    metadata = parsed.get("ResponseMetadata") or {}
    seen.request_id = _text(metadata.get("RequestId"))
    if "Error" in parsed:
        code = parsed["Error"].get("Code")
        seen.throttled |= classify(code, metadata.get("HTTPStatusCode")) is FailureCause.THROTTLED


def _call_ended(http_response: Any = None, **_: Any) -> None:
    seen = _seen.get()
    if seen is not None:
        seen.http = http_response


def _content(http: Any, operation: str) -> Any:
    """The body as bytes (an awaitable of them under aiobotocore); ``None`` where there was no HTTP (Stubber).

    The answer to a HEAD has none, whatever its content-length says.
    """
    if http is None or getattr(http, "raw", None) is None or operation.startswith("head_"):
        return None
    return http.content


def _usable(parsed: Any, seen: _Seen, body: bytes | None) -> Answer | Failure:
    if not isinstance(parsed, Mapping):
        return Failure(FailureCause.UNKNOWN, type(parsed).__name__, "the client returned no mapping")
    metadata = parsed.get("ResponseMetadata") or {}
    members = {name: value for name, value in parsed.items() if name != "ResponseMetadata"}
    request_id, attempts = _text(metadata.get("RequestId")), _retries(metadata, seen)
    check: BodyCheck | str = BodyCheck.UNSEEN if body is None else check_body(body, seen.http.headers, bool(members))
    if not isinstance(check, BodyCheck):
        return Failure(FailureCause.DAMAGED, "DamagedResponse", check, request_id, attempts, label_of(seen.http))
    return Answer(
        members,
        request_id,
        attempts,
        label_of(seen.http),
        check,
        seen.throttled,
        None if body is None else len(body),
    )


def check_body(body: bytes, headers: Mapping[str, str], parsed_something: bool) -> BodyCheck | str:
    """How the body was proven whole, or a sentence that says why it is not.

    Where the CRC holds the JSON is not parsed a second time, unless the SDK found no member in it: it hides what is
    no JSON.
    """
    length = headers.get("content-length")
    if length is not None and "content-encoding" not in headers and length != str(len(body)):
        return f"the body has {len(body)} bytes where its content-length says {length}"
    expected = headers.get("x-amz-crc32")
    if expected is not None and expected != str(zlib.crc32(body)):
        return f"the body of {len(body)} bytes fails its x-amz-crc32 checksum"
    if expected is not None and parsed_something:
        return BodyCheck.CRC32
    if "xml" in headers.get("content-type", ""):
        whole_xml = _is_whole_xml(body, parsed_something)
        return BodyCheck.XML if whole_xml else f"the body of {len(body)} bytes is not one whole XML answer"
    try:
        whole = isinstance(json.loads(body, object_pairs_hook=_unique), dict)
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        return f"the body of {len(body)} bytes is not one whole JSON object"
    return BodyCheck.JSON if expected is None else BodyCheck.CRC32


def _is_whole_xml(body: bytes, parsed_something: bool) -> bool:
    """The SDK parses it with the same parser first, so nothing is opened here that was not open before."""
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return False
    # Nothing parsed out of it: then its root must be an answer's, or silence would speak for another document.
    return parsed_something or root.tag.rpartition("}")[2].endswith(("Result", "Response"))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses a member given twice: such a body contradicts itself, and the SDK would show only the second."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _failure(error: Exception, seen: _Seen) -> Failure:
    # A timeout or a refused connection brought nothing back that could be labelled.
    label = label_of(seen.http) if seen.answered or isinstance(error, sdk.ClientError) else None
    if isinstance(error, sdk.ClientError):
        told = error.response.get("Error", {})
        metadata: Mapping[str, Any] = error.response.get("ResponseMetadata") or {}
        code = normalise_code(str(told.get("Code") or "UnknownError"))
        cause = classify(code, metadata.get("HTTPStatusCode"))
        message = str(told.get("Message") or told.get("message") or "")
        request_id, attempts = _text(metadata.get("RequestId")), _retries(metadata, seen)
        return Failure(cause, code, message, request_id, attempts, label, _reasons(error.response))
    cause = next((cause for types, cause in _SDK_EXCEPTIONS if isinstance(error, types)), FailureCause.UNKNOWN)
    return Failure(cause, _code_of(error), str(error), seen.request_id, _retries({}, seen), label)


def _reasons(told: Mapping[str, Any]) -> tuple[str, ...]:
    """Of ThrottlingReasons, which ThrottlingException writes with a small t (service model 2012-08-10)."""
    reasons = told.get("ThrottlingReasons") or told.get("throttlingReasons")
    if not isinstance(reasons, list):
        return ()
    names = [each.get("reason") for each in reasons if isinstance(each, Mapping)]
    return tuple(name for name in names if isinstance(name, str))


def _code_of(error: Exception) -> str:
    """The exception's name, unless it says too much.

    aiobotocore turns every broken connection of aiohttp into EndpointConnectionError, which elsewhere means that
    nothing was sent; only where aiohttp could not connect is that so (measured with aiobotocore 3.10).
    """
    inner = getattr(error, "kwargs", {}).get("error")
    names = {each.__name__ for each in type(inner).__mro__}
    if isinstance(error, sdk.EndpointConnectionError) and "ClientConnectionError" in names:
        return type(error).__name__ if "ClientConnectorError" in names else sdk.ConnectionClosedError.__name__
    return type(error).__name__


def _retries(metadata: Mapping[str, Any], seen: _Seen) -> int | None:
    """The SDK's resends: as its metadata says, else as the observer counted (timeouts carry no metadata)."""
    told = metadata.get("RetryAttempts")
    if type(told) is int and told >= 0:
        return told
    return seen.attempts - 1 if seen.attempts else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
