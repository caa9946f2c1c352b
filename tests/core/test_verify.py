"""What verify accepts, and the accidents that it finds; falsifications are in test_forgeries.py."""

from __future__ import annotations

import hashlib
import io
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

import itemledger as il
from itemledger import evidence
from itemledger.apis.dynamodb_get import ABSENT_ACCEPTED
from itemledger.core.result import StopReason
from itemledger.core.verify import Verified, verify
from itemledger.errors import EvidenceError
from itemledger.testing import ScriptedClient, batch_get_response
from tests.core.evidence_files import file_of, parsed, random_result, random_results, rechained
from tests.core.support import answer, calls, failure, read_of, result_of, settings


def small_file() -> list[bytes]:
    """Of a real read through the blocking driver: three keys, two calls, one key that is not there."""
    left = [{"pk": {"S": "B"}}]
    steps = [batch_get_response([{"pk": {"S": "A"}}], unprocessed=left), batch_get_response([{"pk": {"S": "B"}}])]
    with ScriptedClient(steps) as client:
        return file_of(il.read_batch(client, "KnownAnswer", ["A", "B", "Z"], {"pk": "S"}, sleep=lambda _: None))


@given(st.integers(0, 2**32), st.sampled_from(["all", "none"]))
@example_settings(max_examples=150)
def test_the_file_of_any_read_in_any_legal_order_is_accepted(seed: int, policy: str) -> None:
    result = random_result(random.Random(seed))
    lines = file_of(result, policy=policy)
    verified = evidence.verify(lines)
    assert (len(result.returned), len(result.processed_not_returned), len(result.unresolved)) == (
        verified.returned,
        verified.processed_not_returned,
        verified.unresolved,
    )
    assert (result.stop_reason, result.totals.label, len(lines)) == (
        verified.stop_reason,
        verified.label,
        verified.lines,
    )


@given(st.integers(0, 2**32))
@example_settings(max_examples=250)
def test_the_files_of_two_tables_that_share_their_calls_are_accepted(seed: int) -> None:
    for result in random_results(random.Random(seed)):
        verified = evidence.verify(file_of(result, policy="none", tables=2))
        assert (len(result.unresolved), result.stop_reason) == (verified.unresolved, verified.stop_reason)


def test_calls_may_end_in_another_order_than_they_started() -> None:
    read = read_of((settings(), "ABCDEF"), call_items=2, concurrency=3)
    for call in reversed(calls(read.due(0.0))):
        read.answered(call, answer(call), 1.0)
    lines = file_of(result_of(read))
    assert [3, 2, 1] == [line["call"] for line in parsed(lines) if line["kind"] == "call"]
    assert 6 == verify(lines).returned


def test_of_two_passing_errors_the_first_ended_the_read() -> None:
    read = read_of((settings(), "ABCD"), call_items=2, concurrency=2)
    for call in calls(read.due(0.0)):
        read.answered(call, replace(failure(), request_id=f"r-{call.number}"), 1.0)
    result = result_of(read)
    assert result.terminal_error is not None
    assert "r-1" == result.terminal_error.request_id
    assert il.Decision.RETRY is verify(file_of(result)).decision


def test_a_flipped_byte_is_found_wherever_it_is() -> None:
    lines = small_file()
    evidence.verify(lines)
    whole = b"".join(lines)
    unnoticed = [i for i in range(len(whole)) if accepted(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])]
    assert [] == unnoticed


def test_a_file_cut_anywhere_is_refused() -> None:
    whole = b"".join(small_file())
    assert [] == [i for i in range(len(whole)) if accepted(whole[:i])]


def test_a_byte_put_in_anywhere_is_found() -> None:
    whole = b"".join(small_file())
    assert [] == [i for i in range(len(whole) + 1) if accepted(whole[:i] + b" " + whole[i:])]


def test_lines_left_out_doubled_or_swapped_are_found() -> None:
    lines = small_file()
    for i in range(len(lines)):
        for changed in (
            [*lines[:i], *lines[i + 1 :]],
            [*lines[: i + 1], *lines[i:]],
            [*lines[:i], *reversed(lines[i : i + 2]), *lines[i + 2 :]],
        ):
            assert changed == lines or not accepted(b"".join(changed))


