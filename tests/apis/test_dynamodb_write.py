"""BatchWriteItem alone and on engines: items and their keys, what leftovers say, what a lost answer's look-up says."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from itemledger.apis.attribute_json import json_loads_exact
from itemledger.apis.attribute_values import item_from_native
from itemledger.apis.aws_errors import classify
from itemledger.apis.dynamodb_write import BatchWriteItem
from itemledger.core.answer import Failure, FailureCause
from itemledger.core.payload_hash import payload_hash
from itemledger.core.reconcile import Finding, Mention, Silence, reconcile
from itemledger.core.write_api import Effect, Entry, LookUp, Proof, Verdict, WriteApi
from itemledger.errors import LedgerInvariantError, ManifestError
from tests.conftest import MakeTable
from tests.engines.launch import Engine

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/T"
KEY = {"pk": "S", "sk": "N"}
RICH = {"pk": "a", "n": Decimal("1.50"), "yes": True, "set": {"x", "y"}, "l": [1, None, b"\x00"], "m": {"deep": "v"}}


def puts(key: Mapping[str, str] | None = None, **more: str) -> BatchWriteItem:
    return BatchWriteItem(table_name="T", key=key or {"pk": "S"}, **more)


def deletes() -> BatchWriteItem:
    return puts(action="delete")


def entries(api: BatchWriteItem, *values: object) -> list[Entry]:
    return [api.entry(value, position) for position, value in enumerate(values)]


def settled(api: BatchWriteItem, sent: list[Entry], response: Mapping[str, Any]) -> list[Mention]:
    return reconcile(len(sent), api.mentions(sent, response), api.silence())


def findings(api: BatchWriteItem, sent: list[Entry], response: Mapping[str, Any]) -> list[Finding]:
    return [mention.finding for mention in settled(api, sent, response)]


def put_request(item: Mapping[str, object]) -> dict[str, Any]:
    return {"PutRequest": {"Item": item_from_native(item)}}


def left(*requests: Mapping[str, Any], table: str = "T") -> dict[str, Any]:
    return {"UnprocessedItems": {table: list(requests)}}


def refusal(api: BatchWriteItem, sent: list[Entry], response: Mapping[str, Any]) -> LedgerInvariantError:
    with pytest.raises(LedgerInvariantError) as caught:
        settled(api, sent, response)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value.structure)
    return caught.value


def look_up(api: BatchWriteItem) -> LookUp:
    assert api.look_up is not None
    return api.look_up


def failed(code: str, status: int = 400, sdk_retry_attempts: int = 0) -> Failure:
    return Failure(classify(code, status), code, "", sdk_retry_attempts=sdk_retry_attempts)


# --------------------------------------------------------------------------------------------------------- the target


def test_it_is_a_write_api_whose_repeated_send_leaves_things_as_the_first_did() -> None:
    api: WriteApi = puts()
    assert ("dynamodb.BatchWriteItem", "dynamodb", "batch_write_item") == (api.name, api.service, api.operation)
    assert (Effect.REPEATABLE, None, frozenset(), Silence.SUCCEEDED) == (
        api.effect,
        api.replay,
        api.own_effect_codes,
        api.silence(),
    )
    assert (25, 16 * 1024 * 1024, 409_600) == (api.limits.items, api.limits.request_bytes, api.limits.item_bytes)


@pytest.mark.parametrize("action", ["put", "delete"])
@pytest.mark.parametrize("values", ["native", "typed"])
def test_a_target_makes_the_api_again_with_its_keys_in_order(action: str, values: str) -> None:
    target = {"table_name": ARN, "key": {"sk": "N", "pk": "B"}, "action": action, "values": values}
    api = BatchWriteItem.of(json.loads(json.dumps(target)))
    assert target == api.target
    assert ["sk", "pk"] == list(api.target["key"])


def test_put_and_plain_values_are_what_a_short_target_means() -> None:
    assert {"table_name": "T", "key": {"pk": "S"}, "action": "put", "values": "native"} == BatchWriteItem.of(
        {"table_name": "T", "key": {"pk": "S"}}
    ).target


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table_name": None}, "needs table_name="),
        ({"key": ["pk"]}, "key= is a list"),
        ({"key": {}}, "name one partition key attribute"),
        ({"key": {"pk": "X"}}, "type is S, N or B"),
        ({"key": {"pk": None}}, "type is S, N or B"),
        ({"key": {"a": "S", "b": "S", "c": "S"}}, "name one partition key attribute"),
        ({"action": "update"}, "action= is not one of put, delete"),
        ({"values": "json"}, "values= is not one of native, typed"),
        ({"region": "x"}, "knows no region="),
    ],
)
def test_a_target_that_is_wrong_is_refused_by_member(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        BatchWriteItem.of({"table_name": "T", "key": {"pk": "S"}, **change})


# ---------------------------------------------------------------------------------------------------------- the items


def test_an_item_is_named_by_its_key_partition_first() -> None:
    entry = puts({"sk": "N", "pk": "S"}).entry({"pk": "a", "sk": Decimal("1.0"), "v": 1}, 0)
    assert '[{"N":"1"},{"S":"a"}]' == entry.item_id
    assert (None, None) == (entry.idempotency_key, entry.group_id)


def test_an_item_keeps_its_identity_and_hash_in_every_spelling() -> None:
    typed = {
        "pk": {"S": "a"},
        "n": {"N": "015e-1"},
        "b": {"B": b64encode(b"\x00\xff").decode()},
        "s": {"SS": ["y", "x"]},
        "bs": {"BS": ["AA==", b"\x01"]},
        "m": {"M": {"q": {"NS": ["2", "1"]}, "p": {"L": [{"NULL": True}, {"BOOL": False}]}}},
    }
    native = {
        "m": {"p": [None, False], "q": {Decimal(1), Decimal("2.0")}},
        "bs": {b"\x01", b"\x00"},
        "s": {"x", "y"},
        "b": bytearray(b"\x00\xff"),
        "n": Decimal("1.50"),
        "pk": "a",
    }
    boto = {**typed, "b": {"B": b"\x00\xff"}}
    one, other, third = (
        puts(values="typed").entry(typed, 0),
        puts().entry(native, 7),
        puts(values="typed").entry(boto, 9),
    )
    assert (one.item_id, payload_hash(one.payload)) == (other.item_id, payload_hash(other.payload))
    assert one == other == third
    assert puts().request([one]) == puts().request([other])


def test_a_line_of_json_keeps_every_digit_of_its_numbers() -> None:
    entry = puts().entry(json_loads_exact('{"pk":"a","n":12345678901234567890123456789012345678,"f":0.10}'), 0)
    assert {"n": {"N": "12345678901234567890123456789012345678"}, "f": {"N": "0.1"}, "pk": {"S": "a"}} == (
        puts().request([entry])["RequestItems"]["T"][0]["PutRequest"]["Item"]
    )


def test_text_in_a_binary_key_is_base64_since_json_has_no_binary() -> None:
    api = puts({"pk": "B"})
    assert api.entry({"pk": b"\x00\xff", "v": "AP8="}, 0) == api.entry({"pk": "AP8=", "v": "AP8="}, 0)
    with pytest.raises(
        ManifestError, match=r"item at position 3: key attribute 'pk' is binary, and its text is not base"
    ):
        api.entry({"pk": "secret!"}, 3)


@pytest.mark.parametrize("size", [409_600, 409_601])
def test_an_item_at_and_over_the_limit_is_measured_not_refused(size: int) -> None:
    entry = puts().entry({"pk": "k", "v": "x" * (size - 4)}, 0)
    assert size == entry.size_bytes
    assert (size > 409_600) == (entry.size_bytes > (puts().limits.item_bytes or 0))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("secret", "where a map of attributes belongs"),
        (["secret"], "where a map of attributes belongs"),
        ({}, "lacks the attribute 'pk'"),
        ({"pk": "secret"}, "lacks the attribute 'sk'"),
        ({"pk": 1, "sk": 1}, "attribute 'pk' has type N, but the key needs S"),
        ({"pk": "secret", "sk": "1"}, "attribute 'sk' has type S, but the key needs N"),
        ({"pk": "", "sk": 1}, "attribute 'pk' is empty"),
        ({"pk": "x" * 2049, "sk": 1}, "attribute 'pk' has 2049 bytes; DynamoDB allows 2048"),
        ({"pk": None, "sk": 1}, "'pk' is neither text, number nor binary; correct"),
        ({"pk": True, "sk": 1}, "'pk' is neither text"),
        ({"pk": {"S": "secret"}, "sk": 1}, "'pk' is neither text, number nor binary, or values= is to be typed"),
        ({"pk": "a", "sk": 1, "f": 0.5}, "attribute f is a float"),
        ({"pk": "a", "sk": 1, "n": 10**39 + 1}, "attribute n is not a DynamoDB number"),
        ({"pk": "a", "sk": 1, "s": set()}, "attribute s is an empty set"),
        ({"pk": "a", "sk": 1, 5: 1}, "attribute names are text"),
    ],
)
def test_what_could_never_be_put_is_refused_by_position(value: object, message: str) -> None:
    with pytest.raises(ManifestError, match=message) as caught:
        puts(KEY).entry(value, 4)
    assert (4,) == caught.value.positions
    assert "at position 4" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"pk": "secret"}, "attribute pk is of type str where a tagged value"),
        ({"pk": {"S": "a", "N": "1"}}, "has the tags S, N"),
        ({"pk": {"S": "a"}, "b": {"B": "*"}}, "attribute b has the tag B, but its contents are not base64"),
        ({"pk": {"S": "a"}, "n": {"N": "1" * 39}}, "attribute n is not a DynamoDB number"),
        ({"pk": {"NULL": True}}, r"'pk' is neither text, number nor binary; correct"),
    ],
)
def test_typed_items_are_checked_alike(value: object, message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        puts(values="typed").entry(value, 0)


def test_a_delete_takes_the_key_and_nothing_beside_it() -> None:
    entry = deletes().entry({"pk": "a"}, 0)
    assert ('{"S":"a"}', {"pk": "a"}, 3) == (entry.item_id, entry.payload, entry.size_bytes)
    with pytest.raises(ManifestError, match=r"key at position 2 has 'v' beside the table's key attributes"):
        deletes().entry({"pk": "a", "v": 1}, 2)


def test_the_request_is_one_that_the_service_model_takes() -> None:
    client = boto3.client("dynamodb")
    expected_put = {"RequestItems": {"T": [put_request({**RICH})]}}
    expected_delete = {"RequestItems": {"T": [{"DeleteRequest": {"Key": {"pk": {"S": "a"}}}}]}}
    with Stubber(client) as stub:
        for api, value, expected in ((puts(), RICH, expected_put), (deletes(), {"pk": "a"}, expected_delete)):
            stub.add_response("batch_write_item", {"UnprocessedItems": {}}, expected)
            client.batch_write_item(**api.request(entries(api, value)))
        stub.assert_no_pending_responses()


# --------------------------------------------------------------------------------------------- responses (synthetic)


def test_an_empty_map_of_leftovers_means_all_done_synthetic() -> None:
    api = puts()
    assert [Finding.SUCCEEDED] * 2 == findings(api, entries(api, {"pk": "a"}, {"pk": "b"}), {"UnprocessedItems": {}})
    assert [Finding.SUCCEEDED] == findings(api, entries(api, {"pk": "a"}), {"UnprocessedItems": {"T": []}})


def test_leftovers_are_matched_by_value_in_any_spelling_and_order_synthetic() -> None:
    api = puts()
    sent = entries(api, RICH, {"pk": "b"}, {"pk": "c"})
    echo = item_from_native(RICH)
    echo["n"], echo["set"] = {"N": "1.500"}, {"SS": ["y", "x"]}
    response = left(put_request({"pk": "c"}), {"PutRequest": {"Item": echo}, "DeleteRequest": None})
    assert [Finding.UNPROCESSED, Finding.SUCCEEDED, Finding.UNPROCESSED] == findings(api, sent, response)


def test_20_of_25_are_written_when_5_come_back_synthetic() -> None:
    api = puts()
    sent = entries(api, *({"pk": f"k{i}", "n": i} for i in range(25)))
    told = findings(api, sent, left(*(put_request({"pk": f"k{i}", "n": i}) for i in range(3, 8))))
    assert {3, 4, 5, 6, 7} == {i for i, finding in enumerate(told) if finding is Finding.UNPROCESSED}
    assert 20 == told.count(Finding.SUCCEEDED)


def test_a_call_by_arn_may_be_answered_by_name_synthetic() -> None:
    api = BatchWriteItem(table_name=ARN, key={"pk": "S"})
    sent = entries(api, {"pk": "a"})
    for table in (ARN, "T"):
        assert [Finding.UNPROCESSED] == findings(api, sent, left(put_request({"pk": "a"}), table=table))


def test_left_over_deletes_are_matched_by_key_synthetic() -> None:
    api = deletes()
    sent = entries(api, {"pk": "a"}, {"pk": "b"})
    response = left({"DeleteRequest": {"Key": {"pk": {"S": "b"}}}})
    assert [Finding.SUCCEEDED, Finding.UNPROCESSED] == findings(api, sent, response)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({}, "no map UnprocessedItems, so silence proves nothing"),
        ({"UnprocessedItems": None}, "no map UnprocessedItems"),
        ({"UnprocessedItems": []}, "no map UnprocessedItems"),
        ({"UnprocessedItems": {"T": None}}, "has no list of requests"),
        ({"UnprocessedItems": {"T": ["secret"]}}, "has no list of requests"),
        (left(put_request({"pk": "secret-a"}), table="U"), "names table 'U', which was not written to"),
        (left(put_request({"pk": "secret-z"})), "names an item outside this call"),
        (left(put_request({"pk": "secret-a"}), put_request({"pk": "secret-a"})), "names item 0 of this call twice"),
        (left(put_request({"pk": "secret-a", "v": 1})), "names item 0 of this call with other content"),
        (left(put_request({"pk": "secret-b", "v": 1})), "names item 1 of this call with other content"),
        (left({"DeleteRequest": {"Key": {"pk": {"S": "secret-a"}}}}), "something else than a PutRequest"),
        (left({"PutRequest": {}, "DeleteRequest": {}}), "something else than a PutRequest"),
        (left({}), "something else than a PutRequest"),
        (left({"PutRequest": "secret"}), "something else than a PutRequest"),
        (left({"PutRequest": {}}), "names an item outside this call"),
        (left({"PutRequest": {"Item": {"v": {"S": "secret"}}}}), "names an item outside this call"),
        (left({"PutRequest": {"Item": {"pk": {"S": 5}}}}), "cannot be decoded"),
        (left({"PutRequest": {"Item": {"pk": {}}}}), "cannot be decoded"),
        (left({"PutRequest": {"Item": "secret"}}), "cannot be decoded"),
    ],
)
def test_a_response_that_does_not_add_up_is_refused_synthetic(response: dict[str, Any], message: str) -> None:
    api = puts()
    sent = entries(api, {"pk": "secret-a"}, {"pk": "secret-b", "v": True})
    assert message in str(refusal(api, sent, response))


def test_a_key_echoed_under_another_type_is_another_key_synthetic() -> None:
    api = puts()
    response = left({"PutRequest": {"Item": {"pk": {"B": b"a"}}}})
    assert "outside this call" in str(refusal(api, entries(api, {"pk": "a"}), response))


# --------------------------------------------------------------------------------------------------- failed calls


@pytest.mark.parametrize(
    ("failure", "proof"),
    [
        (failed("ProvisionedThroughputExceededException"), Proof.NOT_PROCESSED),
        (failed("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceeded"), Proof.NOT_PROCESSED),
        (failed("ThrottlingException"), Proof.NOT_PROCESSED),
        (failed("RequestLimitExceeded"), Proof.NOT_PROCESSED),
        (failed("ValidationException"), Proof.REFUSED),
        (failed("ItemCollectionSizeLimitExceededException"), Proof.REFUSED),
        (failed("ResourceNotFoundException"), Proof.BLOCKED),
        (failed("AccessDeniedException"), Proof.BLOCKED),
        (failed("ExpiredTokenException"), Proof.BLOCKED),
        (failed("InternalServerError", 500), Proof.NOTHING),
        (failed("ServiceUnavailable", 503), Proof.NOTHING),
        (failed("ReplicatedWriteConflictException", 409), Proof.NOTHING),
        (failed("SomethingNew"), Proof.NOTHING),
        (failed("ThrottlingException", sdk_retry_attempts=1), Proof.NOTHING),
        (failed("ValidationException", sdk_retry_attempts=1), Proof.NOTHING),
        (Failure(FailureCause.TRANSIENT, "ReadTimeoutError", ""), Proof.NOTHING),
        (Failure(FailureCause.DAMAGED, "ChecksumError", "", sdk_retry_attempts=0), Proof.NOTHING),
    ],
)
def test_only_documented_codes_prove_that_nothing_was_processed(failure: Failure, proof: Proof) -> None:
    assert proof is puts().explain(failure)


# ------------------------------------------------------------------------------------------- the look-up (synthetic)


def test_the_look_up_reads_the_keys_strongly() -> None:
    api = puts(KEY)
    sent = entries(api, {"pk": "a", "sk": 1, "v": 1}, {"pk": "b", "sk": Decimal("2.0")})
    keys = [{"pk": {"S": "a"}, "sk": {"N": "1"}}, {"pk": {"S": "b"}, "sk": {"N": "2"}}]
    request = look_up(api).request(sent)
    assert {"T": {"Keys": keys, "ConsistentRead": True}} == request["RequestItems"]
    assert ("batch_get_item", 100) == (look_up(api).operation, look_up(api).limits.items)
    client = boto3.client("dynamodb")
    with Stubber(client) as stub:
        stub.add_response("batch_get_item", {"Responses": {"T": []}, "UnprocessedKeys": {}}, request)
        client.batch_get_item(**request)


def test_a_put_is_found_differs_is_absent_or_cannot_be_read_synthetic() -> None:
    api = puts()
    sent = entries(
        api, {**RICH, "pk": "same"}, {"pk": "other", "v": 1}, {"pk": "gone"}, {"pk": "unread"}, {"pk": "odd"}
    )
    same = {**item_from_native({**RICH, "pk": "same"}), "n": {"N": "1.5000"}, "set": {"SS": ["y", "x"]}}
    rows = [item_from_native({"pk": "other", "v": True}), same, {"pk": {"S": "odd"}, "v": {"Q": 1}}]
    answer = {"Responses": {"T": rows}, "UnprocessedKeys": {"T": {"Keys": [{"pk": {"S": "unread"}}]}}}
    assert [
        Verdict.SAME,
        Verdict.DIFFERENT,
        Verdict.ABSENT_CONCLUSIVE,
        Verdict.UNREADABLE,
        Verdict.UNREADABLE,
    ] == look_up(api).verdicts(sent, answer)


def test_a_delete_is_done_where_nothing_is_and_open_where_something_is_synthetic() -> None:
    api = deletes()
    sent = entries(api, {"pk": "gone"}, {"pk": "there"}, {"pk": "unread"})
    answer = {
        "Responses": {"T": [{"pk": {"S": "there"}}]},
        "UnprocessedKeys": {"T": {"Keys": [{"pk": {"S": "unread"}}]}},
    }
    assert [Verdict.SAME, Verdict.DIFFERENT, Verdict.UNREADABLE] == look_up(api).verdicts(sent, answer)


def test_a_failed_look_up_says_nothing_of_any_item_synthetic() -> None:
    api = puts()
    sent = entries(api, {"pk": "a"}, {"pk": "b"})
    assert [Verdict.UNREADABLE] * 2 == look_up(api).verdicts(sent, failed("ResourceNotFoundException"))


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"Responses": {"T": []}},
        {"Responses": {}, "UnprocessedKeys": {}},
        {"Responses": {"U": []}, "UnprocessedKeys": {}},
        {"Responses": {"T": [{"pk": {"S": "z"}}]}, "UnprocessedKeys": {}},
        {"Responses": {"T": [{"pk": {"S": "a"}}, {"pk": {"S": "a"}}]}, "UnprocessedKeys": {}},
        {"Responses": {"T": [{"pk": {"S": "a"}}]}, "UnprocessedKeys": {"T": {"Keys": [{"pk": {"S": "a"}}]}}},
    ],
)
def test_a_look_up_that_does_not_add_up_is_refused_synthetic(answer: dict[str, Any]) -> None:
    api = puts()
    with pytest.raises(LedgerInvariantError):
        look_up(api).verdicts(entries(api, {"pk": "a"}), answer)


# --------------------------------------------------------------------------------------------------------- on engines


def on(engine: Engine, make_table: MakeTable, action: str = "put") -> tuple[Any, BatchWriteItem]:
    table = make_table(engine, [("pk", "S"), ("sk", "N")])
    return engine.client(), BatchWriteItem(table_name=table, key=KEY, action=action)


def read_back(client: Any, api: BatchWriteItem, sent: list[Entry]) -> list[Verdict]:
    return look_up(api).verdicts(sent, client.batch_get_item(**look_up(api).request(sent)))


def test_an_engine_has_what_was_put_and_the_look_up_tells_it_from_other_content(
    engine: Engine, make_table: MakeTable
) -> None:
    client, api = on(engine, make_table)
    sent = entries(api, *({**RICH, "pk": f"k{i}", "sk": Decimal(i) / 4} for i in range(25)))
    assert [Verdict.ABSENT_CONCLUSIVE] * 25 == read_back(client, api, sent)

    response = client.batch_write_item(**api.request(sent))

    assert [Finding.SUCCEEDED] * 25 == findings(api, sent, response)
    stored = client.scan(TableName=api.target["table_name"], ConsistentRead=True)["Items"]
    assert {entry.item_id for entry in sent} == {
        BatchWriteItem.of({**api.target, "values": "typed"}).entry(item, 0).item_id for item in stored
    }
    assert [Verdict.SAME] * 25 == read_back(client, api, sent)
    changed = entries(api, {**RICH, "pk": "k1", "sk": Decimal("0.25"), "n": 2})
    assert [Verdict.DIFFERENT] == read_back(client, api, changed)


def test_an_engine_no_longer_has_what_was_deleted(engine: Engine, make_table: MakeTable) -> None:
    client, api = on(engine, make_table)
    client.batch_write_item(**api.request(entries(api, {"pk": "a", "sk": 1}, {"pk": "b", "sk": 1})))
    gone = BatchWriteItem.of({**api.target, "action": "delete"})
    sent = entries(gone, {"pk": "a", "sk": 1}, {"pk": "never", "sk": 1})
    assert [Verdict.DIFFERENT, Verdict.SAME] == read_back(client, gone, sent)

    response = client.batch_write_item(**gone.request(sent))

    assert [Finding.SUCCEEDED] * 2 == findings(gone, sent, response)
    assert [Verdict.SAME, Verdict.SAME] == read_back(client, gone, sent)
    left_there = client.scan(TableName=api.target["table_name"], ConsistentRead=True)["Items"]
    assert [{"pk": {"S": "b"}, "sk": {"N": "1"}}] == left_there


def test_dynalite_takes_an_item_of_409600_bytes_and_refuses_one_more_byte(
    dynalite: Engine, make_table: MakeTable
) -> None:
    client, api = on(dynalite, make_table)
    most, over = (api.entry({"pk": "k", "sk": 1, "v": "x" * (size - 8)}, 0) for size in (409_600, 409_601))
    assert (409_600, 409_601) == (most.size_bytes, over.size_bytes)
    assert [Finding.SUCCEEDED] == findings(api, [most], client.batch_write_item(**api.request([most])))
    with pytest.raises(ClientError) as caught:
        client.batch_write_item(**api.request([over]))
    assert "ValidationException" == caught.value.response["Error"]["Code"]
