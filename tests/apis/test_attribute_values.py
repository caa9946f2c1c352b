"""Typed values, plain values and JSON: nothing is lost on the way, and nothing malformed passes for a value."""

from __future__ import annotations

import copy
import json
from base64 import b64encode
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from typing import Any

import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from itemledger.apis.attribute_json import (
    json_loads_exact,
    native_to_json_text,
    typed_from_json,
    typed_to_json,
)
from itemledger.apis.attribute_values import (
    AttributeValueError,
    from_native,
    item_from_native,
    item_to_native,
    to_native,
)
from itemledger.errors import ItemLedgerError
from tests.conftest import MakeTable
from tests.engines.launch import Engine

# ------------------------------------------------------------------------------------------------- every legal value


@st.composite
def number_texts(draw: st.DrawFn) -> str:
    """Any number that DynamoDB can hold, as it stores it; built from digits, so that no code of ours has a say."""
    digits = draw(st.from_regex(r"[1-9]([0-9]{0,36}[1-9])?", fullmatch=True))
    leading = draw(st.integers(-130, 125))
    if leading >= len(digits) - 1:
        text = digits + "0" * (leading - len(digits) + 1)
    elif leading >= 0:
        text = f"{digits[: leading + 1]}.{digits[leading + 1 :]}"
    else:
        text = f"0.{'0' * (-leading - 1)}{digits}"
    return draw(st.sampled_from(["", "-"])) + text


