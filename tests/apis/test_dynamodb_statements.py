"""BatchExecuteStatement alone and on moto: what a statement may be, and one answer for each by position."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from itemledger.apis.aws_errors import classify
from itemledger.apis.dynamodb_statements import BatchExecuteStatement
from itemledger.core.answer import Failure, FailureCause
from itemledger.core.payload_hash import payload_hash
from itemledger.core.reconcile import Finding, Mention, Silence, reconcile
from itemledger.core.write_api import Effect, Entry, ItemError, Proof, WriteApi
from itemledger.errors import LedgerInvariantError, ManifestError
from tests.conftest import MakeTable
from tests.engines.launch import Engine

API = BatchExecuteStatement()
INSERT = {"Statement": "INSERT INTO \"T\" VALUE {'pk': ?, 'n': ?}", "Parameters": [{"S": "secret-a"}, {"N": "1"}]}
DELETE = {"Statement": "DELETE FROM \"T\" WHERE pk = 'b'"}
SENT = [API.entry(INSERT, 0), API.entry(DELETE, 1)]


def settled(response: Mapping[str, Any], sent: list[Entry] = SENT) -> list[Mention]:
    return reconcile(len(sent), API.mentions(sent, response), API.silence())


def failed(code: str, status: int = 400, sdk_retry_attempts: int = 0) -> Failure:
    return Failure(classify(code, status), code, "", sdk_retry_attempts=sdk_retry_attempts)


def test_it_is_a_write_api_without_look_up_or_replay_whose_send_is_an_effect_of_its_own() -> None:
    api: WriteApi = BatchExecuteStatement.of({})
    assert {} == api.target
    assert ("dynamodb.BatchExecuteStatement", "dynamodb", "batch_execute_statement") == (
        api.name,
        api.service,
        api.operation,
    )
    assert (Effect.APPEND, None, None, Silence.FORBIDDEN) == (api.effect, api.replay, api.look_up, api.silence())
    assert {"DuplicateItem", "ConditionalCheckFailed"} == api.own_effect_codes
    assert (25, 8192) == (api.limits.items, api.limits.item_bytes)
    with pytest.raises(ManifestError, match="knows no table_name=; it takes no target"):
        BatchExecuteStatement.of({"table_name": "T"})


# ---------------------------------------------------------------------------------------------------- the statements


def test_a_statement_is_numbered_by_its_place_or_has_the_callers_id() -> None:
    assert ("1", "8", "mine") == (
        API.entry(INSERT, 0).item_id,
        API.entry(INSERT, 7).item_id,
        API.entry({**INSERT, "Id": "mine"}, 7).item_id,
    )


def test_the_hash_depends_on_the_statement_and_the_parameters_values_alone() -> None:
    same = {"Parameters": [{"S": "secret-a"}, {"N": "1.0"}], "Id": "x", "Statement": INSERT["Statement"]}
    other = {**INSERT, "Parameters": [{"S": "secret-a"}, {"N": "2"}]}
    assert payload_hash(API.entry(INSERT, 0).payload) == payload_hash(API.entry(same, 1).payload)
    assert payload_hash(API.entry(INSERT, 0).payload) != payload_hash(API.entry(other, 0).payload)
    text = {"Statement": DELETE["Statement"], "Parameters": [{"S": "1"}]}
    number = {"Statement": DELETE["Statement"], "Parameters": [{"N": "1"}]}
    assert payload_hash(API.entry(text, 0).payload) != payload_hash(API.entry(number, 0).payload)


@pytest.mark.parametrize("binary", ["AP8=", b"\x00\xff"])
def test_binary_parameters_are_base64_in_json_and_bytes_in_python(binary: object) -> None:
    entry = API.entry({**INSERT, "Parameters": [{"B": binary}, {"BS": [binary]}]}, 0)
    assert [{"B": b"\x00\xff"}, {"BS": [b"\x00\xff"]}] == API.request([entry])["Statements"][0]["Parameters"]


@pytest.mark.parametrize("verb", ["INSERT", "insert", "\n Update", "DELETE"])
def test_a_statement_that_writes_is_taken(verb: str) -> None:
    assert f'{verb} "T" …' == API.entry({"Statement": f'{verb} "T" …'}, 0).payload["Statement"]


@pytest.mark.parametrize("length", [8192, 8193])
def test_a_statement_at_and_over_the_limit_is_measured_in_characters(length: int) -> None:
    statement = 'DELETE FROM "T" WHERE pk = '
    entry = API.entry({"Statement": statement + "ä" * (length - len(statement))}, 0)
    assert length == entry.size_bytes
    assert (length > 8192) == (entry.size_bytes > (API.limits.item_bytes or 0))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("DELETE secret", "is of type str; give an object with a Statement"),
        ({}, "has no text as its Statement"),
        ({"Statement": 5}, "has no text as its Statement"),
        ({"Statement": ""}, "is none of INSERT, UPDATE, DELETE"),
        ({"Statement": "  "}, "is none of INSERT, UPDATE, DELETE"),
        ({"Statement": "SELECT * FROM secret"}, "is none of INSERT, UPDATE, DELETE; only writes are taken here"),
        ({"Statement": " select * FROM secret"}, "is none of INSERT, UPDATE, DELETE"),
        ({"Statement": "EXISTS(secret)"}, "is none of INSERT, UPDATE, DELETE"),
        ({**DELETE, "ConsistentRead": True}, "has the member 'ConsistentRead'"),
        ({**DELETE, "Id": 5}, "has an Id that is no text"),
        ({**DELETE, "Id": ""}, "has an Id that is no text"),
        ({**DELETE, "Parameters": {"S": "secret"}}, "has Parameters that are no list"),
        ({**DELETE, "Parameters": ["secret"]}, "attribute 0 is of type str where a tagged value"),
        ({**DELETE, "Parameters": [{"S": "a"}, {"N": "secret"}]}, "attribute 1 has the tag N"),
        ({**DELETE, "Parameters": [{"N": "1" * 39}]}, "is not a DynamoDB number"),
    ],
)
def test_what_could_never_be_sent_is_refused_by_position(value: object, message: str) -> None:
    with pytest.raises(ManifestError, match=message) as caught:
        API.entry(value, 6)
    assert (6,) == caught.value.positions
    assert "item at position 6" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_request_is_one_that_the_service_model_takes() -> None:
    statements = [
        {"Statement": INSERT["Statement"], "Parameters": [{"S": "secret-a"}, {"N": "1"}]},
        {"Statement": DELETE["Statement"]},
    ]
    client = boto3.client("dynamodb")
    with Stubber(client) as stub:
        stub.add_response("batch_execute_statement", {"Responses": [{}, {}]}, {"Statements": statements})
        client.batch_execute_statement(**API.request(SENT))
        stub.assert_no_pending_responses()


# --------------------------------------------------------------------------------------------- responses (synthetic)


def test_a_statement_without_an_error_is_done_synthetic() -> None:
    assert [Finding.SUCCEEDED] * 2 == [
        mention.finding for mention in settled({"Responses": [{"TableName": "T"}, {"TableName": "T", "Error": None}]})
    ]


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("ProvisionedThroughputExceeded", Finding.TRANSIENT),
        ("RequestLimitExceeded", Finding.TRANSIENT),
        ("ThrottlingError", Finding.TRANSIENT),
        ("TransactionConflict", Finding.TRANSIENT),
        ("AccessDenied", Finding.REJECTED),
        ("ConditionalCheckFailed", Finding.REJECTED),
        ("DuplicateItem", Finding.REJECTED),
        ("ItemCollectionSizeLimitExceeded", Finding.REJECTED),
        ("ResourceNotFound", Finding.REJECTED),
        ("ValidationError", Finding.REJECTED),
        ("InternalServerError", Finding.UNKNOWN),
        ("SomethingNew", Finding.UNKNOWN),
        ("", Finding.UNKNOWN),
    ],
)
def test_a_failed_statement_is_settled_by_its_code_and_its_place_synthetic(code: str, finding: Finding) -> None:
    done, failed = settled({"Responses": [{"TableName": "T"}, {"Error": {"Code": code, "Message": "why"}}]})
    assert (Finding.SUCCEEDED, None) == (done.finding, done.value)
    assert (1, finding, ItemError(code, "why")) == (failed.position, failed.finding, failed.value)


def test_every_code_of_the_service_model_has_been_judged() -> None:
    shape: Any = boto3.client("dynamodb").meta.service_model.shape_for("BatchStatementErrorCodeEnum")
    unknown = {
        code
        for code in shape.enum
        if settled({"Responses": [{"Error": {"Code": code}}]}, SENT[:1])[0].finding is Finding.UNKNOWN
    }
    assert {"InternalServerError"} == unknown


def test_a_code_with_exception_at_its_end_is_the_same_code_synthetic() -> None:
    (mention,) = settled({"Responses": [{"Error": {"Code": "DuplicateItemException"}}]}, SENT[:1])
    assert (Finding.REJECTED, ItemError("DuplicateItem")) == (mention.finding, mention.value)
    assert mention.value.code in API.own_effect_codes


def test_an_error_without_a_code_is_an_unknown_end_synthetic() -> None:
    (mention,) = settled({"Responses": [{"Error": {}}]}, SENT[:1])
    assert (Finding.UNKNOWN, ItemError("")) == (mention.finding, mention.value)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({}, "no list of Responses"),
        ({"Responses": None}, "no list of Responses"),
        ({"Responses": {"0": {}}}, "no list of Responses"),
        ({"Responses": [{}, None]}, "no list of Responses"),
        ({"Responses": []}, "has 0 answers for 2 statements"),
        ({"Responses": [{}]}, "has 1 answers for 2 statements"),
        ({"Responses": [{}, {}, {}]}, "has 3 answers for 2 statements"),
        ({"Responses": [{}, {"Error": "secret"}]}, "Error of statement 1 of this call is malformed"),
        ({"Responses": [{"Error": {"Code": 5}}, {}]}, "Error of statement 0 of this call is malformed"),
        ({"Responses": [{"Error": {"Code": "x", "Message": 5}}, {}]}, "Error of statement 0 of this call is malformed"),
    ],
)
def test_a_response_that_does_not_add_up_is_refused_synthetic(response: dict[str, Any], message: str) -> None:
    with pytest.raises(LedgerInvariantError, match=message) as caught:
        settled(response)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("failure", "proof"),
    [
        (failed("ThrottlingException"), Proof.NOT_PROCESSED),
        (failed("RequestLimitExceeded"), Proof.NOT_PROCESSED),
        (failed("ValidationException"), Proof.REFUSED),
        (failed("AccessDeniedException"), Proof.BLOCKED),
        (failed("InternalServerError", 500), Proof.NOTHING),
        (failed("SomethingNew"), Proof.NOTHING),
        (failed("ThrottlingException", sdk_retry_attempts=2), Proof.NOTHING),
        (Failure(FailureCause.TRANSIENT, "ReadTimeoutError", ""), Proof.NOTHING),
    ],
)
def test_only_documented_codes_prove_that_nothing_was_processed(failure: Failure, proof: Proof) -> None:
    assert proof is API.explain(failure)


# ------------------------------------------------------------------------------------------------------------ on moto


def test_moto_runs_the_statements_and_fails_one_by_its_place(moto: Engine, make_table: MakeTable) -> None:
    table = make_table(moto)
    client = moto.client()
    for pk in ("a", "b", "c"):
        client.put_item(TableName=table, Item={"pk": {"S": pk}, "n": {"N": "1"}})
    update = f'UPDATE "{table}" SET n = ? WHERE pk = ?'  # the one kind in which moto's parser takes parameters
    sent = [
        API.entry({"Statement": update, "Parameters": [{"N": "2.50"}, {"S": "a"}]}, 0),
        API.entry({"Statement": "DELETE FROM \"no-such-table\" WHERE pk = 'a'"}, 1),
        API.entry({"Statement": f"DELETE FROM \"{table}\" WHERE pk = 'b'"}, 2),
        API.entry({"Statement": f"INSERT INTO \"{table}\" VALUE {{'pk': 'd', 'n': 4}}"}, 3),
    ]

    response = client.batch_execute_statement(**API.request(sent))

    mentions = settled(response, sent)
    assert [Finding.SUCCEEDED, Finding.REJECTED, Finding.SUCCEEDED, Finding.SUCCEEDED] == [m.finding for m in mentions]
    assert "ResourceNotFound" == mentions[1].value.code
    stored = {item["pk"]["S"]: Decimal(item["n"]["N"]) for item in client.scan(TableName=table)["Items"]}
    assert {"a": Decimal("2.5"), "c": Decimal(1), "d": Decimal(4)} == stored
