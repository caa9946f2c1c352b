"""What an error code of the service says about its cause: a reviewed table, and unknown for everything else."""

from __future__ import annotations

from collections.abc import Mapping

from itemledger.core.answer import FailureCause


def classify(code: str | None, http_status: int | None) -> FailureCause:
    """The cause of an error by its code; the status decides only where the code is absent or not in the table."""
    name = normalise_code(code) if code else ""
    known = _BY_STEM.get(_stem(name))
    if known is not None:
        return known
    if http_status is None and len(name) == 3 and name.isascii() and name.isdecimal():
        http_status = int(name)  # the SDK gives the status as the code when the body names none
    if http_status == 429:
        return FailureCause.THROTTLED
    if http_status is not None and (http_status == 408 or 500 <= http_status <= 599):
        return FailureCause.TRANSIENT
    return FailureCause.UNKNOWN


def normalise_code(code: str) -> str:
    """The bare name in ``com.amazonaws.dynamodb.v20120810#Name`` or ``Name:http://…``, in its documented spelling.

    Codes arrive with and without "Exception" at the end; a code that is not in the table keeps the end it came with.
    """
    name = code.partition(":")[0].rpartition("#")[2].strip()
    return _SPELLING.get(_stem(name), name)


# The developer guide's "Error handling with DynamoDB" and the service model 2012-08-10; the causes are ours. Names are
# in the guide's or the model's spelling.
CODES: Mapping[FailureCause, tuple[str, ...]] = {
    FailureCause.THROTTLED: (
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "LimitExceededException",  # control plane: too many operations at once
        "TooManyRequestsException",  # this and the next three: botocore's own list of throttles
        "ThrottledException",
        "RequestThrottledException",
        "BandwidthLimitExceeded",
    ),
    FailureCause.TRANSIENT: (
        "InternalServerError",
        "ServiceUnavailable",
        "RequestTimeout",  # common to all services
        "TransactionInProgressException",
        "ReplicatedWriteConflictException",
    ),
    FailureCause.CREDENTIALS: (
        "ExpiredTokenException",
        "UnrecognizedClientException",  # documented as worth a retry; in practice wrong or rotated credentials
        "InvalidSignatureException",  # a wrong secret, or a clock too far off
        "RequestExpired",
    ),
    FailureCause.REFUSED: (
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


_BY_STEM = {_stem(name): cause for cause, names in CODES.items() for name in names}
_SPELLING = {_stem(name): name for names in CODES.values() for name in names}
