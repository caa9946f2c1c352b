"""Keys from a file or stdin: JSON Lines, CSV or DynamoDB-JSON, every number exact, every fault with its line."""

from __future__ import annotations

import binascii
import csv
import sys
from base64 import b64decode
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, assert_never

from itemledger.apis.attribute_json import (
    json_loads_exact,
    typed_from_json,
)
from itemledger.apis.attribute_values import AttributeValueError, number_of, to_native
from itemledger.cli.lines import LineNumbers, Lines
from itemledger.cli.problems import CommandError
from itemledger.core.keys import Key, KeySchema, KeyType
from itemledger.errors import ManifestError

#: An item has at most 400 KB and a character at most 6 bytes in JSON, so no honest line is longer.
MAX_LINE_BYTES = 4 * 1024 * 1024
#: Members that hold a key, or an item with its key, in exports to S3, stream records and the output of the AWS CLI.
WRAPPERS = ("Item", "Keys", "Key")
ONE_PER_LINE = "one key per line is wanted (`jq -c .` writes it so, `jq -c '.[]'` for an array)"


class KeyFormat(StrEnum):
    """How a file spells keys."""

    JSONL = "jsonl"
    CSV = "csv"
    DYNAMODB_JSON = "dynamodb-json"

    @classmethod
    def of(cls, source: str) -> KeyFormat:
        """The format that a file's name promises; stdin is JSON Lines."""
        return {".csv": cls.CSV, ".json": cls.DYNAMODB_JSON}.get(Path(source).suffix.lower(), cls.JSONL)


class Keys:
    """The keys of one file, and which line each came from."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: deque[Key] = deque()
        self._lines = LineNumbers()

    @property
    def count(self) -> int:
        return self._lines.count

    def add(self, key: Key, line: int) -> None:
        self._lines.add(line)
        self.keys.append(key)

    def line_of(self, position: int) -> int:
        return self._lines.of(position)

    def drain(self) -> Iterator[Key]:
        """The keys in order, each forgotten as it is taken: beside the manifest they would be there twice."""
        while self.keys:
            yield self.keys.popleft()

    def fault(self, error: ManifestError) -> CommandError:
        """An error that names positions, with the lines that they stand for."""
        lines = [str(self.line_of(position)) for position in error.positions]
        where = f"{self.name} line{'s' if len(lines) > 1 else ''} {' and '.join(lines)}: " if lines else ""
        return CommandError(f"{where}{error}")


def read_keys(source: str, key_format: KeyFormat | None, schema: KeySchema) -> Keys:
    """All keys of ``source`` (``-`` is stdin) as canonical values of this schema; CommandError at the first fault."""
    name = "stdin" if source == "-" else source
    try:
        if source == "-":
            if sys.stdin is None:
                raise CommandError("stdin is closed; name a file with --keys")
            return _parsed(sys.stdin.buffer, name, key_format or KeyFormat.of(source), schema)
        with Path(source).open("rb") as file:
            return _parsed(file, name, key_format or KeyFormat.of(source), schema)
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror or error}") from None


def _parsed(file: BinaryIO, name: str, key_format: KeyFormat, schema: KeySchema) -> Keys:
    keys = Keys(name)
    lines = Lines(file, name, noun="key", most_bytes=MAX_LINE_BYTES)
    match key_format:
        case KeyFormat.CSV:
            spelled = _csv(lines, schema)
        case KeyFormat.JSONL | KeyFormat.DYNAMODB_JSON:
            spelled = _json_lines(lines, schema, key_format)
        case _:
            assert_never(key_format)
    try:
        for spelling in spelled:
            keys.add(schema.canonical(spelling, keys.count), lines.number)
    except ManifestError as error:
        raise CommandError(f"{name} line {lines.number}: {error}") from None
    except AttributeValueError as error:
        raise CommandError(f"{name} line {lines.number}: key at position {keys.count}: {error}") from None
    return keys


def _json_lines(lines: Lines, schema: KeySchema, key_format: KeyFormat) -> Iterator[object]:
    wrapped = key_format is KeyFormat.DYNAMODB_JSON
    for line in lines:
        if not line.strip():
            continue
        try:
            value = json_loads_exact(line)
        except AttributeValueError:
            if line.rstrip().endswith(("{", "[", ",")):
                raise lines.fault(f"is not one whole JSON value; {ONE_PER_LINE}") from None
            raise
        if wrapped:
            yield _typed_key(value, schema, lines)
        elif isinstance(value, dict):
            yield {name: _plain(part) for name, part in value.items()}
        elif isinstance(value, list):
            yield [_plain(part) for part in value]
        else:
            yield value


def _plain(part: object) -> object:
    """A key attribute's value; in DynamoDB's own spelling it is a map with one tag, which is how binary is written."""
    return to_native(typed_from_json({"value": part})["value"]) if isinstance(part, dict) else part


def _typed_key(value: object, schema: KeySchema, lines: Lines) -> object:
    if isinstance(value, list):
        raise lines.fault(f"is an array; {ONE_PER_LINE}, or give --format jsonl if this array is one key")
    if not isinstance(value, dict):
        raise lines.fault('is no DynamoDB-JSON such as {"pk": {"S": "a"}}; for plain keys give --format jsonl')
    for wrapper in WRAPPERS:
        inner = value.get(wrapper)
        if wrapper not in schema.names and isinstance(inner, dict):
            value = {name: inner[name] for name in schema.names if name in inner}
            break
    return {name: to_native(av) for name, av in typed_from_json(value).items()}


def _csv(lines: Lines, schema: KeySchema) -> Iterator[object]:
    try:
        rows = csv.reader(lines, strict=True)
        header = next((row for row in rows if row), None)
        if header is None:
            return
        types = _column_types(header, schema, lines)
        for row in rows:
            if not row:
                continue
            if len(row) != len(types):
                raise lines.fault(f"has {len(row)} cells, but the header names {len(types)} columns")
            yield {
                name: _cell(text, key_type, name, lines)
                for text, (name, key_type) in zip(row, types.items(), strict=True)
            }
    except csv.Error as error:
        raise lines.fault(f"is not CSV: {error}") from None


def _column_types(header: list[str], schema: KeySchema, lines: Lines) -> dict[str, KeyType | None]:
    types = dict(zip(schema.names, schema.types, strict=True))
    wanted = f"the header must name the key attributes ({', '.join(schema.names)}) and nothing else"
    for name in header:
        if name not in types and name.strip() in types:
            raise lines.fault(f"names the column {name!r}; take the spaces around {name.strip()!r} away")
        if name not in types:
            raise lines.fault(f"names the column {name!r}; {wanted}")
    if len(set(header)) != len(header) or len(header) != len(types):
        raise lines.fault(f"names {', '.join(map(repr, header))}; {wanted}, each once")
    return {name: types[name] for name in header}


def _cell(text: str, key_type: KeyType | None, name: str, lines: Lines) -> object:
    try:
        match key_type:
            case KeyType.N:
                return number_of(text.strip())
            case KeyType.B:
                return b64decode(text, validate=True)
            case _:
                return text
    except (ValueError, ArithmeticError, binascii.Error):
        kind = "a number" if key_type is KeyType.N else "base64 text"
        raise lines.fault(f"column {name!r} does not hold {kind}, which the table's key needs") from None
