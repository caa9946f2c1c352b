"""What the SDK makes of a damaged 200: the reason why nothing may be read from the absence of an error.

Synthetic, on the SDK's own parser and checksum; the same on every supported version.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ChecksumError

from itemledger.testing import (
    Attempt,
    CutBody,
    EmptyBody,
    Fault,
    FaultInjector,
    NotJson,
    WrongCrc,
    instant_retries,
    serve_rows,
)
from itemledger.testing.wire import Forward, WireAnswer

if TYPE_CHECKING:
    from tests.testing.conftest import MakeClient

ROWS = [{"pk": {"S": name}} for name in "ABCD"]
UPSTREAM = serve_rows({"T": ROWS})
INTACT = {"Responses": {"T": ROWS}, "UnprocessedKeys": {}}
ASK: Any = {"RequestItems": {"T": {"Keys": ROWS}}}

UNDER_A_FULL_CRC = [CutBody(at=0.5), CutBody(at=0), CutBody(at=1)]
WITHOUT_CRC = [CutBody(at=0.5, keep_crc=False), CutBody(at=0, keep_crc=False), EmptyBody(), NotJson()]


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("fault", [*UNDER_A_FULL_CRC, WrongCrc()], ids=str)
def test_legacy_mode_retries_and_then_raises_checksum_error(
    make_client: MakeClient, fault: Fault, attempts: int
) -> None:
    client = make_client("legacy", attempts)
    with (
        instant_retries(client),
        FaultInjector(client, [fault] * attempts, upstream=UPSTREAM) as injector,
        pytest.raises(ChecksumError),
    ):
        client.batch_get_item(**ASK)
    assert attempts == injector.attempts


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("fault", UNDER_A_FULL_CRC, ids=str)
@pytest.mark.parametrize("mode", ["standard", "adaptive"])
def test_standard_mode_retries_and_then_returns_a_cut_body_as_an_empty_success(
    make_client: MakeClient, mode: str, fault: Fault, attempts: int
) -> None:
    client = make_client(mode, attempts)
    with instant_retries(client), FaultInjector(client, [fault] * attempts, upstream=UPSTREAM):
        response: Any = client.batch_get_item(**ASK)
    metadata = response.pop("ResponseMetadata")
    assert {} == response
    assert (200, attempts - 1) == (metadata["HTTPStatusCode"], metadata["RetryAttempts"])


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("mode", ["standard", "adaptive"])
def test_standard_mode_retries_and_then_returns_a_wrong_crc_unverified(
    make_client: MakeClient, mode: str, attempts: int
) -> None:
    client = make_client(mode, attempts)
    with instant_retries(client), FaultInjector(client, [WrongCrc()] * attempts, upstream=UPSTREAM):
        response: Any = client.batch_get_item(**ASK)
    assert response.pop("ResponseMetadata")["RetryAttempts"] == attempts - 1
    assert INTACT == response


@pytest.mark.parametrize("fault", WITHOUT_CRC, ids=str)
@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_every_mode_returns_a_damaged_body_without_crc_at_once_as_an_empty_success(
    make_client: MakeClient, mode: str, fault: Fault
) -> None:
    client = make_client(mode, attempts=3)
    with FaultInjector(client, [fault], upstream=UPSTREAM) as injector:
        response: Any = client.batch_get_item(**ASK)
    metadata = response.pop("ResponseMetadata")
    assert {} == response
    assert metadata["RetryAttempts"] == 0
    assert "x-amz-crc32" not in metadata["HTTPHeaders"]
    assert injector.attempts == 1


@pytest.mark.parametrize("mode", ["legacy", "standard"])
@pytest.mark.parametrize("fault", [*UNDER_A_FULL_CRC, WrongCrc()], ids=str)
def test_one_damaged_answer_is_healed_by_one_retry(make_client: MakeClient, mode: str, fault: Fault) -> None:
    client = make_client(mode, attempts=2)
    with instant_retries(client), FaultInjector(client, [fault], upstream=UPSTREAM):
        response: Any = client.batch_get_item(**ASK)
    assert response.pop("ResponseMetadata")["RetryAttempts"] == 1
    assert INTACT == response


@pytest.mark.parametrize("fault", [CutBody(at=0.5), WrongCrc()], ids=str)
def test_an_answer_that_came_without_crc_gets_one_to_contradict(fault: Fault) -> None:
    body = b'{"Responses":{}}'
    plan = fault.play(Attempt(1, "batch_get_item", "http://127.0.0.1:1", b"{}"))
    assert Forward() == next(plan)
    with pytest.raises(StopIteration) as end:
        plan.send(WireAnswer(200, {}, body))
    damaged: WireAnswer = end.value.value
    assert damaged.headers["x-amz-crc32"] != str(zlib.crc32(damaged.body))
    assert str(len(damaged.body)) == damaged.headers.get("content-length", str(len(body)))


def test_a_cut_answer_to_a_write_reads_as_all_written(make_client: MakeClient) -> None:
    client = make_client(attempts=2)
    writes: Any = {"T": [{"PutRequest": {"Item": ROWS[0]}}]}
    with (
        instant_retries(client),
        FaultInjector(client, [CutBody(at=0.5)] * 2, upstream=lambda _: {"UnprocessedItems": writes}),
    ):
        assert "UnprocessedItems" not in client.batch_write_item(RequestItems=writes)


def test_a_cut_that_cuts_nothing_fails_the_test(make_client: MakeClient) -> None:
    with (
        pytest.raises(AssertionError, match="cuts nothing off a body of"),
        FaultInjector(client := make_client(), [CutBody(at=10_000)], upstream=UPSTREAM),
    ):
        client.batch_get_item(**ASK)
