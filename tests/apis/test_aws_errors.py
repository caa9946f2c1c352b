"""Error codes are classed by a reviewed table, however they are spelt, and unknown ones are not guessed."""

from __future__ import annotations

import boto3
import pytest
from botocore.exceptions import ClientError

from itemledger.apis.aws_errors import CODES, classify, normalise_code
from itemledger.core.answer import FailureCause
from tests.conftest import MakeTable
from tests.engines.launch import Engine

TABLE = [(code, cause) for cause, codes in CODES.items() for code in codes]
SPELLINGS = [
    "{}",
    "com.amazonaws.dynamodb.v20120810#{}",
    "com.amazon.coral.service#{}",
    "{}:http://internal.amazon.com/coral/com.amazonaws.dynamodb.v20120810/",
    "com.amazonaws.dynamodb.v20120810#{}:http://internal.amazon.com/coral/#fragment",
    " {} ",
]


@pytest.mark.parametrize(("code", "cause"), TABLE)
def test_a_code_keeps_its_class_in_every_spelling(code: str, cause: FailureCause) -> None:
    stem = code.removesuffix("Exception")
    for spelling in SPELLINGS:
        for name in (code, stem, f"{stem}Exception"):
            assert cause is classify(spelling.format(name), 400)
            assert code == normalise_code(spelling.format(name))


def test_no_code_has_two_classes() -> None:
    stems = [code.removesuffix("Exception") for code, _ in TABLE]
    assert len(set(stems)) == len(stems)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("ProvisionedThroughputExceededException", FailureCause.THROTTLED),
        ("ThrottlingException", FailureCause.THROTTLED),
        ("RequestLimitExceeded", FailureCause.THROTTLED),
        ("LimitExceededException", FailureCause.THROTTLED),
        ("InternalServerError", FailureCause.TRANSIENT),
        ("ServiceUnavailable", FailureCause.TRANSIENT),
        ("TransactionInProgressException", FailureCause.TRANSIENT),
        ("ReplicatedWriteConflict", FailureCause.TRANSIENT),
        ("ExpiredTokenException", FailureCause.CREDENTIALS),
        ("ExpiredToken", FailureCause.CREDENTIALS),
        ("UnrecognizedClientException", FailureCause.CREDENTIALS),
        ("RequestExpired", FailureCause.CREDENTIALS),
        ("ValidationException", FailureCause.REFUSED),
        ("ResourceNotFoundException", FailureCause.REFUSED),
        ("AccessDeniedException", FailureCause.REFUSED),
        ("ConditionalCheckFailed", FailureCause.REFUSED),
        ("IncompleteSignature", FailureCause.REFUSED),
        ("MissingAuthenticationTokenException", FailureCause.REFUSED),
        ("SerializationException", FailureCause.REFUSED),
    ],
)
def test_the_documented_codes_have_the_documented_class(code: str, cause: FailureCause) -> None:
    assert cause is classify(code, 400)


def test_fc_11_a_namespaced_throttle_without_its_suffix_is_a_throttle() -> None:
    code = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceeded"
    assert FailureCause.THROTTLED is classify(code, 400)
    assert "ProvisionedThroughputExceededException" == normalise_code(code)


@pytest.mark.parametrize("code", ["", None, "BrandNewException", "validationexception", "Throttle", "Exception", "200"])
def test_an_unknown_code_is_not_guessed(code: str | None) -> None:
    assert FailureCause.UNKNOWN is classify(code, 400)
    assert FailureCause.UNKNOWN is classify(code, None)


def test_an_unknown_code_keeps_the_name_it_came_with() -> None:
    assert "BrandNewException" == normalise_code("com.example#BrandNewException:http://x/")
    assert "BrandNew" == normalise_code("BrandNew")


@pytest.mark.parametrize("code", [None, "", "BrandNewException", "Unknown"])
@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (500, FailureCause.TRANSIENT),
        (502, FailureCause.TRANSIENT),
        (503, FailureCause.TRANSIENT),
        (504, FailureCause.TRANSIENT),
        (509, FailureCause.TRANSIENT),
        (429, FailureCause.THROTTLED),
        (400, FailureCause.UNKNOWN),
        (403, FailureCause.UNKNOWN),
        (408, FailureCause.TRANSIENT),
        (200, FailureCause.UNKNOWN),
        (600, FailureCause.UNKNOWN),
    ],
)
def test_the_status_decides_where_the_code_does_not(code: str | None, status: int, cause: FailureCause) -> None:
    assert cause is classify(code, status)


def test_a_known_code_outweighs_the_status() -> None:
    assert FailureCause.REFUSED is classify("ValidationException", 500)
    assert FailureCause.TRANSIENT is classify("InternalServerError", 400)
    assert FailureCause.CREDENTIALS is classify("ExpiredToken", 429)


@pytest.mark.parametrize(("code", "cause"), [("503", FailureCause.TRANSIENT), ("429", FailureCause.THROTTLED)])
def test_a_status_that_stands_in_for_the_code_counts_as_the_status(code: str, cause: FailureCause) -> None:
    assert cause is classify(code, None)


def test_only_throttles_transient_faults_and_damage_pass_by_themselves() -> None:
    passing = {FailureCause.THROTTLED, FailureCause.TRANSIENT, FailureCause.DAMAGED}
    assert passing == {cause for cause in FailureCause if cause.passing}


def test_every_error_that_the_sdks_model_lists_for_a_read_is_in_the_table() -> None:
    client = boto3.client("dynamodb")
    for operation in ("BatchGetItem", "DescribeTable"):
        shapes = client.meta.service_model.operation_model(operation).error_shapes
        assert shapes
        for shape in shapes:
            assert FailureCause.UNKNOWN is not classify(shape.name, 400)
            assert shape.name == normalise_code(shape.name)
    client.close()


def test_what_a_real_engine_refuses_is_fatal(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(client)
    for name, keys in [("no-such-table", [{"pk": {"S": "a"}}]), (table, [{"other": {"S": "a"}}])]:
        with pytest.raises(ClientError) as caught:
            client.batch_get_item(RequestItems={name: {"Keys": keys}})
        status = caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
        assert FailureCause.REFUSED is classify(caught.value.response["Error"]["Code"], status)
