"""Cursors: what one is bound to, who can open it, and that a refusal tells nobody why."""

from __future__ import annotations

import hmac
import subprocess
import sys
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.conditions import And, Attr, ConditionBase, Key
from boto3.dynamodb.types import Binary

from itemledger.errors import CursorError, ItemLedgerError, ManifestError
from itemledger.tables.cursor import MOST_CURSOR_CHARACTERS, Cursors
from itemledger.tables.cursor_codec import to_text
from itemledger.tables.cursor_query import QueryShape
from itemledger.tables.cursor_seals import Signed, key_id

OLD, NEW, FOREIGN = b"o" * 16, b"n" * 32, b"f" * 32
NOW_S = 1_800_000_000.0
REQUEST: dict[str, Any] = {
    "TableName": "Orders",
    "IndexName": "by-customer",
    "KeyConditionExpression": "customer = :c AND placed_at > :t",
    "FilterExpression": "#s = :s",
    "ExpressionAttributeNames": {"#s": "status"},
    "ExpressionAttributeValues": {":c": {"S": "c-1"}, ":t": {"N": "5"}, ":s": {"S": "open"}},
    "ScanIndexForward": False,
    "ProjectionExpression": "pk, total",
    "Select": "SPECIFIC_ATTRIBUTES",
    "Limit": 20,
}
QUERY = QueryShape.of(REQUEST)
LAST_KEY = {"customer": {"S": "c-1"}, "placed_at": {"N": "7"}, "pk": {"S": "secret-pk"}}
FORMS = pytest.mark.parametrize("encrypt", [False, True], ids=["signed", "encrypted"])


class Clock:
    def __init__(self) -> None:
        self.now_s = NOW_S
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        return self.now_s


def cursors(*keys: bytes, encrypt: bool = False, clock: Callable[[], float] = lambda: NOW_S) -> Cursors:
    return Cursors(keys or [NEW], encrypt=encrypt, clock=clock)


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def refused(opener: Cursors, text: Any, query: QueryShape = QUERY, principal: str | None = None) -> str:
    """What the caller is told; anything but CursorError fails the test, and so does an error with a reason inside."""
    with pytest.raises(CursorError) as raised:
        opener.open(text, query, principal=principal)
    assert (None, None) == (raised.value.__cause__, raised.value.__context__)
    assert (str(raised.value),) == raised.value.args
    assert {} == vars(raised.value)
    return str(raised.value)


# ------------------------------------------------------------------------------------------------- sealing and opening


@FORMS
def test_a_cursor_opens_to_the_key_that_was_sealed(encrypt: bool) -> None:
    ours = cursors(encrypt=encrypt)
    assert LAST_KEY == ours.open(ours.seal(QUERY, LAST_KEY), QUERY)


@FORMS
def test_a_cursor_fits_into_a_url_as_it_is(encrypt: bool) -> None:
    text = cursors(encrypt=encrypt).seal(QUERY, LAST_KEY)
    assert "" == text.strip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_the_last_page_has_no_cursor_and_no_cursor_is_the_first_page() -> None:
    assert None is cursors().seal(QUERY, None, ttl_s=60)
    assert None is cursors().open(None, QUERY, principal="user-7")


def test_an_empty_cursor_is_an_error_and_never_the_first_page() -> None:
    refused(cursors(), "")


@FORMS
def test_fc_23_types_survive_number_by_number_and_byte_by_byte(encrypt: bool) -> None:
    ours = cursors(encrypt=encrypt)
    keys: list[Mapping[str, Mapping[str, Any]]] = [
        {"pk": {"S": "1"}},
        {"pk": {"N": "1"}},
        {"pk": {"B": b"1"}},
        {"pk": {"N": "1.0"}},
        {"pk": {"N": "-0.00000000000000000000000000000000000012345678901234567890123456789012345678"}},
        {"pk": {"N": "1" + "0" * 125}},
        {"pk": {"B": bytes(range(256))}, "sk": {"S": "\u00e9\U0001f600\x00"}},
    ]
    for key in keys:
        assert key == ours.open(ours.seal(QUERY, key), QUERY)
    assert len(keys) == len({ours.seal(QUERY, key) for key in keys})


