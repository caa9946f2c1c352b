"""Lines of items and of dispositions. Each names its key, so nothing relies on the order of lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal

from itemledger.apis.attribute_json import native_to_json_text, typed_to_json
from itemledger.core.keys import Key, KeySchema
from itemledger.core.result import Disposition, Item


class ItemFormat(StrEnum):
    """How items are written."""

    JSON = "json"
    """Plain JSON with exact numbers, for people and pipelines; binary as base64 and sets as lists."""
    DYNAMODB_JSON = "dynamodb-json"
    """DynamoDB's own typed JSON: nothing is lost."""

    @property
    def values(self) -> Literal["native", "typed"]:
        """What the read must hand out to be written like this."""
        return "native" if self is ItemFormat.JSON else "typed"

    @classmethod
    def of(cls, values: Literal["native", "typed"]) -> ItemFormat:
        return cls.JSON if values == "native" else cls.DYNAMODB_JSON


class Rows:
    """Writes lines for one table in one format."""

    def __init__(self, schema: KeySchema, item_format: ItemFormat) -> None:
        self._names = schema.names
        self._key: Callable[[Key], Mapping[str, Any]]
        self._text: Callable[[Mapping[str, Any]], str]
        if item_format is ItemFormat.JSON:
            self._key, self._text = self._plain_key, native_to_json_text
        else:
            self._key, self._text = schema.typed, _typed_text

    def item(self, key: Key, item: Item) -> bytes:
        """An item with its key, also where the projection left the key out."""
        return _line(self._text({**self._key(key), **item}))

    def disposition(self, position: int, key: Key, disposition: Disposition, duplicate_of: int | None = None) -> bytes:
        """Where one key of the input stands."""
        same = "" if duplicate_of is None else f',"duplicate_of":{duplicate_of}'
        return _line(
            f'{{"position":{position},"key":{self._text(self._key(key))},"disposition":"{disposition}"{same}}}'
        )

    def _plain_key(self, key: Key) -> Mapping[str, Any]:
        return dict(zip(self._names, key if isinstance(key, tuple) else (key,), strict=True))


def _typed_text(item: Mapping[str, Any]) -> str:
    return json.dumps(typed_to_json(item), ensure_ascii=False, separators=(",", ":"))


def _line(text: str) -> bytes:
    # Only a lone surrogate has no UTF-8; as an escape it is still the same JSON.
    return text.encode("utf-8", "backslashreplace") + b"\n"
