"""S3's DeleteObjects: keys, or versions of them, 1,000 a request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from itemledger.apis.item_ids import qualified_id
from itemledger.apis.json_body import read_member
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.s3_look_up import DeleteLookUp
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Finding, Limits, Mention, Silence, shape_of
from itemledger.core.write_api import Effect, Entry, ItemError, LookUp, Proof, Replay
from itemledger.errors import LedgerInvariantError, ManifestError

_MEMBERS = ("Key", "VersionId", "ETag", "LastModifiedTime", "Size")
_VERSION_MARK = "?versionId="  # as S3 itself writes it behind a key, in addresses and copy sources
#: XML 1.0 has no way to write these, so that one such key would make S3 refuse the whole request.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# "Error responses" of the API reference. InternalError is in no table: it says "try again", not that nothing was done.
_TRANSIENT = frozenset({"SlowDown", "ServiceUnavailable"})
_REJECTED = frozenset(
    {
        "AccessDenied",
        "InvalidArgument",
        "InvalidRequest",
        "KeyTooLongError",
        "MethodNotAllowed",
        "NoSuchKey",  # these three answer a condition (ETag, Size, LastModifiedTime) or a version that is not there
        "NoSuchVersion",
        "PreconditionFailed",
    }
)


class DeleteObjects:
    """DeleteObjects, quiet or not. "Deleted" is not "existed": a key that never was is reported as deleted.

    ``effect`` is APPEND for all: without a VersionId in a versioned bucket every send adds a delete marker, and what
    bucket it is cannot be seen from here. Where all items name their versions a second send changes nothing. The
    conditions (ETag, LastModifiedTime, Size) are newer than the oldest SDK, which refuses them before it sends.
    """

    name = "s3.DeleteObjects"
    service = "s3"
    operation = "delete_objects"
    # 1,000 keys a request; a key is 1,024 bytes of UTF-8 at most ("Naming Amazon S3 objects").
    limits = Limits(items=1_000, item_bytes=1_024)
    effect = Effect.APPEND
    replay: Replay | None = None
    own_effect_codes = frozenset({"NoSuchKey", "NoSuchVersion", "PreconditionFailed"})

    def __init__(self, *, bucket: str, quiet: bool = False) -> None:
        self._bucket, self._quiet = bucket, quiet
        self.look_up: LookUp | None = DeleteLookUp(bucket)

    @property
    def target(self) -> dict[str, Any]:
        return {"bucket": self._bucket, "quiet": self._quiet}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, {"bucket": str}, {"quiet": bool}))

    def entry(self, value: object, position: int) -> Entry:
        problem = _problem(value)
        if problem or not isinstance(value, Mapping):
            raise ManifestError(f"item {position} of the input {problem}", positions=(position,))
        payload = {name: value[name] for name in _MEMBERS if value.get(name) is not None}
        if isinstance(at := payload.get("LastModifiedTime"), datetime):
            payload["LastModifiedTime"] = at.isoformat()  # as text, which the SDK takes too
        item_id = qualified_id(payload["Key"], _VERSION_MARK, payload.get("VersionId"))
        return Entry(item_id, payload, len(payload["Key"].encode()))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        objects = [dict(item.payload) for item in items]
        return {"Bucket": self._bucket, "Delete": {"Objects": objects, "Quiet": self._quiet}}

    def silence(self) -> Silence:
        return Silence.SUCCEEDED if self._quiet else Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> list[Mention]:
        positions = {_identity(item.payload): position for position, item in enumerate(sent)}
        assert len(positions) == len(sent), "item ids are unique in an operation, and so are these"
        deleted, errors = _listed(response, "Deleted"), _listed(response, "Errors")
        mentions = [Mention(positions.get(_named(at)), Finding.SUCCEEDED, _object_ref(at), at) for at in deleted]
        mentions += [_failed(positions.get(_named(at)), at) for at in errors]
        if self._quiet and deleted and len(mentions) != len(sent):
            # Whoever does not keep quiet must name all: then silence is no word for success either.
            raise LedgerInvariantError(
                f"a quiet delete names {len(mentions)} of {len(sent)} objects, some of them as deleted",
                structure=shape_of(response),
            )
        return mentions

    def explain(self, failure: Failure) -> Proof:
        # ServiceUnavailable and InternalError of a whole call do not say how many keys were worked on before. Of those
        # two the user guide ("Error best practices") says so of InternalError; SlowDown it explains as a protection
        # that turns requests away.
        return explain_by_code(
            failure,
            not_processed=("SlowDown",),
            refused=("InvalidArgument", "InvalidRequest", "KeyTooLongError", "MalformedXML", "UserKeyMustBeSpecified"),
            blocked=(
                "AccountProblem",
                "AllAccessDisabled",
                "AuthorizationHeaderMalformed",
                "InvalidBucketName",
                "InvalidToken",
                "MethodNotAllowed",
                "NoSuchBucket",
                "PermanentRedirect",
                "RequestTimeTooSkewed",
            ),
        )


def _problem(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return 'is no JSON object; give {"Key": "..."}'
    if unknown := [name for name in value if name not in _MEMBERS]:
        return f"has {len(unknown)} unknown members; an item takes {', '.join(_MEMBERS)}"
    key = value.get("Key")
    if not isinstance(key, str) or not key:
        return "has no Key; give the name of the object"
    if _NOT_IN_XML.search(key):
        return "has a Key that XML cannot hold, as this operation needs it; delete it by DeleteObject"
    for name in ("VersionId", "ETag"):
        text = value.get(name, "-")
        if text is not None and (not isinstance(text, str) or not text or _NOT_IN_XML.search(text)):
            return f"has a {name} that is no text; give text, or leave it out"
    if _VERSION_MARK in (value.get("VersionId") or ""):
        return "has a VersionId that is none; give it as S3 returned it"
    size = value.get("Size")
    if size is not None and (type(size) is not int or size < 0):
        return "has a Size that is no whole number of bytes; give one, or leave it out"
    return _time_problem(value.get("LastModifiedTime"))


def _time_problem(at: object) -> str | None:
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:
        moment = "?"
    if moment is None or (isinstance(moment, datetime) and moment.tzinfo is not None):
        return None
    return "has a LastModifiedTime that is no time with its offset; give one such as 2025-01-31T12:00:00+00:00"


def _identity(item: Mapping[str, Any]) -> tuple[str, str | None]:
    return item["Key"], item.get("VersionId")


def _named(told: Mapping[str, Any]) -> tuple[str, str | None]:
    """Which item an element of the answer speaks of.

    ``VersionId`` is the version that the request named; the one of a marker that this delete made, or that it took
    away, comes as ``DeleteMarkerVersionId`` and identifies nothing.
    """
    key: str = read_member(told, "Key", str)
    version: str | None = read_member(told, "VersionId", str, type(None))
    return key, version or None  # S3 writes an empty element in errors of keys without a version


def _listed(response: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = response.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(at, Mapping) for at in found):
        raise LedgerInvariantError(f"{name} of the response is no list of objects", structure=shape_of(response))
    return found


def _object_ref(told: Mapping[str, Any]) -> str | None:
    marker: str | None = read_member(told, "DeleteMarkerVersionId", str, type(None))
    return marker or told.get("VersionId") or None


def _failed(position: int | None, told: Mapping[str, Any]) -> Mention:
    code: str = read_member(told, "Code", str)
    message = told.get("Message")
    finding = Finding.UNKNOWN
    if code in _TRANSIENT:
        finding = Finding.TRANSIENT
    elif code in _REJECTED:
        finding = Finding.REJECTED
    return Mention(position, finding, ItemError(code, message if isinstance(message, str) else ""), told)
