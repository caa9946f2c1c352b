"""A run's policy: its bounds, its pauses, and the form in which the ledger keeps it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itemledger.core.policy import OnUnknown, Policy
from itemledger.errors import ManifestError

COUNTS = ["max_attempts", "max_lapses", "max_look_ups"]
PAUSES = ["backoff_base_s", "backoff_cap_s", "throttle_base_s"]
OTHER = Policy(3, 9, 2, 0.5, 30.0, 2.0, OnUnknown.IRREVERSIBLE, frozenset({"B", "A"}), 90.0, 30.0, 7.5, 0.0)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [0, -1, 1_000_001, 1.0, True, "3", None])
def test_a_cap_is_a_whole_number_within_its_bounds(name: str, value: object) -> None:
    with pytest.raises(ManifestError, match=name):
        Policy(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [1, 1_000_000])
def test_a_cap_may_stand_at_its_bounds(name: str, value: int) -> None:
    assert value == getattr(Policy(**{name: value}), name)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*PAUSES, "lease_s", "call_timeout_s"])
@pytest.mark.parametrize("value", [0, 0.0, -1.0, math.inf, math.nan, "1", True, None])
def test_a_time_is_positive_and_finite(name: str, value: object) -> None:
    with pytest.raises(ManifestError, match=name):
        Policy(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["keep_s", "settle_s"])
@pytest.mark.parametrize("value", [-0.001, math.inf, math.nan, "1", False])
def test_a_wait_is_zero_or_more_and_finite(name: str, value: object) -> None:
    with pytest.raises(ManifestError, match=name):
        Policy(**{name: value})  # type: ignore[arg-type]


def test_a_wait_may_be_zero() -> None:
    assert (0, 0.0) == (Policy(keep_s=0).keep_s, Policy(settle_s=0.0).settle_s)


@pytest.mark.parametrize("call_timeout_s", [60.0, 61.0])
def test_a_call_must_end_within_its_lease(call_timeout_s: float) -> None:
    with pytest.raises(ManifestError, match="call_timeout_s"):
        Policy(lease_s=60.0, call_timeout_s=call_timeout_s)
    assert 59.9 == Policy(lease_s=60.0, call_timeout_s=59.9).call_timeout_s


@pytest.mark.parametrize("policy", [Policy(), OTHER, *(Policy(on_unknown=each) for each in OnUnknown)])
def test_a_policy_comes_back_from_json_as_it_was(policy: Policy) -> None:
    assert policy == Policy.from_json(json.loads(json.dumps(policy.to_json())))


def test_a_policy_is_kept_in_one_spelling() -> None:
    assert ["A", "B"] == OTHER.to_json()["retry_codes"]
    assert "irreversible" == OTHER.to_json()["on_unknown"]


def test_what_an_earlier_policy_did_not_have_is_the_default() -> None:
    assert Policy(max_attempts=3) == Policy.from_json({"max_attempts": 3})


@pytest.mark.parametrize("value", [{"max_sends": 3}, {"on_unknown": "guess"}, {"max_attempts": 0}])
def test_a_policy_that_this_version_does_not_know_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - ManifestError is one
        Policy.from_json(value)


def test_a_pause_doubles_with_each_attempt_up_to_its_cap() -> None:
    policy = Policy(backoff_base_s=0.2, backoff_cap_s=1.0, throttle_base_s=0.3)

    assert [0.2, 0.2, 0.4, 0.8, 1.0, 1.0] == [policy.pause_s(attempts) for attempts in range(6)]
    assert [0.3, 0.3, 0.6, 1.0] == [policy.pause_s(attempts, throttled=True) for attempts in range(4)]


@given(st.integers(0, 1_000_000), st.booleans())
def test_a_pause_is_positive_and_never_over_its_cap(attempts: int, throttled: bool) -> None:
    policy = Policy()

    assert 0 < policy.pause_s(attempts, throttled=throttled) <= policy.backoff_cap_s
    assert policy.pause_s(attempts, throttled=throttled) <= policy.pause_s(attempts + 1, throttled=throttled)


@pytest.mark.parametrize("value", ["irreversible", "guess", None])
def test_what_follows_an_unknown_end_is_a_member_and_never_its_text(value: object) -> None:
    with pytest.raises(ManifestError, match="on_unknown"):
        Policy(on_unknown=value)  # type: ignore[arg-type]