@FORMS
def test_fc_26_an_index_with_four_partition_and_four_sort_attributes_has_cursors(encrypt: bool) -> None:
    """At the service's limits, names included: the longest cursor there is."""
    key = {f"{n}{chr(0x10FFFF) * 254}": {"B": bytes([n]) * 2048} for n in range(10)}
    ours = cursors(encrypt=encrypt)
    text = ours.seal(QUERY, key)
    assert key == ours.open(text, QUERY)
    assert len(text) <= MOST_CURSOR_CHARACTERS < 45_000


def test_binary_of_any_python_type_comes_back_as_bytes() -> None:
    ours = cursors()
    for value in (b"\x00\xff", bytearray(b"\x00\xff"), memoryview(b"\x00\xff"), memoryview(b"\x00\xff").cast("H")):
        assert {"pk": {"B": b"\x00\xff"}} == ours.open(ours.seal(QUERY, {"pk": {"B": value}}), QUERY)


def test_the_order_of_a_keys_attributes_makes_no_other_cursor() -> None:
    assert cursors().seal(QUERY, LAST_KEY) == cursors().seal(QUERY, dict(reversed(LAST_KEY.items())))


# ----------------------------------------------------------------------------------------------------- what is refused


@FORMS
def test_every_reason_to_refuse_reads_the_same(encrypt: bool) -> None:
    clock = Clock()
    ours = cursors(NEW, OLD, encrypt=encrypt, clock=clock)
    text = ours.seal(QUERY, LAST_KEY, principal="user-7", ttl_s=60)
    assert LAST_KEY == ours.open(text, QUERY, principal="user-7")
    other_query = QueryShape.of({**REQUEST, "TableName": "Customers"})
    said = {
        refused(ours, text[:-1] + ("A" if text[-1] != "A" else "E"), principal="user-7"),
        refused(ours, text[:40], principal="user-7"),
        refused(ours, text + "AAAA", principal="user-7"),
        refused(ours, text + "=", principal="user-7"),
        refused(ours, "a cursor\n", principal="user-7"),
        refused(ours, "\u00e9\udcff", principal="user-7"),
        refused(ours, "A" * 1_000_000, principal="user-7"),
        refused(ours, 7, principal="user-7"),
        refused(ours, text.encode(), principal="user-7"),
        refused(ours, cursors(FOREIGN, encrypt=encrypt).seal(QUERY, LAST_KEY), principal="user-7"),
        refused(ours, text, principal="user-8"),
        refused(ours, text, principal=""),
        refused(ours, text),
        refused(ours, ours.seal(QUERY, LAST_KEY), principal="user-7"),
        refused(ours, text, other_query, principal="user-7"),
    }
    clock.now_s += 60
    said.add(refused(ours, text, principal="user-7"))
    assert {"the cursor is not valid for this request; leave it out to begin with the first page"} == said


def test_the_error_is_a_value_error_of_this_library() -> None:
    assert issubclass(CursorError, ItemLedgerError)
    assert issubclass(CursorError, ValueError)


