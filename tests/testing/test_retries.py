"""Retries without waiting: the SDK decides as before, and only the pause is gone."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from itemledger.testing import FaultInjector, ServerError, Throttle, instant_retries

if TYPE_CHECKING:
    from tests.testing.conftest import MakeClient

ASK: Any = {"RequestItems": {"T": {"Keys": [{"pk": {"S": "A"}}]}}}


@pytest.fixture
def slept_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every real pause the process would make, in place of making it."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_the_pauses_are_told_and_not_made(make_client: MakeClient, slept_s: list[float], mode: str) -> None:
    client = make_client(mode, attempts=4)
    with (
        instant_retries(client) as pauses_s,
        FaultInjector(client, [ServerError()] * 4),
        pytest.raises(ClientError, match="reached max retries: 3"),
    ):
        client.batch_get_item(**ASK)
    assert len(pauses_s) == 3
    assert all(pause_s > 0 for pause_s in pauses_s)
    assert [0, 0, 0] == slept_s


def test_only_a_pause_is_changed_not_a_handlers_no(make_client: MakeClient) -> None:
    client = make_client()
    events: Any = client.meta.events  # Any: the stubs want None of a handler
    for answer in (None, False, 2.5):
        events.register("needs-retry.some-service", lambda answer=answer, **_: answer)
    events.register("other.some-service", lambda **_: 2.5)
    with instant_retries(client) as pauses_s:
        answers = [answer for _, answer in events.emit("needs-retry.some-service.SomeOperation")]
        others = [answer for _, answer in events.emit("other.some-service")]
    assert [None, False, 0] == answers
    assert [2.5] == others
    assert answers[1] is False  # to the SDK a zero is a retry, False is none
    assert [2.5] == pauses_s


def test_afterwards_the_pauses_are_made_again(make_client: MakeClient, slept_s: list[float]) -> None:
    client = make_client(attempts=2)
    with instant_retries(client):
        pass
    with FaultInjector(client, [Throttle()] * 2), contextlib.suppress(ClientError):
        client.batch_get_item(**ASK)
    assert len(slept_s) == 1
    assert slept_s[0] > 0


def test_no_other_client_is_touched(make_client: MakeClient, slept_s: list[float]) -> None:
    instant, other = make_client(attempts=2), make_client(attempts=2)
    with (
        instant_retries(instant) as pauses_s,
        FaultInjector(other, [Throttle()] * 2),
        contextlib.suppress(ClientError),
    ):
        other.batch_get_item(**ASK)
    assert [] == pauses_s
    assert len(slept_s) == 1
    assert slept_s[0] > 0
