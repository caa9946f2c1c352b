"""What an error code of the service says about its cause: a reviewed table, and unknown for everything else."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, assert_never


class ErrorClass(StrEnum):
    """Why the service refused or failed a whole call, as far as a document says."""

    THROTTLE = "throttle"
    """Refused for load: the same call may succeed after a growing pause."""
    TRANSIENT = "transient"
    """A fault of the service or of the way there; a read may be repeated."""
    CREDENTIALS = "credentials"
    """Expired, unknown or wrongly timed credentials: fresh ones may help once, a pause never does."""
    FATAL = "fatal"
    """The same call will be refused again until somebody changes it, the table or the permissions."""
    UNKNOWN = "unknown"
    """No document that was reviewed names this code, and it is not guessed."""


def classify(code: str | None, http_status: int | None) -> ErrorClass:
    """The class of an error by its code; the status decides only where the code is absent or not in the table."""
    name = normalise_code(code) if code else ""
    known = _BY_STEM.get(_stem(name))
    if known is not None:
        return known
    if http_status is None and len(name) == 3 and name.isascii() and name.isdecimal():
        http_status = int(name)  # the SDK gives the status as the code when the body names none
    if http_status == 429:
        return ErrorClass.THROTTLE
    if http_status is not None and 500 <= http_status <= 599:
        return ErrorClass.TRANSIENT
    return ErrorClass.UNKNOWN


def is_passing(error_class: ErrorClass) -> bool:
    """Whether the cause can pass by itself, so that asking again later is worth while."""
    match error_class:
        case ErrorClass.THROTTLE | ErrorClass.TRANSIENT:
            return True
        case ErrorClass.CREDENTIALS | ErrorClass.FATAL | ErrorClass.UNKNOWN:
            return False
        case _:
            assert_never(error_class)


def normalise_code(code: str) -> str:
    """The bare name in ``com.amazonaws.dynamodb.v20120810#Name`` or ``Name:http://…``, in its documented spelling.

    Codes arrive with and without "Exception" at the end; a code that is not in the table keeps the end it came with.
    """
    name = code.partition(":")[0].rpartition("#")[2].strip()
    return _SPELLING.get(_stem(name), name)


def throttling_reasons(error_response: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The (reason, resource ARN) pairs of a throttling error; an empty list means that the service did not tell.

    The member is ``throttlingReasons`` in ThrottlingException and ``ThrottlingReasons`` in the other two exceptions
    that have it (service model 2012-08-10).
    """
    pairs = []
    for member in ("ThrottlingReasons", "throttlingReasons"):
        entries = error_response.get(member)
        for entry in entries if isinstance(entries, list | tuple) else ():
            if isinstance(entry, Mapping) and isinstance(entry.get("reason"), str):
                resource = entry.get("resource")
                pairs.append((entry["reason"], resource if isinstance(resource, str) else ""))
    return pairs


# The developer guide's "Error handling with DynamoDB" and the service model 2012-08-10; the classes are ours. Names are
# in the guide's or the model's spelling.
CODES: Mapping[ErrorClass, tuple[str, ...]] = {
    ErrorClass.THROTTLE: (
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "LimitExceededException",  # control plane: too many operations at once
    ),
    ErrorClass.TRANSIENT: (
        "InternalServerError",
        "ServiceUnavailable",
        "RequestTimeout",  # common to all services
        "TransactionInProgressException",
        "ReplicatedWriteConflictException",
    ),
    ErrorClass.CREDENTIALS: (
        "ExpiredTokenException",
        "UnrecognizedClientException",  # documented as worth a retry; in practice wrong or rotated credentials
        "InvalidSignatureException",  # a wrong secret, or a clock too far off
        "RequestExpired",
    ),
    ErrorClass.FATAL: (
        "ValidationException",
        "ResourceNotFoundException",
        "AccessDeniedException",
        "ConditionalCheckFailedException",
        "IncompleteSignatureException",
        "MissingAuthenticationTokenException",
        "SerializationException",
    ),
}


def _stem(name: str) -> str:
    return name.removesuffix("Exception")


_BY_STEM = {_stem(name): error_class for error_class, names in CODES.items() for name in names}
_SPELLING = {_stem(name): name for names in CODES.values() for name in names}
