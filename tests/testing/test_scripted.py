"""The scripted clients: they answer in order, remember what was asked, and never let a wrong script pass."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from itemledger.testing import (
    AsyncScriptedClient,
    Call,
    FakeClock,
    ScriptedClient,
    ScriptError,
    Step,
    batch_get_response,
    describe_table_response,
    error,
)

A = {"pk": {"S": "A"}}
B = {"pk": {"S": "B"}}
ASK = {"RequestItems": {"KnownAnswer": {"Keys": [A, B]}}}


def test_steps_answer_in_order_whatever_their_form() -> None:
    steps: list[Any] = [
        describe_table_response("KnownAnswer", {"pk": "S"}),
        batch_get_response([A], unprocessed=[B]),
        error("ThrottlingException", "slow down", request_id="R-3"),
        ReadTimeoutError(endpoint_url="http://scripted.invalid"),
        lambda call: batch_get_response(call.request["RequestItems"]["KnownAnswer"]["Keys"]),
    ]
    with ScriptedClient(steps) as client:
        assert client.describe_table(TableName="KnownAnswer")["Table"]["KeySchema"] == [
            {"AttributeName": "pk", "KeyType": "HASH"}
        ]
        assert {"KnownAnswer": {"Keys": [B]}} == client.batch_get_item(**ASK)["UnprocessedKeys"]
        with pytest.raises(ClientError) as refused:
            client.batch_get_item(**ASK)
        assert refused.value.response["Error"] == {"Code": "ThrottlingException", "Message": "slow down"}
        assert refused.value.response["ResponseMetadata"]["RequestId"] == "R-3"
        with pytest.raises(ReadTimeoutError):
            client.batch_get_item(**ASK)
        assert {"KnownAnswer": [A, B]} == client.batch_get_item(**ASK)["Responses"]
        assert ["describe_table"] + ["batch_get_item"] * 4 == [call.operation for call in client.calls]


def test_a_recorded_request_is_not_changed_by_what_the_caller_does_later() -> None:
    client = ScriptedClient([{}])
    mutable = copy.deepcopy(ASK)
    client.batch_get_item(**mutable)
    mutable["RequestItems"]["KnownAnswer"]["Keys"].clear()
    assert [ASK] == client.requests


def test_a_step_can_be_repeated_although_the_caller_changes_its_answer() -> None:
    answer = batch_get_response([A])
    client = ScriptedClient([answer, answer])
    client.batch_get_item(**ASK)["Responses"]["KnownAnswer"].clear()
    assert {"KnownAnswer": [A]} == client.batch_get_item(**ASK)["Responses"]


def test_a_call_beyond_the_script_fails_and_still_fails_the_test_when_it_was_swallowed() -> None:
    def swallowing_code(client: ScriptedClient) -> None:
        with contextlib.suppress(Exception):
            for _ in range(2):
                client.batch_get_item(**ASK)

    with (
        pytest.raises(ScriptError, match=r"call 2 \(batch_get_item\) has no step: the script ended after 1"),
        ScriptedClient([{}]) as client,
    ):
        swallowing_code(client)


def test_other_parameters_than_expected_fail_the_call() -> None:
    client = ScriptedClient([Step({}, expect={**ASK, "ReturnConsumedCapacity": "TOTAL"}), Step({}, expect=ASK)])
    with pytest.raises(ScriptError, match=r"call 1 .* has other parameters"):
        client.batch_get_item(**ASK)
    client.batch_get_item(**ASK)


def test_another_operation_than_the_scripts_fails_the_call() -> None:
    client = ScriptedClient([Step({}, operation="describe_table")])
    with pytest.raises(ScriptError, match="call 1 is batch_get_item, but the script has describe_table there"):
        client.batch_get_item(**ASK)


def test_steps_nobody_asked_for_fail_the_test() -> None:
    with (
        pytest.raises(ScriptError, match="1 steps of the script were not asked for after 1 calls"),
        ScriptedClient([{}, {}]) as client,
    ):
        client.batch_get_item(**ASK)


def test_the_tests_own_failure_is_not_hidden_by_an_unused_script() -> None:
    with pytest.raises(KeyError), ScriptedClient([{}]):
        raise KeyError("the real failure")


def test_a_call_takes_its_time_on_the_fake_clock_even_when_it_fails() -> None:
    clock = FakeClock()
    client = ScriptedClient([Step({}, takes_s=1.5), Step(error("InternalServerError"), takes_s=2)], clock=clock)
    client.batch_get_item(**ASK)
    assert clock() == 1.5
    with pytest.raises(ClientError):
        client.batch_get_item(**ASK)
    assert clock() == 3.5
    assert [] == clock.sleeps


def test_time_without_a_clock_is_refused() -> None:
    with pytest.raises(TypeError, match="clock="):
        ScriptedClient([Step({}, takes_s=1)]).batch_get_item(**ASK)


def test_every_step_goes_to_exactly_one_of_many_threads() -> None:
    start = threading.Barrier(8)
    client = ScriptedClient([{"number": number} for number in range(400)])

    def worker(_: int) -> list[int]:
        start.wait()
        return [client.batch_get_item(**ASK)["number"] for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        seen = [number for numbers in pool.map(worker, range(8)) for number in numbers]
    client.check()
    assert list(range(400)) == sorted(seen)
    assert len(client.calls) == 400


def test_a_function_answers_from_the_request_and_two_calls_can_be_in_flight_at_once() -> None:
    both_here = threading.Barrier(2, timeout=10)

    def answer(call: Call) -> dict[str, Any]:
        both_here.wait()  # a client that let one call in at a time would break the barrier
        return batch_get_response(call.request["RequestItems"]["KnownAnswer"]["Keys"])

    client = ScriptedClient(respond=answer)

    def ask(key: dict[str, Any]) -> object:
        return client.batch_get_item(RequestItems={"KnownAnswer": {"Keys": [key]}})["Responses"]

    with ThreadPoolExecutor(2) as pool:
        assert [{"KnownAnswer": [A]}, {"KnownAnswer": [B]}] == list(pool.map(ask, [A, B]))


def test_a_function_may_answer_with_an_exception() -> None:
    client = ScriptedClient(respond=lambda _: KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        client.batch_get_item(**ASK)


def test_steps_and_a_function_together_are_refused() -> None:
    with pytest.raises(TypeError, match="either"):
        ScriptedClient([{}], respond=lambda _: {})
    with pytest.raises(TypeError, match="either"):
        ScriptedClient()


def test_any_operation_can_be_called_but_no_private_attribute_is_made_up() -> None:
    client = ScriptedClient([Step({"UnprocessedItems": {}}, operation="batch_write_item")])
    assert {"UnprocessedItems": {}} == client.batch_write_item(RequestItems={})
    assert not hasattr(client, "_endpoint")


def test_the_meta_names_region_endpoint_and_retries_and_takes_handlers() -> None:
    client = ScriptedClient(respond=lambda _: {}, region_name="eu-west-1")
    client.meta.events.register("after-call.dynamodb", lambda **_: None)
    assert ("eu-west-1", "http://scripted.invalid") == (client.meta.region_name, client.meta.endpoint_url)
    assert {"mode": "standard", "total_max_attempts": 1} == client.meta.config.retries  # type: ignore[attr-defined]


def test_the_async_client_follows_the_same_script() -> None:
    async def run() -> None:
        async with AsyncScriptedClient(
            [Step({"n": 1}, expect=ASK), error("InternalServerError", status=500)]
        ) as client:
            assert {"n": 1} == await client.batch_get_item(**ASK)
            with pytest.raises(ClientError, match="InternalServerError"):
                await client.batch_get_item(**ASK)
            assert [ASK, ASK] == client.requests

    asyncio.run(run())


def test_the_async_client_fails_a_script_that_was_not_followed() -> None:
    async def run() -> None:
        async with AsyncScriptedClient([{}, {}]) as client:
            await client.batch_write_item()

    with pytest.raises(ScriptError, match="1 steps"):
        asyncio.run(run())


def test_a_second_async_call_starts_before_the_first_is_answered() -> None:
    async def run() -> list[str]:
        order: list[str] = []

        def answer(call: Call) -> dict[str, Any]:
            order.append(f"answer {call.request['n']}")
            return {}

        client = AsyncScriptedClient(respond=answer)

        async def ask(number: int) -> None:
            order.append(f"ask {number}")
            await client.batch_get_item(n=number)

        await asyncio.gather(ask(1), ask(2))
        return order

    assert ["ask 1", "ask 2", "answer 1", "answer 2"] == asyncio.run(run())


def test_async_calls_overlap_when_the_answer_waits() -> None:
    async def run() -> list[dict[str, Any]]:
        both_here = asyncio.Barrier(2)

        async def answer(call: Call) -> dict[str, Any]:
            async with asyncio.timeout(10):
                await both_here.wait()
            return call.request

        client = AsyncScriptedClient(respond=answer)
        return list(await asyncio.gather(client.batch_get_item(n=1), client.batch_get_item(n=2)))

    assert [{"n": 1}, {"n": 2}] == asyncio.run(run())


def test_a_coroutine_is_no_answer_for_the_sync_client() -> None:
    async def answer(_: Call) -> dict[str, Any]:
        return {}

    with pytest.raises(TypeError, match="AsyncScriptedClient"):
        ScriptedClient(respond=answer).batch_get_item(**ASK)


def test_leftovers_can_be_given_as_a_whole_map() -> None:
    leftovers = {"Other": {"Keys": [A], "ConsistentRead": True}}
    assert leftovers == batch_get_response(unprocessed=leftovers)["UnprocessedKeys"]
    assert {} == batch_get_response()["UnprocessedKeys"]


def test_a_table_has_one_or_two_key_attributes() -> None:
    described: Any = describe_table_response("Orders", {"pk": "S", "sk": "N"})["Table"]
    assert [("pk", "HASH"), ("sk", "RANGE")] == [(k["AttributeName"], k["KeyType"]) for k in described["KeySchema"]]
    with pytest.raises(ValueError, match="not 3"):
        describe_table_response("Orders", {"a": "S", "b": "S", "c": "S"})
