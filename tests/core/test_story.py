"""One key's story, as it is read by somebody who was woken up for it."""

from __future__ import annotations

import re

import pytest

import itemledger as il
from itemledger.core.answer import FailureCause
from itemledger.core.read import Read
from itemledger.core.result import StopReason
from itemledger.core.story import explain
from itemledger.errors import EvidenceError
from itemledger.testing import ScriptedClient, batch_get_response
from tests.core.evidence_files import HASHED, PLAIN, file_of, full_answer, parsed, rechained, stepped
from tests.core.support import answer, calls, failure, read_of, result_of, settings

SYNTHETIC = "This rests on answers labelled synthetic."
UNRESOLVED = "Ends unresolved: nothing is known of it, neither that it is there nor that it is not."
RETRY = "Decision retry, for the caller: resume from the hold record: a new observation of the unresolved keys only."


def story(read: Read, key: str) -> list[str]:
    """Without the sentence that every story opens with."""
    opening, *rest = explain(file_of(result_of(read)), HASHED.token(key), name=key)
    assert re.fullmatch(
        f"{key} \\(position \\d\\) is one of the \\d keys that observation o-1 asked table T for.", opening
    )
    return rest


def test_a_key_left_over_and_then_returned() -> None:
    read = stepped(lambda c: answer(c, left="BD", absent="Z"), lambda c: answer(c, left="D"), answer)
    assert [
        "D (position 3) is one of the 5 keys that observation o-1 asked table T for.",
        "Asked in call 1 (pass 1, request r-1): left over, cause unknown.",
        "Asked again in call 2 (pass 2, request r-2): left over, cause unknown.",
        "Asked again in call 3 (pass 3, request r-3): returned.",
        "Ends returned: its item was read.",
        SYNTHETIC,
    ] == explain(file_of(result_of(read)), HASHED.token("D"), name="D")


def test_a_key_that_is_not_there() -> None:
    assert [
        "Asked in call 1 (pass 1, request r-1): processed, and no item came back.",
        "Ends processed_not_returned: the service looked and showed this read no item.",
        SYNTHETIC,
    ] == story(stepped(lambda c: answer(c, absent="Z")), "Z")


def test_leftovers_have_their_reason() -> None:
    read = stepped(
        lambda c: full_answer(c, left="B"), lambda c: answer(c, left="B", throttled=True), answer, concurrency=1
    )
    assert [
        "Asked in call 1 (pass 1, request r-1): left over because the answer was full.",
        "Asked again in call 2 (pass 2, request r-2): left over after the service had throttled an attempt of this "
        "call.",
        "Asked again in call 3 (pass 3, request r-3): returned.",
    ] == story(read, "B")[:3]


def test_a_key_left_over_until_the_passes_were_used_up() -> None:
    read = stepped(lambda c: answer(c, left="D"), lambda c: answer(c, left="D"), max_passes=2)
    assert [
        UNRESOLVED,
        "The read stopped because keys were left over on their last allowed pass.",
        RETRY,
        SYNTHETIC,
    ] == story(read, "D")[2:]


def test_a_failed_call_proves_nothing_and_is_no_pass() -> None:
    read = stepped(lambda _: failure(FailureCause.CREDENTIALS, "ExpiredTokenException"), answer, concurrency=1)
    assert [
        "Asked in call 1 (request r-failed, sent 4 times by the SDK): no usable response (ExpiredTokenException), so "
        "this call proves nothing of it.",
        "Asked again in call 2 (pass 2, request r-2): returned.",
    ] == story(read, "A")[:2]


def test_a_read_that_a_failed_call_ended() -> None:
    assert [
        UNRESOLVED,
        "The read stopped because a call failed (ThrottlingException; request_id=r-failed).",
        RETRY,
        SYNTHETIC,
    ] == story(stepped(lambda c: answer(c, left="B"), lambda _: failure()), "B")[2:]


def test_a_key_that_was_never_asked() -> None:
    read = stepped(answer, keys="ABCD", call_items=2, concurrency=1)
    read.stop(StopReason.INTERRUPTED)
    assert [
        "It was not asked in any call.",
        UNRESOLVED,
        "The read stopped because it was interrupted.",
        "Decision hold, for the operator: keep the hold record, remove the cause, then resume from it.",
        SYNTHETIC,
    ] == story(read, "D")


def test_a_key_in_a_call_that_was_abandoned() -> None:
    """No line tells which keys were in flight, so the story does not claim that it was not asked."""
    read = read_of((settings(), "AB"))
    calls(read.due(0.0))
    read.stop(StopReason.DEADLINE)
    assert [
        "It was not asked in any call that ended.",
        UNRESOLVED,
        "The read stopped because the deadline was reached.",
        RETRY,
    ] == story(read, "A")


