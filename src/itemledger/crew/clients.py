"""The client of a run of work: how one is made, what is refused of one, and where its calls go."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from botocore.client import BaseClient
from botocore.config import Config

from itemledger.core.policy import Policy
from itemledger.core.write_api import Effect, WriteApi
from itemledger.errors import ManifestError
from itemledger.http_sender import HttpSender
from itemledger.origin import AWS_SUFFIXES

MAX_CONNECT_TIMEOUT_S = 5.0
#: Without a number of its own an SDK client makes 3 to 10, by its retry mode and its service.
UNSET_ATTEMPTS = 10


def client_config(policy: Policy | None = None) -> Config:
    """The configuration of a client that ``work`` takes: one attempt a call, within the policy's ``call_timeout_s``.

    ``boto3.client("sqs", config=client_config())``; your own settings go on with ``.merge(Config(...))``.
    """
    call_timeout_s = (policy or Policy()).call_timeout_s
    connect_s = min(MAX_CONNECT_TIMEOUT_S, call_timeout_s / 3)
    return Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=connect_s,
        read_timeout=call_timeout_s - connect_s,
    )


def check_kind(client: Any, hook: Callable[..., Any] | None, *, asynchronous: bool) -> None:
    """What blocks has sent before that shows, and what must be awaited answers nothing to who does not."""
    if asynchronous and isinstance(client, HttpSender):
        raise ManifestError("client= is an HttpSender, which blocks; use itemledger.work")
    if asynchronous and isinstance(client, BaseClient) and not _of_aiobotocore(client):
        raise ManifestError("client= is boto3's, which blocks; give one of aiobotocore, or use itemledger.work")
    if not asynchronous and inspect.iscoroutinefunction(hook):
        raise ManifestError("look_up= is a coroutine function; give a plain one, or use itemledger.aio.work")


def check_client(client: Any, api: WriteApi, policy: Policy, *, allow_sdk_retries: bool) -> None:
    """Refuses a client that could send again unseen, or still be sending when its call counts as lost.

    To give up waiting for such a client would not do: it goes on sending behind our back, after its rows were looked
    up and sent again.
    """
    if isinstance(client, HttpSender):
        if client.timeout_s > policy.call_timeout_s:
            raise ManifestError(
                f"HttpSender(timeout_s={client.timeout_s:g}) lets a call take longer than the policy's "
                f"call_timeout_s={policy.call_timeout_s:g}; give a shorter timeout_s, or a longer call_timeout_s"
            )
        return
    config = getattr(getattr(client, "meta", None), "config", None)
    if config is None:
        return
    attempts = (config.retries or {}).get("total_max_attempts")
    if attempts != 1 and api.effect is Effect.APPEND and not allow_sdk_retries:
        raise ManifestError(
            f"this client may send by itself again, and a second {api.name} is a second effect; make it with "
            "config=itemledger.client_config(), or pass allow_sdk_retries=True to have such successes marked"
        )
    longest_s = _longest_s(config, attempts or UNSET_ATTEMPTS)
    if longest_s > policy.call_timeout_s * (1 + 1e-9):  # a sum of floats may miss by a hair
        raise ManifestError(
            f"a call of this client may take {_told(longest_s)} ({_attempts(attempts)} of "
            f"{_told(config.connect_timeout)} to connect and {_told(config.read_timeout)} to read), and the policy's "
            f"call_timeout_s is {policy.call_timeout_s:g} s; make the client with "
            "config=itemledger.client_config(policy), or plan again with a longer call_timeout_s and lease_s"
        )


def policy_for(client: Any, policy: Policy) -> Policy:
    """The policy for a ledger that no other worker sees: a call may take as long as its client lets it.

    A client without timeouts stays one for ``check_client`` to refuse.
    """
    config = getattr(getattr(client, "meta", None), "config", None)
    if config is None:
        return policy
    longest_s = _longest_s(config, (config.retries or {}).get("total_max_attempts") or UNSET_ATTEMPTS)
    if not policy.call_timeout_s < longest_s < math.inf:
        return policy
    return replace(policy, call_timeout_s=longest_s, lease_s=2 * longest_s)


def place_of(client: Any) -> str | None:
    """Where a client's calls go, for the ledger: its region, and the address where that is none of AWS.

    ``None`` for a client that does not say, such as one whose target is an address itself.
    """
    meta = getattr(client, "meta", None)
    region, url = getattr(meta, "region_name", None), getattr(meta, "endpoint_url", None)
    if not isinstance(url, str):
        return region if isinstance(region, str) else None
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if host.endswith(AWS_SUFFIXES):
        return str(region)
    address = f"[{host}]" if ":" in host else host
    port = "" if parts.port is None else f":{parts.port}"
    return f"{region} {parts.scheme}://{address}{port}{parts.path.rstrip('/')}"


def _of_aiobotocore(client: BaseClient) -> bool:
    return any(base.__module__.partition(".")[0] == "aiobotocore" for base in type(client).__mro__)


def _longest_s(config: Any, attempts: int) -> float:
    """All attempts with all timeouts, and the SDK's pauses between them: at most 1, 2, 4 ... seconds."""
    one_s = sum(math.inf if each is None else float(each) for each in (config.connect_timeout, config.read_timeout))
    return one_s * attempts + 2.0 ** (attempts - 1) - 1


def _attempts(attempts: int | None) -> str:
    if attempts is None:
        return f"up to {UNSET_ATTEMPTS} attempts, since retries are not set,"
    return "one attempt" if attempts == 1 else f"{attempts} attempts"


def _told(seconds: float | None) -> str:
    return "for ever" if seconds is None or seconds == math.inf else f"{seconds:,g} s"