@FORMS
def test_fc_25_any_bit_that_is_turned_over_is_noticed(encrypt: bool) -> None:
    ours = cursors(encrypt=encrypt)
    data = decoded(ours.seal(QUERY, LAST_KEY, ttl_s=60))
    for bit in range(8 * len(data)):
        turned = bytearray(data)
        turned[bit // 8] ^= 1 << bit % 8
        refused(ours, to_text(bytes(turned)))


@FORMS
def test_any_end_that_is_cut_off_is_noticed(encrypt: bool) -> None:
    ours = cursors(encrypt=encrypt)
    text = ours.seal(QUERY, LAST_KEY)
    for length in range(len(text)):
        refused(ours, text[:length])


def test_a_text_longer_than_any_cursor_is_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    monkeypatch.setattr("itemledger.tables.cursor.from_text", lambda text: lengths.append(len(text)))
    for length in (MOST_CURSOR_CHARACTERS, MOST_CURSOR_CHARACTERS + 1, 10_000_000):
        refused(cursors(), "A" * length)
    assert [MOST_CURSOR_CHARACTERS] == lengths


def test_what_an_honest_signature_holds_is_checked_all_the_same() -> None:
    """Sealed with our key by something that writes keys in another way."""
    seal, header = Signed(NEW), bytes([1]) + key_id(NEW) + bytes(6)
    whole = b"\x00\x02pkS\x00\x01a"
    assert {"pk": {"S": "a"}} == cursors().open(
        to_text(header + seal.seal(header, QUERY.digest + bytes(32), whole)), QUERY
    )
    for body in (b"", whole[:-1], whole + b"\x00", whole + whole, b"\x00\x02pkN\x00\x01a", b"\x00\x02pk\xff\x00\x01a"):
        refused(cursors(), to_text(header + seal.seal(header, QUERY.digest + bytes(32), body)))


def test_a_signature_takes_the_same_steps_whatever_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """One signature computed, compared in constant time, and one look at the clock: no reason is decided earlier."""
    clock = Clock()
    ours = cursors(NEW, OLD, clock=clock)
    expired = ours.seal(QUERY, LAST_KEY, ttl_s=60)
    clock.now_s += 60
    live = ours.seal(QUERY, LAST_KEY, ttl_s=60)
    wrong_id = to_text(b"\x01" + bytes(8) + decoded(live)[9:])
    wrong_form = to_text(b"\x09" + decoded(live)[1:])
    foreign = cursors(FOREIGN, clock=clock).seal(QUERY, LAST_KEY, ttl_s=60)
    other = QueryShape.of({**REQUEST, "IndexName": "by-date"})
    done: list[str] = []

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            done.append(name)
            return function(*given)

        return run

    monkeypatch.setattr(Signed, "_tag", noted("sign", Signed._tag))
    monkeypatch.setattr(hmac, "compare_digest", noted("compare", hmac.compare_digest))
    for text, query, principal in [
        (expired, QUERY, None),
        (live, other, None),
        (live, QUERY, "user-7"),
        (wrong_id, QUERY, None),
        (wrong_form, QUERY, None),
        (foreign, QUERY, None),
    ]:
        done.clear()
        clock.readings = 0
        refused(ours, text, query, principal)
        assert (["sign", "compare"], 1) == (done, clock.readings)
        assert len(live) == len(text)


# ------------------------------------------------------------------------------------------------ what a query is


@pytest.mark.parametrize(
    "change",
    [
        {"TableName": "Customers"},
        {"TableName": "arn:aws:dynamodb:eu-west-1:123456789012:table/Orders"},
        {"IndexName": "by-date"},
        {"IndexName": None},
        {"KeyConditionExpression": "customer = :c AND placed_at >= :t"},
        {"ExpressionAttributeValues": {":c": {"S": "c-2"}, ":t": {"N": "5"}, ":s": {"S": "open"}}},
        {"ExpressionAttributeValues": {":c": {"S": "c-1"}, ":t": {"S": "5"}, ":s": {"S": "open"}}},
        {"ExpressionAttributeValues": {":c": {"S": "c-1"}, ":t": {"N": "5"}, ":s": {"S": "paid"}}},
        {"ExpressionAttributeNames": {"#s": "step"}},
        {"FilterExpression": None},
        {"FilterExpression": "#s <> :s"},
        {"ScanIndexForward": True},
        {"ScanIndexForward": None},
        {"ProjectionExpression": "pk"},
        {"Select": "COUNT"},
        {"Segment": 0, "TotalSegments": 4},
        {"AMemberOfTomorrow": "x"},
    ],
    ids=str,
)
def test_a_cursor_does_not_open_for_another_query(change: dict[str, Any]) -> None:
    """Replayed on another table, index, condition, partition, filter, direction, projection or segment."""
    refused(cursors(), cursors().seal(QUERY, LAST_KEY), QueryShape.of({**REQUEST, **change}))


@pytest.mark.parametrize(
    "change",
    [
        {"Limit": 100},
        {"Limit": None},
        {"ExclusiveStartKey": LAST_KEY},
        {"ConsistentRead": True},
        {"ReturnConsumedCapacity": "INDEXES"},
        {"KeyConditionExpression": "customer=:c  AND\nplaced_at>:t"},
        {
            "FilterExpression": "#x = :x",
            "ExpressionAttributeNames": {"#x": "status"},
            "ExpressionAttributeValues": {":c": {"S": "c-1"}, ":t": {"N": "5"}, ":x": {"S": "open"}},
        },
        {"ExpressionAttributeNames": {"#unused": "x", "#s": "status"}},
    ],
    ids=str,
)
def test_page_size_blanks_and_aliases_make_no_other_query(change: dict[str, Any]) -> None:
    assert QUERY == QueryShape.of({**REQUEST, **change})


def test_a_direction_left_out_is_forward() -> None:
    table = {"TableName": "Orders"}
    assert QueryShape.of(table) == QueryShape.of({**table, "ScanIndexForward": True})


def test_blanks_that_part_two_words_count() -> None:
    """Otherwise the filter ``a AND b`` and one on the attribute ``aANDb`` were one."""
    table = {"TableName": "Orders"}
    assert QueryShape.of({**table, "ProjectionExpression": "a b"}) != QueryShape.of(
        {**table, "ProjectionExpression": "ab"}
    )


def test_an_alias_is_not_the_word_that_it_stands_for() -> None:
    """``#a`` can stand for an attribute called AND, which the bare word never is."""
    table = {"TableName": "Orders", "ExpressionAttributeNames": {"#a": "AND"}}
    assert QueryShape.of({**table, "ProjectionExpression": "#a"}) != QueryShape.of(
        {**table, "ProjectionExpression": "AND"}
    )
    values = {"TableName": "Orders", "ExpressionAttributeValues": {":a": "x"}, "ExpressionAttributeNames": {"#a": "x"}}
    assert QueryShape.of({**values, "FilterExpression": "#a"}) != QueryShape.of({**values, "FilterExpression": ":a"})


def test_plain_values_are_taken_as_query_pages_takes_them() -> None:
    def query(**values: Any) -> QueryShape:
        expression = " AND ".join(f"a = :{name}" for name in values)
        aliased = {f":{name}": value for name, value in values.items()}
        return QueryShape.of({"TableName": "T", "FilterExpression": expression, "ExpressionAttributeValues": aliased})

    assert query(a=1) == query(a=Decimal("1.0"))
    assert query(a=b"x") == query(a=bytearray(b"x")) == query(a=Binary(b"x"))
    assert query(a={"x", "y"}, b=[1, (None, True)]) == query(a={"y", "x"}, b=[1, [None, True]])
    different = [1, "1", b"1", True, None, {"1"}, ["1"], {"1": "1"}, {1}, {b"1"}]
    assert len(different) == len({query(a=value) for value in different})
    for value in (1.5, object()):
        with pytest.raises(ManifestError, match="does not have"):
            query(a=value)


def test_conditions_of_boto3_are_taken_as_they_are() -> None:
    def query(key: ConditionBase, kept: ConditionBase | None = None) -> QueryShape:
        return QueryShape.of({"TableName": "T", "KeyConditionExpression": key, "FilterExpression": kept})

    assert query(Key("pk").eq("a") & Key("sk").gt(1)) == query(Key("pk").eq("a") & Key("sk").gt(1), None)
    different = [
        query(Key("pk").eq("a")),
        query(Key("pk").eq("b")),
        query(Key("pk").eq(Attr("a"))),
        query(Key("qk").eq("a")),
        query(Key("pk").eq("a") & Key("sk").gt(1)),
        query(Key("pk").eq("a") & Key("sk").gte(1)),
        query(Key("pk").eq("a") & Key("sk").between(1, 2)),
        query(Key("pk").eq("a") & Key("sk").begins_with("x")),
        query(Key("pk").eq("a"), Attr("n").is_in([1, 2])),
        query(Key("pk").eq("a"), Attr("n").size().gt(1)),
        query(Key("pk").eq("a"), ~Attr("n").exists()),
        query(Key("pk").eq("a"), Attr("n").not_exists()),
        query(Key("pk").eq("a"), (Attr("a").eq(1) | Attr("b").eq(1)) & Attr("c").eq(1)),
        query(Key("pk").eq("a"), Attr("a").eq(1) | (Attr("b").eq(1) & Attr("c").eq(1))),
        query(Key("pk").eq("a"), And(Attr("a").eq(1), And(Attr("b").eq(1), Attr("c").eq(1)))),
        query(Key("pk").eq("a"), And(And(Attr("a").eq(1), Attr("b").eq(1), Attr("c").eq(1)))),
    ]
    assert len(different) == len(set(different))


def test_as_many_conditions_as_the_service_takes_can_be_bound() -> None:
    chain: Any = Attr("n").eq(0)
    for number in range(1, 300):
        chain = chain & Attr("n").eq(number)
    assert QueryShape.of({"TableName": "T", "FilterExpression": chain}) == QueryShape.of(
        {"TableName": "T", "FilterExpression": chain}
    )


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({}, "TableName is missing"),
        ({"TableName": None}, "TableName is missing"),
        ({"TableName": "T", "max_items": 20}, "'max_items' is no member of a Query or Scan"),
        (
            {"TableName": "T", "FilterExpression": "#a = :b"},
            "has the alias '#a', which is not in ExpressionAttributeNames",
        ),
        ({"TableName": "T", "FilterExpression": "a = :b"}, "has the alias ':b', which is not in ExpressionAttributeV"),
        ({"TableName": "T", "FilterExpression": 7}, "FilterExpression is a int"),
    ],
)
def test_what_is_no_request_is_refused(request_: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ManifestError, match=sentence):
        QueryShape.of(request_)


