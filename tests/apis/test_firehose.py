"""What Firehose has of its own: after an internal failure the record "might have completed or it might have failed"."""

from __future__ import annotations

import pytest

from itemledger.apis.aws_errors import classify
from itemledger.apis.firehose import PutRecordBatch
from itemledger.core.answer import Failure
from itemledger.core.reconcile import Finding
from itemledger.core.write_api import ItemError, Proof
from itemledger.ledger.planning import new_item
from tests.apis.messages import entries, settled

PUT = PutRecordBatch(delivery_stream_name="d")


def test_a_synthetic_internal_failure_of_one_record_leaves_its_end_unknown() -> None:
    answer = {
        "FailedPutCount": 2,
        "RequestResponses": [
            {"ErrorCode": "InternalFailure", "ErrorMessage": "m"},
            {"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "m"},
            {"RecordId": "r"},
        ],
    }
    mentions = settled(PUT, entries(PUT, [{"Data": b"a"}] * 3), answer)
    assert [Finding.UNKNOWN, Finding.TRANSIENT, Finding.SUCCEEDED] == [mention.finding for mention in mentions]
    assert ItemError("InternalFailure", "m") == mentions[0].value


def test_a_record_of_a_thousand_kibibytes_is_planned_and_one_byte_more_is_refused_by_its_size() -> None:
    fits, over = (PUT.entry({"Data": bytes(length)}, 0) for length in (1_024_000, 1_024_001))
    assert None is new_item("o", PUT, fits, None).refused
    assert "1,024,001 bytes" in str(new_item("o", PUT, over, None).refused)


@pytest.mark.parametrize(
    ("code", "status", "proof"),
    [
        ("InvalidArgumentException", 400, Proof.REFUSED),
        ("ResourceNotFoundException", 400, Proof.BLOCKED),
        ("InvalidKMSResourceException", 400, Proof.BLOCKED),
        ("InvalidSourceException", 400, Proof.BLOCKED),
        ("ServiceUnavailableException", 503, Proof.NOTHING),
        ("InternalFailure", 500, Proof.NOTHING),
    ],
)
def test_a_whole_call_proves_what_the_code_of_the_model_is_documented_to_prove(
    code: str, status: int, proof: Proof
) -> None:
    assert proof is PUT.explain(Failure(classify(code, status), code, "", sdk_retry_attempts=0))
