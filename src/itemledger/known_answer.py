"""The known-answer lab's literals: what is asked, what is answered, and what a right reader must make of it.

Nothing here is computed, least of all by the code under test. Table ``KnownAnswer`` has the string key ``pk``; A to D
hold 10 to 40 and Z is absent. All answers are scripted, so whatever rests on them is *synthetic*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Names this set of literals in records of lab runs; changes with them.
REVISION = "known-answer/1"
TABLE = "KnownAnswer"
KEY = {"pk": "S"}
ASKED = ("A", "B", "C", "D", "Z")
REQUIRED = ("A", "B", "C", "D")

Request = Mapping[str, Any]  # Any: the SDK's parameters and answers are nested mappings of every JSON type
Expected = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A service error in place of a response."""

    code: str
    message: str
    status: int
    request_id: str


@dataclass(frozen=True, slots=True)
class Reply:
    """One call's exact parameters, what it is answered, and how long that takes on the lab's clock."""

    request: Request
    answer: Mapping[str, Any] | Refusal
    takes_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """One question to the reader. ``claim`` says what a right answer shows."""

    name: str
    claim: str
    replies: tuple[Reply, ...]
    expected: Expected
    keys: tuple[str, ...] = ASKED
    max_passes: int = 8
    timeout_s: float = 60.0


# ------------------------------------------------------------------------------------------------ requests and answers

_A = {"pk": {"S": "A"}}
_B = {"pk": {"S": "B"}}
_C = {"pk": {"S": "C"}}
_D = {"pk": {"S": "D"}}
_X = {"pk": {"S": "X"}}
_Z = {"pk": {"S": "Z"}}
_OK = {"HTTPStatusCode": 200, "RetryAttempts": 0}

ASK_ALL: Request = {
    "RequestItems": {"KnownAnswer": {"Keys": [_A, _B, _C, _D, _Z], "ConsistentRead": True}},
    "ReturnConsumedCapacity": "TOTAL",
}
ASK_B_D: Request = {
    "RequestItems": {"KnownAnswer": {"Keys": [_B, _D], "ConsistentRead": True}},
    "ReturnConsumedCapacity": "TOTAL",
}
ASK_D: Request = {
    "RequestItems": {"KnownAnswer": {"Keys": [_D], "ConsistentRead": True}},
    "ReturnConsumedCapacity": "TOTAL",
}

C_AND_A = {
    "Responses": {"KnownAnswer": [{**_C, "value": {"N": "30"}}, {**_A, "value": {"N": "10"}}]},
    "UnprocessedKeys": {"KnownAnswer": {"Keys": [_B, _D], "ConsistentRead": True}},
    "ResponseMetadata": {"RequestId": "LAB-1", **_OK},
}
THEN_B = {
    "Responses": {"KnownAnswer": [{**_B, "value": {"N": "20"}}]},
    "UnprocessedKeys": {"KnownAnswer": {"Keys": [_D], "ConsistentRead": True}},
    "ResponseMetadata": {"RequestId": "LAB-2", **_OK},
}
THEN_D = {
    "Responses": {"KnownAnswer": [{**_D, "value": {"N": "40"}}]},
    "UnprocessedKeys": {},
    "ResponseMetadata": {"RequestId": "LAB-3", **_OK},
}
NOTHING_OF_B_AND_D = {
    "Responses": {"KnownAnswer": []},
    "UnprocessedKeys": {"KnownAnswer": {"Keys": [_B, _D], "ConsistentRead": True}},
    "ResponseMetadata": {"RequestId": "LAB-2", **_OK},
}
A_ROW_WITHOUT_ITS_KEY = {
    "Responses": {"KnownAnswer": [{"value": {"N": "20"}}]},
    "UnprocessedKeys": {"KnownAnswer": {"Keys": [_D], "ConsistentRead": True}},
    "ResponseMetadata": {"RequestId": "LAB-2", **_OK},
}
A_ROW_NOBODY_ASKED_FOR = {
    "Responses": {"KnownAnswer": [{**_B, "value": {"N": "20"}}, {**_X, "value": {"N": "99"}}]},
    "UnprocessedKeys": {"KnownAnswer": {"Keys": [_D], "ConsistentRead": True}},
    "ResponseMetadata": {"RequestId": "LAB-2", **_OK},
}
B_TWICE_WITH_TWO_VALUES = {
    "Responses": {"KnownAnswer": [{**_B, "value": {"N": "20"}}, {**_B, "value": {"N": "21"}}]},
    "UnprocessedKeys": {"KnownAnswer": {"Keys": [_D], "ConsistentRead": True}},
    "ResponseMetadata": {"RequestId": "LAB-2", **_OK},
}
THROTTLED = Refusal("ProvisionedThroughputExceededException", "The level of throughput was exceeded", 400, "LAB-2")
FORBIDDEN = Refusal("AccessDeniedException", "User is not authorized to perform this action", 400, "LAB-2")

