"""Random keys in every spelling, random tables, and what a service that keeps its word may answer to a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from itemledger.core.keys import Key, KeyPart, KeySchema, KeyType
from itemledger.core.steps import Call, SentKey
from itemledger.core.terms import Settings

Draw = Any  # Hypothesis' own type of it is not public

#: Few and near each other, so that equal and nearly equal keys are common.
LETTERS = "aA1é€\U0001f600 "
texts = st.one_of(
    st.text(LETTERS, min_size=1, max_size=3), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
)
binaries = st.one_of(st.binary(min_size=1, max_size=2), st.binary(min_size=1, max_size=20))


@st.composite
def numbers(draw: Draw) -> Decimal:
    """Any number DynamoDB holds, in no particular form; small ones are common."""
    if draw(st.booleans()):
        return Decimal(draw(st.integers(-3, 12)))
    digits = draw(st.text("0123456789", min_size=1, max_size=38)).lstrip("0") or "1"
    highest = draw(st.integers(-130, 125))
    return Decimal(f"{draw(st.sampled_from(['', '-']))}{digits}E{highest - len(digits) + 1}")


PARTS: dict[KeyType, st.SearchStrategy[KeyPart]] = {KeyType.S: texts, KeyType.N: numbers(), KeyType.B: binaries}
types = st.sampled_from(KeyType)
parts: st.SearchStrategy[KeyPart] = types.flatmap(PARTS.__getitem__)


@st.composite
def number_texts(draw: Draw, number: Decimal) -> str:
    """The number as some service may spell it: plain, with an exponent, with zeros in front and behind."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    zeros: int = draw(st.integers(0, 3))
    before: int = draw(st.integers(0, 2))
    text = "0" * before + text + "0" * zeros
    exponent -= zeros
    minus: str = "-" if sign else draw(st.sampled_from(["", "+"]))
    if not draw(st.booleans()):
        return minus + format(Decimal(f"{text}E{exponent}"), "f")
    letter: str = draw(st.sampled_from("eE"))
    return minus + text + (f"{letter}{exponent:+d}" if exponent else "")


@st.composite
def spellings(draw: Draw, part: KeyPart) -> object:
    """The part as a caller may give it."""
    if isinstance(part, bytes):
        return draw(st.sampled_from([part, bytearray(part), memoryview(part), {"B": part}]))
    if isinstance(part, str):
        return draw(st.sampled_from([part, {"S": part}]))
    text = draw(number_texts(part))
    return draw(st.sampled_from([part, Decimal(text), {"N": text}, *([int(part)] if part == int(part) else [])]))


@st.composite
def wire_keys(draw: Draw, schema: KeySchema, key: Key) -> dict[str, Any]:
    """The key's attributes as a service may send them, in any order."""
    values = dict(zip(schema.names, key if isinstance(key, tuple) else (key,), strict=True))
    typed: dict[str, Any] = {}
    for name in draw(st.permutations(schema.names)):
        value = values[name]
        if isinstance(value, Decimal):
            typed[name] = {"N": draw(number_texts(value))}
        else:
            typed[name] = {"S": value} if isinstance(value, str) else {"B": value}
    return typed


@dataclass
class Table:
    """A table as it is, whatever anybody asks: the settings it is read with, the keys asked for, the items there."""

    settings: Settings
    keys: list[Key]
    items: dict[Key, dict[str, Any]]
    spelled: list[object] = field(default_factory=list)
    """The keys as the caller spells them; longer than ``keys`` when some come twice."""


@st.composite
def tables(draw: Draw, name: str = "T", *, most: int = 10, fold: bool = False) -> Table:
    names = ("pk", "sk")[: draw(st.integers(1, 2))]
    kinds = [draw(types) for _ in names]
    one = PARTS[kinds[0]] if len(kinds) == 1 else st.tuples(*(PARTS[kind] for kind in kinds))
    keys: list[Any] = draw(st.lists(one, max_size=most, unique=True))
    there = draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
    settings = Settings(
        name,
        KeySchema.of({n: kind.value for n, kind in zip(names, kinds, strict=True)}),
        draw(st.booleans()),
        draw(st.sampled_from([None, ("n",), ("pk", "n")])),
        draw(st.sampled_from(["native", "typed"])),
    )
    items = {key: {"n": {"N": str(i)}} for i, key in enumerate(keys) if there[i]}
    again: list[Any] = draw(st.lists(st.sampled_from(keys), max_size=4)) if fold and keys else []
    asked = draw(st.permutations(keys + again)) if again else keys
    spelled: list[object] = []
    for key in asked:
        one_by_one = [draw(spellings(part)) for part in (key if isinstance(key, tuple) else (key,))]
        spelled.append(dict(zip(names, one_by_one, strict=True)))
    return Table(settings, list(dict.fromkeys(asked)), items, spelled)


@st.composite
def several_tables(draw: Draw, *, most: int = 8) -> list[Table]:
    return [draw(tables(f"T{i}", most=most)) for i in range(draw(st.integers(1, 3)))]


@dataclass(frozen=True)
class Said:
    """An answer, and what it says: which keys it leaves over, and whether it looks cut by its size."""

    response: dict[str, Any]
    left: frozenset[SentKey]
    by_size: bool


@st.composite
def honest_answers(draw: Draw, call: Call, world: list[Table], *, finish: bool = False) -> Said:
    """Any answer that keeps the documented word: every key asked is there, absent, or named as left over."""
    left: set[SentKey] = set()
    if not finish and draw(st.booleans()):
        left = {key for key in call.sent if draw(st.booleans())}
    rows: dict[str, list[dict[str, Any]]] = {}
    leftovers: dict[str, dict[str, Any]] = {}
    found = 0
    for table, key in draw(st.permutations(call.sent)):
        settings, items = world[table].settings, world[table].items
        entry = call.request["RequestItems"][settings.table_name]
        if (table, key) in left:
            echo = draw(st.sampled_from([entry, {}]))
            leftovers.setdefault(settings.table_name, {**echo, "Keys": []})["Keys"].append(
                draw(wire_keys(settings.key, key))
            )
            continue
        listed = rows.setdefault(settings.table_name, [])
        if key in items:
            listed.append({**draw(wire_keys(settings.key, key)), **items[key]})
            found += 1
    response: dict[str, Any] = {"Responses": rows, "UnprocessedKeys": leftovers}
    large = next((t for t in world if t.settings.projection and t.settings.table_name in rows), None)
    by_size = bool(large and found and draw(st.booleans()))
    if by_size and large:  # whole items are read, and charged, whatever is projected
        response["ConsumedCapacity"] = [{"TableName": large.settings.table_name, "CapacityUnits": 4000.0}]
    return Said(response, frozenset(left), by_size)


def expected_item(table: Table, key: Key, item: Mapping[str, Any]) -> dict[str, object]:
    """A row's attributes beside the key, as the caller must get them (the key itself may come in any spelling)."""
    return {"n": item["n"] if table.settings.values == "typed" else Decimal(item["n"]["N"])}
