"""What the failure of a whole writing call proves: a reviewed table of codes, and nothing for everything else."""

from __future__ import annotations

from collections.abc import Collection

from itemledger.apis.aws_errors import normalise_code
from itemledger.core.answer import Failure, FailureCause
from itemledger.core.write_api import Proof

#: Exceptions of the SDK that come before anything is sent, when no earlier attempt of the same call was. A
#: ProxyConnectionError is none of them: urllib3 raises it too where a proxy's connection breaks after the request.
NOT_SENT = frozenset({"EndpointConnectionError", "ConnectTimeoutError"})

#: What services answer, before they look at the items, to who asks or to what it asks of ("Common Errors" of the API
#: references). No retry of the same call helps until somebody has acted.
BLOCKED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "AuthorizationErrorException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "KMSAccessDeniedException",
        "MissingAuthenticationToken",
        "NotAuthorized",
        "NotFoundException",
        "OptInRequired",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
        "AsyncClient",  # of ours: a coroutine that was never started
    }
)


def explain_by_code(
    failure: Failure, *, not_processed: Collection[str], refused: Collection[str], blocked: Collection[str] = ()
) -> Proof:
    """The proof in a failure's code.

    ``not_processed`` are the throttles that the API documents as "nothing was processed", ``refused`` its rejections
    of a request for what it holds, ``blocked`` its own ones on top of those common to all services. A code counts
    only when no earlier attempt of the same call can have been processed: the SDK's retries hide how those ended.
    """
    if failure.sdk_retry_attempts:
        return Proof.NOTHING
    code = normalise_code(failure.code)
    if failure.cause is FailureCause.CREDENTIALS or _in(code, BLOCKED) or _in(code, blocked):
        return Proof.BLOCKED
    if _in(code, refused) or code == "ParamValidationError":
        return Proof.REFUSED
    if _in(code, not_processed) or code in NOT_SENT:
        return Proof.NOT_PROCESSED
    return Proof.NOTHING


def _in(code: str, codes: Collection[str]) -> bool:
    """Codes arrive with and without "Exception" at the end."""
    return code in codes or f"{code}Exception" in codes or code.removesuffix("Exception") in codes