def test_a_condition_as_an_object_and_as_text_are_two_queries() -> None:
    """And so are two spellings of one number: fail closed, where telling them equal would take a second grammar."""
    table = {"TableName": "T", "ExpressionAttributeValues": {":a": "a"}}
    as_text = QueryShape.of({**table, "KeyConditionExpression": "pk = :a"})
    assert as_text != QueryShape.of({**table, "KeyConditionExpression": Key("pk").eq("a")})
    assert as_text != QueryShape.of(
        {**table, "KeyConditionExpression": "#p = :a", "ExpressionAttributeNames": {"#p": "pk"}}
    )
    one, other = (
        QueryShape.of({**table, "FilterExpression": "n = :n", "ExpressionAttributeValues": {":n": {"N": text}}})
        for text in ("1", "1.0")
    )
    assert one != other


def test_values_nested_without_end_are_refused() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(ManifestError, match="a depth"):
        QueryShape.of({"TableName": "T", "FilterExpression": "a = :a", "ExpressionAttributeValues": {":a": deep}})


# -------------------------------------------------------------------------------------------------------- keys rotate


@FORMS
def test_the_first_key_seals_and_all_of_them_open(encrypt: bool) -> None:
    before, between, after = (cursors(*ring, encrypt=encrypt) for ring in ([OLD], [NEW, OLD], [NEW]))
    old, new = before.seal(QUERY, LAST_KEY), between.seal(QUERY, LAST_KEY)
    assert new == after.seal(QUERY, LAST_KEY)
    assert LAST_KEY == between.open(old, QUERY) == between.open(new, QUERY)
    refused(after, old)
    refused(before, new)


