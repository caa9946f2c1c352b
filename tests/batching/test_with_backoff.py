"""Every item that is given ends in exactly one part of the report, whatever the service does; answers are synthetic."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from itemledger.apis import DeleteObjects, PublishBatch, PutEvents, PutRecordBatch, PutRecords, SendMessageBatch
from itemledger.apis.message_digests import body_md5
from itemledger.batch_report import BatchItem, BatchReport
from itemledger.errors import IncompleteBatchError, ManifestError
from itemledger.ledger import OnUnknown, Policy
from itemledger.ledger.memory import MemoryStore
from itemledger.testing import Call, FakeClock, error
from tests.batching.faces import PUTS, FakeTable, carrying, patient, told, with_backoff
from tests.drivers.both import DRIVERS, Driver

both_drivers = pytest.mark.parametrize("driver", DRIVERS, ids=str)
LOST = ReadTimeoutError(endpoint_url="http://127.0.0.1")
FIFO = SendMessageBatch(queue_url="https://sqs.us-east-1.amazonaws.com/1/q.fifo")
STANDARD = SendMessageBatch(queue_url="https://sqs.us-east-1.amazonaws.com/1/q")


def values(keys: str) -> list[dict[str, Any]]:
    return [{"pk": key, "n": ord(key)} for key in keys]


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"pk": f"k{number}"} for number in range(count)]


def run(driver: Driver, table: Any, items: Any, api: Any = PUTS, clock: FakeClock | None = None, **options: Any) -> Any:
    """The report, the table's calls in ``table.asked``."""
    clock = clock or FakeClock()
    client = driver.client(respond=table, clock=clock)
    return driver.run(with_backoff(driver, client, api, items, **{**patient(driver, clock), **options}))


# ------------------------------------------------------------------------------------------------------------ its parts


@both_drivers
def test_leftovers_are_sent_again_alone_until_all_is_written(driver: Driver) -> None:
    over = iter(["BC", "C", ""])
    table = FakeTable(lambda call: next(over))

    report = run(driver, table, values("ABC"))

    assert (3, "", "", "") == told(report)
    assert (["put ABC", "put BC", "put C"], 3) == (table.asked, report.calls)
    assert report.complete
    report.raise_unless_complete()


@both_drivers
def test_pauses_are_drawn_from_a_growing_capped_range(driver: Driver) -> None:
    clock, drawn, called_at = FakeClock(), [], []

    def jitter(low: float, high: float) -> float:
        drawn.append((low, high))
        return high

    policy = Policy(max_attempts=6, backoff_base_s=2.0, backoff_cap_s=7.0)

    def meddle(call: Call) -> str:
        called_at.append(clock())
        return "A"

    report = run(driver, FakeTable(meddle), values("A"), clock=clock, jitter=jitter, policy=policy)

    assert (0, "A", "", "") == told(report)
    assert {(0.0, 1.0)} == set(drawn)  # a share of the longest pause
    assert pytest.approx([2.0, 4.0, 7.0, 7.0, 7.0]) == [after - before for before, after in pairwise(called_at)]
    assert called_at[-1] == clock()  # no pause after the last attempt


@both_drivers
def test_what_is_left_over_on_every_attempt_is_given_up_as_a_leftover_not_as_refused(driver: Driver) -> None:
    table = FakeTable(lambda call: "B")

    report = run(driver, table, values("ABC"), policy=Policy(max_attempts=3))

    assert (2, "B", "", "") == told(report)
    assert ["put ABC", "put B", "put B"] == table.asked
    assert [3] == [item.attempts for item in report.leftover]
    with pytest.raises(IncompleteBatchError, match="2 written, 1 left over, 0 refused, 0 unknown") as raised:
        report.raise_unless_complete()
    assert report is raised.value.report


@both_drivers
def test_a_throttle_that_never_ends_is_left_over_at_the_deadline(driver: Driver) -> None:
    clock = FakeClock()

    report = run(driver, FakeTable(lambda call: error("ThrottlingException")), values("AB"), clock=clock, timeout_s=20)

    assert (0, "AB", "", "") == told(report)
    assert ["ThrottlingException"] * 2 == [item.error_code for item in report.leftover]
    assert 20 == clock()


@both_drivers
def test_an_item_for_which_the_batch_is_refused_is_found_and_the_others_are_written(driver: Driver) -> None:
    def meddle(call: Call) -> Any:
        return error("ValidationException", "one is bad") if "'C'" in str(call.request) else None

    report = run(driver, FakeTable(meddle), values("ABCD"))

    assert (3, "", "C", "") == told(report)
    assert ("ValidationException", "one is bad") == (report.refused[0].error_code, report.refused[0].error_message)


