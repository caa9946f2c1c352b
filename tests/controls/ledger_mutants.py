"""The fences of the ledger and, for each, the test that fails without it.

A row: a name, the file in the package, the text as it stands there exactly once, what stands there without the fence,
and the test. Indentation before the text stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MEMORY = "tests/ledger/test_memory.py::TestMemoryStore::test_"
SQLITE = "tests/ledger/test_sqlite_conformance.py::TestSqliteStore::test_"
ALONE = "tests/ledger/test_sqlite_predicates.py::test_"
CORE, APIS = "tests/core/test_", "tests/apis/test_"

SEEDS = "tests/simulation/test_simulation.py::test_no_law_breaks_in_these_seeds[{}]"
ONCE = "tests/simulation/test_simulation.py::test_no_law_breaks_in_a_seed_that_once_broke_one[{}]"
NAMED = "tests/simulation/test_named_fixtures.py::test_"
SECOND = "tests/simulation/test_second_effects.py::test_"

JUDGING, READBACK, WORKER = "core/judging.py", "core/readback.py", "core/worker.py"
RULES, MOVES, DECIDING = "ledger/rules.py", "core/moves.py", "core/deciding.py"
STORE, CLAIMS = "ledger/memory.py", "ledger/memory_claims.py"
BATCHES, SQL = "ledger/sqlite_batches.py", "ledger/sql/"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fence and what stands in its place without it."""

    name: str
    file: str
    text: str
    instead: str
    test: str

    def places(self, package: Path) -> int:
        """How often the text stands in the file; once, or the row is out of date."""
        path = package / self.file
        return path.read_text().count(self.text) if path.exists() else 0

    def mutated(self, source: str) -> str:
        assert 1 == source.count(self.text), f"{self.file} has not exactly one {self.text!r}"
        return source.replace(self.text, self.instead)

    def apply(self, package: Path) -> None:
        path = package / self.file
        path.write_text(self.mutated(path.read_text()))