def test_a_key_that_is_not_first_yet_opens_already() -> None:
    assert LAST_KEY == cursors(OLD, NEW).open(cursors(NEW, OLD).seal(QUERY, LAST_KEY), QUERY)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ([], "at least one secret key"),
        (b"k" * 32, "must be a list"),
        ("k" * 32, "must be a list"),
        ({b"k" * 32}, "must be a list"),
        ([b"k" * 15], "key 0 of keys= has 15 bytes"),
        ([NEW, b""], "key 1 of keys= has 0 bytes"),
        (["k" * 32], "key 0 of keys= is a str; give bytes"),
        ([NEW, OLD, bytes(bytearray(NEW))], "key 2 of keys= is there twice"),
        ([NEW, NEW], "key 1 of keys= is there twice"),
    ],
    ids=str,
)
def test_a_weak_or_wrong_ring_is_refused_before_anything_is_sealed(keys: Any, sentence: str) -> None:
    with pytest.raises(ManifestError, match=sentence) as raised:
        Cursors(keys)
    assert "kkk" not in str(raised.value)


# ----------------------------------------------------------------------------------------------- principal and expiry


@FORMS
def test_a_principal_opens_its_own_cursors_only(encrypt: bool) -> None:
    ours = cursors(encrypt=encrypt)
    sealed = {who: ours.seal(QUERY, LAST_KEY, principal=who) for who in (None, "", "a", "b", "\ud800")}
    assert len(sealed) == len(set(sealed.values()))
    for owner, text in sealed.items():
        for who in sealed:
            if who == owner:
                assert LAST_KEY == ours.open(text, QUERY, principal=who)
            else:
                refused(ours, text, principal=who)


@FORMS
@pytest.mark.parametrize("ttl_s", [60, 60.0, 59.01])
def test_a_cursor_opens_until_its_time_is_over(encrypt: bool, ttl_s: float) -> None:
    clock = Clock()
    ours = cursors(encrypt=encrypt, clock=clock)
    text = ours.seal(QUERY, LAST_KEY, ttl_s=ttl_s)
    clock.now_s = NOW_S + 59.999
    assert LAST_KEY == ours.open(text, QUERY)
    clock.now_s = NOW_S + 60
    refused(ours, text)


def test_without_a_time_to_live_a_cursor_never_expires() -> None:
    clock = Clock()
    text = cursors(clock=clock).seal(QUERY, LAST_KEY)
    clock.now_s = 1e15
    assert LAST_KEY == cursors(clock=clock).open(text, QUERY)


