"""Well-formed answers and errors in the form the SDK hands them to its caller, after parsing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from botocore.exceptions import _ClientErrorResponseTypeDef

Response = dict[str, Any]  # Any: a nested dictionary of every JSON type, there to be changed by the test
TypedItem = Mapping[str, Any]
"""An item or a key as the low-level client has it: ``{"pk": {"S": "A"}}``."""


def batch_get_response(
    rows: Iterable[TypedItem] = (),
    *,
    table: str = "KnownAnswer",
    unprocessed: Sequence[TypedItem] | Mapping[str, object] = (),
    request_id: str = "SYNTHETIC-1",
    retry_attempts: int = 0,
) -> Response:
    """One table's ``BatchGetItem`` answer.

    ``unprocessed`` is a list of typed keys of that table, or a whole ``UnprocessedKeys`` map where its exact form
    matters. For several tables, or for a malformed answer, change the dictionary this returns.
    """
    if isinstance(unprocessed, Mapping):
        leftovers = dict(unprocessed)
    else:
        leftovers = {table: {"Keys": [dict(key) for key in unprocessed]}} if unprocessed else {}
    return {
        "Responses": {table: [dict(row) for row in rows]},
        "UnprocessedKeys": leftovers,
        "ResponseMetadata": _metadata(200, request_id, retry_attempts),
    }


def describe_table_response(table: str, key: Mapping[str, str], *, request_id: str = "SYNTHETIC-1") -> Response:
    """A ``DescribeTable`` answer for a table whose ``key`` is ``{"pk": "S"}``, or with the sort key second."""
    kinds = ("HASH", "RANGE")
    if not 1 <= len(key) <= len(kinds):
        raise ValueError(f"a table key has one or two attributes, not {len(key)}; name the partition key first")
    return {
        "Table": {
            "TableName": table,
            "TableStatus": "ACTIVE",
            "TableArn": f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}",
            "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in zip(key, kinds, strict=False)],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": tag} for name, tag in key.items()],
        },
        "ResponseMetadata": _metadata(200, request_id, 0),
    }


def error(
    code: str,
    message: str = "",
    status: int = 400,
    request_id: str = "SYNTHETIC-1",
    *,
    retry_attempts: int = 0,
    operation: str = "BatchGetItem",
) -> ClientError:
    """The ``ClientError`` the SDK raises for a service error; put it into a script as a step."""
    response: _ClientErrorResponseTypeDef = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": _metadata(status, request_id, retry_attempts),  # type: ignore[typeddict-item]
    }
    return ClientError(response, operation)


def _metadata(status: int, request_id: str, retry_attempts: int) -> Response:
    return {
        "RequestId": request_id,
        "HTTPStatusCode": status,
        "HTTPHeaders": {"x-amzn-requestid": request_id, "content-type": "application/x-amz-json-1.0"},
        "RetryAttempts": retry_attempts,
    }
