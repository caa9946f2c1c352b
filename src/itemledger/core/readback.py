"""How an unknown end is settled: a live window, an exact look-up, the run's policy, or a person. Never a guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

from itemledger.core.batches import Move
from itemledger.core.judging import Pauses
from itemledger.core.moves import second_effects
from itemledger.core.outcome import Event
from itemledger.core.policy import OnUnknown, Policy
from itemledger.core.rows import Review, Row
from itemledger.core.write_api import Effect, Verdict

_REVIEWS = {Verdict.DIFFERENT: Review.DIFFERENT, Verdict.SUPERSEDED: Review.SUPERSEDED}


class ReadBack:
    """Decides what becomes of rows in reconcile; ``looks_up`` says whether an exact look-up exists."""

    def __init__(self, policy: Policy, effect: Effect, pauses: Pauses, *, looks_up: bool) -> None:
        self._policy = policy
        self._effect = effect
        self._pauses = pauses
        self._looks_up = looks_up

    def without_look_up(self, row: Row, at: float) -> Move | None:
        """The move of a row that needs no look-up, or can have none; ``None`` for one that is to be looked up."""
        irreversible = self._policy.on_unknown is OnUnknown.IRREVERSIBLE
        used_up = row.attempts >= self._policy.max_attempts
        # The second timeout is for what may pass between here and the dispatch, which checks again.
        if not irreversible and not used_up and (row.replay_until or 0.0) > at + 2 * self._policy.call_timeout_s:
            detail = {"allowed_by": "window", "until": row.replay_until}
            return self._replay(row, detail, within_window=True)
        if self._looks_up:
            return None
        match self._policy.on_unknown:
            case OnUnknown.AT_LEAST_ONCE if used_up:
                return Move(row.number, Event.INCONCLUSIVE, delay_s=None, review=Review.EXHAUSTED)
            case OnUnknown.AT_LEAST_ONCE:
                return self._replay(row, {"allowed_by": "policy"}, within_window=False)
            case OnUnknown.REVIEW:
                return Move(row.number, Event.INCONCLUSIVE, delay_s=None, review=Review.NO_LOOK_UP)
            case OnUnknown.IRREVERSIBLE:
                return Move(row.number, Event.INCONCLUSIVE, delay_s=None, review=Review.IRREVERSIBLE)
            case other:
                assert_never(other)

    def looked_up(
        self, rows: Sequence[Row], verdicts: Sequence[Verdict], request_id: str | None, *, charged: bool = True
    ) -> list[Move]:
        """A move for each row by its verdict; a look-up that is not charged was none, for its call failed."""
        pause = self._pauses.on_recovery()
        if not charged:
            return [
                Move(
                    row.number,
                    Event.INCONCLUSIVE,
                    delay_s=pause(row.claims),
                    charged=False,
                    detail={"verdict": verdict},
                )
                for row, verdict in zip(rows, verdicts, strict=True)
            ]
        return [self._by(row, verdict, request_id, pause) for row, verdict in zip(rows, verdicts, strict=True)]

    def _by(self, row: Row, verdict: Verdict, request_id: str | None, pause: Callable[[int], float]) -> Move:
        detail = {"verdict": verdict.value}
        irreversible = self._policy.on_unknown is OnUnknown.IRREVERSIBLE
        match verdict:
            case Verdict.SAME:
                others = second_effects(row, self._effect, row.lost_attempts - 1)
                return Move(row.number, Event.FOUND, request_id=request_id, possible_duplicates=others, detail=detail)
            case Verdict.DIFFERENT | Verdict.SUPERSEDED:
                return self._to_person(row, _REVIEWS[verdict], detail)
            case Verdict.ABSENT_CONCLUSIVE | Verdict.ABSENT_INCONCLUSIVE if irreversible:
                return self._to_person(row, Review.IRREVERSIBLE, detail)
            case Verdict.ABSENT_CONCLUSIVE:
                return Move(row.number, Event.PROVEN_ABSENT, delay_s=pause(row.look_ups), detail=detail)
            case Verdict.ABSENT_INCONCLUSIVE | Verdict.UNREADABLE if row.look_ups >= self._policy.max_look_ups:
                return self._to_person(row, Review.INCONCLUSIVE, detail)
            case Verdict.ABSENT_INCONCLUSIVE | Verdict.UNREADABLE:
                return Move(row.number, Event.INCONCLUSIVE, delay_s=pause(row.look_ups), detail=detail)
            case _:
                assert_never(verdict)

    def _to_person(self, row: Row, review: Review, detail: dict[str, Any]) -> Move:
        return Move(row.number, Event.INCONCLUSIVE, delay_s=None, review=review, detail=detail)

    def _replay(self, row: Row, detail: dict[str, Any], *, within_window: bool) -> Move:
        return Move(row.number, Event.REPLAY_ALLOWED, within_window=within_window, detail=detail)