@both_drivers
def test_a_lost_answer_is_looked_up_and_never_called_failed_or_done_before(driver: Driver) -> None:
    table = FakeTable()

    def meddle(call: Call) -> Any:
        if len(table.asked) > 1:
            return None
        table.carry_out(call, but="B")  # A is written, B is not, and the answer to both is lost
        return LOST

    table = FakeTable(meddle)

    report = run(driver, table, values("AB"))

    assert (2, "", "", "") == told(report)
    assert ["put AB", "get AB", "put B"] == table.asked


@both_drivers
def test_what_no_look_up_settles_is_unknown(driver: Driver) -> None:
    report = run(driver, FakeTable(lambda call: LOST), values("AB"), policy=Policy(max_look_ups=2))

    assert (0, "", "", "AB") == told(report)
    assert ["ReadTimeoutError"] * 2 == [item.error_code for item in report.unknown]


@both_drivers
def test_left_over_after_an_earlier_send_of_unknown_end_stays_unknown(driver: Driver) -> None:
    """At-least-once: sent again after a lost answer, and refused for load until the deadline. The first may have got
    through, so the item is no leftover of which nothing was done."""
    sends = iter([LOST])

    async def respond(call: Call) -> Any:
        return next(sends, error("RequestThrottled", operation="SendMessageBatch"))

    policy = Policy(on_unknown=OnUnknown.AT_LEAST_ONCE)

    report = run(driver, respond, [{"MessageBody": "hello"}], STANDARD, policy=policy)

    assert [0] == [item.position for item in report.unknown]
    assert ((), 0) == (report.leftover, report.written)


@both_drivers
def test_an_error_that_every_call_would_meet_ends_the_sending_and_leaves_the_rest_over(driver: Driver) -> None:
    table = FakeTable(lambda call: error("AccessDeniedException"))

    report = run(driver, table, numbered(250))

    assert (0, 250, 1) == (report.written, len(report.leftover), report.calls)
    assert list(range(250)) == [item.position for item in report.leftover]
    assert report.terminal_error is not None
    assert "AccessDeniedException" == report.terminal_error.code
    with pytest.raises(IncompleteBatchError, match="AccessDeniedException"):
        report.raise_unless_complete()


@both_drivers
def test_who_may_write_and_not_read_still_writes_what_comes_after_a_lost_answer(driver: Driver) -> None:
    table = FakeTable()

    def meddle(call: Call) -> Any:
        if call.operation == "batch_get_item":
            return error("AccessDeniedException")
        return LOST if len(table.asked) == 1 else None

    table = FakeTable(meddle)

    report = run(driver, table, numbered(150))

    assert (125, 25) == (report.written, len(report.unknown))
    assert report.terminal_error is not None


# ---------------------------------------------------------------------------------------------------- what it is given


@both_drivers
def test_an_item_over_400_kb_is_refused_by_name_while_the_others_are_written(driver: Driver) -> None:
    body = "x" * (409_600 - len("pk") - len("B") - len("body"))
    table = FakeTable()

    report = run(driver, table, [{"pk": "A", "body": body}, {"pk": "B", "body": body + "x"}, {"pk": "C"}])

    assert (2, "", "B", "") == told(report)
    assert ["put AC"] == table.asked
    assert '{"S":"B"}' == report.refused[0].item_id
    assert "409,601" in str(report.refused[0].error_message)


@both_drivers
def test_a_call_takes_25_items_and_not_one_more(driver: Driver) -> None:
    """25 items of 400 KB are 9.8 MB: in BatchWriteItem the 16 MB of a request never count first."""
    asked: list[int] = []

    async def respond(call: Call) -> Any:
        asked.append(len(call.request["RequestItems"]["T"]))
        return {"UnprocessedItems": {}, **META}

    report = run(driver, respond, numbered(51))

    assert ([25, 25, 1], 51) == (asked, report.written)


@both_drivers
def test_a_call_of_messages_is_full_to_the_byte(driver: Driver) -> None:
    most = 1_048_576
    sizes: list[list[int]] = []

    async def respond(call: Call) -> Any:
        sizes.append([len(entry["MessageBody"]) for entry in call.request["Entries"]])
        return error("AccessDenied") if len(sizes) > 9 else _sent(call)

    parts = [most - 10, 10, most - 10, 11]

    report = run(driver, respond, [{"MessageBody": "x" * part} for part in parts], STANDARD)

    assert ([[most - 10, 10], [most - 10], [11]], 4) == (sizes, report.written)


