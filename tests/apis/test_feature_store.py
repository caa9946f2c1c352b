"""BatchWriteRecord through stubs only, since no engine serves it: every response here is synthetic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from itemledger.apis.aws_errors import classify
from itemledger.apis.feature_records import later
from itemledger.apis.feature_store import BatchWriteRecord
from itemledger.core.answer import Failure, FailureCause
from itemledger.core.payload_hash import payload_hash
from itemledger.core.reconcile import Finding, Mention, Silence, reconcile
from itemledger.core.write_api import Effect, Entry, ItemError, LookUp, Proof, Verdict, WriteApi
from itemledger.errors import LedgerInvariantError, ManifestError

SERVICE = "sagemaker-featurestore-runtime"
ARN = "arn:aws:sagemaker:eu-west-1:123456789012:feature-group/orders"
TARGET = {"feature_group_name": "orders", "record_identifier": "id", "event_time": "at"}
API = BatchWriteRecord.of(TARGET)
NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:00:00.001Z"
UNSERVED: dict[str, Any] = {"Errors": [], "UnprocessedEntries": []}


def record(identifier: str = "secret-1", at: str = NOON, **features: str | list[str]) -> list[dict[str, Any]]:
    values = {"id": identifier, "at": at, **features}
    return [
        {"FeatureName": name, "ValueAsString" if isinstance(value, str) else "ValueAsStringList": value}
        for name, value in values.items()
    ]


def entries(*values: Mapping[str, Any]) -> list[Entry]:
    return [API.entry(value, position) for position, value in enumerate(values)]


def wire(value: Mapping[str, Any], group: str = "orders") -> dict[str, Any]:
    return {"FeatureGroupName": group, **value}


def error(value: Mapping[str, Any], code: str = "InternalFailure") -> dict[str, Any]:
    return {"Entry": wire(value), "ErrorCode": code, "ErrorMessage": "why"}


def settled(sent: list[Entry], response: Mapping[str, Any]) -> list[Mention]:
    return reconcile(len(sent), API.mentions(sent, response), API.silence())


def findings(sent: list[Entry], **response: list[dict[str, Any]]) -> list[Finding]:
    return [mention.finding for mention in settled(sent, {**UNSERVED, **response})]


def look_up() -> LookUp:
    assert API.look_up is not None
    return API.look_up


def answer(*records: list[dict[str, Any]], group: str = "orders", **more: list[dict[str, Any]]) -> dict[str, Any]:
    found = [
        {"FeatureGroupName": group, "RecordIdentifierValueAsString": each[0]["ValueAsString"], "Record": each}
        for each in records
    ]
    return {"Records": found, "Errors": [], "UnprocessedIdentifiers": [], **more}


def failed(code: str, status: int = 400, sdk_retry_attempts: int = 0) -> Failure:
    return Failure(classify(code, status), code, "", sdk_retry_attempts=sdk_retry_attempts)


# --------------------------------------------------------------------------------------------------------- the target


def test_it_is_a_write_api_whose_repeated_send_adds_a_row_offline() -> None:
    api: WriteApi = API
    assert (f"{SERVICE}.BatchWriteRecord", SERVICE, "batch_write_record") == (api.name, api.service, api.operation)
    assert (Effect.APPEND, None, frozenset(), Silence.SUCCEEDED) == (
        api.effect,
        api.replay,
        api.own_effect_codes,
        api.silence(),
    )
    assert (25, None, 358_400) == (api.limits.items, api.limits.request_bytes, api.limits.item_bytes)


def test_a_target_makes_the_api_again() -> None:
    assert TARGET == BatchWriteRecord.of(json.loads(json.dumps(TARGET))).target


@pytest.mark.parametrize("name", TARGET)
def test_a_target_needs_every_member_as_text(name: str) -> None:
    for wrong, message in ((None, f"needs {name}="), ("", f"{name}= is empty"), (5, f"{name}= is a whole number")):
        with pytest.raises(ManifestError, match=message):
            BatchWriteRecord.of({**TARGET, name: wrong})
    with pytest.raises(ManifestError, match="knows no stores="):
        BatchWriteRecord.of({**TARGET, "stores": []})


# -------------------------------------------------------------------------------------------------------- the entries


def test_an_entry_is_named_by_record_identifier_and_event_time_unless_it_has_an_id() -> None:
    assert f'["secret-1","{NOON}"]' == API.entry({"Record": record()}, 4).item_id
    assert "mine" == API.entry({"Record": record(), "Id": "mine"}, 4).item_id
    assert "Id" not in API.request([API.entry({"Record": record(), "Id": "mine"}, 4)])["Entries"][0]


def test_the_order_of_features_and_stores_does_not_change_the_payload() -> None:
    value: dict[str, Any] = {
        "Record": record(colour="red", sizes=["1", "2"]),
        "TargetStores": ["OnlineStore", "OfflineStore"],
        "TtlDuration": {"Unit": "Days", "Value": 7},
    }
    same = {
        "FeatureGroupName": ARN,
        "TtlDuration": {"Value": 7, "Unit": "Days"},
        "TargetStores": ["OfflineStore", "OnlineStore"],
        "Record": value["Record"][::-1],
    }
    assert API.entry(value, 0) == API.entry(same, 1)
    assert payload_hash(API.entry(value, 0).payload) == payload_hash(API.entry(same, 1).payload)
    other = {**value, "Record": record(colour="red", sizes=["2", "1"])}
    assert payload_hash(API.entry(value, 0).payload) != payload_hash(API.entry(other, 0).payload)


def test_a_null_in_json_is_a_member_left_out() -> None:
    nulls = {"FeatureName": "n", "ValueAsString": None, "ValueAsStringList": ["1"]}
    value = {"Record": [*record(), nulls], "TargetStores": None, "TtlDuration": None}
    assert API.entry({"Record": record(n=["1"])}, 0) == API.entry(value, 0)


@pytest.mark.parametrize("size", [358_400, 358_401])
def test_a_record_at_and_over_the_limit_is_measured_by_its_values(size: int) -> None:
    entry = API.entry({"Record": record("i", "1", text="ä" * 10, sizes=["x" * 5, "y" * (size - 27)])}, 0)
    assert size == entry.size_bytes
    assert (size > 358_400) == (entry.size_bytes > (API.limits.item_bytes or 0))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("secret", "is of type str; give an object with a Record"),
        ({}, "has no Record of features"),
        ({"Record": []}, "has no Record of features"),
        ({"Record": {"id": "secret"}}, "has no Record of features"),
        ({"Record": ["secret"]}, "has no Record of features"),
        ({"Record": [*record(), {"ValueAsString": "secret"}]}, "has no Record of features"),
        ({"Record": [*record(), {"FeatureName": "n", "ValueAsString": 5}]}, "has no Record of features"),
        ({"Record": [*record(), {"FeatureName": "n", "ValueAsStringList": "secret"}]}, "has no Record of features"),
        ({"Record": [*record(), {"FeatureName": "n", "ValueAsStringList": [5]}]}, "has no Record of features"),
        (
            {"Record": [*record(), {"FeatureName": "n", "ValueAsString": "", "ValueAsStringList": []}]},
            "has no Record of features",
        ),
        ({"Record": [*record(), {"FeatureName": "n", "Value": "secret"}]}, "has no Record of features"),
        ({"Record": [*record(), *record()]}, "has no Record of features"),
        ({"Record": record()[:1]}, "has no text as the feature 'at'"),
        ({"Record": record()[1:]}, "has no text as the feature 'id'"),
        ({"Record": record("")}, "has no text as the feature 'id'"),
        ({"Record": record(), "Secret": 1}, "has the member 'Secret'"),
        ({"Record": record(), "Id": 7}, "has an Id that is no text"),
        ({"Record": record(), "Id": ""}, "has an Id that is no text"),
        ({"Record": record(), "FeatureGroupName": "other"}, "not of this operation's feature group"),
        ({"Record": record(), "FeatureGroupName": 5}, "not of this operation's feature group"),
        ({"Record": record(), "TargetStores": []}, "has TargetStores that are no list"),
        ({"Record": record(), "TargetStores": "OnlineStore"}, "has TargetStores that are no list"),
        ({"Record": record(), "TargetStores": ["Online"]}, "has TargetStores that are no list"),
        ({"Record": record(), "TargetStores": ["OnlineStore", "OnlineStore"]}, "has TargetStores that are no list"),
        ({"Record": record(), "TtlDuration": 5}, "has a TtlDuration without"),
        ({"Record": record(), "TtlDuration": {"Unit": "Days"}}, "has a TtlDuration without"),
        ({"Record": record(), "TtlDuration": {"Unit": "Years", "Value": 1}}, "has a TtlDuration without"),
        ({"Record": record(), "TtlDuration": {"Unit": "Days", "Value": 0}}, "whose Value is no whole number"),
        ({"Record": record(), "TtlDuration": {"Unit": "Days", "Value": True}}, "whose Value is no whole number"),
    ],
)
def test_what_could_never_be_sent_is_refused_by_position(value: object, message: str) -> None:
    with pytest.raises(ManifestError, match=message) as caught:
        API.entry(value, 5)
    assert (5,) == caught.value.positions
    assert "item at position 5" in str(caught.value)
    assert "secret" not in str(caught.value)


# ------------------------------------------------------------------------------------------ responses, all synthetic


def test_request_and_response_are_ones_that_the_service_model_takes_synthetic() -> None:
    client: Any = boto3.client("sagemaker-featurestore-runtime")
    if not hasattr(client, "batch_write_record"):
        pytest.skip("this botocore is older than BatchWriteRecord")
    values: list[dict[str, Any]] = [
        {"Record": record("1", sizes=["2", "1"]), "TtlDuration": {"Unit": "Days", "Value": 1}},
        {"Record": record("2"), "TargetStores": ["OnlineStore"]},
        {"Record": record("3")},
    ]
    sent = entries(*values)
    response = {"Errors": [error(values[1], "ValidationError")], "UnprocessedEntries": [wire(values[0])]}
    with Stubber(client) as stub:
        stub.add_response("batch_write_record", response, API.request(sent))
        told = settled(sent, client.batch_write_record(**API.request(sent)))
        stub.add_response("batch_get_record", answer(record("1")), look_up().request(sent))
        client.batch_get_record(**look_up().request(sent))
        stub.assert_no_pending_responses()
    assert [Finding.UNPROCESSED, Finding.REJECTED, Finding.SUCCEEDED] == [mention.finding for mention in told]
    assert [None, ItemError("ValidationError", "why"), None] == [mention.value for mention in told]


def test_two_empty_lists_mean_all_done_synthetic() -> None:
    assert [Finding.SUCCEEDED] * 2 == findings(entries({"Record": record("1")}, {"Record": record("2")}))


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("InternalFailure", Finding.TRANSIENT),
        ("ServiceUnavailable", Finding.TRANSIENT),
        ("ServiceUnavailableException", Finding.TRANSIENT),
        ("AccessForbidden", Finding.REJECTED),
        ("ResourceNotFound", Finding.REJECTED),
        ("ValidationError", Finding.REJECTED),
        ("SomethingNew", Finding.UNKNOWN),
        ("", Finding.UNKNOWN),
    ],
)
def test_a_failed_entry_is_settled_by_its_code_synthetic(code: str, finding: Finding) -> None:
    value = {"Record": record()}
    assert [finding] == findings(entries(value), Errors=[error(value, code)])


def test_an_echo_is_known_again_with_its_features_and_stores_in_another_order_synthetic() -> None:
    value = {"Record": record(n="1.50", sizes=["2", "1"]), "TargetStores": ["OnlineStore", "OfflineStore"]}
    echo = {"Record": record(n="1.5", sizes=["2.0", "1"])[::-1], "TargetStores": ["OfflineStore", "OnlineStore"]}
    sent = entries({"Record": record("2")}, value)
    assert [Finding.SUCCEEDED, Finding.UNPROCESSED] == findings(sent, UnprocessedEntries=[wire(echo, ARN)])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (None, ["OnlineStore"]),
        (["OnlineStore", "OfflineStore"], ["OfflineStore"]),
        (["OfflineStore"], None),
    ],
)
def test_an_echo_may_name_a_part_of_the_stores_synthetic(ours: list[str] | None, theirs: list[str] | None) -> None:
    value, echo = ({"Record": record(), "TargetStores": stores} for stores in (ours, theirs))
    assert [Finding.TRANSIENT] == findings(entries(value), Errors=[error(echo)])


def test_two_equal_entries_that_both_come_back_are_two_rows_to_retry_synthetic() -> None:
    value = {"Record": record()}
    sent = entries({**value, "Id": "x"}, {"Record": record("2")}, {**value, "Id": "y"})
    assert [Finding.UNPROCESSED, Finding.SUCCEEDED, Finding.UNPROCESSED] == findings(
        sent, UnprocessedEntries=[wire(value), wire(value)]
    )
    once = findings(sent, UnprocessedEntries=[wire(value)])
    assert (1, 2) == (once.count(Finding.UNPROCESSED), once.count(Finding.SUCCEEDED))
    both = findings(sent, UnprocessedEntries=[wire(value)], Errors=[error(value, "ValidationError")])
    assert {Finding.UNPROCESSED, Finding.REJECTED} == {both[0], both[2]}


def test_an_echo_to_the_letter_is_matched_before_one_that_is_only_alike_synthetic() -> None:
    plain = {"Record": record(n="1.0")}
    online = {**plain, "TargetStores": ["OnlineStore"]}
    spelled = {"Record": record(n="1")}
    sent = entries(plain, online, spelled)
    assert [Finding.SUCCEEDED, Finding.UNPROCESSED, Finding.SUCCEEDED] == findings(
        sent, UnprocessedEntries=[wire(online)]
    )
    assert [Finding.TRANSIENT, Finding.UNPROCESSED, Finding.REJECTED] == findings(
        sent, Errors=[error(spelled, "ValidationError"), error(plain)], UnprocessedEntries=[wire(online)]
    )


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({}, "no list of Errors, which it must have, so silence proves nothing"),
        ({"Errors": []}, "no list of UnprocessedEntries"),
        ({"UnprocessedEntries": []}, "no list of Errors"),
        ({"Errors": None, "UnprocessedEntries": []}, "no list of Errors"),
        ({"Errors": {}, "UnprocessedEntries": []}, "no list of Errors"),
        ({"Errors": [], "UnprocessedEntries": ["secret"]}, "no list of UnprocessedEntries"),
        ({**UNSERVED, "UnprocessedEntries": [{}]}, "no readable Record"),
        ({**UNSERVED, "UnprocessedEntries": [{"Record": record("secret-a")}]}, "no readable Record"),
        ({**UNSERVED, "UnprocessedEntries": [wire({"Record": []})]}, "no readable Record"),
        (
            {**UNSERVED, "UnprocessedEntries": [wire({"Record": record("secret-a"), "TargetStores": "secret"})]},
            "malformed TargetStores or TtlDuration",
        ),
        (
            {**UNSERVED, "UnprocessedEntries": [wire({"Record": record("secret-a"), "TtlDuration": 5})]},
            "malformed TargetStores or TtlDuration",
        ),
        ({**UNSERVED, "UnprocessedEntries": [wire({"Record": record("secret-z")})]}, "an item outside this call"),
        ({**UNSERVED, "UnprocessedEntries": [wire({"Record": record("secret-a")}, "x")]}, "an item outside this call"),
        (
            {**UNSERVED, "UnprocessedEntries": [wire({"Record": record("secret-a", n="1")})]},
            "an item outside this call",
        ),
        (
            {
                **UNSERVED,
                "UnprocessedEntries": [
                    wire({"Record": record("secret-a"), "TtlDuration": {"Unit": "Days", "Value": 1}})
                ],
            },
            "an item outside this call",
        ),
        (
            {**UNSERVED, "UnprocessedEntries": [wire({"Record": record("secret-b"), "TargetStores": ["OnlineStore"]})]},
            "an item outside this call",
        ),
        ({**UNSERVED, "UnprocessedEntries": [wire({"Record": record("secret-a")})] * 2}, "an item outside this call"),
        (
            {
                "Errors": [error({"Record": record("secret-a")})],
                "UnprocessedEntries": [wire({"Record": record("secret-a")})],
            },
            "an item outside this call",
        ),
        (
            {**UNSERVED, "UnprocessedEntries": [wire({"Record": record("secret-c", n="1.00")})]},
            "could be several of those that were sent",
        ),
        ({**UNSERVED, "Errors": [{"ErrorCode": "x", "ErrorMessage": "secret"}]}, "no readable Record"),
        ({**UNSERVED, "Errors": [{**error({"Record": record("secret-a")}), "ErrorCode": None}]}, "lacks its ErrorCode"),
        (
            {**UNSERVED, "Errors": [{"Entry": wire({"Record": record("secret-a")}), "ErrorCode": "x"}]},
            "lacks its ErrorCode or ErrorMessage",
        ),
    ],
)
def test_a_response_that_does_not_add_up_is_refused_synthetic(response: dict[str, Any], message: str) -> None:
    sent = entries(
        {"Record": record("secret-a")},
        {"Record": record("secret-b"), "TargetStores": ["OfflineStore"]},
        {"Record": record("secret-c", n="1"), "Id": "x"},
        {"Record": record("secret-c", n="1.0"), "Id": "y"},
    )
    with pytest.raises(LedgerInvariantError, match=message) as caught:
        settled(sent, response)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value.structure)


@pytest.mark.parametrize(
    ("failure", "proof"),
    [
        (failed("ThrottlingException"), Proof.NOT_PROCESSED),
        (failed("ValidationError"), Proof.REFUSED),
        (failed("AccessForbidden", 403), Proof.BLOCKED),
        (failed("ResourceNotFound", 404), Proof.BLOCKED),
        (failed("ExpiredTokenException"), Proof.BLOCKED),
        (failed("InternalFailure", 500), Proof.NOTHING),
        (failed("ServiceUnavailable", 503), Proof.NOTHING),
        (failed("SomethingNew"), Proof.NOTHING),
        (failed("ValidationError", sdk_retry_attempts=1), Proof.NOTHING),
        (Failure(FailureCause.TRANSIENT, "ReadTimeoutError", ""), Proof.NOTHING),
    ],
)
def test_only_documented_codes_prove_that_nothing_was_processed(failure: Failure, proof: Proof) -> None:
    assert proof is API.explain(failure)


# ---------------------------------------------------------------------------------------- the look-up, all synthetic


def test_the_look_up_asks_for_each_record_once() -> None:
    sent = entries({"Record": record("1")}, {"Record": record("2")}, {"Record": record("1", LATER)})
    assert {"Identifiers": [{"FeatureGroupName": "orders", "RecordIdentifiersValueAsString": ["1", "2"]}]} == (
        look_up().request(sent)
    )
    assert ("batch_get_record", 100) == (look_up().operation, look_up().limits.items)


def test_a_record_is_compared_by_event_time_and_then_by_its_values_synthetic() -> None:
    sent = entries(
        {"Record": [*record("same", n="1"), {"FeatureName": "empty"}]},
        {"Record": record("spelled", n="1")},
        {"Record": record("other", n="1")},
        {"Record": record("more")},
        {"Record": record("newer")},
        {"Record": record("older", LATER)},
        {"Record": record("gone")},
        {"Record": record("odd", "yesterday")},
        {"Record": record("timeless")},
    )
    found = answer(
        record("newer", LATER),
        record("same", n="1"),
        record("spelled", "2026-01-01T12:00:00.000Z", n="1"),
        record("other", n="1.0"),
        record("more", extra="1"),
        record("older", NOON),
        record("odd", NOON),
        record("timeless")[:1],
        group=ARN,
    )
    assert [
        Verdict.SAME,
        Verdict.SAME,
        Verdict.DIFFERENT,
        Verdict.DIFFERENT,
        Verdict.SUPERSEDED,
        Verdict.ABSENT_CONCLUSIVE,
        Verdict.ABSENT_CONCLUSIVE,
        Verdict.DIFFERENT,
        Verdict.UNREADABLE,
    ] == look_up().verdicts(sent, found)


def test_two_event_times_of_one_record_are_settled_by_the_one_row_synthetic() -> None:
    sent = entries({"Record": record("1", LATER)}, {"Record": record("1")})
    assert [Verdict.SAME, Verdict.SUPERSEDED] == look_up().verdicts(sent, answer(record("1", LATER)))


def test_what_may_have_expired_is_not_proven_absent_synthetic() -> None:
    ttl = {"Unit": "Days", "Value": 1}
    sent = entries({"Record": record("gone"), "TtlDuration": ttl}, {"Record": record("old", LATER), "TtlDuration": ttl})
    assert [Verdict.ABSENT_INCONCLUSIVE] * 2 == look_up().verdicts(sent, answer(record("old")))


@pytest.mark.parametrize(
    ("stores", "verdict"),
    [
        (["OfflineStore"], Verdict.UNREADABLE),
        (["OnlineStore"], Verdict.ABSENT_CONCLUSIVE),
        (["OnlineStore", "OfflineStore"], Verdict.ABSENT_CONCLUSIVE),
    ],
)
def test_the_look_up_cannot_see_the_offline_store_synthetic(stores: list[str], verdict: Verdict) -> None:
    sent = entries({"Record": record("1"), "TargetStores": stores})
    assert [verdict] == look_up().verdicts(sent, answer())
    seen = Verdict.UNREADABLE if verdict is Verdict.UNREADABLE else Verdict.SAME
    assert [seen] == look_up().verdicts(sent, answer(record("1")))


def test_left_over_and_failed_identifiers_are_unreadable_each_for_itself_synthetic() -> None:
    sent = entries(*({"Record": record(each)} for each in "abcd"))
    found = answer(
        record("b"),
        Errors=[
            {
                "FeatureGroupName": "orders",
                "RecordIdentifierValueAsString": "a",
                "ErrorCode": "InternalFailure",
                "ErrorMessage": "",
            }
        ],
        UnprocessedIdentifiers=[{"FeatureGroupName": "orders", "RecordIdentifiersValueAsString": ["d"]}],
    )
    assert [Verdict.UNREADABLE, Verdict.SAME, Verdict.ABSENT_CONCLUSIVE, Verdict.UNREADABLE] == look_up().verdicts(
        sent, found
    )


def test_a_failed_look_up_says_nothing_of_any_record_synthetic() -> None:
    sent = entries({"Record": record("1")}, {"Record": record("2")})
    assert [Verdict.UNREADABLE] * 2 == look_up().verdicts(sent, failed("ResourceNotFound", 404))


@pytest.mark.parametrize(
    "found",
    [
        {},
        {**answer(), "Records": None},
        {**answer(), "Errors": None},
        {**answer(), "UnprocessedIdentifiers": None},
        {**answer(), "Records": ["x"]},
        answer(record("z")),
        answer(record("1"), group="other"),
        answer(record("1"), record("1", LATER)),
        answer(UnprocessedIdentifiers=[{"FeatureGroupName": "orders"}]),
        answer(UnprocessedIdentifiers=[{"FeatureGroupName": "orders", "RecordIdentifiersValueAsString": ["z"]}]),
        answer(
            record("1"),
            UnprocessedIdentifiers=[{"FeatureGroupName": "orders", "RecordIdentifiersValueAsString": ["1"]}],
        ),
    ],
)
def test_a_look_up_that_does_not_add_up_is_refused_synthetic(found: dict[str, Any]) -> None:
    with pytest.raises(LedgerInvariantError):
        look_up().verdicts(entries({"Record": record("1")}), found)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (NOON, NOON, False),
        (LATER, NOON, True),
        (NOON, LATER, False),
        ("2026-01-01T12:00:00.1Z", "2026-01-01T12:00:00.09Z", True),
        ("2026-01-01T12:00:00.000000001Z", NOON, True),
        ("2026-01-01T12:00:00.0Z", NOON, False),
        ("1700000000.5", "1700000000", True),
        ("999999999", "1700000000", False),
        ("1700000000.0", "1700000000", False),
        ("1700000000", NOON, None),
        ("yesterday", NOON, None),
        ("yesterday", "yesterday", False),
        ("2026-01-01T12:00:00+01:00", NOON, None),
    ],
)
def test_event_times_are_put_in_order_only_where_both_are_of_one_documented_form(
    first: str, second: str, expected: bool | None
) -> None:
    assert expected is later(first, second)
