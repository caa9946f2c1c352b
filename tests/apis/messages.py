"""What the tests of the messaging APIs share: clients of moto, and a request checked against the SDK's own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import boto3
from botocore import session, validate
from botocore.config import Config
from botocore.model import StructureShape

from itemledger import provider
from itemledger.core.answer import Answer
from itemledger.core.reconcile import Mention, reconcile
from itemledger.core.write_api import Entry, WriteApi
from tests.engines.launch import REGION, Engine


def client_of(service: str, engine: Engine) -> Any:
    return boto3.client(
        service,  # type: ignore[call-overload]  # any service
        endpoint_url=engine.endpoint_url,
        region_name=REGION,
        config=Config(retries={"total_max_attempts": 1}),
    )


def entries(api: WriteApi, values: Sequence[object]) -> list[Entry]:
    """As the ledger sends them: each under a key of its own."""
    made = [api.entry(value, position) for position, value in enumerate(values)]
    return [replace(entry, idempotency_key=entry.idempotency_key or f"key-{n}") for n, entry in enumerate(made)]


def settled(api: WriteApi, sent: Sequence[Entry], response: Mapping[str, Any]) -> list[Mention]:
    return reconcile(len(sent), api.mentions(sent, response), api.silence())


def send(api: WriteApi, client: Any, values: Sequence[object]) -> list[Mention]:
    """A real call; its mentions."""
    provider.observe(client, api.operation, api.service)
    sent = entries(api, values)
    answer = provider.call(client, api.operation, api.request(sent))
    assert isinstance(answer, Answer), answer
    return settled(api, sent, answer.response)


def model_faults(api: WriteApi, request: Mapping[str, Any]) -> str:
    """What the SDK's validator says against a request; empty where it would send it."""
    shape = (
        session.get_session()
        .get_service_model(api.service)
        .operation_model("".join(part.title() for part in api.operation.split("_")))
        .input_shape
    )
    assert isinstance(shape, StructureShape)
    return str(validate.ParamValidator().validate(dict(request), shape).generate_report())
