"""Cursors on any input: what was sealed comes back exactly, and nothing else opens at all."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemledger.errors import CursorError
from itemledger.tables.cursor import Cursors
from itemledger.tables.cursor_codec import key_from_bytes, key_to_bytes, to_text
from itemledger.tables.cursor_query import QueryShape
from tests.property.strategies import Draw, binaries, number_texts, numbers, texts

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
NOW_S = 1_800_000_000.0
FORMS = {encrypt: Cursors([KEY, OTHER_KEY], encrypt=encrypt, clock=lambda: NOW_S) for encrypt in (False, True)}
QUERY = QueryShape.of({"TableName": "Orders"})
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
forms = st.booleans().map(FORMS.__getitem__)
principals = st.none() | st.text(max_size=8)
lives = st.none() | st.floats(0.001, 1e9)


@st.composite
def typed(draw: Draw) -> dict[str, Any]:
    """One attribute of a key, numbers in any spelling."""
    match draw(st.sampled_from("SNB")):
        case "S":
            return {"S": draw(texts | st.just("\u00e9" * 1024))}
        case "N":
            return {"N": draw(number_texts(draw(numbers())))}
        case _:
            return {"B": draw(binaries | st.just(b"\xff" * 2048))}


last_keys = st.dictionaries(names, typed(), min_size=1, max_size=10)


def refused(ours: Cursors, text: Any, query: QueryShape = QUERY, principal: str | None = None) -> None:
    with pytest.raises(CursorError, match="the cursor is not valid for this request"):
        ours.open(text, query, principal=principal)


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


# ------------------------------------------------------------------------------------------------------ what was sealed


@given(forms, last_keys, principals, lives)
def test_every_key_comes_back_type_by_type_and_letter_by_letter(
    ours: Cursors, key: Any, principal: str | None, ttl_s: float | None
) -> None:
    text = ours.seal(QUERY, key, principal=principal, ttl_s=ttl_s)
    assert key == ours.open(text, QUERY, principal=principal)
    assert re.fullmatch("[A-Za-z0-9_-]+", text)


@given(last_keys, last_keys)
def test_two_keys_have_the_same_bytes_only_if_they_are_one(one: Any, other: Any) -> None:
    assert (one == other) is (key_to_bytes(one) == key_to_bytes(other))


@given(st.binary(max_size=40) | last_keys.map(key_to_bytes))
def test_bytes_are_a_key_only_if_that_key_is_those_bytes(data: bytes) -> None:
    key = key_from_bytes(data)
    assert key is None or data == key_to_bytes(key)


# -------------------------------------------------------------------------------------------------- what was not sealed


@given(forms, last_keys, lives, st.data())
def test_a_bit_that_is_turned_over_is_noticed(ours: Cursors, key: Any, ttl_s: float | None, data: Any) -> None:
    raw = bytearray(decoded(ours.seal(QUERY, key, ttl_s=ttl_s)))
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    refused(ours, to_text(bytes(raw)))


@given(forms, last_keys, st.data())
def test_a_letter_that_is_exchanged_is_noticed(ours: Cursors, key: Any, data: Any) -> None:
    """The last one too, of whose six bits some stand for nothing."""
    text = ours.seal(QUERY, key)
    at = data.draw(st.integers(0, len(text) - 1) | st.just(len(text) - 1))
    letter = data.draw(st.sampled_from(ALPHABET.replace(text[at], "")) | st.characters(exclude_characters=text[at]))
    refused(ours, text[:at] + letter + text[at + 1 :])


@given(forms, last_keys, st.data())
def test_a_text_that_is_cut_is_noticed(ours: Cursors, key: Any, data: Any) -> None:
    text = ours.seal(QUERY, key)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    if end - start < len(text):
        refused(ours, text[start:end])


@given(forms, last_keys, st.text(ALPHABET, min_size=1) | st.text(min_size=1), st.data())
def test_a_text_that_has_grown_is_noticed(ours: Cursors, key: Any, more: str, data: Any) -> None:
    text = ours.seal(QUERY, key)
    at = data.draw(st.integers(0, len(text)))
    refused(ours, text[:at] + more + text[at:])


@given(forms, last_keys)
def test_only_one_spelling_in_base64_opens(ours: Cursors, key: Any) -> None:
    """Decoders forgive padding, blanks, letters of the other alphabet; then one cursor would have many texts."""
    text = ours.seal(QUERY, key)
    standard = text.replace("-", "+").replace("_", "/")
    padded = text + "=" * (-len(text) % 4)
    for other in {standard, padded, f"{text}=", f"{text}==", f"{text}\n", f" {text}", f"{text[:7]}\r\n{text[7:]}"}:
        if other != text:
            refused(ours, other)


@given(forms, st.data())
def test_stray_last_bits_are_refused(ours: Cursors, data: Any) -> None:
    """``QQ`` and ``QR`` are the same byte to most decoders."""
    text = ours.seal(QUERY, {"pk": {"S": data.draw(st.text("ab", min_size=1, max_size=3))}})
    for letter in ALPHABET:
        other = text[:-1] + letter
        if other != text and decoded(other) == decoded(text):
            refused(ours, other)


@given(forms, st.none() | last_keys, st.data())
def test_no_text_at_all_raises_anything_but_the_one_error(ours: Cursors, key: Any, data: Any) -> None:
    """Any text, any bytes as text, and bytes behind a genuine beginning."""
    head = b"" if key is None else decoded(ours.seal(QUERY, key))
    cut = data.draw(st.integers(0, len(head)))
    tail = st.binary(max_size=100).map(lambda more: to_text(head[:cut] + more))
    text = data.draw(st.text() | st.text(ALPHABET) | tail | st.sampled_from(["", "=", "A" * 45_000]))
    if text != to_text(head) or not head:
        refused(ours, text)


# -------------------------------------------------------------------------------------------------- what it is bound to


@given(forms, last_keys, principals, principals)
def test_another_principal_is_refused(ours: Cursors, key: Any, owner: str | None, other: str | None) -> None:
    text = ours.seal(QUERY, key, principal=owner)
    if owner != other:
        refused(ours, text, principal=other)


@st.composite
def requests(draw: Draw) -> dict[str, Any]:
    """Few values each, so that two of them often differ in one."""
    return {
        "TableName": draw(st.sampled_from(["Orders", "Orders2"])),
        "IndexName": draw(st.sampled_from([None, "by-day"])),
        "KeyConditionExpression": draw(st.sampled_from(["#p = :p", "#p = :p AND begins_with(#s, :s)"])),
        "FilterExpression": draw(st.sampled_from([None, "#s = :s", "#s > :s", "#p = :s"])),
        "ExpressionAttributeNames": {"#p": "pk", "#s": draw(st.sampled_from(["pk", "sk"]))},
        "ExpressionAttributeValues": {
            ":p": draw(st.sampled_from([{"S": "1"}, {"N": "1"}, {"B": b"1"}])),
            ":s": draw(st.sampled_from([{"S": "1"}, {"S": "11"}])),
        },
        "ScanIndexForward": draw(st.sampled_from([None, True, False])),
        "Limit": draw(st.sampled_from([None, 10])),
    }


def _read_by_hand(request: dict[str, Any]) -> list[Any]:
    """What the request asks, its aliases written out, by means that the code under test does not use."""
    said: list[Any] = [request["TableName"], request["IndexName"], request["ScanIndexForward"] is not False]
    for name in ("KeyConditionExpression", "FilterExpression"):
        text = request[name]
        for alias, attribute in request["ExpressionAttributeNames"].items():
            text = text and text.replace(alias, f"<{attribute}>")
        for alias, value in request["ExpressionAttributeValues"].items():
            text = text and text.replace(alias, f"<{value}>")
        said.append(text)
    return said


@given(forms, requests(), requests())
def test_a_cursor_opens_for_another_request_only_if_that_asks_the_same(
    ours: Cursors, one: dict[str, Any], other: dict[str, Any]
) -> None:
    key = {"pk": {"S": "a"}}
    text = ours.seal(QueryShape.of(one), key)
    if _read_by_hand(one) == _read_by_hand(other):
        assert key == ours.open(text, QueryShape.of(other))
    else:
        refused(ours, text, QueryShape.of(other))


@given(requests(), st.lists(st.from_regex(r"[A-Za-z0-9_]{1,8}", fullmatch=True), min_size=4, max_size=4, unique=True))
def test_other_aliases_make_no_other_query(request: dict[str, Any], chosen: list[str]) -> None:
    aliases = {"#p": f"#{chosen[0]}", "#s": f"#{chosen[1]}", ":p": f":{chosen[2]}", ":s": f":{chosen[3]}"}

    def renamed(text: str | None) -> str | None:
        return text and re.sub("[#:][ps]", lambda found: aliases[found[0]], text)

    again = {
        **request,
        "KeyConditionExpression": renamed(request["KeyConditionExpression"]),
        "FilterExpression": renamed(request["FilterExpression"]),
        "ExpressionAttributeNames": {aliases[a]: n for a, n in request["ExpressionAttributeNames"].items()},
        "ExpressionAttributeValues": {aliases[a]: v for a, v in request["ExpressionAttributeValues"].items()},
    }
    assert QueryShape.of(request) == QueryShape.of(again)
