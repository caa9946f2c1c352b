"""What Kinesis has of its own: the limit counts the partition key, and whole calls fail by codes of their own."""

from __future__ import annotations

import pytest

from itemledger.apis.aws_errors import classify
from itemledger.apis.kinesis import PutRecords
from itemledger.core.answer import Failure
from itemledger.core.write_api import Proof
from itemledger.errors import ManifestError
from itemledger.ledger.planning import new_item

PUT = PutRecords(stream_name="s")


def test_a_record_of_ten_mebibytes_with_its_key_is_planned_and_one_byte_more_is_refused_by_its_size() -> None:
    fits, over = (PUT.entry({"Data": bytes(length - 2), "PartitionKey": "ü"}, 0) for length in (10_485_760, 10_485_761))
    assert None is new_item("o", PUT, fits, None).refused
    assert "10,485,761 bytes" in str(new_item("o", PUT, over, None).refused)


@pytest.mark.parametrize(
    ("code", "status", "proof"),
    [
        ("ProvisionedThroughputExceededException", 400, Proof.NOT_PROCESSED),
        ("KMSThrottlingException", 400, Proof.NOT_PROCESSED),
        ("InvalidArgumentException", 400, Proof.REFUSED),
        ("ResourceNotFoundException", 400, Proof.BLOCKED),
        ("KMSAccessDeniedException", 400, Proof.BLOCKED),
        ("KMSDisabledException", 400, Proof.BLOCKED),
        ("KMSInvalidStateException", 400, Proof.BLOCKED),
        ("KMSNotFoundException", 400, Proof.BLOCKED),
        ("KMSOptInRequired", 400, Proof.BLOCKED),
        ("InternalFailureException", 500, Proof.NOTHING),
    ],
)
def test_a_whole_call_proves_what_the_code_of_the_model_is_documented_to_prove(
    code: str, status: int, proof: Proof
) -> None:
    assert proof is PUT.explain(Failure(classify(code, status), code, "", sdk_retry_attempts=0))


def test_an_explicit_hash_key_is_sent_and_not_counted() -> None:
    entry = PUT.entry({"Data": b"abc", "PartitionKey": "p", "ExplicitHashKey": "17"}, 0)
    assert 3 + 1 == entry.size_bytes
    assert {"Data": b"abc", "PartitionKey": "p", "ExplicitHashKey": "17"} == PUT.request([entry])["Records"][0]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"PartitionKey": "p"}, "has no Data"),
        ({"Data": b"", "PartitionKey": ""}, "PartitionKey that is empty"),
        ({"Data": "no base64", "PartitionKey": "p"}, "Data that is no base64 text"),
        ({"Data": 5, "PartitionKey": "p"}, "Data that is neither bytes nor base64 text"),
    ],
    ids=str,
)
def test_a_record_that_could_never_be_sent_is_refused_by_position(value: dict[str, object], problem: str) -> None:
    with pytest.raises(ManifestError, match=f"item at position 7 has .*{problem.removeprefix('has ')}") as refused:
        PUT.entry(value, 7)
    assert (7,) == refused.value.positions