DAMAGE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int | None, str]] = {
    "nothing there": (lambda lines: [], None, "the file is empty; give the evidence file that a read wrote"),
    "no summary": (
        lambda lines: lines[:3],
        None,
        "the file ends early, before its summary: its 3 lines are intact and show what was settled until then, but "
        "they prove no conclusion",
    ),
    "no trailer": (lambda lines: lines[:5], None, "the file ends early, before its trailer: its 5 lines are intact"),
    "half a line": (
        lambda lines: [*lines[:3], lines[3][:40]],
        4,
        "line 4: does not end with a newline: the file is cut here, after 3 intact lines",
    ),
    "more than there was": (
        lambda lines: [*lines, lines[0]],
        7,
        "line 7: comes after the trailer, which is the last line of a file",
    ),
    "an empty line more": (lambda lines: [*lines, b"\n"], 7, "line 7: comes after the trailer"),
    "another header": (
        lambda lines: [b'{"kind":"header"}\n'],
        1,
        "line 1: this is no evidence file of schema itemledger/evidence/1, or its first line is gone",
    ),
    "no header": (lambda lines: lines[1:], 1, "line 1: this is no evidence file of schema itemledger/evidence/1"),
    "another file": (lambda lines: [b"id,name\n"], 1, "line 1: is not JSON, so bytes of it were changed"),
    "endless nesting": (lambda lines: [b"[" * 100_000 + b"\n"], 1, "line 1: is not JSON"),
    "no object": (lambda lines: [b"[]\n"], 1, "line 1: is not spelled as the log spells it"),
    "white space": (
        lambda lines: [lines[0], lines[1].replace(b'":', b'": ', 1)],
        2,
        "line 2: is not spelled as the log spells it, so bytes of it were changed",
    ),
    "NaN": (lambda lines: [lines[0], b'{"n":NaN}\n'], 2, "line 2: is not JSON"),
    "a line gone": (
        lambda lines: [lines[0], lines[2]],
        2,
        "line 2: does not carry the hash of the line before it, so that line or this one was changed, moved or removed",
    ),
    "another number of lines": (
        lambda lines: [*lines[:-1], lines[-1].replace(b'"lines":6', b'"lines":7')],
        6,
        "line 6: the trailer's number of lines, or its hash of them, is not that of the lines before it",
    ),
    "another hash": (
        lambda lines: [*lines[:-1], re.sub(b'"sha256":"[^"]*"', b'"sha256":"' + b"0" * 64 + b'"', lines[-1])],
        6,
        "line 6: the trailer's number of lines, or its hash of them, is not that of the lines before it",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_in_a_sentence_with_its_line(name: str) -> None:
    damage, line, sentence = DAMAGE[name]
    with pytest.raises(EvidenceError, match="^" + re.escape(sentence)) as caught:
        verify(damage(small_file()))
    assert line == caught.value.line


def test_what_a_file_says_is_told_when_it_is_true() -> None:
    lines = small_file()
    verified = verify(lines)
    header = parsed(lines)[0]
    assert verified == Verified(
        observation_id=header["observation"]["id"],
        observation_number=1,
        parent_id=None,
        first_id=None,
        started_at=header["observation"]["started_at"],
        table="KnownAnswer",
        tables=1,
        consistent_read=False,
        policy="all",
        decision=il.Decision.REJECT,
        stop_reason=StopReason.COMPLETE,
        label=il.EvidenceLabel.SYNTHETIC,
        keys=3,
        returned=2,
        processed_not_returned=1,
        unresolved=0,
        duplicates_folded=0,
        calls=2,
        application_passes=2,
        sdk_retry_attempts=0,
        consumed=None,
        abandoned_calls=0,
        lines=6,
        sha256=hashlib.sha256(b"".join(lines)).hexdigest(),
    )


def test_a_check_of_the_callers_own_sees_every_line_and_can_refuse_one() -> None:
    seen: list[str] = []

    def check(line: Mapping[str, Any]) -> str | None:
        seen.append(line["kind"])
        return "is one call too many" if line.get("call") == 2 else None

    with pytest.raises(EvidenceError, match=r"^line 4: is one call too many$"):
        verify(small_file(), check)
    assert ["header", "manifest", "call", "call"] == seen


@pytest.mark.parametrize(
    ("member", "value"), [("consistent_read", True), ("table", "Another"), ("projection", ["total"])]
)
def test_a_header_that_promises_another_request_than_was_made_is_found(member: str, value: object) -> None:
    lines = parsed(small_file())
    for line in lines:
        if member in line:
            line[member] = value
    with pytest.raises(EvidenceError, match=r"^line 3: call 1 was not made as the header says"):
        evidence.verify(rechained(lines))


@pytest.mark.parametrize(
    ("projection", "sentence"),
    [([], "no read can have been made as the header says: projection is empty"), ([[3]], "no read can have been made")],
)
def test_a_header_that_no_read_can_have_had_is_found(projection: object, sentence: str) -> None:
    lines = parsed(small_file())
    lines[0]["projection"] = projection
    with pytest.raises(EvidenceError, match=f"^line 3: {sentence}"):
        evidence.verify(rechained(lines))


def test_a_call_without_known_key_attributes_is_found() -> None:
    lines = parsed(small_file())
    lines[0]["key"] = None
    with pytest.raises(EvidenceError, match=r"^line 3: a call was made although the header knows no key attributes"):
        evidence.verify(rechained(lines))


def test_observed_answers_of_a_local_endpoint_are_found() -> None:
    """A label raised on every call and in the summary: only the endpoint still tells."""
    lines = parsed(small_file())
    for line in lines:
        if "label" in line:
            line["label"] = "observed"
        if line["kind"] == "call":
            line.update(body_check="crc32", response_bytes=10)
    lines[0]["environment"]["endpoint_host"] = "dynamodb.eu-west-1.amazonaws.com"
    assert il.EvidenceLabel.OBSERVED is evidence.verify(rechained(lines)).label
    for host, named in (("localhost", "localhost"), (None, "an unnamed endpoint")):
        lines[0]["environment"]["endpoint_host"] = host
        with pytest.raises(
            EvidenceError, match=rf"^line 3: call 1 is labelled observed, but {named} is no host of AWS$"
        ):
            evidence.verify(rechained(lines))


def test_a_policy_other_than_the_environment_was_recorded_under_is_found() -> None:
    lines = parsed(small_file())
    lines[0]["environment"]["policy"] = "irrelevant"
    with pytest.raises(EvidenceError, match=r"^line 1: the environment was recorded under policy irrelevant"):
        evidence.verify(rechained(lines))


def test_an_observation_without_an_id_of_its_own_is_found() -> None:
    lines = parsed(small_file())
    for line in lines:
        if "observation" in line:
            line["observation"]["id"] = ""
    with pytest.raises(EvidenceError, match=r"^line 1: the observation has no id of its own"):
        evidence.verify(rechained(lines))


def test_leniency_that_the_header_does_not_allow_is_found() -> None:
    lines = parsed(small_file())
    next(line for line in lines if line["kind"] == "call")["notes"] = [ABSENT_ACCEPTED]
    with pytest.raises(EvidenceError, match="call 1 accepted an answer without UnprocessedKeys"):
        evidence.verify(rechained(lines))


def test_a_call_of_more_keys_than_the_api_takes_is_found() -> None:
    client = ScriptedClient(respond=lambda call: batch_get_response([], table="T"))
    pages: list[bytes] = []
    log = evidence.EvidenceLog(evidence.Tokeniser(None))
    seen: list[il.PassEvidence] = []
    *_, summary = il.iter_read(client, "T", [f"k{i:03}" for i in range(100)], "pk", on_evidence=seen.append)
    assert isinstance(summary, il.ReadResult)
    (entry,) = seen
    more = [f"k{i:03}" for i in range(101)]
    entry = replace(entry, requested=tuple(more), positions=tuple(range(101)), findings=(entry.findings[0],) * 101)
    whole = replace(summary, requested_order=tuple(more), dispositions=(summary.dispositions[0],) * 101)
    pages.append(
        log.header(
            observation=summary.observation,
            settings=summary.settings,
            bounds=summary.bounds,
            manifest_size=101,
            environment={},
            policy="none",
        )
    )
    pages += log.manifest(more)
    pages += [log.call(entry), log.summary(whole, il.Decision.ACCEPT), log.trailer()]
    with pytest.raises(EvidenceError, match="call 1 asks for 101 keys; BatchGetItem takes 100"):
        evidence.verify(pages)


def accepted(whole: bytes) -> bool:
    try:
        evidence.verify(io.BytesIO(whole))  # lines as a file in binary mode gives them
    except EvidenceError:
        return False
    return True