@both_drivers
def test_items_of_one_key_are_sent_one_after_the_other_and_both_are_reported(driver: Driver) -> None:
    table = FakeTable()
    items = [{"pk": "A", "n": 1}, {"pk": "B"}, {"pk": "A", "n": 2}, {"pk": "A", "n": 2}]

    report = run(driver, table, items)

    assert (["put AB", "put A", "put A"], 4, 4) == (table.asked, report.written, report.total)
    assert {"N": "2"} == table.items["A"]["n"]


@both_drivers
def test_equal_messages_are_all_sent(driver: Driver) -> None:
    """Ids that start again with each ten, as callers make them for the SDK."""
    bodies: list[str] = []

    async def respond(call: Call) -> Any:
        bodies.extend(entry["MessageBody"] for entry in call.request["Entries"])
        return _sent(call)

    items = [{"Id": str(number % 10), "MessageBody": "tick"} for number in range(35)]

    report = run(driver, respond, items, STANDARD)

    assert (35, 35) == (report.written, len(bodies))


@both_drivers
def test_equal_messages_of_a_fifo_queue_are_not_taken_for_repeats(driver: Driver) -> None:
    """Within a call of the helper and over two of them, in chunks and across them."""
    keys: list[str] = []

    async def respond(call: Call) -> Any:
        keys.extend(entry["MessageDeduplicationId"] for entry in call.request["Entries"])
        return _sent(call)

    items = [{"Id": str(number % 10), "MessageBody": "tick", "MessageGroupId": "g"} for number in range(20)]

    run(driver, respond, items, FIFO)
    run(driver, respond, items, FIFO)

    assert (40, 40) == (len(keys), len(set(keys)))


@both_drivers
def test_messages_of_one_deduplication_id_go_to_the_queue_as_they_are(driver: Driver) -> None:
    asked: list[int] = []

    async def respond(call: Call) -> Any:
        asked.append(len(call.request["Entries"]))
        return _sent(call)

    items = [{"MessageBody": body, "MessageGroupId": body, "MessageDeduplicationId": "same"} for body in "ab"]

    assert (2, [1, 1]) == (run(driver, respond, items, FIFO).written, asked)


@both_drivers
def test_behind_a_message_that_did_not_go_nothing_of_its_group_goes(driver: Driver) -> None:
    """In whatever chunk it comes: or the queue would have the second of a group and not the first."""
    bodies: list[str] = []

    async def respond(call: Call) -> Any:
        if any(entry["MessageBody"] == "99" for entry in call.request["Entries"]):
            return error("RequestThrottled", operation="SendMessageBatch")
        bodies.extend(entry["MessageBody"] for entry in call.request["Entries"])
        return _sent(call)

    def message(number: int) -> dict[str, str]:
        group = "stuck" if number in (99, 150) else f"g{number}"
        return {"MessageBody": str(number), "MessageGroupId": group}

    report = run(driver, respond, map(message, range(200)), FIFO, timeout_s=30, concurrency=2)

    assert 200 == report.total
    assert {99, 150} <= {item.position for item in report.leftover}
    assert not {"99", "150"} & set(bodies)
    assert report.written == len(bodies) == len(set(bodies))


@both_drivers
def test_what_the_caller_changes_in_an_item_after_it_was_drawn_is_not_sent(driver: Driver) -> None:
    """One dictionary that is filled again for each item: the SDK would write the last one, many times."""

    def items() -> Iterator[dict[str, Any]]:
        item: dict[str, Any] = {}
        for letter in "ABC":
            item["pk"] = letter
            yield item

    table = FakeTable(lambda call: "B")

    report = run(driver, table, items(), policy=Policy(max_attempts=1))

    assert (2, "B", "", "") == told(report)
    assert {"A", "C"} == set(table.items)


@both_drivers
def test_nothing_given_is_nothing_sent(driver: Driver) -> None:
    assert BatchReport() == run(driver, FakeTable(), [])


@both_drivers
def test_each_item_is_told_of_once_with_its_place_and_what_the_service_calls_it(driver: Driver) -> None:
    seen: list[BatchItem] = []

    async def respond(call: Call) -> Any:
        return _sent(call)

    run(driver, respond, [{"MessageBody": str(n)} for n in range(230)], STANDARD, on_item=seen.append)

    assert list(range(230)) == [item.position for item in seen]
    assert [f"m-{n}" for n in range(230)] == [item.object_ref for item in seen]
    assert [str(n + 1) for n in range(230)] == [item.item_id for item in seen]


