"""What EventBridge has of its own: how an event is measured, its time, and its bus."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from itemledger import provider
from itemledger.apis.eventbridge import PutEvents
from itemledger.core.answer import Answer
from itemledger.errors import ManifestError
from itemledger.ledger.planning import new_item
from tests.apis.messages import client_of, entries, model_faults
from tests.engines.launch import Engine
from tests.local_http import Reply, Request, serving

EVENT = {"Source": "s", "DetailType": "t", "Detail": "{}"}


def on_the_wire(api: PutEvents, event: dict[str, Any]) -> dict[str, Any]:
    """The one event as the SDK writes it into the body of a request."""
    bodies: list[bytes] = []

    def answer(request: Request) -> Reply:
        bodies.append(request.body)
        return Reply(200, b'{"FailedEntryCount":0,"Entries":[{"EventId":"e"}]}')

    with serving(answer) as url:
        client = client_of("events", Engine("scripted", url, 0))
        assert isinstance(provider.call(client, api.operation, api.request(entries(api, [event]))), Answer)
    [body] = bodies
    [written] = json.loads(body)["Entries"]
    assert isinstance(written, dict)
    return written


@pytest.mark.parametrize(
    "given", ["2025-01-31T12:00:00+01:00", "2025-01-31T11:00:00Z", datetime(2025, 1, 31, 11, tzinfo=UTC)], ids=str
)
def test_a_time_is_the_same_moment_on_the_wire_however_it_is_spelled(given: object) -> None:
    api = PutEvents()
    event = {**EVENT, "Time": given}
    assert "" == model_faults(api, api.request(entries(api, [event])))
    assert {**EVENT, "Time": 1_738_321_200} == on_the_wire(api, event)


@pytest.mark.parametrize("given", ["2025-01-31T12:00:00", "yesterday", 5, datetime(2025, 1, 31)], ids=str)
def test_a_time_that_is_no_moment_is_refused(given: object) -> None:
    with pytest.raises(ManifestError, match="item at position 7 has a Time that is no time with its offset"):
        PutEvents().entry({**EVENT, "Time": given}, 7)


def test_the_bus_is_the_targets_and_not_the_items() -> None:
    assert {**EVENT, "EventBusName": "b"} == on_the_wire(PutEvents(event_bus_name="b"), EVENT)
    assert EVENT == on_the_wire(PutEvents(), EVENT)
    assert ({}, {"event_bus_name": "b"}) == (PutEvents().target, PutEvents(event_bus_name="b").target)
    with pytest.raises(ManifestError, match="has a member 'EventBusName'"):
        PutEvents().entry({**EVENT, "EventBusName": "b"}, 0)


def test_an_event_below_a_mebibyte_is_planned_and_one_of_it_is_refused_by_its_size() -> None:
    api = PutEvents()
    fits, over = (api.entry({**EVENT, "Detail": "x" * (length - 2)}, 0) for length in (1_048_575, 1_048_576))
    assert None is new_item("o", api, fits, None).refused
    assert "1,048,576 bytes" in str(new_item("o", api, over, None).refused)
