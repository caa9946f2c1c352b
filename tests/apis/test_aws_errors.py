"""Error codes are classed by a reviewed table, however they are spelt, and unknown ones are not guessed."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.exceptions import ClientError

from itemledger.apis.aws_errors import CODES, ErrorClass, classify, is_passing, normalise_code, throttling_reasons
from tests.conftest import MakeTable
from tests.engines.launch import Engine

TABLE = [(code, error_class) for error_class, codes in CODES.items() for code in codes]
SPELLINGS = [
    "{}",
    "com.amazonaws.dynamodb.v20120810#{}",
    "com.amazon.coral.service#{}",
    "{}:http://internal.amazon.com/coral/com.amazonaws.dynamodb.v20120810/",
    "com.amazonaws.dynamodb.v20120810#{}:http://internal.amazon.com/coral/#fragment",
    " {} ",
]


def refusal(body: dict[str, Any], status: int = 400) -> ClientError:
    """The error that the SDK itself makes of such an answer of the service."""
    client = boto3.client("dynamodb", config=Config(retries={"mode": "standard", "total_max_attempts": 1}))

    answer: Any = AWSResponse("http://localhost/", status, HTTPHeaders(), None)
    answer._content = json.dumps(body).encode()
    events: Any = client.meta.events
    events.register("before-send.dynamodb", lambda **_: answer)
    with pytest.raises(ClientError) as caught:
        client.batch_get_item(RequestItems={"T": {"Keys": [{"pk": {"S": "a"}}]}})
    client.close()
    return caught.value


@pytest.mark.parametrize(("code", "error_class"), TABLE)
def test_a_code_keeps_its_class_in_every_spelling(code: str, error_class: ErrorClass) -> None:
    stem = code.removesuffix("Exception")
    for spelling in SPELLINGS:
        for name in (code, stem, f"{stem}Exception"):
            assert error_class is classify(spelling.format(name), 400)
            assert code == normalise_code(spelling.format(name))


def test_no_code_has_two_classes() -> None:
    stems = [code.removesuffix("Exception") for code, _ in TABLE]
    assert len(set(stems)) == len(stems)


@pytest.mark.parametrize(
    ("code", "error_class"),
    [
        ("ProvisionedThroughputExceededException", ErrorClass.THROTTLE),
        ("ThrottlingException", ErrorClass.THROTTLE),
        ("RequestLimitExceeded", ErrorClass.THROTTLE),
        ("LimitExceededException", ErrorClass.THROTTLE),
        ("InternalServerError", ErrorClass.TRANSIENT),
        ("ServiceUnavailable", ErrorClass.TRANSIENT),
        ("TransactionInProgressException", ErrorClass.TRANSIENT),
        ("ReplicatedWriteConflict", ErrorClass.TRANSIENT),
        ("ExpiredTokenException", ErrorClass.CREDENTIALS),
        ("ExpiredToken", ErrorClass.CREDENTIALS),
        ("UnrecognizedClientException", ErrorClass.CREDENTIALS),
        ("RequestExpired", ErrorClass.CREDENTIALS),
        ("ValidationException", ErrorClass.FATAL),
        ("ResourceNotFoundException", ErrorClass.FATAL),
        ("AccessDeniedException", ErrorClass.FATAL),
        ("ConditionalCheckFailed", ErrorClass.FATAL),
        ("IncompleteSignature", ErrorClass.FATAL),
        ("MissingAuthenticationTokenException", ErrorClass.FATAL),
        ("SerializationException", ErrorClass.FATAL),
    ],
)
def test_the_documented_codes_have_the_documented_class(code: str, error_class: ErrorClass) -> None:
    assert error_class is classify(code, 400)


def test_fc_11_a_namespaced_throttle_without_its_suffix_is_a_throttle() -> None:
    code = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceeded"
    assert ErrorClass.THROTTLE is classify(code, 400)
    assert "ProvisionedThroughputExceededException" == normalise_code(code)


@pytest.mark.parametrize("code", ["", None, "BrandNewException", "validationexception", "Throttle", "Exception", "200"])
def test_an_unknown_code_is_not_guessed(code: str | None) -> None:
    assert ErrorClass.UNKNOWN is classify(code, 400)
    assert ErrorClass.UNKNOWN is classify(code, None)


def test_an_unknown_code_keeps_the_name_it_came_with() -> None:
    assert "BrandNewException" == normalise_code("com.example#BrandNewException:http://x/")
    assert "BrandNew" == normalise_code("BrandNew")


@pytest.mark.parametrize("code", [None, "", "BrandNewException", "Unknown"])
@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (500, ErrorClass.TRANSIENT),
        (502, ErrorClass.TRANSIENT),
        (503, ErrorClass.TRANSIENT),
        (504, ErrorClass.TRANSIENT),
        (509, ErrorClass.TRANSIENT),
        (429, ErrorClass.THROTTLE),
        (400, ErrorClass.UNKNOWN),
        (403, ErrorClass.UNKNOWN),
        (408, ErrorClass.UNKNOWN),
        (200, ErrorClass.UNKNOWN),
        (600, ErrorClass.UNKNOWN),
    ],
)
def test_the_status_decides_where_the_code_does_not(code: str | None, status: int, error_class: ErrorClass) -> None:
    assert error_class is classify(code, status)


def test_a_known_code_outweighs_the_status() -> None:
    assert ErrorClass.FATAL is classify("ValidationException", 500)
    assert ErrorClass.TRANSIENT is classify("InternalServerError", 400)
    assert ErrorClass.CREDENTIALS is classify("ExpiredToken", 429)


@pytest.mark.parametrize(("code", "error_class"), [("503", ErrorClass.TRANSIENT), ("429", ErrorClass.THROTTLE)])
def test_a_status_that_stands_in_for_the_code_counts_as_the_status(code: str, error_class: ErrorClass) -> None:
    assert error_class is classify(code, None)


def test_only_throttles_and_transient_faults_pass_by_themselves() -> None:
    assert {ErrorClass.THROTTLE, ErrorClass.TRANSIENT} == {member for member in ErrorClass if is_passing(member)}


def test_every_error_that_the_sdks_model_lists_for_a_read_is_in_the_table() -> None:
    client = boto3.client("dynamodb")
    for operation in ("BatchGetItem", "DescribeTable"):
        shapes = client.meta.service_model.operation_model(operation).error_shapes
        assert shapes
        for shape in shapes:
            assert ErrorClass.UNKNOWN is not classify(shape.name, 400)
            assert shape.name == normalise_code(shape.name)
    client.close()


def test_what_a_real_engine_refuses_is_fatal(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(client)
    for name, keys in [("no-such-table", [{"pk": {"S": "a"}}]), (table, [{"other": {"S": "a"}}])]:
        with pytest.raises(ClientError) as caught:
            client.batch_get_item(RequestItems={name: {"Keys": keys}})
        status = caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
        assert ErrorClass.FATAL is classify(caught.value.response["Error"]["Code"], status)


@pytest.mark.parametrize(
    ("code", "member"),
    [
        ("ProvisionedThroughputExceededException", "ThrottlingReasons"),
        ("RequestLimitExceeded", "ThrottlingReasons"),
        ("ThrottlingException", "throttlingReasons"),
    ],
)
def test_throttling_reasons_are_read_in_both_capitalisations(code: str, member: str) -> None:
    reasons = [
        {"reason": "TableReadKeyRangeThroughputExceeded", "resource": "arn:aws:dynamodb:us-east-1:1:table/T"},
        {"reason": "IndexReadAccountLimitExceeded"},
    ]
    error = refusal({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "slow down", member: reasons})
    assert [
        ("TableReadKeyRangeThroughputExceeded", "arn:aws:dynamodb:us-east-1:1:table/T"),
        ("IndexReadAccountLimitExceeded", ""),
    ] == throttling_reasons(error.response)


@pytest.mark.parametrize("member", [None, "x", {}, [None, "x", {}, {"reason": 5}, {"resource": "arn"}]])
def test_throttling_reasons_that_were_not_told_are_none(member: object) -> None:
    assert [] == throttling_reasons({"Error": {"Code": "ThrottlingException"}})
    assert [] == throttling_reasons({"ThrottlingReasons": member, "throttlingReasons": member})
