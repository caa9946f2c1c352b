"""Tokens: what stands for a key in a file that others may read."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemledger.core.keys import Key, KeySchema
from itemledger.core.tokens import HASHED, PLAIN, SetHash, Tokeniser, TokenList, is_token, key_text, set_hash
from itemledger.errors import ManifestError

TOKEN_KEY = bytes(range(32))

PART = (
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
    | st.integers(-(10**9), 10**9).map(Decimal)
    | st.binary(min_size=1, max_size=8)
)
KEYS = PART | st.tuples(PART, PART)


# The expected tokens were made with `printf '%s' TEXT | openssl dgst -sha256 -mac HMAC -macopt hexkey:00010203…1f`.
@pytest.mark.parametrize(
    ("key", "text", "token"),
    [
        ("A", '{"S":"A"}', "9d5e2d32523561bf0fc6a4b3de608b85"),
        (("a", Decimal(1)), '[{"S":"a"},{"N":"1"}]', "2b44a019746c96dd68e505b1a112e70d"),
        (b"\x00", '{"B":"AA=="}', "e168c403000d2f051bdaabefedd11d9f"),
    ],
)
def test_a_token_is_the_hmac_of_the_typed_key_cut_to_128_bits(key: Key, text: str, token: str) -> None:
    assert text == Tokeniser(None).token(key)
    assert token == Tokeniser(TOKEN_KEY).token(key)


def test_spellings_of_one_number_have_one_token() -> None:
    schema, tokeniser = KeySchema.of({"pk": "N"}), Tokeniser(TOKEN_KEY)
    spelled = [1, Decimal("1.0"), Decimal("1E0"), {"N": "1.00"}]
    keys = [schema.canonical({"pk": s} if isinstance(s, dict) else s, 0) for s in spelled]
    assert 1 == len({tokeniser.token(key) for key in keys})


def test_a_string_a_number_and_binary_that_look_alike_have_three_tokens() -> None:
    assert 3 == len({Tokeniser(TOKEN_KEY).token(key) for key in ("1", Decimal(1), b"1")})


@given(KEYS, KEYS)
def test_two_keys_share_a_text_only_when_they_are_one_key(one: Key, other: Key) -> None:
    assert (one == other) == (key_text(one) == key_text(other))


@given(KEYS)
def test_what_a_tokeniser_writes_is_recognised_as_its_token(key: Key) -> None:
    assert is_token(Tokeniser(TOKEN_KEY).token(key), HASHED)
    assert is_token(Tokeniser(None).token(key), PLAIN)
    assert not is_token(Tokeniser(None).token(key), HASHED)
    assert not is_token(Tokeniser(TOKEN_KEY).token(key), PLAIN)


@pytest.mark.parametrize(
    "text",
    [
        '{"N":"1.0"}',
        '{"N":"01"}',
        '{"S": "A"}',
        '{"S":"\u00e4"}',
        '{"B":"AA"}',
        '{"S":"A","N":"1"}',
        '{"BOOL":true}',
        '[{"S":"a"}]',
        '[{"S":"a"}, {"S":"b"}]',
        '[{"S":"a"},{"S":"b"},{"S":"c"}]',
        '"A"',
        "A",
        "[" * 100_000,
    ],
)
def test_a_plain_key_spelled_another_way_is_no_token(text: str) -> None:
    """Or one key could stand in a manifest twice."""
    assert not is_token(text, PLAIN)


@pytest.mark.parametrize("text", ["0" * 31, "0" * 33, "A" * 32, "0" * 32 + "\n", ""])
def test_anything_but_32_hexadecimal_digits_is_no_hashed_token(text: str) -> None:
    assert not is_token(text, HASHED)


@pytest.mark.parametrize("key", [b"", b"fifteen bytes.."])
def test_a_token_key_that_could_be_guessed_is_refused(key: bytes) -> None:
    with pytest.raises(ManifestError, match=f"has {len(key)} bytes, so it could be guessed; give at least 16"):
        Tokeniser(key)
    assert HASHED == Tokeniser(bytes(16)).algorithm


def test_the_key_id_tells_token_keys_apart() -> None:
    assert "e4c7aec77d90ad90" == Tokeniser(TOKEN_KEY).key_id
    assert Tokeniser(TOKEN_KEY).key_id != Tokeniser(TOKEN_KEY[::-1]).key_id
    assert "plain" == Tokeniser(None).key_id


def test_a_set_hash_is_what_sort_and_sha256sum_make_of_the_tokens() -> None:
    # printf 'b\na\nab\n' | LC_ALL=C sort | sha256sum
    expected = "2e2c202d968224e3147864ce74ee696f1025bc9b6107e3cd7316f4560cd0427f"
    assert expected == set_hash(["b", "a", "ab"])
    assert expected == set_hash(["ab", "b", "a"])


@given(st.lists(KEYS.map(key_text) | st.text("0123456789abcdef", min_size=32, max_size=32), unique=True))
def test_a_set_hash_goes_over_the_sorted_lines_whatever_the_tokens(tokens: list[str]) -> None:
    lines = b"".join(sorted(token.encode() + b"\n" for token in tokens))
    assert hashlib.sha256(lines).hexdigest() == set_hash(tokens)


def test_a_set_hash_can_be_asked_for_before_the_set_is_whole() -> None:
    members = SetHash()
    members.add("a")
    before = members.hexdigest()
    members.add("b")
    assert (set_hash(["a"]), set_hash(["a", "b"]), 2) == (before, members.hexdigest(), members.count)


@given(st.lists(KEYS.map(key_text)))
def test_a_token_list_gives_back_what_was_put_in(tokens: list[str]) -> None:
    packed = TokenList()
    for token in tokens:
        packed.append(token)
    assert tokens == [packed[i] for i in range(len(packed))]
