"""The writing APIs that are built in, by AWS's own names; each file is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from itemledger.core.write_api import WriteApi
from itemledger.errors import LedgerError

#: Name → file and class. A function that sends to one queue need not import the rest.
WRITE_APIS: Mapping[str, tuple[str, str]] = {
    "dynamodb.BatchWriteItem": ("dynamodb_write", "BatchWriteItem"),
    "dynamodb.BatchExecuteStatement": ("dynamodb_statements", "BatchExecuteStatement"),
    "sagemaker-featurestore-runtime.BatchWriteRecord": ("feature_store", "BatchWriteRecord"),
    "sqs.SendMessageBatch": ("sqs", "SendMessageBatch"),
    "sqs.DeleteMessageBatch": ("sqs", "DeleteMessageBatch"),
    "sqs.ChangeMessageVisibilityBatch": ("sqs", "ChangeMessageVisibilityBatch"),
    "sns.PublishBatch": ("sns", "PublishBatch"),
    "kinesis.PutRecords": ("kinesis", "PutRecords"),
    "firehose.PutRecordBatch": ("firehose", "PutRecordBatch"),
    "events.PutEvents": ("eventbridge", "PutEvents"),
    "s3.DeleteObjects": ("s3", "DeleteObjects"),
    "http.Request": ("http", "HttpRequest"),
    "opensearch.Bulk": ("bulk", "Bulk"),
}


def write_api(name: str) -> type[WriteApi]:
    """The API of this name; LedgerError for a provider that is not built in."""
    if name not in WRITE_APIS:
        raise LedgerError(
            f"{name!r} is no built-in API ({', '.join(WRITE_APIS)}); work on its rows with claims of your own"
        )
    module, api = WRITE_APIS[name]
    return cast(type[WriteApi], getattr(import_module(f"itemledger.apis.{module}"), api))