@pytest.mark.parametrize("ttl_s", [0, -1, float("nan"), float("inf"), True, "60", 1e15])
@pytest.mark.parametrize("last_key", [LAST_KEY, None], ids=["more", "end"])
def test_a_time_to_live_that_is_none_is_refused(ttl_s: Any, last_key: Any) -> None:
    with pytest.raises(ManifestError, match="ttl_s"):
        cursors().seal(QUERY, last_key, ttl_s=ttl_s)


@pytest.mark.parametrize("text", ["text", None])
def test_what_is_bound_must_be_what_it_should(text: Any) -> None:
    wrong: Any = REQUEST
    with pytest.raises(ManifestError, match=r"QueryShape\.of"):
        cursors().open(text, wrong)
    with pytest.raises(ManifestError, match="principal must be text; got a int"):
        cursors().open(text, QUERY, principal=wrong["Limit"])


# ----------------------------------------------------------------------------------------------------------- encryption


def test_an_encrypted_cursor_shows_no_value_and_a_signed_one_does() -> None:
    assert b"secret-pk" in decoded(cursors().seal(QUERY, LAST_KEY))
    hidden = decoded(cursors(encrypt=True).seal(QUERY, LAST_KEY))
    assert [] == [word for word in (b"secret-pk", b"placed_at", b"c-1") if word in hidden]


def test_cursors_signed_before_encryption_was_switched_on_still_open() -> None:
    assert LAST_KEY == cursors(encrypt=True).open(cursors().seal(QUERY, LAST_KEY), QUERY)


def test_one_who_does_not_encrypt_refuses_encrypted_cursors_as_any_other() -> None:
    refused(cursors(), cursors(encrypt=True).seal(QUERY, LAST_KEY))


@FORMS
def test_the_form_cannot_be_exchanged(encrypt: bool) -> None:
    text = cursors(encrypt=encrypt).seal(QUERY, LAST_KEY)
    refused(cursors(encrypt=True), f"A{'Q' if encrypt else 'g'}{text[2:]}")


def test_a_missing_package_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(ManifestError) as raised:
        cursors(encrypt=True)
    assert "encrypt=True needs the cryptography package; run: pip install 'itemledger[cursors]'" == str(raised.value)


def test_signing_alone_does_not_load_the_package() -> None:
    code = "import sys; from itemledger.tables.cursor import Cursors; Cursors([bytes(16)]); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "itemledger.tables.cursor" in loaded
    assert "cryptography" not in loaded


# ------------------------------------------------------------------------------------------------- what is no last key


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ({}, "has 0"),
        ({f"a{n}": {"S": "x"} for n in range(11)}, "1 to 10 typed attributes.* has 11"),
        ("pk", "of type str"),
        ({"pk": "hidden"}, "'pk' must be typed"),
        ({"pk": {}}, "'pk' must be typed"),
        ({"pk": {"S": "hidden", "N": "1"}}, "'pk' must be typed"),
        ({"pk": {"S": b"hidden"}}, "'pk' has a bytes where"),
        ({"pk": {"N": 7}}, "'pk' has a int where"),
        ({"pk": {"B": "hidden"}}, "'pk' has a str where"),
        ({"pk": {"BOOL": True}}, "'pk' has a bool where"),
        ({"pk": {"S": ""}}, "'pk' has 0 bytes"),
        ({"pk": {"B": b""}}, "'pk' has 0 bytes"),
        ({"pk": {"S": "\u00e9" * 1025}}, "'pk' has 2,050 bytes; a key's have 1 to 2,048"),
        ({"pk": {"S": "\ud800"}}, "'pk' is not valid Unicode"),
        ({"pk": {"N": "hidden"}}, "'pk' is no DynamoDB number: not a number"),
        ({"pk": {"N": "1" * 39}}, "39 significant digits"),
        ({"pk": {"N": "NaN"}}, "not a number"),
        ({"": {"S": "x"}}, "1 to 255 characters"),
        ({"x" * 256: {"S": "x"}}, "1 to 255 characters"),
        ({7: {"S": "x"}}, "1 to 255 characters"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_last_key_is_not_sealed_and_no_value_is_told(key: Any, sentence: str) -> None:
    with pytest.raises(ManifestError, match=sentence) as raised:
        cursors().seal(QUERY, key)
    assert "hidden" not in str(raised.value)
