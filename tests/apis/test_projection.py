"""Projections: every name is aliased, the key is always read, and what the service would refuse never leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from itemledger.apis.projection import Projection, compile_projection
from itemledger.errors import ManifestError
from tests.conftest import MakeTable
from tests.engines.launch import Engine

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

KEY = ("pk", "sk")
Paths = Sequence[str | tuple[str | int, ...]]


def compiled(paths: Paths, key: tuple[str, ...] = KEY) -> Projection:
    projection = compile_projection(paths, key)
    assert projection is not None
    return projection


def resolved(projection: Projection) -> list[tuple[str | int, ...]]:
    """The paths in an expression, its aliases replaced, by a reading of our own."""
    paths = []
    for text in projection.expression.split(", "):
        path: list[str | int] = []
        for segment in text.split("."):
            alias, *indexes = segment.replace("]", "").split("[")
            path += [projection.names[alias], *map(int, indexes)]
        paths.append(tuple(path))
    return paths


def test_no_projection_reads_whole_items() -> None:
    assert compile_projection(None, KEY) is None


def test_the_key_is_added_and_taken_off_again() -> None:
    projection = compiled(["total"])
    assert Projection("#p0, #p1, #p2", {"#p0": "total", "#p1": "pk", "#p2": "sk"}, ("pk", "sk")) == projection
    assert {"total": 1} == projection.strip({"pk": "a", "total": 1, "sk": "b"})


def test_a_key_attribute_that_was_asked_for_stays() -> None:
    projection = compiled(["sk", "total"])
    assert ("pk",) == projection.added
    assert {"sk": "b", "total": 1} == projection.strip({"pk": "a", "total": 1, "sk": "b"})
    item = {"pk": "a", "sk": "b"}
    assert compiled(["pk", "sk"]).strip(item) is item


def test_stripping_leaves_the_item_as_it_was() -> None:
    item = {"pk": "a", "total": 1}
    compiled(["total"]).strip(item)
    assert {"pk": "a", "total": 1} == item


def test_a_text_is_split_and_a_tuple_taken_as_it_is() -> None:
    projection = compiled(["a.b[2].c[0][10]", ("d.e", "[f]", 3, "g,h"), "first name"], key=())
    assert [("a", "b", 2, "c", 0, 10), ("d.e", "[f]", 3, "g,h"), ("first name",)] == resolved(projection)
    assert "#p0.#p1[2].#p2[0][10], #p3.#p4[3].#p5, #p6" == projection.expression


def test_a_name_has_one_alias_wherever_it_stands() -> None:
    projection = compiled(["a.b", "c.a", "b.b"], key=())
    assert "#p0.#p1, #p2.#p0, #p1.#p1" == projection.expression
    assert {"#p0": "a", "#p1": "b", "#p2": "c"} == projection.names


names = st.text(min_size=1, max_size=8)
paths = st.tuples(names).flatmap(
    lambda first: st.lists(names | st.integers(0, 99), max_size=4).map(lambda rest: (*first, *rest))
)


@given(st.lists(paths, min_size=1, max_size=5), st.lists(names, unique=True, max_size=2))
def test_every_path_asked_for_and_the_key_are_in_the_expression(
    asked: list[tuple[str | int, ...]], key: list[str]
) -> None:
    try:
        projection = compiled(asked, tuple(key))
    except ManifestError:
        everything = asked + [(name,) for name in key if (name,) not in asked]
        assert any(clash(a, b) for i, a in enumerate(everything) for b in everything[:i])
        return
    assert asked + [(name,) for name in projection.added] == resolved(projection)
    assert {(name,) for name in key} <= set(resolved(projection))
    assert projection == compiled(asked, tuple(key))
    assert all(ord(c) < 128 for c in projection.expression)


def clash(a: tuple[str | int, ...], b: tuple[str | int, ...]) -> bool:
    """AWS's rule, pair by pair: equal so far, then one ends, or the kinds of the next two steps differ."""
    for x, y in zip(a, b, strict=False):
        if isinstance(x, str) is not isinstance(y, str):
            return True
        if x != y:
            return False
    return True


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ([], r"projection is empty; leave it out"),
        ((), r"projection is empty; leave it out"),
        ("total", r"projection='total' is one text; give a list of paths, such as \['total'\]"),
        ([""], r"path '' is malformed at ''"),
        (["a", "b..c"], r"path 'b\.\.c' is malformed at ''"),
        ([".a"], r"path '\.a' is malformed at ''"),
        (["a."], r"path 'a\.' is malformed at ''"),
        (["a[x]"], r"path 'a\[x\]' is malformed at 'a\[x\]'"),
        (["a[-1]"], r"path 'a\[-1\]' is malformed"),
        (["a[]"], r"path 'a\[\]' is malformed"),
        (["a[1"], r"path 'a\[1' is malformed"),
        (["a[1]b"], r"path 'a\[1\]b' is malformed"),
        (["a[\u0661]"], r"is malformed"),
        (["a[1234567890]"], r"is malformed"),
        (["[1].a"], r"path '\[1\]\.a' is malformed"),
        (["a, b"], r"path 'a, b' is malformed .* each path by itself"),
        (["#a"], r"path '#a' is malformed .* give a tuple"),
        ([":a"], r"path ':a' is malformed"),
        ([" a"], r"path ' a' is malformed"),
        (["a .b"], r"path 'a \.b' is malformed at 'a '"),
        ([()], r"path \(\) is empty"),
        ([("",)], r"an attribute name has 0 bytes"),
        ([("a", "")], r"an attribute name has 0 bytes"),
        ([(1, "a")], r"path \(1, 'a'\) starts with an index"),
        ([("a", -1)], r"path \('a', -1\): -1 is no name and no index"),
        ([("a", True)], r"path \('a', True\): True is no name and no index"),
        ([("a", 1.0)], r"1\.0 is no name and no index"),
        ([["a", 1]], r"path \['a', 1\] is empty or no path"),
        ([None], r"path None is empty or no path"),
        ([("\ud800",)], r"is not valid Unicode text"),
        ([("x" * 65_536,)], r"an attribute name has 65536 bytes; DynamoDB allows 1 to 65535"),
        (["a" + ".b" * 32], r"has 33 elements; DynamoDB allows 32"),
        (["b", "a", "a"], r"projection has 'a' at position 2 a second time, after 'a' at position 1"),
        (["a.b", ("a", "b")], r"has \('a', 'b'\) at position 1 a second time, after 'a\.b' at position 0"),
        (["a[01]", "a[1]"], r"a second time"),
        (["a", "a.b"], r"path 'a\.b' at position 1 lies inside 'a' at position 0"),
        (["a.b[1].c", "x", "a.b"], r"path 'a\.b\[1\]\.c' at position 0 lies inside 'a\.b' at position 2"),
        (
            ["a.b", "a[1]"],
            r"paths 'a\.b' at position 0 and 'a\[1\]' at position 1 take one place for a map and for a list",
        ),
        (["pk.x"], r"path 'pk\.x' at position 0 lies inside the key attribute 'pk'"),
        (
            [f"a{n}" for n in range(1000)],
            r"projection of 1002 paths makes an expression of \d+ bytes; DynamoDB allows 4096",
        ),
    ],
)
def test_what_the_service_would_refuse_is_refused_here(asked: Any, problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        compile_projection(asked, KEY)


@pytest.mark.parametrize(
    "asked",
    [
        ["a", "b"],
        ["a.b", "a.c"],
        ["a.b.d", "a.b.e"],
        ["a[1]", "a[2]"],
        ["a.b", "a.c[2]"],
        ["a.a", "b.a"],
        ["a" + ".b" * 31],
        [("a.b",), "a.c"],
    ],
)
def test_paths_that_only_look_alike_are_let_through(asked: Paths) -> None:
    compiled(asked)


LEAVES = {"c": {"S": "deep"}, "d": {"S": "other"}}
ITEM: dict[str, Any] = {
    "pk": {"S": "k"},
    "size": {"N": "7"},
    "a": {"M": {"b": {"L": [{"S": "0"}, {"M": LEAVES}]}, "e": {"M": LEAVES}}},
    "dot.ted": {"S": "literal"},
    "x" * 300: {"S": "long name"},
}


def read(client: DynamoDBClient, make_table: MakeTable, projection: Projection) -> dict[str, Any]:
    table = make_table(client)
    client.put_item(TableName=table, Item=ITEM)
    [row] = client.batch_get_item(
        RequestItems={
            table: {
                "Keys": [{"pk": ITEM["pk"]}],
                "ProjectionExpression": projection.expression,
                "ExpressionAttributeNames": dict(projection.names),
            }
        }
    )["Responses"][table]
    return row


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["size"], {"size": ITEM["size"]}),
        (["a.e.c"], {"a": {"M": {"e": {"M": {"c": {"S": "deep"}}}}}}),
        ([("dot.ted",)], {"dot.ted": ITEM["dot.ted"]}),
        ([("x" * 300,)], {"x" * 300: ITEM["x" * 300]}),
        (["pk", "nowhere"], {"pk": ITEM["pk"]}),
        (["nowhere"], {}),
    ],
    ids=["reserved word", "nested", "literal dot", "long name", "key", "nothing"],
)
def test_an_engine_answers_with_what_was_asked_for_and_the_key(
    engine: Engine, make_table: MakeTable, asked: Paths, found: dict[str, Any]
) -> None:
    projection = compiled(asked, key=("pk",))
    row = read(engine.client(), make_table, projection)
    assert ITEM["pk"] == row["pk"]
    assert found == projection.strip(row)


def test_an_engine_answers_with_one_member_of_a_list(dynalite: Engine, make_table: MakeTable) -> None:
    """Not on moto, which takes an alias before an index for an unused one."""
    projection = compiled(["a.b[1].c", "a.e.d"], key=("pk",))
    found = {"a": {"M": {"b": {"L": [{"M": {"c": {"S": "deep"}}}]}, "e": {"M": {"d": {"S": "other"}}}}}}
    assert found == projection.strip(read(dynalite.client(), make_table, projection))


@pytest.mark.parametrize("expression", ["a, a", "a, a.b", "a.b, a", "a.b, a[1]", "a[x]", "a..b"])
def test_an_engine_refuses_the_whole_call_for_what_is_refused_here(
    dynalite: Engine, make_table: MakeTable, expression: str
) -> None:
    client = dynalite.client()
    name = make_table(client)
    with pytest.raises(ClientError, match="Invalid ProjectionExpression"):
        client.get_item(TableName=name, Key={"pk": {"S": "k"}}, ProjectionExpression=expression)
    with pytest.raises(ManifestError):
        compile_projection(expression.split(", "), ())
