"""The options of commands that query or scan: named as the AWS CLI names them, with the same shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from itemledger.apis.attribute_json import json_loads_exact, typed_from_json
from itemledger.apis.attribute_values import AttributeValueError, item_to_native
from itemledger.cli import options as o
from itemledger.cli.problems import CommandError

REQUEST = "Request"

IndexName: TypeAlias = Annotated[
    str | None, typer.Option(rich_help_panel=REQUEST, help="An index instead of the table.")
]
KeyCondition: TypeAlias = Annotated[
    str,
    typer.Option("--key-condition-expression", rich_help_panel=REQUEST, metavar="EXPRESSION", help="Which items."),
]
FilterExpression: TypeAlias = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=REQUEST, metavar="EXPRESSION", help="Which of the items examined come back; all are paid for."
    ),
]
ProjectionExpression: TypeAlias = Annotated[
    str | None,
    typer.Option(rich_help_panel=REQUEST, metavar="EXPRESSION", help="Which attributes; it saves bytes, not units."),
]
Names: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expression-attribute-names",
        rich_help_panel=REQUEST,
        metavar="JSON",
        help='As \'{"#n": "name"}\', or file://PATH.',
    ),
]
Values: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expression-attribute-values",
        rich_help_panel=REQUEST,
        metavar="JSON",
        help='As \'{":v": {"S": "x"}}\', or file://PATH.',
    ),
]
ConsistentRead: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--consistent-read", metavar="", rich_help_panel=REQUEST, help="Strongly consistent, at twice the units."
    ),
]
Backward: TypeAlias = Annotated[
    bool, typer.Option("--no-scan-index-forward", metavar="", rich_help_panel=REQUEST, help="Last sort key first.")
]
PageSize: TypeAlias = Annotated[
    int | None,
    typer.Option(rich_help_panel=o.BOUNDS, min=1, metavar="ITEMS", help="Items examined a page.", show_default="1 MB"),
]
MaxItems: TypeAlias = Annotated[
    int | None,
    typer.Option(rich_help_panel=o.BOUNDS, min=1, metavar="N", help="End after so many matching items."),
]
MaxExamined: TypeAlias = Annotated[
    int | None,
    typer.Option(rich_help_panel=o.BOUNDS, min=1, metavar="N", help="End after so many examined items."),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=o.BOUNDS, metavar="SECONDS", help="When it ends whatever happens.", show_default="none"
    ),
]


def request_of(
    table: str,
    index: str | None,
    *,
    key_condition: str | None = None,
    filter_expression: str | None = None,
    projection: str | None = None,
    names: str | None = None,
    values: str | None = None,
    consistent_read: bool = False,
    backward: bool = False,
    page_size: int | None = None,
    typed: bool = False,
) -> dict[str, Any]:
    """The request in boto3's shape, its values plain or typed; CommandError names the option that cannot be read."""
    if not table.strip():
        raise CommandError("TABLE is empty; give the name or the ARN of the table")
    request = {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": key_condition,
        "FilterExpression": filter_expression,
        "ProjectionExpression": projection,
        "ExpressionAttributeNames": _json("--expression-attribute-names", names, _names),
        "ExpressionAttributeValues": _json(
            "--expression-attribute-values", values, typed_from_json if typed else _plain
        ),
        "ConsistentRead": True if consistent_read else None,
        "ScanIndexForward": False if backward else None,
        "Limit": page_size,
    }
    return {name: value for name, value in request.items() if value is not None}


def _json(option: str, text: str | None, read: Callable[[object], Any]) -> Any:
    if text is None:
        return None
    if text.startswith("file://"):
        try:
            text = Path(text.removeprefix("file://")).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{option} {text}: {getattr(error, 'strerror', None) or 'is no UTF-8 text'}") from None
    try:
        return read(json_loads_exact(text))
    except AttributeValueError as error:
        raise CommandError(f"{option} {error}; write it as the AWS CLI takes it") from None


def _plain(value: object) -> dict[str, Any]:
    return item_to_native(typed_from_json(value))


def _names(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value.values()):
        raise AttributeValueError(f"is {json.dumps(value, default=str)[:40]}, which maps no alias to a name")
    return {str(alias): str(name) for alias, name in value.items()}