def tagged(tag: str, contents: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return contents.map(lambda value: {tag: value})


def members(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=1, max_size=4, unique=True)


numbers = st.just("0") | number_texts()
leaves = st.one_of(
    tagged("S", st.text()),
    tagged("N", numbers),
    tagged("B", st.binary()),
    tagged("BOOL", st.booleans()),
    tagged("NULL", st.just(True)),
    tagged("SS", members(st.text())),
    tagged("NS", members(numbers)),
    tagged("BS", members(st.binary())),
)
values = st.recursive(
    leaves, lambda inner: tagged("L", st.lists(inner)) | tagged("M", st.dictionaries(st.text(), inner)), max_leaves=8
)
items = st.dictionaries(st.text(), values, max_size=4)

deserialize: Callable[[Any], Any] = TypeDeserializer().deserialize

SET_TAGS = {"SS", "NS", "BS"}


def without_order(av: dict[str, Any]) -> dict[str, Any]:
    """The typed value with its sets as sets."""
    [(tag, value)] = av.items()
    if tag in SET_TAGS:
        assert len(set(value)) == len(value)
        return {tag: set(value)}
    if tag == "L":
        return {tag: [without_order(member) for member in value]}
    return {tag: {name: without_order(member) for name, member in value.items()}} if tag == "M" else av


def without_wrappers(value: Any) -> Any:
    """What boto3's deserialiser gives, with plain bytes for its Binary."""
    if isinstance(value, Binary):
        return bytes(value)  # type: ignore[call-overload]  # the stubs know no __bytes__
    if isinstance(value, set):
        return {without_wrappers(member) for member in value}
    if isinstance(value, list):
        return [without_wrappers(member) for member in value]
    return {name: without_wrappers(member) for name, member in value.items()} if isinstance(value, dict) else value


def as_parsed_json(value: Any) -> Any:
    """What a JSON parser with exact numbers must find for a native value."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, set):
        return [as_parsed_json(member) for member in sorted(value)]
    if isinstance(value, list):
        return [as_parsed_json(member) for member in value]
    return {name: as_parsed_json(member) for name, member in value.items()} if isinstance(value, dict) else value


# --------------------------------------------------------------------------------------------------------------- laws


@given(items)
def test_a_typed_item_comes_back_from_its_native_form(item: dict[str, Any]) -> None:
    back = item_from_native(item_to_native(item))
    assert without_order({"M": item}) == without_order({"M": back})


@given(values)
def test_one_value_is_read_as_it_is_inside_an_item(av: dict[str, Any]) -> None:
    assert item_to_native({"a": av}) == {"a": to_native(av)}
    assert item_from_native({"a": to_native(av)}) == {"a": from_native(to_native(av))}


@given(items)
def test_a_typed_item_comes_back_from_dynamodb_json(item: dict[str, Any]) -> None:
    assert item == typed_from_json(json.loads(json.dumps(typed_to_json(item))))


@given(items)
def test_a_native_item_is_one_line_of_json_with_exact_numbers(item: dict[str, Any]) -> None:
    native = item_to_native(item)
    text = native_to_json_text(native)
    assert [text] == text.splitlines()
    assert as_parsed_json(native) == json.loads(text, parse_float=Decimal)
    assert as_parsed_json(native) == json_loads_exact(text)


@given(values)
def test_native_values_are_those_of_the_boto3_resource(av: dict[str, Any]) -> None:
    try:
        resource = deserialize(av)
    except ArithmeticError:
        return  # boto3 refuses legal numbers with many trailing zeros; see FC-16
    assert without_wrappers(resource) == to_native(av)


@given(values)
def test_boto3_reads_what_was_encoded(av: dict[str, Any]) -> None:
    native = to_native(av)
    try:
        assert native == without_wrappers(deserialize(from_native(native)))
    except ArithmeticError:
        return


def test_an_item_survives_a_real_engine(engine: Engine, make_table: MakeTable) -> None:
    client = engine.client()
    table = make_table(client)
    item = {
        "pk": "a",
        "text": "Zürich ☃",
        "number": Decimal("12345678901234567890123456789012345678"),
        "fraction": Decimal("-0.00012345"),
        "binary": b"\x00\xff",
        "yes": True,
        "nothing": None,
        "texts": {"a", "b"},
        "numbers": {Decimal(1), Decimal("2.5")},
        "binaries": {b"a", b"b"},
        "list": [Decimal(1), "x", [None], {"y": b""}],
        "map": {"empty": {}, "deep": {"deeper": [Decimal("1E+41")]}},
    }
    client.put_item(TableName=table, Item=item_from_native(item))
    assert item == item_to_native(client.get_item(TableName=table, Key={"pk": {"S": "a"}})["Item"])


# ------------------------------------------------------------------------------------------------------------ numbers

GOLDEN_NUMBERS = [
    (Decimal("-0"), "0"),
    (Decimal("0E+126"), "0"),
    (Decimal("0.000"), "0"),
    (Decimal("007"), "7"),
    (Decimal("1e3"), "1000"),
    (Decimal("1.50"), "1.5"),
    (Decimal("-1.50"), "-1.5"),
    (Decimal("1E-130"), "0." + "0" * 129 + "1"),
    (Decimal("9." + "9" * 37 + "E+125"), "9" * 38 + "0" * 88),
    (Decimal("1E+41"), "1" + "0" * 41),
    (Decimal("9" * 38), "9" * 38),
    (Decimal("1" + "0" * 38), "1" + "0" * 38),
    (Decimal("0." + "1" * 38), "0." + "1" * 38),
    (12345678901234567890123456789012345678, "12345678901234567890123456789012345678"),
    (-5, "-5"),
]


@pytest.mark.parametrize(("number", "stored"), GOLDEN_NUMBERS)
def test_fc_14_numbers_are_sent_as_the_service_stores_them(number: Decimal | int, stored: str) -> None:
    assert {"N": stored} == from_native(number)


@pytest.mark.parametrize(
    "number",
    [
        Decimal("1" * 39),
        10**38 + 1,
        Decimal("0." + "1" * 39),
        Decimal("1E+126"),
        Decimal("9E-131"),
        Decimal("1E+1000000"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("-Infinity"),
    ],
)
def test_fc_14_numbers_that_dynamodb_cannot_hold_are_refused(number: Decimal | int) -> None:
    with pytest.raises(AttributeValueError, match=r"attribute total is not a DynamoDB number"):
        item_from_native({"total": number})


@pytest.mark.parametrize("text", ["1" + "0" * 41, "1." + "0" * 40, "-" + "7" * 60])
def test_fc_16_numbers_of_any_length_are_read_exactly(text: str) -> None:
    with localcontext(Context(prec=3)):
        native = item_to_native({"n": {"N": text}, "s": {"NS": [text]}, "l": {"L": [{"N": text}]}})
    assert {"n": Decimal(text), "s": {Decimal(text)}, "l": [Decimal(text)]} == native
    assert native["n"].as_tuple() == Decimal(text).as_tuple()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1_0", "0x1", "\u0661", "NaN", "Infinity", "sNaN1", "1e", "--1", "1,5", "e", ".", "1.2.3"]
)
@pytest.mark.parametrize("tag", ["N", "NS"])
def test_what_is_no_number_is_never_read_as_one(text: str, tag: str) -> None:
    av = {tag: [text] if tag == "NS" else text}
    with localcontext(Context(traps=[])), pytest.raises(AttributeValueError, match=f"attribute n has the tag {tag}"):
        item_to_native({"n": av})


# ---------------------------------------------------------------------------------------------------- malformed values

SECRET = "5EC2E7"
MALFORMED = [
    ({}, "has no type tag"),
    ({"S": SECRET, "N": "1"}, "has the tags S, N; exactly one is legal"),
    ({"Q": SECRET}, "has the unknown type tag Q"),
    ({"s": SECRET}, "has the unknown type tag s"),
    ({"S": 5}, "has the tag S, whose contents must be text; this int is not"),
    ({"S": None}, "has the tag S, whose contents must be text; this NoneType is not"),
    ({"S": SECRET.encode()}, "has the tag S, whose contents must be text; this bytes is not"),
    ({"N": 5}, "has the tag N, whose contents must be a number as text; this int is not"),
    ({"N": SECRET}, "has the tag N, whose contents must be a number as text; this str is not"),
    ({"B": SECRET}, "has the tag B, whose contents must be bytes; this str is not"),
    ({"BOOL": "true"}, "has the tag BOOL, whose contents must be true or false; this str is not"),
    ({"BOOL": 1}, "has the tag BOOL, whose contents must be true or false; this int is not"),
    ({"NULL": False}, "has the tag NULL, whose contents must be true; this bool is not"),
    ({"SS": []}, "has the tag SS, whose contents must be a list of texts, no two alike; this list is not"),
    ({"SS": [SECRET, SECRET]}, "has the tag SS, whose contents must be a list of texts"),
    ({"SS": [SECRET, 5]}, "has the tag SS, whose contents must be a list of texts"),
    ({"SS": SECRET}, "has the tag SS, whose contents must be a list of texts"),
    ({"NS": ["1", "1.0"]}, "has the tag NS, whose contents must be a list of numbers as text"),
    ({"NS": "12"}, "has the tag NS, whose contents must be a list of numbers as text"),
    ({"NS": []}, "has the tag NS, whose contents must be a list of numbers as text"),
    ({"BS": [b"a", SECRET]}, "has the tag BS, whose contents must be a list of bytes"),
    ({"BS": [b"a", b"a"]}, "has the tag BS, whose contents must be a list of bytes"),
    ({"L": {"S": SECRET}}, "has the tag L, whose contents must be a list of tagged values; this dict is not"),
    ({"L": SECRET}, "has the tag L, whose contents must be a list of tagged values; this str is not"),
    ({"M": [SECRET]}, "is of type list where a map of attributes belongs"),
    (SECRET, "is of type str where a tagged value"),
    ([SECRET], "is of type list where a tagged value"),
    (None, "is of type NoneType where a tagged value"),
]


@pytest.mark.parametrize(("av", "problem"), MALFORMED)
@pytest.mark.parametrize("read", [item_to_native, typed_to_json], ids=["native", "json"])
def test_a_malformed_value_is_refused_with_its_path_and_without_its_contents(read: Any, av: Any, problem: str) -> None:
    for item, where, path in [
        ({"a": av}, "attribute a", ("a",)),
        ({"a": {"M": {"b": av}}}, "attribute a.b", ("a", "b")),
        ({"a": {"L": [{"S": "x"}, {"N": "1"}, {"M": {"c.d": av}}]}}, "attribute a[2].c.d", ("a", 2, "c.d")),
    ]:
        with pytest.raises(AttributeValueError) as caught:
            read(item)
        assert str(caught.value).startswith(f"{where} {problem}")
        assert path == caught.value.path
        assert SECRET not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("item", [[], None, "abc", 5, [("a", {"S": "x"})]])
@pytest.mark.parametrize("read", [item_to_native, typed_to_json, typed_from_json])
def test_what_is_no_item_is_refused(read: Any, item: Any) -> None:
    with pytest.raises(AttributeValueError, match=f"the value is of type {type(item).__name__} where a map"):
        read(item)


def test_the_error_is_the_librarys_and_a_value_error() -> None:
    assert issubclass(AttributeValueError, ItemLedgerError)
    assert issubclass(AttributeValueError, ValueError)


def test_reading_leaves_the_answer_as_it_was() -> None:
    item: dict[str, Any] = {"l": {"L": [{"M": {"n": {"N": "1"}}}]}, "s": {"SS": ["b", "a"]}, "b": {"B": b"x"}}
    before = copy.deepcopy(item)
    item_to_native(item)
    typed_to_json(item)
    assert before == item


# ------------------------------------------------------------------------------------------------- what callers give


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("", {"S": ""}),
        (True, {"BOOL": True}),
        (1, {"N": "1"}),
        (None, {"NULL": True}),
        (bytearray(b"x"), {"B": b"x"}),
        (memoryview(b"x"), {"B": b"x"}),
        (Binary(b"x"), {"B": b"x"}),
        ((1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        (frozenset({2, 10, 1}), {"NS": ["1", "2", "10"]}),
        (set("zyxwvutsrqponmlkjihgfedcba"), {"SS": list("abcdefghijklmnopqrstuvwxyz")}),
        ({Binary(b"b"), b"a"}, {"BS": [b"a", b"b"]}),
        ({"a": []}, {"M": {"a": {"L": []}}}),
    ],
)
def test_a_callers_value_is_typed(value: object, typed: dict[str, Any]) -> None:
    assert typed == from_native(value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (1.5, "is a float, which cannot hold every DynamoDB number; use Decimal"),
        (float("nan"), "is a float"),
        (set(), "is an empty set"),
        (frozenset(), "is an empty set"),
        ({1, "a"}, "is a set of the types N, S"),
        ({True}, "is a set of the types BOOL"),
        ({None}, "is a set of the types NULL"),
        ({(1, 2)}, "is a set of the types L"),
        ({0.5}, "is a float"),
        (object(), "is of type object, for which DynamoDB has none"),
        (iter([1]), "is of type list_iterator, for which DynamoDB has none"),
        ("\ud800", "is not valid Unicode text"),
        ({1: "a"}, "has a name of type int"),
    ],
)
def test_what_dynamodb_cannot_store_is_refused_with_its_path(value: object, problem: str) -> None:
    with pytest.raises(AttributeValueError) as caught:
        item_from_native({"a": [0, {"b": value}]})
    assert str(caught.value).startswith(f"attribute a[1].b {problem}")


def test_nesting_ends_at_level_32() -> None:
    native: Any = "leaf"
    for _ in range(31):
        native = [native]
    typed = item_from_native({"a": native})
    assert {"a": native} == item_to_native(typed)
    assert typed == typed_from_json(typed_to_json(typed))
    with pytest.raises(AttributeValueError, match="is nested deeper than the 32 levels"):
        item_from_native({"a": [native]})
    with pytest.raises(AttributeValueError, match="is nested deeper than the 32 levels"):
        typed_from_json({"a": {"L": [typed["a"]]}})


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(AttributeValueError, match="is nested deeper"):
        from_native(endless)


def test_boto3s_serialiser_types_the_same_values_alike() -> None:
    native = {
        "s": "x",
        "n": Decimal(5),
        "b": b"x",
        "t": True,
        "z": None,
        "l": ["x"],
        "ss": {"x"},
        "ns": {1},
        "bs": {b"x"},
    }
    assert {name: TypeSerializer().serialize(value) for name, value in native.items()} == item_from_native(native)


# --------------------------------------------------------------------------------------------------------------- JSON


def test_dynamodb_json_has_binary_as_base64_text_and_numbers_as_text() -> None:
    item: dict[str, Any] = {"b": {"B": b"\x00\xff"}, "bs": {"BS": [b"a"]}, "l": {"L": [{"B": b""}]}, "n": {"N": "1.50"}}
    expected = {"b": {"B": "AP8="}, "bs": {"BS": ["YQ=="]}, "l": {"L": [{"B": ""}]}, "n": {"N": "1.50"}}
    assert expected == typed_to_json(item)


@pytest.mark.parametrize(
    ("av", "problem"),
    [
        ({"B": "***"}, "has the tag B, but its contents are not base64 text"),
        ({"B": "YQ"}, "has the tag B, but its contents are not base64 text"),
        ({"B": 5}, "has the tag B, but its contents are not base64 text"),
        ({"BS": "YQ=="}, "has the tag BS, but its contents are not base64 text"),
        ({"BS": ["YQ==", "YQ=="]}, "has the tag BS, whose contents must be a list of bytes, no two alike"),
        ({"N": 1}, "has the tag N, whose contents must be a number as text"),
        ({"S": 1}, "has the tag S"),
        ({"S": "a", "N": "1"}, "has the tags S, N"),
        ("a", "is of type str where a tagged value"),
    ],
)
def test_malformed_dynamodb_json_is_refused(av: Any, problem: str) -> None:
    with pytest.raises(AttributeValueError) as caught:
        typed_from_json({"a": {"M": {"b": av}}})
    assert str(caught.value).startswith(f"attribute a.b {problem}")


def test_plain_json_keeps_the_order_of_names_and_writes_sets_sorted() -> None:
    item = {"z": {"b", "a"}, "a": {Decimal(10), Decimal(9)}, "m": {"y": None, "x": True}, "b": {b"b", b"a"}}
    assert '{"z":["a","b"],"a":[9,10],"m":{"y":null,"x":true},"b":["YQ==","Yg=="]}' == native_to_json_text(item)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Decimal("1E+41"), "1" + "0" * 41),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("1.50"), "1.5"),
        (Decimal("-0.0"), "0"),
        (Decimal("1." + "1" * 37), "1." + "1" * 37),
        (Decimal("1E+1000000"), "1E+1000000"),
        (7, "7"),
    ],
)
def test_plain_json_writes_a_number_by_its_value(number: Decimal | int, text: str) -> None:
    assert f'{{"n":{text}}}' == native_to_json_text({"n": number})


def test_plain_json_is_one_line_whatever_the_text() -> None:
    text = 'Zürich \u2028 \u2029 \x85 \x0b \x1c \n \r \ud800 " \\'
    line = native_to_json_text({text: text})
    assert {text: text} == json.loads(line)
    assert [line] == line.splitlines()
    assert "Zürich" in line
    assert line == line.encode().decode()


def test_plain_json_refuses_what_no_read_returns() -> None:
    with pytest.raises(AttributeValueError, match=r"attribute a\[1\]\.b is of type float"):
        native_to_json_text({"a": [None, {"b": 0.5}]})
    with pytest.raises(AttributeValueError, match="attribute a is NaN or Infinity"):
        native_to_json_text({"a": Decimal("NaN")})


def test_numbers_in_json_are_read_with_every_digit() -> None:
    digits = "1234567890" * 4
    assert {"a": Decimal(f"0.{digits}"), "b": int(digits), "c": Decimal("1E+400")} == json_loads_exact(
        f'{{"a": 0.{digits}, "b": {digits}, "c": 1e400}}'
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON: Expecting property name enclosed in double quotes at character 2"),
        ("", "is not JSON: Expecting value at character 1"),
        ('{"a": NaN}', "has NaN, which JSON does not know"),
        ("-Infinity", "has -Infinity, which JSON does not know"),
        ('[{"a": 1, "b": 2, "a": 3}]', "has the name a twice in one object"),
        ("9" * 5000, "has a number with too many digits or out of range"),
        ("1e" + "9" * 30, "has a number with too many digits or out of range"),
        ("[" * 200_000, "is nested too deeply"),
        (b'"\xff"', "is not JSON: its bytes are no UTF-8 text"),
    ],
    ids=range(9),  # the texts are long
)
def test_json_that_cannot_be_read_exactly_is_refused(text: str | bytes, problem: str) -> None:
    with pytest.raises(AttributeValueError) as caught:
        json_loads_exact(text)
    assert str(caught.value).startswith(f"the value {problem}")
