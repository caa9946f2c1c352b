"""A command's DynamoDB client: its retries and timeouts are set here and recorded, its credentials are the SDK's."""

from __future__ import annotations

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
from itemledger.errors import ManifestError
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
    """A client whose three attempts all fit into the deadline, as far as timeouts can promise that."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": SDK_ATTEMPTS},
        connect_timeout=min(MAX_CONNECT_TIMEOUT_S, deadline_s / 8),
        read_timeout=min(MAX_READ_TIMEOUT_S, deadline_s / 4),
        max_pool_connections=max(10, concurrency),
        user_agent_extra=f"itemledger/{__version__}",
    )
    try:
        session = boto3.session.Session(profile_name=access.profile, region_name=access.region)
        client = session.client("dynamodb", endpoint_url=access.endpoint_url, config=config)
    except (BotoCoreError, ValueError) as error:
        hint = "; pass --region or set AWS_REGION" if type(error).__name__ == "NoRegionError" else ""
        if isinstance(error, ValueError):
            hint = f"; {ENDPOINT_FORM}"
        raise CommandError(f"no DynamoDB client can be made: {str(error).rstrip('.')}{hint}") from None
    _check_endpoint(client.meta.endpoint_url)
    observe(client)
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