# ------------------------------------------------------------------------------------------- what a right reader says

_A_C_Z = ["A returned 10", "B unresolved", "C returned 30", "D unresolved", "Z processed_not_returned"]
_FIRST_PASS = "pass 1 asked A B C D Z: returned A C, left over B D, not returned Z"
_RETRY = {"requiring A-D": "retry", "requiring all five": "retry"}
_REPAIR = {"requiring A-D": "repair", "requiring all five": "repair"}

_REFUSED_ANSWER: Expected = {
    "raised": "LedgerInvariantError",
    "outcomes": _A_C_Z,
    "ledger": [_FIRST_PASS, "pass 2 asked B D: no usable response, LedgerInvariantError; request_id=LAB-2"],
    "stopped_by": "invariant_broken",
    "terminal_error": None,
    "decisions": _REPAIR,
    "pauses_s": [0.05],
    "evidence_label": "synthetic",
}

CASES = (
    Case(
        "completion in caller order",
        "three answers of HTTP 200 settle all five keys; Z was settled by the first of them and is not asked for again",
        (Reply(ASK_ALL, C_AND_A), Reply(ASK_B_D, THEN_B), Reply(ASK_D, THEN_D)),
        {
            "raised": None,
            "outcomes": [
                "A returned 10",
                "B returned 20",
                "C returned 30",
                "D returned 40",
                "Z processed_not_returned",
            ],
            "ledger": [
                _FIRST_PASS,
                "pass 2 asked B D: returned B, left over D, not returned -",
                "pass 3 asked D: returned D, left over -, not returned -",
            ],
            "stopped_by": "complete",
            "terminal_error": None,
            "decisions": {"requiring A-D": "accept", "requiring all five": "reject"},
            "pauses_s": [0.05, 0.1],
            "evidence_label": "synthetic",
        },
    ),
    Case(
        "exhaustion after two passes",
        "with two passes D is unresolved, which is neither there nor absent",
        (Reply(ASK_ALL, C_AND_A), Reply(ASK_B_D, THEN_B)),
        {
            "raised": None,
            "outcomes": ["A returned 10", "B returned 20", "C returned 30", "D unresolved", "Z processed_not_returned"],
            "ledger": [_FIRST_PASS, "pass 2 asked B D: returned B, left over D, not returned -"],
            "stopped_by": "passes_exhausted",
            "terminal_error": None,
            "decisions": _RETRY,
            "pauses_s": [0.05],
            "evidence_label": "synthetic",
        },
        max_passes=2,
    ),
    Case(
        "duplicate refused",
        "the same key twice is refused with both positions, and nothing is sent",
        (),
        {
            "raised": "ManifestError at positions 0, 2",
            "outcomes": [],
            "ledger": [],
            "stopped_by": None,
            "terminal_error": None,
            "decisions": {},
            "pauses_s": [],
            "evidence_label": None,
        },
        keys=("A", "B", "A"),
    ),
    Case(
        "missing key attribute",
        "a row without its key answers for nobody; what the first pass settled is kept",
        (Reply(ASK_ALL, C_AND_A), Reply(ASK_B_D, A_ROW_WITHOUT_ITS_KEY)),
        _REFUSED_ANSWER,
    ),
    Case(
        "key outside the request",
        "a row that this call did not ask for makes the whole answer untrustworthy, B included",
        (Reply(ASK_ALL, C_AND_A), Reply(ASK_B_D, A_ROW_NOBODY_ASKED_FOR)),
        _REFUSED_ANSWER,
    ),
    Case(
        "conflicting repeat",
        "one key with two values is neither value",
        (Reply(ASK_ALL, C_AND_A), Reply(ASK_B_D, B_TWICE_WITH_TWO_VALUES)),
        _REFUSED_ANSWER,
    ),
    Case(
        "request-level error that can pass",
        "a throttled second call leaves B and D unresolved, keeps the rest, and may be tried again",
        (Reply(ASK_ALL, C_AND_A), Reply(ASK_B_D, THROTTLED)),
        {
            "raised": None,
            "outcomes": _A_C_Z,
            "ledger": [
                _FIRST_PASS,
                "pass 2 asked B D: no usable response, ProvisionedThroughputExceededException; request_id=LAB-2",
            ],
            "stopped_by": "request_failed",
            "terminal_error": "ProvisionedThroughputExceededException; request_id=LAB-2",
            "decisions": _RETRY,
            "pauses_s": [0.05],
            "evidence_label": "synthetic",
        },
    ),
    Case(
        "request-level error that will not pass",
        "a refused second call leaves the same keys unresolved, but somebody has to act first",
        (Reply(ASK_ALL, C_AND_A), Reply(ASK_B_D, FORBIDDEN)),
        {
            "raised": None,
            "outcomes": _A_C_Z,
            "ledger": [
                _FIRST_PASS,
                "pass 2 asked B D: no usable response, AccessDeniedException; request_id=LAB-2",
            ],
            "stopped_by": "request_failed",
            "terminal_error": "AccessDeniedException; request_id=LAB-2",
            "decisions": {"requiring A-D": "hold", "requiring all five": "hold"},
            "pauses_s": [0.05],
            "evidence_label": "synthetic",
        },
    ),
    Case(
        "non-shrinking leftovers",
        "leftovers that stay the same are legal and end at the pass bound",
        (Reply(ASK_ALL, C_AND_A), Reply(ASK_B_D, NOTHING_OF_B_AND_D), Reply(ASK_B_D, NOTHING_OF_B_AND_D)),
        {
            "raised": None,
            "outcomes": _A_C_Z,
            "ledger": [
                _FIRST_PASS,
                "pass 2 asked B D: returned -, left over B D, not returned -",
                "pass 3 asked B D: returned -, left over B D, not returned -",
            ],
            "stopped_by": "passes_exhausted",
            "terminal_error": None,
            "decisions": _RETRY,
            "pauses_s": [0.05, 0.1],
            "evidence_label": "synthetic",
        },
        max_passes=3,
    ),
    Case(
        "deadline before a further pass",
        "a first call that outlasts the deadline is the last one, and no pause is begun",
        (Reply(ASK_ALL, C_AND_A, takes_s=2.5),),
        {
            "raised": None,
            "outcomes": _A_C_Z,
            "ledger": [_FIRST_PASS],
            "stopped_by": "deadline",
            "terminal_error": None,
            "decisions": _RETRY,
            "pauses_s": [],
            "evidence_label": "synthetic",
        },
        timeout_s=2.0,
    ),
)

# --------------------------------------------------------------------------------------------- the control: must fail

#: What is true of the table.
TRULY_MISSING = ["Z"]
#: What a reader says that takes "not in the first answer" for "missing".
ONE_CALL_SAYS_MISSING = ["B", "D", "Z"]
