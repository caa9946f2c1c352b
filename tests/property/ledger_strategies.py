"""What workers, people and providers may do to a ledger, as strategies."""

from __future__ import annotations

from hypothesis import strategies as st

from itemledger.core.batches import Ask, Batch, CallEvidence, Kind, Move
from itemledger.core.outcome import TRANSITIONS, Event, Outcome
from itemledger.core.policy import Policy
from itemledger.core.reconcile import Limits
from itemledger.core.rows import Review
from itemledger.core.write_api import Replay, Scope
from tests.ledger.world import item

NAMES = ("orders", "more")
SECONDS = st.sampled_from([0.0, 0.5, 5.0, 19.0, 41.0, 60.0, 61.0, 250.0, 100_000.0])
UNTIL = ("claim", "dispatch", "record", "record", "record", "record")
ALL_WORK = Ask("w-3", Limits(3), Limits(5), 5.0)

names = st.sampled_from(NAMES[:1] * 4 + NAMES[1:])
items = st.builds(
    lambda number, other, group, refused: item(
        number,
        payload_hash=f"hash-{number}{'-other' * other}",
        group_id=group,
        refused="too large" if refused else None,
    ),
    st.integers(1, 7),
    st.sampled_from([False] * 6 + [True]),
    st.sampled_from([None, None, "g"]),
    st.sampled_from([False] * 6 + [True]),
)
policies = st.builds(
    Policy,
    max_attempts=st.integers(1, 4),
    max_lapses=st.integers(1, 6),
    max_look_ups=st.integers(1, 3),
    keep_s=st.sampled_from([0.0, 50.0]),
)
limits = st.sampled_from([*(Limits(most, size) for most in (1, 2, 3, 5) for size in (None, 250)), None])
asks = st.builds(
    Ask,
    st.sampled_from(["w-1", "w-2"]),
    limits,
    limits,
    st.sampled_from([0.0, 5.0]),
)
replays = st.none() | st.builds(Replay, st.sampled_from(Scope), st.just(300.0), st.just("made up"))
evidences = st.builds(CallEvidence, st.sampled_from([None, "r-1", "r-2"]), st.sampled_from([None, "Slow"]))


def moves_of(batch: Batch, row: int) -> st.SearchStrategy[Move]:
    """What a worker may say of a row of its batch."""
    begun = Outcome.IN_FLIGHT if batch.kind is Kind.SEND else Outcome.RECONCILE
    likely = [event for event in TRANSITIONS[begun] if event not in (Event.SETTLED, Event.LEASE_EXPIRED)]
    return st.builds(
        Move,
        st.just(row),
        st.sampled_from(likely * 3 + [Event.SETTLED, Event.DISPATCHED]),
        delay_s=st.sampled_from([0.0, 0.0, 2.5, None]),
        charged=st.sampled_from([True, True, True, batch.kind is Kind.READ_BACK]),
        request_id=st.sampled_from([None, "r-3"]),
        object_ref=st.sampled_from([None, "o-1"]),
        error_code=st.sampled_from([None, "Bad"]),
        error_message=st.sampled_from([None, "bad"]),
        review=st.sampled_from([None, None, Review.DIFFERENT]),
        batch_limit=st.sampled_from([None, None, 1, 2]),
        possible_duplicates=st.sampled_from([0, 0, 1]),
        within_window=st.booleans(),
        detail=st.sampled_from([{}, {"verdict": "same", "nested": {"n": [1, None]}}]),
    )
