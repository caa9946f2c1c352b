"""The look-up of deleted objects: HeadObject, one a call, strongly consistent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from itemledger.core.answer import Failure
from itemledger.core.reconcile import Limits, shape_of
from itemledger.core.write_api import Entry, Verdict
from itemledger.errors import LedgerInvariantError

#: HEAD has no body: the SDK makes the code out of the status, and has its own name for some.
_NOT_THERE = ("404", "NotFound", "NoSuchKey", "NoSuchVersion")
_IS_A_MARKER = ("405", "MethodNotAllowed")
#: The version of what was written without versioning; unlike all others, it can be written again.
_NULL_VERSION = "null"


class DeleteLookUp:
    """What an object's presence or absence says of a delete whose answer was lost.

    | item | not there | there |
    |---|---|---|
    | Key and VersionId | done | not done: a version never changes |
    | Key and ETag | done | same ETag: not done; another: superseded |
    | Key alone | done, or hidden by a delete marker as asked | open: not deleted, or written again; a person decides |

    For a key alone the verdict is *different* and never *absent*: another delete could take what somebody else has
    written since. Without s3:ListBucket S3 answers 403 for what is not there, which is unreadable.
    """

    service = "s3"
    operation = "head_object"
    limits = Limits(items=1)
    settle_s = (
        15.0  # reads are consistent at once; this is for a request that is still at work after its answer was lost
    )

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        [item] = items
        version = item.payload.get("VersionId")
        named = {"Bucket": self._bucket, "Key": item.payload["Key"]}
        return named if version is None else {**named, "VersionId": version}

    def verdicts(self, items: Sequence[Entry], answer: Mapping[str, Any] | Failure) -> list[Verdict]:
        [item] = items
        version = item.payload.get("VersionId")
        if isinstance(answer, Failure):
            return [_of_failure(answer, version)]
        told = answer.get("VersionId")
        if version not in (None, _NULL_VERSION) and told not in (None, version):
            raise LedgerInvariantError("HeadObject answers with another version", structure=shape_of(answer))
        if version not in (None, _NULL_VERSION):
            return [Verdict.ABSENT_CONCLUSIVE]
        return [_still_there(item.payload.get("ETag"), answer.get("ETag"))]


def _of_failure(failure: Failure, version: str | None) -> Verdict:
    if failure.code in _NOT_THERE:
        return Verdict.SAME
    if failure.code in _IS_A_MARKER and version is not None:
        # HEAD of a version that is a delete marker: it is there. The null one may be newer than what was to go.
        return Verdict.DIFFERENT if version == _NULL_VERSION else Verdict.ABSENT_CONCLUSIVE
    return Verdict.UNREADABLE


def _still_there(condition: object, etag: object) -> Verdict:
    if condition is None:
        return Verdict.DIFFERENT
    if not isinstance(etag, str):
        return Verdict.UNREADABLE
    return Verdict.ABSENT_CONCLUSIVE if _bare(etag) == _bare(condition) else Verdict.SUPERSEDED


def _bare(etag: object) -> str:
    return str(etag).strip('"')