MUTANTS = [
    # ------------------------------------------------------------------------------------ what all stores share
    Mutant(
        "no state in the check of a claim",
        RULES,
        "if batch.state not in states:",
        "if False:",
        MEMORY + "a_lost_claim_is_refused_and_changes_nothing",
    ),
    Mutant(
        "no lease in the check of a claim",
        RULES,
        "if now is not None and batch.lease_until <= now:",
        "if False:",
        MEMORY + "a_lease_that_ran_out_unnoticed_is_refused_all_the_same",
    ),
    Mutant(
        "a replay window that never closes",
        RULES,
        "return row.lost_attempts > 0 and",
        "return False and",
        MEMORY + "a_dispatch_that_would_outlast_the_window_is_refused_and_changes_nothing",
    ),
    Mutant(
        "a replay window that forgets how long a call takes",
        RULES,
        "row.replay_until <= now + policy.call_timeout_s",
        "row.replay_until <= now",
        MEMORY + "a_dispatch_that_would_outlast_the_window_is_refused_and_changes_nothing",
    ),
    Mutant(
        "no conservation in record",
        RULES,
        "if sorted(move.row for move in moves) != sorted(batch.items):",
        "if False:",
        MEMORY + "a_send_is_recorded_whole_or_not_at_all",
    ),
    Mutant(
        "conservation by count only",
        RULES,
        "if sorted(move.row for move in moves) != sorted(batch.items):",
        "if len(moves) != len(batch.items):",
        MEMORY + "a_send_is_recorded_whole_or_not_at_all",
    ),
    Mutant(
        "conservation without doubles",
        RULES,
        "if sorted(move.row for move in moves) != sorted(batch.items):",
        "if {move.row for move in moves} != set(batch.items):",
        MEMORY + "a_send_is_recorded_whole_or_not_at_all",
    ),
    Mutant(
        "decisions by nobody",
        RULES,
        "if not who.strip() or not why.strip():",
        "if False:",
        MEMORY + "a_decision_says_who_and_why",
    ),
    Mutant(
        "pruning what is open",
        RULES,
        "if row.outcome not in FINAL or row.epoch is not None:",
        "if row.epoch is not None:",
        MEMORY + "rows_that_are_not_final_stay",
    ),
    Mutant(
        "pruning what is in review", RULES, "if row.review is not None:", "if False:", MEMORY + "rows_in_review_stay"
    ),
    Mutant(
        "pruning inside a provider's window",
        RULES,
        "if window > now:",
        "if False:",
        MEMORY + "rows_stay_while_the_provider_remembers_their_send",
    ),
    Mutant(
        "pruning inside the business window",
        RULES,
        'return "business" if age_s < policy.keep_s else None',
        "return None",
        MEMORY + "rows_stay_for_the_business_window",
    ),
    Mutant(
        "no payload in the comparison at plan",
        MOVES,
        "        item.payload_hash,\n    )\n",
        "        row.payload_hash,\n    )\n",
        MEMORY + "a_key_with_another_payload_is_a_conflict_and_the_others_are_planned",
    ),
    Mutant(
        "a row set aside that its group wakes",
        "ledger/memory.py",
        "first.epoch is None and first.review is None:",
        "first.epoch is None:",
        MEMORY + "what_comes_later_in_its_group_does_not_wake_it",
    ),
    Mutant(
        "a row set aside that its group wakes, in SQLite",
        "ledger/sql/rows.sql",
        " AND due_at IS NULL AND review IS NULL;",
        " AND due_at IS NULL;",
        SQLITE + "what_comes_later_in_its_group_does_not_wake_it",
    ),
    Mutant(
        "the second of one item in a call compared with its old place",
        "ledger/sqlite_planning.py",
        "lies_at = moved.get(row.number, row.source)",
        "lies_at = row.source",
        SQLITE + "an_item_that_comes_twice_in_one_call_comes_back_once_and_lies_where_it_was_told_last",
    ),
    Mutant(
        "deciding a row that a worker holds",
        DECIDING,
        "    if row.epoch is not None:\n        raise LedgerError(",
        "    if False:\n        raise LedgerError(",
        MEMORY + "a_row_that_a_worker_holds_is_not_decided",
    ),
    Mutant(
        "a late success of a terminal row that nobody sees",
        MOVES,
        "review = Review.LATE_SUCCESS if row.outcome is Outcome.TERMINAL else row.review",
        "review = row.review",
        MEMORY + "a_late_success_of_a_row_given_up_goes_to_a_person",
    ),
    Mutant(
        "a window that each repeated send opens anew",
        MOVES,
        "replay_until=batch.replay_safe_until if first else row.replay_until,",
        "replay_until=batch.replay_safe_until,",
        MEMORY + "the_window_that_counts_is_that_of_the_first_send_with_an_unknown_end",
    ),
    Mutant(
        "a lapsed batch that stays as large",
        MOVES,
        "max(1, len(batch.items) // 2)",
        "len(batch.items)",
        MEMORY + "each_lapsed_send_halves_what_its_rows_are_sent_with",
    ),
    # --------------------------------------------------------------------------------------------- the memory store
    Mutant(
        "memory: heartbeat of any claim",
        STORE,
        "batch = self._open(epoch, now, OPEN)",
        "batch = self.batch(epoch)",
        MEMORY + "a_lost_claim_is_refused_and_changes_nothing",
    ),
    Mutant(
        "memory: dispatch of any claim",
        STORE,
        "batch = self._open(epoch, now, (BatchState.CLAIMED,))",
        "batch = self.batch(epoch)",
        MEMORY + "a_second_dispatch_is_refused",
    ),
    Mutant(
        "memory: dispatch after the lease",
        STORE,
        "batch = self._open(epoch, now, (BatchState.CLAIMED,))",
        "batch = self._open(epoch, None, (BatchState.CLAIMED,))",
        MEMORY + "a_lease_that_ran_out_unnoticed_is_refused_all_the_same",
    ),
    Mutant(
        "memory: release of any claim",
        STORE,
        "batch = self._open(epoch, None, (BatchState.CLAIMED,))",
        "batch = self.batch(epoch)",
        MEMORY + "a_dispatched_claim_cannot_be_given_back",
    ),
    Mutant(
        "memory: no window at dispatch",
        STORE,
        "check_windows(batch, rows, policy, now)",
        "pass",
        MEMORY + "a_dispatch_that_would_outlast_the_window_is_refused_and_changes_nothing",
    ),
    Mutant(
        "memory: a late record counts",
        STORE,
        "if batch.state is not BatchState.DISPATCHED:",
        "if False:",
        MEMORY + "a_late_answer_moves_nothing",
    ),
    Mutant(
        "memory: no conservation",
        STORE,
        "check_moves(batch, moves_)",
        "pass",
        MEMORY + "a_late_answer_must_be_whole_too",
    ),
    Mutant(
        "memory: leases run out early",
        CLAIMS,
        "if batch.lease_until > self._now:",
        "if False:",
        MEMORY + "a_lease_that_still_runs_holds",
    ),
    Mutant(
        "memory: late evidence is forgotten",
        CLAIMS,
        "if row.late_epoch is not None:",
        "if False:",
        MEMORY + "a_late_success_is_found_without_another_send",
    ),
    # --------------------------------------------------------------------------------------------- the SQLite store
    Mutant(
        "sqlite: heartbeat of any claim",
        BATCHES,
        "check_open(batch, transaction.now, OPEN)",
        "pass",
        SQLITE + "a_lost_claim_is_refused_and_changes_nothing",
    ),
    Mutant(
        "sqlite: dispatch of any claim",
        BATCHES,
        "check_open(batch, now, (BatchState.CLAIMED,))",
        "pass",
        SQLITE + "a_second_dispatch_is_refused",
    ),
    Mutant(
        "sqlite: dispatch after the lease",
        BATCHES,
        "check_open(batch, now, (BatchState.CLAIMED,))",
        "check_open(batch, None, (BatchState.CLAIMED,))",
        SQLITE + "a_lease_that_ran_out_unnoticed_is_refused_all_the_same",
    ),
    Mutant(
        "sqlite: release of any claim",
        BATCHES,
        "check_open(batch, None, (BatchState.CLAIMED,))",
        "pass",
        SQLITE + "a_lost_claim_is_refused_and_changes_nothing",
    ),
    Mutant(
        "sqlite: no window at dispatch",
        BATCHES,
        "check_windows(batch, rows_of(transaction, numbers) if numbers else (), policy, now)",
        "pass",
        SQLITE + "a_dispatch_that_would_outlast_the_window_is_refused_and_changes_nothing",
    ),
    Mutant(
        "sqlite: a late record counts",
        BATCHES,
        "if batch.state is not BatchState.DISPATCHED:",
        "if False:",
        SQLITE + "a_late_answer_moves_nothing",
    ),
    Mutant(
        "sqlite: no conservation",
        BATCHES,
        "check_moves(batch, moves_)",
        "pass",
        SQLITE + "a_late_answer_must_be_whole_too",
    ),
    Mutant(
        "sqlite: rows are written whoever holds them",
        SQL + "rows.sql",
        "WHERE number = ? AND epoch IS ? AND outcome = ?;",
        "WHERE number = ? AND (epoch IS ? OR 1) AND outcome = ?;",
        ALONE + "a_row_in_other_hands_is_not_written",
    ),
    Mutant(
        "sqlite: rows are written wherever they stand",
        SQL + "rows.sql",
        "WHERE number = ? AND epoch IS ? AND outcome = ?;",
        "WHERE number = ? AND epoch IS ? AND (outcome = ? OR 1);",
        ALONE + "a_row_that_has_moved_on_is_not_written",
    ),
    Mutant(
        "sqlite: batches are written wherever they stand",
        SQL + "batches.sql",
        "WHERE epoch = :epoch AND state = :was;",
        "WHERE epoch = :epoch AND (state = :was OR 1);",
        ALONE + "a_claim_that_has_ended_is_not_written",
    ),
    Mutant(
        "sqlite: rows are dispatched whoever holds them",
        SQL + "batches.sql",
        "AND epoch = :epoch AND outcome IN (SELECT value FROM json_each(:outcomes));",
        "AND (epoch = :epoch OR 1) AND outcome IN (SELECT value FROM json_each(:outcomes));",
        ALONE + "a_row_in_other_hands_is_not_dispatched",
    ),
    Mutant(
        "sqlite: rows are dispatched wherever they stand",
        SQL + "batches.sql",
        "AND epoch = :epoch AND outcome IN (SELECT value FROM json_each(:outcomes));",
        "AND epoch = :epoch AND (outcome IN (SELECT value FROM json_each(:outcomes)) OR 1);",
        ALONE + "a_row_in_flight_is_not_dispatched_again",
    ),
    Mutant(
        "sqlite: nobody counts what a conditional write moved",
        "ledger/sqlite_rows.py",
        "if moved != expected:",
        "if False:",
        ALONE + "a_row_in_other_hands_is_not_written",
    ),
    # ------------------------------------------------------------------------------------------------ law, reconcile
    Mutant(
        "a lost answer is taken for not done",
        "core/outcome.py",
        "Event.LOST: (Outcome.RECONCILE,),",
        "Event.LOST: (Outcome.RETRYABLE,),",
        CORE + "outcome.py::test_the_law_is_the_table_and_nothing_else",
    ),
    Mutant(
        "success is not final",
        "core/outcome.py",
        "Outcome.SUCCEEDED: {},",
        "Outcome.SUCCEEDED: {Event.REOPENED: (Outcome.RETRYABLE,)},",
        CORE + "outcome.py::test_success_is_final",
    ),
    Mutant(
        "reconcile takes items from outside the call",
        "core/reconcile.py",
        "if position is None or not 0 <= position < count:",
        "if position is None:",
        CORE + "reconcile.py::test_a_mention_outside_the_call_is_refused",
    ),
    Mutant(
        "reconcile takes an item twice",
        "core/reconcile.py",
        "if before is not None:",
        "if False:",
        CORE + "reconcile.py::test_a_second_mention_of_one_item_is_refused",
    ),
    Mutant(
        "reconcile fills a forbidden silence",
        "core/reconcile.py",
        "if silence.value is None:",
        "if False:",
        CORE + "reconcile.py::test_where_silence_is_forbidden_each_item_must_be_named",
    ),
    Mutant(
        "statements: no length of the answers",
        "apis/dynamodb_statements.py",
        "if len(answers) != len(sent):",
        "if False:",
        APIS + "dynamodb_statements.py::test_a_response_that_does_not_add_up_is_refused_synthetic",
    ),
    Mutant(
        "positions: no length of the results",
        "apis/by_position.py",
        "if len(results) != len(sent):",
        "if False:",
        APIS + "by_position.py::test_an_answer_of_another_length_is_refused_whole",
    ),
    Mutant(
        "positions: no count beside the list",
        "apis/by_position.py",
        "self._check_count(response, sum(mention.finding is not Finding.SUCCEEDED for mention in mentions))",
        "pass",
        APIS + "by_position.py::test_a_count_that_disagrees_with_the_list_is_refused",
    ),
    Mutant(
        "bulk: no length of the items",
        "apis/bulk.py",
        "if len(items) != len(sent):",
        "if False:",
        APIS + "bulk.py::test_synthetic_an_answer_that_does_not_add_up_is_refused",
    ),
    Mutant(
        "bulk: no length of the documents looked up",
        "apis/bulk_look_up.py",
        "if len(docs) != len(items):",
        "if False:",
        APIS + "bulk.py::test_synthetic_a_look_up_that_does_not_add_up_is_refused",
    ),
    Mutant(
        "a call may outlive its lease",
        "core/policy.py",
        "if self.call_timeout_s >= self.lease_s:",
        "if False:",
        CORE + "policy.py::test_a_call_must_end_within_its_lease",
    ),
    # ------------------------------------------------------------------ the worker, by the laws of the simulation
    Mutant(
        "worker: an unknown end is retryable",
        JUDGING,
        "            Event.LOST,\n",
        "            Event.NOT_PROCESSED,\n",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: an unknown code is a refusal",
        JUDGING,
        "                return self._lost(row, pause, answer.request_id, code, message)",
        "                return Move(row.number, Event.REFUSED, review=Review.REFUSED)",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: unprocessed is done",
        JUDGING,
        "event = Event.LEFT_UNPROCESSED",
        "event = Event.CONFIRMED",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: a refused call is charged",
        JUDGING,
        "            charged=False,",
        "            charged=True,",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: the effect of an own earlier send is a refusal",
        JUDGING,
        "            return Finding.UNKNOWN if row.dispatches or sdk_retry_attempts != 0 else finding",
        "            return finding",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: an effect that came after its look-up is a refusal",
        JUDGING,
        "            return Finding.UNKNOWN if row.dispatches or sdk_retry_attempts != 0 else finding",
        "            return Finding.UNKNOWN if row.lost_attempts or sdk_retry_attempts != 0 else finding",
        NAMED + "an_effect_that_comes_after_its_look_up_is_no_refusal",
    ),
    Mutant(
        "worker: possible duplicates are not counted",
        JUDGING,
        "possible_duplicates=resent + second_effects(row, self._api.effect, row.lost_attempts),",
        "possible_duplicates=resent,",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: a window is thought to protect for ever",
        JUDGING,
        "possible_duplicates=resent + second_effects(row, self._api.effect, row.lost_attempts),",
        "possible_duplicates=0 if self._api.replay else resent + row.lost_attempts,",
        ONCE.format(527),
    ),
    Mutant(
        "worker: unknown ends all come back at once",
        JUDGING,
        "delay_s=self._settle_s + pause(row.attempts, False),",
        "delay_s=self._settle_s,",
        NAMED + "repeated_sends_after_unknown_ends_are_spaced_like_other_retries",
    ),
    Mutant(
        "worker: the wait before a look-up is dropped",
        JUDGING,
        "delay_s=self._settle_s + pause(row.attempts, False),",
        "delay_s=pause(row.attempts, False),",
        NAMED + "fc_49_a_lost_answer_is_looked_up_only_when_a_late_effect_would_be_seen",
    ),
    Mutant(
        "worker: a lapsed send is looked up at once",
        MOVES,
        "batch, now + settle_s)",
        "batch, now)",
        NAMED + "fc_51_a_lapsed_send_is_looked_up_only_when_a_late_effect_would_be_seen",
    ),
    Mutant(
        "worker: a refused dispatch is ignored",
        WORKER,
        "        yield Release(epoch)\n        return False",
        "        return True",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: the provider's window is not written down",
        WORKER,
        "Dispatch(epoch, work.api.replay)",
        "Dispatch(epoch, None)",
        NAMED + "a_second_send_within_the_window_is_no_possible_duplicate",
    ),
    Mutant(
        "worker: nobody reviews what nothing can settle",
        READBACK,
        "return Move(row.number, Event.INCONCLUSIVE, delay_s=None, review=Review.NO_LOOK_UP)",
        "return self._replay(row, {}, within_window=False)",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: inconclusive is absent",
        READBACK,
        "            case Verdict.ABSENT_CONCLUSIVE:\n",
        "            case Verdict.ABSENT_CONCLUSIVE | Verdict.ABSENT_INCONCLUSIVE | Verdict.UNREADABLE:\n",
        SEEDS.format(0),
    ),
    Mutant(
        "worker: irreversible is sent again",
        READBACK,
        "            case Verdict.ABSENT_CONCLUSIVE | Verdict.ABSENT_INCONCLUSIVE if irreversible:",
        "            case Verdict.ABSENT_CONCLUSIVE | Verdict.ABSENT_INCONCLUSIVE if False:",
        SEEDS.format(0),
    ),
    Mutant(
        "a lapsed send in flight is free again",
        MOVES,
        "outcome=moved(row.outcome, Event.LEASE_EXPIRED)), batch",
        "outcome=Outcome.RETRYABLE), batch",
        SEEDS.format(0),
    ),
    Mutant(
        "a window that cannot be used is not forgotten",
        MOVES,
        "look_ups=0, replay_until=None, replay_of=None, review=None)\n        case Event.EXH",
        "look_ups=0, review=None)\n        case Event.EXH",
        ONCE.format(64),
    ),
    Mutant(
        "late evidence hides other unknown ends",
        MOVES,
        "return known_end(one_of_them(row, effect))",
        "return known_end(row)",
        ONCE.format(448),
    ),
    Mutant(
        "a refusal hides an earlier late success",
        MOVES,
        "review=Review.LATE_SUCCESS if outcome is Outcome.TERMINAL and row.late_epoch is not None else move.review,",
        "review=move.review,",
        MEMORY + "a_row_that_ends_after_a_late_success_is_for_a_person",
    ),
    Mutant(
        "a second put is thought to be a second effect",
        MOVES,
        "if effect is Effect.APPEND and row.replay_until is None else 0",
        "if row.replay_until is None else 0",
        SECOND + "neither_a_person_nor_late_evidence_makes_a_second_effect_of_a_put",
    ),
    Mutant(
        "a look-up is thought to show all sends",
        READBACK,
        "others = second_effects(row, self._effect, row.lost_attempts - 1)",
        "others = 0",
        SECOND + "of_several_lost_sends_a_look_up_shows_one",
    ),
    Mutant(
        "worker: the last of several resends speaks for all of them",
        JUDGING,
        "        if resent:",
        "        if False:",
        SECOND + "what_the_last_of_several_resends_says_is_not_what_the_others_did",
    ),
    Mutant(
        "worker: a refused repeat calls a lost send failed",
        JUDGING,
        "        if row.lost_attempts == 0:",
        "        if True:",
        SECOND + "an_item_that_is_refused_after_a_lost_send_may_be_done_and_is_no_failure",
    ),
    Mutant(
        "worker: a look-up that is not permitted ends the sends",
        WORKER,
        "elif claimed.batch.kind is Kind.READ_BACK and blocker.cause is FailureCause.REFUSED:",
        "elif False:",
        SECOND + "who_is_not_allowed_to_look_up_still_sends_and_is_told_at_the_end",
    ),
    Mutant(
        "worker: one changed item holds back the whole run",
        WORKER,
        "        if not error.rows:\n            raise",
        "        raise",
        SECOND + "an_item_whose_payload_changed_is_set_aside_and_its_neighbours_go_on",
    ),
    Mutant(
        "lost workers are not counted",
        MOVES,
        "lapses=row.lapses + 1, ",
        "",
        MEMORY + "a_row_whose_workers_keep_getting_lost_ends_though_it_was_never_sent",
    ),
    Mutant(
        "a former policy is forgotten",
        RULES,
        "former=(*known.former, FormerPolicy(known.policy, now))",
        "former=known.former",
        MEMORY + "opening_an_operation_again_changes_its_policy_and_the_one_before_is_kept",
    ),
    Mutant(
        "calls may go elsewhere than before",
        RULES,
        "if known.endpoint not in (None, endpoint) and not moved:",
        "if False:",
        MEMORY + "where_calls_go_is_written_down_once",
    ),
    Mutant(
        "a report is put beside the operation that is there",
        STORE,
        "        check_new(self._operations.get(operation.operation_id))\n",
        "",
        MEMORY + "a_report_that_overlaps_restores_nothing[operation]",
    ),
    Mutant(
        "memory: a changed payload is offered again",
        STORE,
        "            if number in set_aside:",
        "            if False:",
        MEMORY + "it_is_not_offered_again_by_itself",
    ),
    Mutant(
        "sqlite: a changed payload is offered again",
        BATCHES,
        "        aside = row.number in set_aside",
        "        aside = False",
        SQLITE + "it_is_not_offered_again_by_itself",
    ),
    Mutant(
        "sqlite: tokens are counted, not drawn",
        "ledger/sqlite_claims.py",
        "secrets.token_hex(16) if lost is None",
        "f'{epoch:032}' if lost is None",
        "tests/ledger/test_sqlite.py::test_a_ledger_restored_from_a_copy_makes_other_tokens_than_the_lost_one",
    ),
    Mutant(
        "sqlite: retention takes the claim that the next epoch is counted from",
        SQL + "retention.sql",
        "    AND epoch < (SELECT max(epoch) FROM itemledger_batch)\n",
        "",
        SQLITE + "claims_go_with_the_last_of_their_rows_and_no_epoch_comes_again",
    ),
    Mutant(
        "memory: rows are claimed before they are due",
        CLAIMS,
        "row.due_at is not None and row.due_at <= self._now]",
        "row.due_at is not None]",
        SEEDS.format(0),
    ),
    Mutant(
        "memory: held rows are claimed",
        CLAIMS,
        "and row.epoch is None and row.outcome in outcomes",
        "and row.outcome in outcomes",
        SEEDS.format(0),
    ),
    Mutant(
        "memory: a request is repeated in pieces",
        CLAIMS,
        "return Kind.SEND, [self._rows[number] for number in composition], due[0].replay_of",
        "return Kind.SEND, [due[0]], due[0].replay_of",
        SEEDS.format(0),
    ),
    Mutant(
        "memory: a request is repeated under another token",
        STORE,
        "token if lost is None else lost.token,",
        "token,",
        SEEDS.format(0),
    ),
    Mutant(
        "memory: a request waits for one that waits for a person",
        CLAIMS,
        " and row.review is None and row.replay_of",
        " and row.replay_of",
        ONCE.format(2132),
    ),
    Mutant(
        "memory: nobody wakes a group",
        STORE,
        "if row.outcome in FINAL and row.group_id is not None:",
        "if False:",
        SEEDS.format(0),
    ),
    Mutant(
        "memory: a group does not wait", STORE, "item, None if waits else now, now)", "item, now, now)", SEEDS.format(0)
    ),
]
