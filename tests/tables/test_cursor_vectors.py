"""Cursors against values that none of itemledger's code computed.

They come from openssl and coreutils (``mac`` is ``openssl dgst -sha256 -mac HMAC -macopt hexkey:…``), in steps
that any language can follow:

- key ``k``: 00 01 02 … 1f. Key id: the first 8 bytes of ``mac(k, "itemledger cursor key: id")``; signing key:
  ``mac(k, "itemledger cursor key: sign")``; encryption key: the same with ``encrypt`` and SHA-512.
- the query: ``printf '%s' '{"M":{"IndexName":"by-customer","KeyConditionExpression":[["name","customer"],["text","="],
  ["value",{"M":{"S":"c-1"}}]],"ScanIndexForward":false,"TableName":"Orders"}}' | sha256sum``, in one line.
- context: that hash and ``printf user-7 | sha256sum``, or 32 zero bytes without a principal.
- header: 01 signed or 02 encrypted, key id, expiry in six bytes; body: ``BODY`` below.
- signed: header, body, ``mac(signing key, header context body)``. Encrypted: header and AES-SIV of the body with the
  associated data header and context, made with ``openssl mac … CMAC`` and ``openssl enc -aes-256-ctr`` as in RFC 5297
  (the script gave the RFC's own vector A.1 first). Then base64 for URLs without padding.
"""

from __future__ import annotations

from itemledger.tables.cursor import Cursors
from itemledger.tables.cursor_codec import key_from_bytes, key_to_bytes
from itemledger.tables.cursor_query import QueryShape

KEYS = [bytes(range(32))]
NOW_S = 1_800_000_000.0
LAST_KEY: dict[str, dict[str, str | bytes]] = {
    "pk": {"B": b"\x00\xff\x10"},
    "customer": {"S": "c-1"},
    "placed_at": {"N": "12345678901234567890123456789012345678"},
}
QUERY = QueryShape.of(
    {
        "TableName": "Orders",
        "IndexName": "by-customer",
        "KeyConditionExpression": "#c = :c",
        "ExpressionAttributeNames": {"#c": "customer"},
        "ExpressionAttributeValues": {":c": {"S": "c-1"}},
        "ScanIndexForward": False,
        "Limit": 20,
    }
)
BODY = bytes.fromhex(
    "0008 637573746f6d6572 53 0003 632d31"
    "0002 706b 42 0003 00ff10"
    "0009 706c616365645f6174 4e 0026"
    "3132333435363738393031323334353637383930313233343536373839303132333435363738"
)
SIGNED = (
    "ATenwI2SiK2zAAAAAAAAAAhjdXN0b21lclMAA2MtMQACcGtCAAMA_xAACXBsYWNlZF9hdE4AJjEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5"
    "MDEyMzQ1Njc4FlA4rSczLwiNQ6vlA0myYDkR3fnKk1UiQBYc5vGhfuo"
)
SIGNED_FOR_A_MINUTE = (
    "ATenwI2SiK2zAABrSdI8AAhjdXN0b21lclMAA2MtMQACcGtCAAMA_xAACXBsYWNlZF9hdE4AJjEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5"
    "MDEyMzQ1Njc4Ox3Ioge04KhtUBMQrni4v4qdYUd58r2zX7aArPXo9UQ"
)
ENCRYPTED_FOR_A_MINUTE = (
    "AjenwI2SiK2zAABrSdI8407UGO3pr9PS1eoYp-YKd-NDwxgatyymJ0km7u_7pyMJ7JEHXyL0AjrOy3DpVdPN6oyDY8V6p9M06D8VCxK_pit3Au9L"
    "Q8kRY7LDMsW6T0hLBi30VNpN51dSIE8mDg"
)


def cursors(encrypt: bool = False) -> Cursors:
    return Cursors(KEYS, encrypt=encrypt, clock=lambda: NOW_S)


def test_a_query_has_the_hash_that_other_tools_compute() -> None:
    assert "c8ed84785dc47f9892edbd5c839822fe9467f4d354f7767b5f84cd1adc896a72" == QUERY.digest.hex()


def test_a_key_has_the_bytes_that_are_written_down_here() -> None:
    assert BODY == key_to_bytes(LAST_KEY)
    assert LAST_KEY == key_from_bytes(BODY)


def test_a_signed_cursor_is_the_text_that_other_tools_compute() -> None:
    assert SIGNED == cursors().seal(QUERY, LAST_KEY)
    assert LAST_KEY == cursors().open(SIGNED, QUERY)


def test_principal_and_expiry_are_where_other_tools_put_them() -> None:
    assert SIGNED_FOR_A_MINUTE == cursors().seal(QUERY, LAST_KEY, principal="user-7", ttl_s=60)
    assert LAST_KEY == cursors().open(SIGNED_FOR_A_MINUTE, QUERY, principal="user-7")


def test_an_encrypted_cursor_is_the_text_that_other_tools_compute() -> None:
    assert ENCRYPTED_FOR_A_MINUTE == cursors(encrypt=True).seal(QUERY, LAST_KEY, principal="user-7", ttl_s=60)
    assert LAST_KEY == cursors(encrypt=True).open(ENCRYPTED_FOR_A_MINUTE, QUERY, principal="user-7")
