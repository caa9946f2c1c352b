"""A command's clients: their retries and timeouts are set here and recorded, their credentials are the SDK's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import boto3.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from itemledger._version import __version__
from itemledger.cli.problems import CommandError, cannot_begin
from itemledger.core.answer import Failure, TerminalError
from itemledger.core.keys import KeySchema
from itemledger.core.policy import Policy
from itemledger.crew.clients import client_config
from itemledger.errors import ManifestError
from itemledger.http_sender import HttpSender
from itemledger.provider import TableDescription, call, described, observe

SDK_ATTEMPTS = 3
MAX_CONNECT_TIMEOUT_S = 5.0
MAX_READ_TIMEOUT_S = 15.0
ENDPOINT_FORM = "write --endpoint-url like http://localhost:8000"


@dataclass(frozen=True, slots=True)
class Access:
    """Who asks, and where: each left out is the SDK's to find."""

    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None


def make_client(access: Access, *, deadline_s: float, concurrency: int) -> Any:
    """A client to read with, whose three attempts all fit into the deadline, as far as timeouts can promise that."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": SDK_ATTEMPTS},
        connect_timeout=min(MAX_CONNECT_TIMEOUT_S, deadline_s / 8),
        read_timeout=min(MAX_READ_TIMEOUT_S, deadline_s / 4),
        max_pool_connections=max(10, concurrency),
        user_agent_extra=f"itemledger/{__version__}",
    )
    client = _made("dynamodb", "DynamoDB", access, config)
    observe(client)
    return client


def make_writer(service: str, access: Access, *, policy: Policy, concurrency: int) -> Any:
    """A client to write with: it sends once, so that each send is one of the ledger's, and gives up in time."""
    ours = Config(max_pool_connections=max(10, concurrency), user_agent_extra=f"itemledger/{__version__}")
    return _made(service, service, access, client_config(policy).merge(ours))


def make_sender(header_env: Sequence[str], *, call_timeout_s: float) -> HttpSender:
    """What calls the HTTP APIs; ``header_env`` has ``NAME=VARIABLE`` for each header that comes from the environment.

    A secret on the command line could be read by everybody on the machine.
    """
    headers = {}
    for option in header_env:
        name, equals, variable = option.partition("=")
        if not name or not equals or not variable:
            raise CommandError("--header-env takes NAME=VARIABLE, such as Authorization=API_TOKEN")
        if variable not in os.environ:
            raise CommandError(f"--header-env {name}: there is no variable of that name in the environment; set it")
        headers[name] = os.environ[variable]
    try:
        return HttpSender(headers=headers, timeout_s=call_timeout_s)
    except ManifestError as error:
        raise CommandError(f"--header-env: {str(error).removeprefix('HttpSender: headers= ')}") from None


def _made(service: str, name: str, access: Access, config: Config) -> Any:
    try:
        session = boto3.session.Session(profile_name=access.profile, region_name=access.region)
        client = session.client(  # type: ignore[call-overload]  # its stubs know each service by its literal name
            service, endpoint_url=access.endpoint_url, config=config
        )
    except (BotoCoreError, ValueError) as error:
        hint = "; pass --region or set AWS_REGION" if type(error).__name__ == "NoRegionError" else ""
        if isinstance(error, ValueError):
            hint = f"; {ENDPOINT_FORM}"
        raise CommandError(f"no {name} client can be made: {str(error).rstrip('.')}{hint}") from None
    _check_endpoint(client.meta.endpoint_url)
    return client


def place_of(client: Any) -> str:
    """Where a client sends to, for people."""
    return f"{client.meta.endpoint_url} ({client.meta.region_name})"


def _check_endpoint(url: str) -> None:
    """What the SDK takes without a word and then asks for until the deadline."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is no number, or out of range
        sound = False
    if not sound:
        raise CommandError(f"{url} is no endpoint; {ENDPOINT_FORM}")


def describe(client: Any, table: str) -> TableDescription:
    """The table's key from DescribeTable; CommandError where it cannot be had, for then nothing can begin."""
    answer = call(client, "describe_table", {"TableName": table})
    if isinstance(answer, Failure):
        hint = "; or give --key" if answer.code == "AccessDeniedException" else ""
        error = TerminalError(answer.code, f"{answer.message}{hint}", answer.request_id, answer.cause.passing)
        raise cannot_begin(error, table, place_of(client))
    description = described(answer)
    if description is None:
        raise CommandError(f"DescribeTable of {table} answered without a key schema; give --key to do without")
    return description


def key_option(text: str) -> KeySchema:
    """The schema in ``pk:S,sk:N``; the types are needed, since CSV is read by them."""
    parts = [part.rpartition(":") for part in text.split(",")]
    try:
        if not all(name and colon for name, colon, _ in parts) or len({name for name, _, _ in parts}) != len(parts):
            raise ManifestError("a name or a type is missing, or a name is there twice")
        return KeySchema.of({name: key_type for name, _, key_type in parts})
    except ManifestError as error:
        raise CommandError(f"--key {text}: {error}; write it like pk:S or pk:S,sk:N, partition key first") from None