# ------------------------------------------------------------------------------------------------------- what ends it


@both_drivers
@pytest.mark.parametrize("bad", [103, 0])
def test_an_item_that_could_never_be_sent_is_named_by_its_place_and_the_report_rides_along(
    driver: Driver, bad: int
) -> None:
    table = FakeTable()
    items: list[Any] = numbered(150)
    items[bad] = {"no": "key"}

    with carrying(ManifestError) as box:
        run(driver, table, items)

    raised, report = box
    assert (bad,) == raised.positions
    assert bad == report.total
    assert (bad // 100 * 100, list(range(bad // 100 * 100, bad))) == (
        report.written,
        [item.position for item in report.leftover],
    )


@both_drivers
def test_what_the_items_raise_is_raised_as_it_comes_with_the_report(driver: Driver) -> None:
    def items() -> Iterator[Any]:
        yield from numbered(103)
        raise OSError("the file is gone")

    with carrying(OSError) as box:
        run(driver, FakeTable(), items())

    assert (100, [100, 101, 102]) == (box[1].written, [item.position for item in box[1].leftover])


@both_drivers
def test_a_callback_that_raises_loses_nothing_of_the_report(driver: Driver) -> None:
    def on_item(item: BatchItem) -> None:
        if item.position == 1:
            raise ZeroDivisionError

    table = FakeTable()

    with carrying(ZeroDivisionError) as box:
        run(driver, table, values("ABC"), on_item=on_item)

    assert (3, "", "", "") == told(box[1])


@both_drivers
def test_a_callback_that_raises_does_not_take_the_place_of_an_interrupt(driver: Driver) -> None:
    def meddle(call: Call) -> Any:
        raise KeyboardInterrupt

    def on_item(item: BatchItem) -> None:
        raise ZeroDivisionError

    with carrying(KeyboardInterrupt) as box:
        run(driver, FakeTable(meddle), values("AB"), on_item=on_item)

    assert (0, "", "", "AB") == told(box[1])


