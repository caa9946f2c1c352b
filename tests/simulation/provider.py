"""The simulated provider. Its journal of effects is the oracle: it knows nothing of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.core.write_api import Verdict
from tests.simulation.apis import LIFE_S, REFUSES_SECOND, WINDOWED, SimApi
from tests.simulation.apis import Kind as ApiKind

TIMEOUT = Failure(FailureCause.TRANSIENT, "ReadTimeout", "no answer in time")

#: What a whole call can meet, and how often in rough weather; ``fine`` has the rest.
ROUGH = {
    "lost_request": 0.06,
    "lost_answer": 0.08,
    "slow_answer": 0.06,
    "throttle": 0.06,
    "fault_before": 0.03,
    "fault_after": 0.04,
    "damaged": 0.03,
    "short": 0.03,
    "twice": 0.03,
    "foreign": 0.02,
}
#: What an item can meet in a call that is answered.
ITEM_CODES = {"Unprocessed": 0.08, "Busy": 0.06, "E9": 0.04}


@dataclass(slots=True, eq=False)
class Send:
    """One call on the wire. ``results`` is what its answer says of each item as the client can know it."""

    epoch: int
    request: Mapping[str, Any]
    at: float
    fate: str
    token: str | None = None
    arrived_at: float | None = None
    end: Answer | Failure | None = None
    results: dict[str, str] = field(default_factory=dict)
    effects_open: int = 0  # it is under way, or an effect of it is still to come
    delivered: bool = False  # its answer, or its absence, was given to the worker
    recorded: str | None = None  # "live" or "late"

    @property
    def ids(self) -> list[str]:
        return [each[0] for each in self.request["items"]]


class Provider:
    """Takes sends and look-ups; ``at`` schedules what it does later, ``now`` is true time."""

    def __init__(
        self,
        api: SimApi,
        rng: Random,
        now: Callable[[], float],
        at: Callable[[float, Callable[[], None]], None],
        *,
        timeout_s: float,
        settle_s: float,
        poison: frozenset[str] = frozenset(),
        refuses_whole: bool = False,
        fickle: bool = False,
    ) -> None:
        self.api = api
        self.journal: dict[str, list[float]] = {}
        self.order: list[str] = []  # first effects
        self.sends: list[Send] = []
        self.look_ups: list[tuple[float, str, Verdict]] = []
        self.weather = 1.0
        self.blocked: str | None = None
        self.on_arrival: Callable[[Send], None] = lambda send: None
        self.on_look_up: Callable[[str, Verdict], None] = lambda item_id, verdict: None
        self._rng = rng
        self._now = now
        self._at = at
        self._timeout_s = timeout_s
        self._settle_s = settle_s
        self._poison = poison
        self.rejected = set(poison)
        self._refuses_whole = refuses_whole
        self.fickle = fickle
        self._keys: dict[str, float] = {}
        self._tokens: dict[str, tuple[float, Any, Answer]] = {}
        self._requests = 0

    def in_air(self, item_id: str) -> bool:
        """Whether an effect on the item may still come."""
        return any(send.effects_open and item_id in send.ids for send in self.sends)

    def send(self, epoch: int, request: Mapping[str, Any], token: str | None, answer: Callable[[Send], None]) -> Send:
        """Puts a call on the wire; ``answer`` is called when its answer reaches the client, unless it never does."""
        rng, now = self._rng, self._now()
        send = Send(epoch, request, now, self._fate(), token, effects_open=1)
        self.sends.append(send)
        # It arrives before the client gives up; what the client waits for after that is the answer.
        arrives = now + rng.uniform(0.0, self._timeout_s * 0.3)

        def arrive() -> None:
            self._arrive(send)
            send.effects_open -= 1
            if send.fate in ("lost_answer", "slow_answer"):
                return
            self._at(rng.uniform(self._now(), now + self._timeout_s * 0.9), lambda: answer(send))

        if send.fate == "lost_request":
            send.effects_open = 0
        else:
            self._at(arrives, arrive)
        return send

    def look_up(self, request: Mapping[str, Any]) -> Answer | Failure:
        """Answers with what is there now, or with nothing of use."""
        rng = self._rng
        roll = rng.random()
        if self.blocked and roll < 0.5:
            return Failure(FailureCause.CREDENTIALS, self.blocked, "blocked")
        if roll < 0.05 * self.weather:
            return Failure(FailureCause.THROTTLED, "Throttled", "slow down")
        states = [self._state(item_id) for item_id in request["ids"]]
        if roll < 0.10 * self.weather:
            return self._answer({"states": states[1:]})
        for item_id, state in zip(request["ids"], states, strict=True):
            self.look_ups.append((self._now(), item_id, state))
            self.on_look_up(item_id, state)
        return self._answer({"states": [state.value for state in states]})

    def _state(self, item_id: str) -> Verdict:
        roll = self._rng.random() / max(self.weather, 0.001)
        if roll < 0.03:
            return Verdict.UNREADABLE
        if item_id in self.journal:
            return Verdict.SUPERSEDED if roll < 0.05 else Verdict.SAME
        return Verdict.ABSENT_INCONCLUSIVE if roll < 0.08 else Verdict.ABSENT_CONCLUSIVE

    def _fate(self) -> str:
        roll = self._rng.random()
        for fate, share in ROUGH.items():
            roll -= share * self.weather
            if roll < 0:
                return fate
        return "fine"

    def _arrive(self, send: Send) -> None:
        send.arrived_at = self._now()
        self.on_arrival(send)
        if refusal := self._refusal(send):
            send.end = refusal
            send.results = dict.fromkeys(send.ids, "unknown" if refusal.code == "InternalError" else "not_done")
            return
        known = self._tokens.get(send.token or "")
        if known is not None and send.arrived_at <= known[0] + LIFE_S:
            assert known[1] == send.request["items"], "a token came back with another request"
            answer = known[2]
        else:
            answer = self._answer(self._work(send))
            if send.token is not None:
                self._tokens[send.token] = (send.arrived_at, send.request["items"], answer)
        self._spoil(send, answer)

    def _refusal(self, send: Send) -> Failure | None:
        """A call that ends before anything of it is worked on."""
        if self.blocked:
            return Failure(FailureCause.CREDENTIALS, self.blocked, "blocked", self._request_id())
        if send.fate == "throttle":
            return Failure(FailureCause.THROTTLED, "Throttled", "slow down", self._request_id())
        if self._refuses_whole and self._poison.intersection(send.ids):
            return Failure(FailureCause.REFUSED, "ValidationError", "one of them", self._request_id())
        if send.fate == "fault_before":
            return Failure(FailureCause.TRANSIENT, "InternalError", "before", self._request_id())
        return None

    def _work(self, send: Send) -> dict[str, Any]:
        codes = {item_id: self._work_on(send, item_id, key) for item_id, key, _ in send.request["items"]}
        results = [
            {"id": item_id, "code": code, "ref": f"r-{item_id}" if code == "ok" else None}
            for item_id, code in codes.items()
            if code != "ok" or not self.api.silent
        ]
        return {"named": len(results), "results": results}

    def _work_on(self, send: Send, item_id: str, key: str) -> str:
        if item_id in self._poison:
            return "Invalid"
        if self.api.kind in REFUSES_SECOND and item_id in self.journal:
            return "Exists"
        seen = self._keys.get(key)
        if self.api.kind in WINDOWED - {ApiKind.TOKEN} and seen is not None:
            assert send.arrived_at is not None
            if send.arrived_at <= seen + LIFE_S:
                return "ok"
        if self.fickle and self._rng.random() < 0.05 * self.weather:
            self.rejected.add(item_id)
            return "Invalid"  # this time
        code = "ok"
        roll = self._rng.random()
        for each, share in ITEM_CODES.items():
            roll -= share * self.weather
            if roll < 0:
                code = each
                break
        if code == "ok" or (code == "E9" and self._rng.random() < 0.5):
            self._keys[key] = self._now()
            self._effect(send, item_id, code)
        return code

    def _effect(self, send: Send, item_id: str, code: str) -> None:
        """At once, or where the client learns nothing of it, late: yet before a look-up may count it as absent."""
        silent = send.fate in ("lost_answer", "slow_answer")
        if not silent or self.api.replay is not None or self._rng.random() < 0.5:
            self._apply(item_id)
            return
        send.effects_open += 1

        def later() -> None:
            send.effects_open -= 1
            self._apply(item_id)

        self._at(self._rng.uniform(self._now(), send.at + self._timeout_s + 0.9 * self._settle_s), later)

    def _apply(self, item_id: str) -> None:
        if item_id not in self.journal:
            self.order.append(item_id)
        elif self.api.kind in REFUSES_SECOND:
            return
        self.journal.setdefault(item_id, []).append(self._now())

    def _spoil(self, send: Send, answer: Answer) -> None:
        """The answer as it is given: whole, or in a way that settles nothing."""
        results = [dict(result) for result in answer.response["results"]]
        spoiled: Answer | Failure | None = None
        match send.fate:
            case "fault_after":
                spoiled = Failure(FailureCause.TRANSIENT, "InternalError", "after", self._request_id())
            case "damaged":
                spoiled = Failure(FailureCause.DAMAGED, "DamagedBody", "cut", self._request_id())
            case "short":
                spoiled = self._answer({"named": len(results) + 1, "results": results})
            case "twice" if results:
                results.append({**results[0], "code": "Busy"})
                spoiled = self._answer({"named": len(results), "results": results})
            case "foreign":
                results.append({"id": "nobody", "code": "Busy", "ref": None})
                spoiled = self._answer({"named": len(results), "results": results})
        if spoiled is not None:
            send.end, send.results = spoiled, dict.fromkeys(send.ids, "unknown")
            return
        send.end = answer
        send.results = dict.fromkeys(send.ids, "ok")
        for result in results:
            code = result["code"]
            send.results[result["id"]] = {"ok": "ok", "E9": "unknown", "Exists": "exists"}.get(code, "not_done")

    def _answer(self, response: Mapping[str, Any]) -> Answer:
        return Answer(response, self._request_id(), 0)

    def _request_id(self) -> str:
        self._requests += 1
        return f"q-{self._requests}"