def test_a_key_whose_answer_was_refused() -> None:
    with (
        ScriptedClient([batch_get_response([{"pk": {"S": "A"}}] * 2)]) as client,
        pytest.raises(il.LedgerInvariantError) as caught,
    ):
        il.read_batch(client, "KnownAnswer", ["A"], {"pk": "S"})
    result = caught.value.result
    assert isinstance(result, il.ReadResult)
    assert [
        "Asked in call 1 (request SYNTHETIC-1): the answer said something that cannot be true, so nothing of it was "
        "used.",
        UNRESOLVED,
        "The read stopped because an answer said something that cannot be true.",
        "Decision repair, for the engineer: impossible evidence: keep the answer, look at what served it, use nothing "
        "of it.",
        SYNTHETIC,
    ] == explain(file_of(result), HASHED.token("A"))[1:]


@pytest.mark.parametrize("cut", [b"", b'{"kind":"summ'])
def test_a_file_that_ends_early_still_tells_what_it_has(cut: bytes) -> None:
    lines = file_of(result_of(stepped(lambda c: answer(c, left="B"), answer)))[:3]
    assert [
        "Asked in call 1 (pass 1, request r-1): left over, cause unknown.",
        "The file ends before a summary, so where the key ends is not on record.",
    ] == explain([*lines, cut], HASHED.token("B"))[1:]


def test_a_file_without_calls_tells_that_there_are_none() -> None:
    lines = file_of(result_of(stepped(answer)))[:2]
    assert [
        "It was not asked in any call on record.",
        "The file ends before a summary, so where the key ends is not on record.",
    ] == explain(lines, HASHED.token("B"))[1:]


def test_without_a_name_the_key_is_called_by_its_token() -> None:
    lines = file_of(result_of(stepped(answer)), tokeniser=PLAIN)
    assert explain(lines, '{"S":"C"}')[0].startswith('{"S":"C"} (position 2) is one of the 5 keys')


def test_the_key_is_found_on_a_later_line_of_the_manifest() -> None:
    read = read_of((settings(), [f"k{i}" for i in range(2500)]))
    read.stop(StopReason.INTERRUPTED)
    opening = explain(file_of(result_of(read)), HASHED.token("k2345"), name="k2345")[0]
    assert "k2345 (position 2345) is one of the 2500 keys that observation o-1 asked table T for." == opening


def test_a_key_that_was_not_asked_for_is_told_apart_from_a_wrong_token_key() -> None:
    sentence = (
        "token {} is not in this run's manifest: the key was not asked for, or the token was made with another token "
        f"key (this file's has the id {HASHED.key_id})"
    )
    lines = file_of(result_of(stepped(answer)))
    with pytest.raises(EvidenceError, match=re.escape(sentence.format(HASHED.token("Q")))):
        explain(lines, HASHED.token("Q"))
    with pytest.raises(EvidenceError, match=re.escape("is not in this run's manifest")):
        explain(lines[:2], HASHED.token("Q"))


@pytest.mark.parametrize("lines", [[], [b"{}\n"], [b'{"kind":"trailer"}\n']])
def test_what_is_no_evidence_file_is_refused(lines: list[bytes]) -> None:
    with pytest.raises(EvidenceError):
        explain(lines, HASHED.token("A"))


def test_a_file_of_another_schema_is_refused() -> None:
    lines = parsed(file_of(result_of(stepped(answer))))
    lines[0]["schema"] = "itemledger/evidence/2"
    with pytest.raises(
        EvidenceError, match="no evidence file of schema itemledger/evidence/1; give the file that a read"
    ):
        explain(rechained(lines), HASHED.token("A"))


def test_a_line_that_cannot_be_read_is_named() -> None:
    lines = file_of(result_of(stepped(answer)))
    lines[2] = lines[2].replace(b'"kind":"call"', b'"kind":"note"')
    with pytest.raises(
        EvidenceError, match=r"line 3: is of no kind that the format knows .*; verify says more"
    ) as caught:
        explain(lines, HASHED.token("A"))
    assert 3 == caught.value.line


def test_a_file_that_says_nothing_of_the_key_where_it_must_is_not_to_be_trusted() -> None:
    lines = parsed(file_of(result_of(stepped(answer))))
    lines[2]["returned"]["positions"] = lines[3]["returned"]["positions"] = [[1, 4]]
    told = explain(rechained(lines), HASHED.token("A"))
    assert (
        "Asked in call 1 (pass 1, request r-1): the line says nothing of it, so this file is not to be trusted." in told
    )
    assert "The summary leaves it out, so this file is not to be trusted." in told


def test_positions_that_cannot_be_read_are_named() -> None:
    lines = parsed(file_of(result_of(stepped(answer))))
    lines[2]["requested"]["positions"] = ["all"]
    with pytest.raises(EvidenceError, match=r"a line's positions cannot be read: .*; verify says more"):
        explain(rechained(lines), HASHED.token("A"))
