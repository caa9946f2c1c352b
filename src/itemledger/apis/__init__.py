"""One small file for each batch API: what its response names, and what its silence means.

Public are the writing ones, by AWS's own names; each is imported when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from itemledger.apis.registry import WRITE_APIS, write_api

if TYPE_CHECKING:
    from itemledger.apis.bulk import Bulk
    from itemledger.apis.dynamodb_statements import BatchExecuteStatement
    from itemledger.apis.dynamodb_write import BatchWriteItem
    from itemledger.apis.eventbridge import PutEvents
    from itemledger.apis.feature_store import BatchWriteRecord
    from itemledger.apis.firehose import PutRecordBatch
    from itemledger.apis.http import HttpRequest
    from itemledger.apis.kinesis import PutRecords
    from itemledger.apis.s3 import DeleteObjects
    from itemledger.apis.sns import PublishBatch
    from itemledger.apis.sqs import ChangeMessageVisibilityBatch, DeleteMessageBatch, SendMessageBatch

__all__ = [
    "WRITE_APIS",
    "BatchExecuteStatement",
    "BatchWriteItem",
    "BatchWriteRecord",
    "Bulk",
    "ChangeMessageVisibilityBatch",
    "DeleteMessageBatch",
    "DeleteObjects",
    "HttpRequest",
    "PublishBatch",
    "PutEvents",
    "PutRecordBatch",
    "PutRecords",
    "SendMessageBatch",
    "write_api",
]


def __getattr__(name: str) -> Any:
    for api, (_, class_name) in WRITE_APIS.items():
        if class_name == name:
            return write_api(api)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
