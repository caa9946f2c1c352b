"""DeleteObjects: every key ends with one finding, whichever version it names, and what a HEAD proves afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore import session, validate
from botocore.config import Config
from botocore.model import StructureShape
from botocore.parsers import create_parser

from itemledger import provider
from itemledger.apis.attribute_json import json_loads_exact
from itemledger.apis.s3 import DeleteObjects
from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.reconcile import Finding, Mention, Silence, reconcile
from itemledger.core.write_api import Effect, Entry, ItemError, Proof, Verdict
from itemledger.errors import LedgerInvariantError, ManifestError
from tests.engines.launch import REGION, Engine

API = DeleteObjects(bucket="b")
QUIET = DeleteObjects(bucket="b", quiet=True)
MODEL = session.get_session().get_service_model("s3")
A_TIME = datetime(2025, 1, 31, 12, tzinfo=UTC)


def entries(*values: object, api: DeleteObjects = API) -> list[Entry]:
    return [api.entry({"Key": value} if isinstance(value, str) else value, n) for n, value in enumerate(values)]


def settled(sent: list[Entry], response: dict[str, Any], api: DeleteObjects = API) -> list[Mention]:
    return reconcile(len(sent), api.mentions(sent, response), api.silence())


def findings(sent: list[Entry], response: dict[str, Any], api: DeleteObjects = API) -> list[Finding]:
    return [mention.finding for mention in settled(sent, response, api)]


def parsed(xml: str) -> dict[str, Any]:
    """What the SDK makes of a body; written after the API reference, so synthetic."""
    body = f'<?xml version="1.0" encoding="UTF-8"?>{xml}'.encode()
    shape = MODEL.operation_model("DeleteObjects").output_shape
    assert shape is not None
    response = {"status_code": 200, "headers": {}, "body": body}
    told: dict[str, Any] = create_parser("rest-xml").parse(response, shape)
    return {name: value for name, value in told.items() if name != "ResponseMetadata"}


# ----------------------------------------------------------------------------------------------------- on a real engine


@pytest.fixture(scope="module")
def s3(moto: Engine) -> Iterator[Any]:
    client = boto3.client(
        "s3",
        endpoint_url=moto.endpoint_url,
        region_name=REGION,
        aws_access_key_id="engine",
        aws_secret_access_key="engine",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )
    yield client
    client.close()


@pytest.fixture
def bucket(s3: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    """A bucket of three objects, versioned where the test asks for it; gone after the test."""
    name = "deletes"
    s3.create_bucket(Bucket=name)
    if getattr(request, "param", None) == "versioned":
        s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    for key in ("a", "b", 'dir/c é&<>"'):
        s3.put_object(Bucket=name, Key=key, Body=key.encode())
    yield name
    for at in versions(s3, name):
        s3.delete_object(Bucket=name, Key=at["Key"], VersionId=at["VersionId"])
    s3.delete_bucket(Bucket=name)


def versions(s3: Any, bucket: str) -> list[dict[str, Any]]:
    listed = s3.list_object_versions(Bucket=bucket)
    return [*listed.get("Versions", []), *listed.get("DeleteMarkers", [])]


def keys_of(s3: Any, bucket: str) -> set[str]:
    return {at["Key"] for at in s3.list_objects_v2(Bucket=bucket).get("Contents", [])}


def sent_to(s3: Any, api: DeleteObjects, items: list[Entry]) -> list[Mention]:
    answer = provider.call(s3, api.operation, api.request(items))
    assert isinstance(answer, Answer)
    return settled(items, dict(answer.response), api)


def looked_up(s3: Any, api: DeleteObjects, item: Entry) -> Verdict:
    assert api.look_up is not None
    answer = provider.call(s3, api.look_up.operation, api.look_up.request([item]))
    [verdict] = api.look_up.verdicts([item], answer if isinstance(answer, Failure) else answer.response)
    return verdict


@pytest.mark.parametrize("quiet", [False, True])
def test_the_named_keys_are_gone_and_one_that_never_was_counts_as_deleted(s3: Any, bucket: str, quiet: bool) -> None:
    """FC-58."""
    api = DeleteObjects(bucket=bucket, quiet=quiet)
    items = entries('dir/c é&<>"', "never", "a", api=api)
    assert [Finding.SUCCEEDED] * 3 == [mention.finding for mention in sent_to(s3, api, items)]
    assert {"b"} == keys_of(s3, bucket)
    assert [Verdict.SAME] * 3 == [looked_up(s3, api, item) for item in items]


def test_an_object_that_is_still_there_is_for_a_person_unless_its_etag_tells(s3: Any, bucket: str) -> None:
    etag = s3.head_object(Bucket=bucket, Key="a")["ETag"]
    plain, same, other = entries("a", {"Key": "a", "ETag": etag}, {"Key": "a", "ETag": '"0"'})
    api = DeleteObjects(bucket=bucket)
    assert Verdict.DIFFERENT is looked_up(s3, api, plain)
    assert Verdict.ABSENT_CONCLUSIVE is looked_up(s3, api, same)
    assert Verdict.SUPERSEDED is looked_up(s3, api, other)


@pytest.mark.parametrize("bucket", ["versioned"], indirect=True)
def test_without_a_version_each_send_adds_a_delete_marker(s3: Any, bucket: str) -> None:
    api = DeleteObjects(bucket=bucket)
    [item] = entries("a", api=api)
    refs = [sent_to(s3, api, [item])[0].value for _ in range(2)]
    markers = {at["VersionId"] for at in s3.list_object_versions(Bucket=bucket)["DeleteMarkers"]}
    assert markers == set(refs)
    assert 2 == len(markers)
    assert Effect.APPEND is api.effect
    assert Verdict.SAME is looked_up(s3, api, item)


@pytest.mark.parametrize("bucket", ["versioned"], indirect=True)
def test_a_key_and_two_versions_of_it_are_three_items_of_one_request(s3: Any, bucket: str) -> None:
    old = s3.head_object(Bucket=bucket, Key="a")["VersionId"]
    new = s3.put_object(Bucket=bucket, Key="a", Body=b"2")["VersionId"]
    api = DeleteObjects(bucket=bucket)
    first, second, bare = entries({"Key": "a", "VersionId": old}, {"Key": "a", "VersionId": new}, "a", api=api)
    assert Verdict.ABSENT_CONCLUSIVE is looked_up(s3, api, first)
    told = sent_to(s3, api, [bare, first, second])
    assert [Finding.SUCCEEDED] * 3 == [mention.finding for mention in told]
    assert [old, new] == [mention.value for mention in told[1:]]
    left = [at for at in versions(s3, bucket) if at["Key"] == "a"]
    assert [told[0].value] == [at["VersionId"] for at in left]  # the marker that the bare key left
    assert Verdict.SAME is looked_up(s3, api, first)


def test_a_missing_bucket_blocks_and_is_nobodys_fault(s3: Any) -> None:
    api = DeleteObjects(bucket="nowhere")
    answer = provider.call(s3, api.operation, api.request(entries("a")))
    assert isinstance(answer, Failure)
    assert ("NoSuchBucket", Proof.BLOCKED) == (answer.code, api.explain(answer))


# -------------------------------------------------------------------------------------- answers, synthetic from here on


def test_synthetic_deleted_and_errors_settle_their_items_by_key() -> None:
    answer = parsed(
        "<DeleteResult><Deleted><Key>b</Key></Deleted>"
        "<Error><Key>a</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error></DeleteResult>"
    )
    told = settled(entries("a", "b"), answer)
    assert [Finding.REJECTED, Finding.SUCCEEDED] == [mention.finding for mention in told]
    assert [ItemError("AccessDenied", "Access Denied"), None] == [mention.value for mention in told]


def test_synthetic_the_version_that_identifies_is_the_requested_one_never_that_of_a_marker() -> None:
    answer = parsed(
        "<DeleteResult>"
        "<Deleted><Key>k</Key><DeleteMarker>true</DeleteMarker><DeleteMarkerVersionId>m1</DeleteMarkerVersionId></Deleted>"
        "<Deleted><Key>k</Key><VersionId>m0</VersionId><DeleteMarker>true</DeleteMarker>"
        "<DeleteMarkerVersionId>m0</DeleteMarkerVersionId></Deleted>"
        "<Deleted><Key>k</Key><VersionId>v1</VersionId></Deleted>"
        "<Error><Key>k</Key><VersionId>v2</VersionId><Code>AccessDenied</Code><Message/></Error>"
        "<Error><Key>l</Key><VersionId/><Code>InternalError</Code><Message>We</Message></Error></DeleteResult>"
    )
    sent = entries(*({"Key": "k", "VersionId": v} for v in ("v2", "v1", "m0")), "k", "l")
    told = settled(sent, answer)
    expected = [Finding.REJECTED, *[Finding.SUCCEEDED] * 3, Finding.UNKNOWN]
    assert expected == [mention.finding for mention in told]
    assert ["v1", "m0", "m1"] == [mention.value for mention in told[1:4]]


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("SlowDown", Finding.TRANSIENT),
        ("ServiceUnavailable", Finding.TRANSIENT),
        ("InternalError", Finding.UNKNOWN),
        ("OperationAborted", Finding.UNKNOWN),
        ("SomethingNew", Finding.UNKNOWN),
        ("AccessDenied", Finding.REJECTED),
        ("MethodNotAllowed", Finding.REJECTED),
        ("InvalidArgument", Finding.REJECTED),
        ("NoSuchVersion", Finding.REJECTED),
        ("PreconditionFailed", Finding.REJECTED),
    ],
)
@pytest.mark.parametrize("api", [API, QUIET])
def test_synthetic_a_code_counts_by_the_table_and_an_unknown_one_is_not_guessed(
    api: DeleteObjects, code: str, finding: Finding
) -> None:
    assert [finding] == findings(entries("a"), {"Errors": [{"Key": "a", "Code": code}]}, api)


def test_synthetic_what_is_not_there_is_evidence_of_an_earlier_delete() -> None:
    assert {"NoSuchKey", "NoSuchVersion", "PreconditionFailed"} == API.own_effect_codes


def test_synthetic_quiet_silence_is_success_and_loud_silence_is_refused() -> None:
    nothing = parsed("<DeleteResult/>")
    assert [Finding.SUCCEEDED] * 2 == findings(entries("a", "b"), nothing, QUIET)
    one = {"Errors": [{"Key": "b", "Code": "AccessDenied"}]}
    assert [Finding.SUCCEEDED, Finding.REJECTED] == findings(entries("a", "b"), one, QUIET)
    assert Silence.FORBIDDEN is API.silence()
    for answer in (nothing, one, {"Deleted": [{"Key": "a"}]}):
        with pytest.raises(LedgerInvariantError):
            settled(entries("a", "b"), answer)


def test_synthetic_a_server_that_does_not_keep_quiet_must_name_all() -> None:
    both = {"Deleted": [{"Key": "a"}], "Errors": [{"Key": "b", "Code": "SlowDown"}]}
    assert [Finding.SUCCEEDED, Finding.TRANSIENT] == findings(entries("a", "b"), both, QUIET)
    with pytest.raises(LedgerInvariantError, match="names 1 of 2"):
        settled(entries("a", "b"), {"Deleted": [{"Key": "a"}]}, QUIET)


@pytest.mark.parametrize(
    "answer",
    [
        {"Deleted": [{"Key": "a"}, {"Key": "a"}, {"Key": "b"}]},
        {"Deleted": [{"Key": "a"}, {"Key": "b"}], "Errors": [{"Key": "b", "Code": "SlowDown"}]},
        {"Deleted": [{"Key": "a"}, {"Key": "z"}]},
        {"Deleted": [{"Key": "a", "VersionId": "v"}, {"Key": "b"}]},
        {"Deleted": [{"Key": "A"}, {"Key": "b"}]},
        {"Deleted": [{}, {"Key": "b"}]},
        {"Deleted": [{"Key": 5}, {"Key": "b"}]},
        {"Deleted": [{"Key": "a", "VersionId": 5}, {"Key": "b"}]},
        {"Deleted": [{"Key": "a", "DeleteMarkerVersionId": 5}, {"Key": "b"}]},
        {"Deleted": {"Key": "a"}},
        {"Deleted": ["a", "b"]},
        {"Deleted": [{"Key": "a"}], "Errors": [{"Key": "b"}]},
        {"Deleted": [{"Key": "a"}], "Errors": [{"Key": "b", "Code": None}]},
        {"Deleted": [{"Key": "a"}], "Errors": [{"Code": "AccessDenied"}]},
    ],
)
@pytest.mark.parametrize("api", [API, QUIET])
def test_synthetic_an_answer_that_does_not_add_up_is_refused(api: DeleteObjects, answer: dict[str, Any]) -> None:
    with pytest.raises(LedgerInvariantError):
        settled(entries("a", "b"), answer, api)


@pytest.mark.parametrize(
    ("code", "proof"),
    [
        ("SlowDown", Proof.NOT_PROCESSED),
        ("ServiceUnavailable", Proof.NOTHING),
        ("InternalError", Proof.NOTHING),
        ("500", Proof.NOTHING),
        ("ReadTimeoutError", Proof.NOTHING),
        ("EndpointConnectionError", Proof.NOT_PROCESSED),
        ("MalformedXML", Proof.REFUSED),
        ("KeyTooLongError", Proof.REFUSED),
        ("ParamValidationError", Proof.REFUSED),
        ("AccessDenied", Proof.BLOCKED),
        ("NoSuchBucket", Proof.BLOCKED),
        ("PermanentRedirect", Proof.BLOCKED),
        ("SomethingNew", Proof.NOTHING),
    ],
)
def test_synthetic_a_failed_call_proves_only_what_its_code_proves(code: str, proof: Proof) -> None:
    assert proof is API.explain(Failure(FailureCause.UNKNOWN, code, ""))
    assert Proof.NOTHING is API.explain(Failure(FailureCause.UNKNOWN, code, "", sdk_retry_attempts=1))


# ------------------------------------------------------------------------------------------ look-up, synthetic answers

VERSION = {"Key": "a", "VersionId": "v1"}
NULL = {"Key": "a", "VersionId": "null"}


def head_failed(code: str) -> Failure:
    return Failure(FailureCause.UNKNOWN, code, "")


@pytest.mark.parametrize(
    ("value", "answer", "verdict"),
    [
        ({"Key": "a"}, head_failed("404"), Verdict.SAME),
        (VERSION, head_failed("404"), Verdict.SAME),
        (NULL, head_failed("404"), Verdict.SAME),
        ({"Key": "a"}, {"ETag": '"e"'}, Verdict.DIFFERENT),
        ({"Key": "a"}, {"ETag": '"e"', "VersionId": "v9"}, Verdict.DIFFERENT),
        ({"Key": "a", "ETag": "e"}, {"ETag": '"e"'}, Verdict.ABSENT_CONCLUSIVE),
        ({"Key": "a", "ETag": '"e"'}, {"ETag": '"f"'}, Verdict.SUPERSEDED),
        ({"Key": "a", "ETag": '"e"'}, {}, Verdict.UNREADABLE),
        (VERSION, {"ETag": '"e"', "VersionId": "v1"}, Verdict.ABSENT_CONCLUSIVE),
        (VERSION, {"ETag": '"e"'}, Verdict.ABSENT_CONCLUSIVE),
        (VERSION, head_failed("405"), Verdict.ABSENT_CONCLUSIVE),
        (NULL, {"ETag": '"e"', "VersionId": "null"}, Verdict.DIFFERENT),
        ({**NULL, "ETag": '"e"'}, {"ETag": '"e"', "VersionId": "null"}, Verdict.ABSENT_CONCLUSIVE),
        (NULL, head_failed("405"), Verdict.DIFFERENT),
        ({"Key": "a"}, head_failed("405"), Verdict.UNREADABLE),
        ({"Key": "a"}, head_failed("403"), Verdict.UNREADABLE),
        (VERSION, head_failed("400"), Verdict.UNREADABLE),
        (VERSION, head_failed("ReadTimeoutError"), Verdict.UNREADABLE),
        (VERSION, head_failed("503"), Verdict.UNREADABLE),
    ],
)
def test_synthetic_a_head_proves_a_delete_or_its_absence_only_where_nothing_else_could_have_done_it(
    value: dict[str, Any], answer: dict[str, Any] | Failure, verdict: Verdict
) -> None:
    assert API.look_up is not None
    assert [verdict] == API.look_up.verdicts(entries(value), answer)


def test_synthetic_a_head_that_answers_with_another_version_is_refused() -> None:
    assert API.look_up is not None
    with pytest.raises(LedgerInvariantError):
        API.look_up.verdicts(entries(VERSION), {"VersionId": "v2"})


# --------------------------------------------------------------------------------------------------- items and requests


@pytest.mark.parametrize("api", [API, QUIET])
def test_the_request_is_what_the_sdks_model_takes(api: DeleteObjects) -> None:
    line = b'{"Key":"a","VersionId":"v","ETag":"\\"e\\"","Size":7,"LastModifiedTime":"2025-01-31T12:00:00+00:00"}'
    items = entries(json_loads_exact(line), {"Key": "b", "VersionId": None, "LastModifiedTime": A_TIME}, api=api)
    request = api.request(items)
    check("DeleteObjects", api.request(entries({"Key": "a", "VersionId": "v"}, "b", api=api)))
    identifier = MODEL.shape_for("ObjectIdentifier")
    assert isinstance(identifier, StructureShape)
    if "ETag" in identifier.members:  # not yet in the oldest SDK that is supported
        check("DeleteObjects", request)
    assert (api is QUIET) is request["Delete"]["Quiet"]
    assert [
        {"Key": "a", "VersionId": "v", "ETag": '"e"', "Size": 7, "LastModifiedTime": "2025-01-31T12:00:00+00:00"},
        {"Key": "b", "LastModifiedTime": "2025-01-31T12:00:00+00:00"},
    ] == request["Delete"]["Objects"]
    assert api.look_up is not None
    check("HeadObject", api.look_up.request(items[:1]))
    assert {"Bucket": "b", "Key": "a", "VersionId": "v"} == api.look_up.request(items[:1])
    assert {"Bucket": "b", "Key": "b"} == api.look_up.request(items[1:])


def check(operation: str, request: dict[str, Any]) -> None:
    shape = MODEL.operation_model(operation).input_shape
    assert shape is not None
    validate.validate_parameters(request, shape)


def test_no_two_pairs_of_key_and_version_share_an_item_id() -> None:
    values: list[dict[str, str]] = [
        {"Key": "a"},
        {"Key": "a", "VersionId": "v"},
        {"Key": "a?versionId=v"},
        {"Key": "a?versionId="},
        {"Key": "a?versionId=v", "VersionId": "v"},
        {"Key": "a?versionId=v?versionId="},
    ]
    ids = [entry.item_id for entry in entries(*values)]
    assert ["a", "a?versionId=v"] == ids[:2]
    assert len(values) == len(set(ids))


def test_size_is_that_of_the_key_in_utf_8_and_over_the_limit_it_is_only_measured() -> None:
    assert 2 == API.entry({"Key": "é"}, 0).size_bytes
    assert (1_000, 1_024) == (API.limits.items, API.limits.item_bytes)
    assert 1_025 == API.entry({"Key": "x" * 1_025}, 0).size_bytes


@pytest.mark.parametrize(
    "value",
    [
        None,
        "a",
        [],
        {},
        {"key": "secret-name"},
        {"Key": ""},
        {"Key": 5},
        {"Key": "secret-name", "Id": "1"},
        {"Key": "secret-name\x00"},
        {"Key": "secret-name\x1f"},
        {"Key": "secret-name\ud800"},
        {"Key": "secret-name", "VersionId": 5},
        {"Key": "secret-name", "VersionId": ""},
        {"Key": "secret-name", "VersionId": "a?versionId=b"},
        {"Key": "secret-name", "ETag": 5},
        {"Key": "secret-name", "Size": "5"},
        {"Key": "secret-name", "Size": True},
        {"Key": "secret-name", "Size": -1},
        {"Key": "secret-name", "LastModifiedTime": 5},
        {"Key": "secret-name", "LastModifiedTime": "yesterday"},
        {"Key": "secret-name", "LastModifiedTime": "2025-01-31T12:00:00"},
        {"Key": "secret-name", "LastModifiedTime": A_TIME.replace(tzinfo=None)},
    ],
)
def test_what_could_never_be_sent_is_refused_with_its_position_and_without_its_values(value: object) -> None:
    with pytest.raises(ManifestError) as raised:
        API.entry(value, 7)
    assert (7,) == raised.value.positions
    assert "item 7 of the input" in str(raised.value)
    assert "secret-name" not in str(raised.value)


def test_a_target_makes_the_same_api_again() -> None:
    for target in ({"bucket": "b", "quiet": True}, {"bucket": "b", "quiet": False}):
        assert target == DeleteObjects.of(json.loads(json.dumps(target))).target
    assert API.target == DeleteObjects.of({"bucket": "b"}).target


@pytest.mark.parametrize(
    ("target", "member"),
    [
        ({}, "bucket="),
        ({"bucket": ""}, "bucket="),
        ({"bucket": 5}, "bucket="),
        ({"bucket": "b", "quiet": "yes"}, "quiet="),
        ({"bucket": "b", "Quiet": True}, "Quiet="),
    ],
)
def test_a_wrong_target_is_refused_by_the_members_name(target: dict[str, Any], member: str) -> None:
    with pytest.raises(ManifestError, match=member):
        DeleteObjects.of(target)