@both_drivers
def test_an_interrupt_before_the_first_call_leaves_everything_over(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the rows are written: some have one, some do not."""
    planned = MemoryStore._insert

    def insert(store: MemoryStore, operation_id: str, item: Any, now: float) -> None:
        if item.item_id == '{"S":"B"}':
            raise KeyboardInterrupt
        planned(store, operation_id, item, now)

    monkeypatch.setattr(MemoryStore, "_insert", insert)
    table = FakeTable()

    with carrying(KeyboardInterrupt) as box:
        run(driver, table, values("ABC"))

    assert ([], (0, "ABC", "", "")) == (table.asked, told(box[1]))


@both_drivers
def test_an_item_that_made_the_chunk_before_it_go_is_reported_when_that_is_cut_short(driver: Driver) -> None:
    def meddle(call: Call) -> Any:
        raise KeyboardInterrupt

    with carrying(KeyboardInterrupt) as box:
        run(driver, FakeTable(meddle), [*values("AB"), *values("A")])

    assert (0, "A", "", "AB") == told(box[1])
    assert 2 == box[1].leftover[0].position


@both_drivers
def test_ctrl_c_in_a_call_leaves_its_items_unknown_and_the_rest_over(driver: Driver) -> None:
    table = FakeTable()

    def meddle(call: Call) -> Any:
        if len(table.asked) == 2:
            raise KeyboardInterrupt
        return None

    table = FakeTable(meddle)

    with carrying(KeyboardInterrupt) as box:
        run(driver, table, numbered(60))

    report = box[1]
    assert (25, 10, 25) == (report.written, len(report.leftover), len(report.unknown))
    assert 60 == report.total


def test_a_cancellation_carries_the_report_and_what_was_in_flight_is_unknown() -> None:
    driver = DRIVERS[1]

    async def body() -> BatchReport:
        begun = asyncio.Event()

        async def respond(call: Call) -> Any:
            begun.set()
            await asyncio.Event().wait()

        items = values("ABC")
        sending = asyncio.create_task(with_backoff(driver, driver.client(respond=respond), PUTS, items))
        await begun.wait()
        sending.cancel()
        try:
            await sending
        except asyncio.CancelledError as cancelled:
            report: BatchReport = cancelled.report  # type: ignore[attr-defined]
            return report
        raise AssertionError("it was cancelled")

    assert (0, "", "", "ABC") == told(driver.run(body()))


@both_drivers
def test_a_client_that_could_send_twice_unseen_is_refused_before_anything_is_sent(driver: Driver) -> None:
    client = driver.client([])
    client.meta.config.retries["total_max_attempts"] = 3

    with carrying(ManifestError) as box:
        driver.run(with_backoff(driver, client, STANDARD, [{"MessageBody": "a"}]))

    assert "allow_sdk_retries" in str(box[0])
    assert ([], 1) == (client.calls, len(box[1].leftover))


# --------------------------------------------------------------------------------------------------------- other APIs


def _sent(call: Call) -> dict[str, Any]:
    entries = call.request["Entries"]
    done = [
        {
            "Id": entry["Id"],
            "MessageId": f"m-{entry['MessageBody']}",
            "MD5OfMessageBody": body_md5(entry["MessageBody"]),
        }
        for entry in entries
    ]
    return {"Successful": done, "Failed": [], "ResponseMetadata": {"RequestId": "s", "RetryAttempts": 0}}


META = {"ResponseMetadata": {"RequestId": "r", "RetryAttempts": 0, "HTTPStatusCode": 200}}


def _positional(results: str, count: str, ref: dict[str, str], failed: str) -> Any:
    def answer(entries: list[Any]) -> dict[str, Any]:
        listed = [{"ErrorCode": failed, "ErrorMessage": "m"} if entry == "B" else ref for entry in entries]
        return {results: listed, count: entries.count("B"), **META}

    return answer


@both_drivers
@pytest.mark.parametrize(
    ("api", "item", "entry_of", "answer"),
    [
        pytest.param(
            PutRecords(stream_name="s"),
            lambda letter: {"Data": "eA==", "PartitionKey": letter},
            lambda request: [each["PartitionKey"] for each in request["Records"]],
            _positional(
                "Records",
                "FailedRecordCount",
                {"SequenceNumber": "1", "ShardId": "s"},
                "ProvisionedThroughputExceededException",
            ),
            id="kinesis",
        ),
        pytest.param(
            PutRecordBatch(delivery_stream_name="s"),
            lambda letter: {"Data": {"A": "QQ==", "B": "Qg==", "C": "Qw=="}[letter]},
            lambda request: [bytes(each["Data"]).decode() for each in request["Records"]],
            _positional("RequestResponses", "FailedPutCount", {"RecordId": "1"}, "ServiceUnavailableException"),
            id="firehose",
        ),
        pytest.param(
            PutEvents(),
            lambda letter: {"Source": "s", "DetailType": letter, "Detail": "{}"},
            lambda request: [each["DetailType"] for each in request["Entries"]],
            _positional("Entries", "FailedEntryCount", {"EventId": "1"}, "ThrottlingException"),
            id="eventbridge",
        ),
    ],
)
def test_of_a_positional_answer_only_the_failed_are_sent_again(
    driver: Driver, api: Any, item: Any, entry_of: Any, answer: Any
) -> None:
    asked: list[str] = []

    async def respond(call: Call) -> Any:
        letters_ = entry_of(call.request)
        asked.append("".join(letters_))
        return answer(letters_ if len(asked) == 1 else ["A"] * len(letters_))

    report = run(driver, respond, [item(letter) for letter in "ABC"], api)

    assert (["ABC", "B"], 3) == (asked, report.written)


@both_drivers
def test_objects_are_deleted_a_thousand_in_a_call(driver: Driver) -> None:
    asked: list[int] = []

    async def respond(call: Call) -> Any:
        objects = call.request["Delete"]["Objects"]
        asked.append(len(objects))
        return {"Deleted": [{"Key": each["Key"]} for each in objects], **META}

    report = run(driver, respond, [{"Key": str(number)} for number in range(1_200)], DeleteObjects(bucket="b"))

    assert ([1_000, 200], 1_200) == (asked, report.written)


@both_drivers
def test_of_an_answer_that_names_entries_by_id_only_the_failed_are_published_again(driver: Driver) -> None:
    asked: list[str] = []

    async def respond(call: Call) -> Any:
        entries = call.request["PublishBatchRequestEntries"]
        asked.append("".join(entry["Message"] for entry in entries))
        failed = [entry["Id"] for entry in entries if entry["Message"] == "b" and len(asked) == 1]
        return {
            "Successful": [{"Id": each["Id"], "MessageId": "m"} for each in entries if each["Id"] not in failed],
            "Failed": [{"Id": each, "Code": "InternalError", "SenderFault": False} for each in failed],
            **META,
        }

    api = PublishBatch(topic_arn="arn:aws:sns:us-east-1:123456789012:t")

    report = run(driver, respond, [{"Message": letter} for letter in "abc"], api)

    assert (["abc", "b"], 3) == (asked, report.written)
