"""A small table to write to and a queue, offline: the SDK is real, its answers come from memory and are *synthetic*."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from orders import SETTINGS

import itemledger as il
from itemledger.testing import Attempt, Fault, FaultInjector, ResetAfter


class Table:
    """``Orders`` in memory, under the key ``pk``: what BatchWriteItem puts, and BatchGetItem finds."""

    def __init__(self) -> None:
        self.rows: dict[str, Any] = {}

    def answer(self, attempt: Attempt) -> dict[str, Any]:
        asked = attempt.request["RequestItems"]["Orders"]
        if attempt.operation == "batch_write_item":
            for put in asked:
                item = put["PutRequest"]["Item"]
                self.rows[item["pk"]["S"]] = item
            return {"UnprocessedItems": {}}
        keys = [key["pk"]["S"] for key in asked["Keys"]]
        return {"Responses": {"Orders": [self.rows[k] for k in keys if k in self.rows]}, "UnprocessedKeys": {}}


class Queue:
    """A queue that knows no message again."""

    url = "https://sqs.eu-west-1.amazonaws.example/1/mails"

    def __init__(self) -> None:
        self.messages: list[str] = []

    def answer(self, attempt: Attempt) -> dict[str, Any]:
        taken = []
        for entry in attempt.request["Entries"]:
            self.messages.append(entry["MessageBody"])
            digest = hashlib.md5(entry["MessageBody"].encode(), usedforsecurity=False).hexdigest()
            taken.append({"Id": entry["Id"], "MessageId": f"m-{len(self.messages)}", "MD5OfMessageBody": digest})
        return {"Successful": taken, "Failed": []}


@contextmanager
def client(service: str, stand_in: Table | Queue, losing_answer: int = 0) -> Iterator[Any]:
    """In place of ``boto3.client(service, config=il.client_config())``.

    The answer with this number is lost after the service has acted.
    """
    sdk: Any = boto3.client(service, **SETTINGS, config=il.client_config())  # type: ignore[call-overload]

    def choose(attempt: Attempt) -> Fault | None:
        return ResetAfter() if attempt.number == losing_answer else None

    with FaultInjector(sdk, choose, upstream=stand_in.answer):
        yield sdk
    sdk.close()
