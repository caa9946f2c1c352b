"""BatchExecuteStatement for writes: one answer for each statement, by position; silence is refused.

Facts: service model 2012-08-10, BatchExecuteStatement. A 200 does not mean that every statement succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from itemledger.apis.attribute_json import typed_from_json
from itemledger.apis.attribute_values import AttributeValueError, from_native, to_native
from itemledger.apis.proofs import explain_by_code
from itemledger.apis.targets import read_target
from itemledger.core.answer import Failure
from itemledger.core.keys import is_mapping
from itemledger.core.reconcile import Finding, Limits, Mention, Silence, shape_of
from itemledger.core.write_api import Effect, Entry, ItemError, LookUp, Proof, Replay
from itemledger.errors import LedgerInvariantError, ManifestError

_MEMBERS = ("Statement", "Parameters", "Id")
_VERBS = ("INSERT", "UPDATE", "DELETE")

# All codes of the model's BatchStatementErrorCodeEnum but InternalServerError, after which a write may have been done.
# Which of them pass is judged by their names' twins in the developer guide's "Error handling with DynamoDB".
_FINDINGS: Mapping[str, Finding] = {
    "ProvisionedThroughputExceeded": Finding.TRANSIENT,
    "RequestLimitExceeded": Finding.TRANSIENT,
    "ThrottlingError": Finding.TRANSIENT,
    "TransactionConflict": Finding.TRANSIENT,
    "AccessDenied": Finding.REJECTED,
    "ConditionalCheckFailed": Finding.REJECTED,
    "DuplicateItem": Finding.REJECTED,
    "ItemCollectionSizeLimitExceeded": Finding.REJECTED,
    "ResourceNotFound": Finding.REJECTED,
    "ValidationError": Finding.REJECTED,
}


class BatchExecuteStatement:
    """PartiQL statements that write; they name their tables themselves.

    A statement's key stands somewhere in its text or parameters, so there is no exact look-up without a parser of
    PartiQL: what is lost goes to a person, or by the run's recorded policy.
    """

    name = "dynamodb.BatchExecuteStatement"
    service = "dynamodb"
    operation = "batch_execute_statement"
    #: The model allows a statement 8,192 characters; its parameters are not counted there.
    limits = Limits(items=25, item_bytes=8192)
    effect = Effect.APPEND  # UPDATE … SET n = n + 1
    replay: Replay | None = None  # only ExecuteTransaction takes a token
    look_up: LookUp | None = None
    own_effect_codes = frozenset({"DuplicateItem", "ConditionalCheckFailed"})

    @property
    def target(self) -> dict[str, Any]:
        return {}

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Self:
        return cls(**read_target(cls.name, target, {}))

    def entry(self, value: object, position: int) -> Entry:
        if not is_mapping(value):
            raise _unfit(position, f"is of type {type(value).__name__}; give an object with a Statement")
        for member in value:
            if member not in _MEMBERS:
                raise _unfit(position, f"has the member {member!r}; a statement takes {', '.join(_MEMBERS)}")
        item_id = value.get("Id", str(position + 1))
        if not isinstance(item_id, str) or not item_id:
            raise _unfit(position, "has an Id that is no text; give text, or leave it out")
        statement = value.get("Statement")
        if not isinstance(statement, str):
            raise _unfit(position, "has no text as its Statement; give one")
        if next(iter(statement.split(maxsplit=1)), "").upper() not in _VERBS:
            raise _unfit(position, f"has a Statement that is none of {', '.join(_VERBS)}; only writes are taken here")
        payload = {"Statement": statement, "Parameters": _parameters(value.get("Parameters"), position)}
        return Entry(item_id, payload, size_bytes=len(statement))

    def request(self, items: Sequence[Entry]) -> dict[str, Any]:
        return {"Statements": [_statement(entry.payload) for entry in items]}

    def silence(self) -> Silence:
        return Silence.FORBIDDEN

    def mentions(self, sent: Sequence[Entry], response: Mapping[str, Any]) -> Iterator[Mention]:
        answers = response.get("Responses")
        if not isinstance(answers, list) or not all(map(is_mapping, answers)):
            raise LedgerInvariantError("the response has no list of Responses", structure=shape_of(response))
        if len(answers) != len(sent):
            raise LedgerInvariantError(
                f"the response has {len(answers)} answers for {len(sent)} statements, so none can be told from another",
                structure=shape_of(response),
            )
        for position, answer in enumerate(answers):
            yield _mention(position, answer)

    def explain(self, failure: Failure) -> Proof:
        # The operation's modelled errors; InternalServerError is its third.
        return explain_by_code(
            failure, not_processed=("RequestLimitExceeded", "ThrottlingException"), refused=("ValidationException",)
        )


def _parameters(given: object, position: int) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise _unfit(position, "has Parameters that are no list; give a list of AttributeValues such as {'S': …}")
    try:
        named = typed_from_json({str(index): parameter for index, parameter in enumerate(given)})
        values = [to_native(parameter) for parameter in named.values()]
        for value in values:
            from_native(value)  # refuses what DynamoDB cannot keep, such as a number of 39 digits
    except AttributeValueError as fault:
        raise _unfit(position, f"has Parameters that cannot be sent: {fault}; correct them") from None
    return values


def _statement(payload: Mapping[str, Any]) -> dict[str, Any]:
    statement: dict[str, Any] = {"Statement": payload["Statement"]}
    if payload["Parameters"]:  # the model wants at least one
        statement["Parameters"] = [from_native(value) for value in payload["Parameters"]]
    return statement


def _mention(position: int, answer: Mapping[str, Any]) -> Mention:
    error = answer.get("Error")
    if error is None:
        return Mention(position, Finding.SUCCEEDED)
    code = error.get("Code") if is_mapping(error) else None
    message = error.get("Message") if is_mapping(error) else None
    if not is_mapping(error) or not isinstance(code, str | None) or not isinstance(message, str | None):
        raise LedgerInvariantError(
            f"the Error of statement {position} of this call is malformed",
            position=position,
            structure=shape_of(answer),
        )
    code = (code or "").removesuffix("Exception")
    finding = _FINDINGS.get(code, Finding.UNKNOWN)
    return Mention(position, finding, ItemError(code, message or ""), structure=answer)


def _unfit(position: int, problem: str) -> ManifestError:
    return ManifestError(f"item at position {position} {problem}", positions=(position,))
