"""Reported units that the rules do not allow are explained and not believed, and never change the prediction."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from itemledger.core.answer import EvidenceLabel
from itemledger.tables.capacity import Consistency, item_read
from itemledger.tables.comparison import Agreement, Reason, Work, compare, reported_units
from itemledger.tables.pages_cost import pages_as_they_came, pages_read
from itemledger.tables.units import Size, Units
from tests.tables.samples import large_orders, sizes_of

SYNTHETIC, OBSERVED = EvidenceLabel.SYNTHETIC, EvidenceLabel.OBSERVED


def exactly(units: str) -> Units:
    return Units.exactly(Decimal(units))


def test_equal_figures_need_no_reason() -> None:
    found = compare("a query", exactly("3.5"), 3.5, Work(), label=SYNTHETIC)
    assert (Agreement.EQUAL, (), exactly("3.5")) == (found.agreement, found.reasons, found.believed)
    assert "a query: predicted 3.5, reported 3.5" == str(found)


@pytest.mark.parametrize(
    ("units", "work", "models_capacity"),
    [
        ("1", Work(), None),
        ("0.5", Work(items=5), None),
        ("2.5", Work(items=5), None),
        ("3", Work(calls=3), None),
        ("3.5", Work(items=5), True),
    ],
)
def test_a_right_figure_that_a_plain_count_would_give_too_proves_no_model(
    units: str, work: Work, models_capacity: bool | None
) -> None:
    found = compare("a query", exactly(units), Decimal(units), work, label=SYNTHETIC)
    assert (Agreement.EQUAL, models_capacity) == (found.agreement, found.models_capacity)


def test_what_the_bounds_allow_is_within_rounding() -> None:
    predicted = Units(Decimal(2), Decimal(1), Decimal(2))
    found = compare("an item", predicted, Decimal(1), Work(), label=SYNTHETIC)
    assert (Agreement.WITHIN_ROUNDING, predicted) == (found.agreement, found.believed)
    assert str(found).endswith("not known closely enough to tell")


def test_no_capacity_in_an_answer_is_unknown_and_not_nought() -> None:
    found = compare("a query", exactly("3.5"), None, Work(), label=SYNTHETIC)
    assert (Agreement.UNKNOWN, None) == (found.agreement, found.reported)
    assert "a query: predicted 3.5, reported unknown" == str(found)
    assert exactly("3.5") == found.believed  # the prediction, since there is no other figure
    assert compare("a query", None, None, Work()).believed is None
    assert "a query: predicted unknown, reported unknown" == str(compare("a query", None, None, Work()))


def test_without_a_prediction_an_engines_figure_proves_nothing_and_that_of_aws_does() -> None:
    assert compare("a query", None, 2.0, Work(), label=SYNTHETIC).believed is None
    assert exactly("2") == compare("a query", None, 2.0, Work(), label=OBSERVED).believed


def test_pages_that_ended_elsewhere_explain_128_against_127_5() -> None:
    sizes = sizes_of(large_orders())
    predicted = pages_read(sizes, Consistency.EVENTUAL).units
    came = pages_as_they_came(sizes, [992, 8], Consistency.EVENTUAL).units
    found = compare("the query", predicted, 128.0, Work(calls=2, items=1_000, as_they_came=came), label=SYNTHETIC)
    assert (Reason.OTHER_PAGES,) == found.reasons
    assert found.models_capacity is True
    assert exactly("127.5") == found.predicted == found.believed
    assert (
        "the query: predicted 127.5, reported 128: its pages ended elsewhere, and each is rounded up by itself"
        == str(found)
    )


@pytest.mark.parametrize(
    ("predicted", "reported", "work", "reason"),
    [
        ("3", 6.0, Work(items=6), Reason.COUNTS_ITEMS),
        ("12", 3.0, Work(items=6), Reason.COUNTS_ITEMS),
        ("127.5", 2.0, Work(calls=2, items=1_000), Reason.COUNTS_CALLS),
        ("127.5", 0.5, Work(items=1_000), Reason.COUNTS_CALLS),
    ],
)
def test_an_engine_that_does_not_model_capacity_is_named_and_not_believed(
    predicted: str, reported: float, work: Work, reason: Reason
) -> None:
    found = compare("a read", exactly(predicted), reported, work, label=SYNTHETIC, reporter="some engine")
    assert reason is found.reasons[0]
    assert found.models_capacity is False
    assert exactly(predicted) == found.predicted == found.believed
    assert Decimal(reported) == found.reported
    assert str(found).endswith("some engine does not model capacity, and its figure is not believed")


@pytest.mark.parametrize(
    ("predicted", "reported", "work", "reason"),
    [
        ("1", 0.0, Work(items=1), Reason.NOTHING_CHARGED),
        ("7", 2.5, Work(items=9, without_indexes=exactly("2.5")), Reason.INDEXES_LEFT_OUT),
        ("2", 4.0, Work(items=3), Reason.CONSISTENCY_IGNORED),
        ("4", 2.0, Work(items=3), Reason.CONSISTENCY_IGNORED),
        ("9", 6.0, Work(items=4, rounded_together=exactly("6")), Reason.ROUNDED_TOGETHER),
        ("7", 3.0, Work(items=20), Reason.UNEXPLAINED),
    ],
)
def test_a_figure_that_goes_by_bytes_and_is_wrong_is_not_believed_either(
    predicted: str, reported: float, work: Work, reason: Reason
) -> None:
    found = compare("a read", exactly(predicted), reported, work, label=SYNTHETIC, reporter="some engine")
    assert ((reason,), None) == (found.reasons, found.models_capacity)
    assert exactly(predicted) == found.predicted == found.believed
    assert str(found).endswith("; the figure of some engine is not believed")


def test_all_that_fits_is_a_reason_and_the_most_telling_comes_first() -> None:
    found = compare("a put", exactly("4"), 1.0, Work(items=1, without_indexes=exactly("1")), label=SYNTHETIC)
    assert (Reason.INDEXES_LEFT_OUT, Reason.COUNTS_CALLS) == found.reasons


def test_what_nothing_explains_is_said_to_be_so() -> None:
    found = compare("a read", exactly("7"), 3.0, Work(items=20), label=SYNTHETIC)
    assert ((Reason.UNEXPLAINED,), None, exactly("7")) == (found.reasons, found.models_capacity, found.believed)
    assert str(found).startswith("a read: predicted 7, reported 3: nothing here explains it")


def test_what_aws_reports_it_charges() -> None:
    found = compare("a read", exactly("7"), 3.0, Work(items=20), label=OBSERVED)
    assert (exactly("3"), exactly("7")) == (found.believed, found.predicted)
    assert str(found).endswith("what AWS reports is what it charges")


def test_a_missing_key_read_strongly_for_nothing_flags_the_server_and_keeps_the_prediction() -> None:
    """FC-28."""
    predicted = item_read(None, Consistency.STRONG)
    found = compare("the key at position 3", predicted, 0.0, Work(items=1), label=SYNTHETIC)
    assert (Agreement.DIFFERENT, Reason.NOTHING_CHARGED) == (found.agreement, found.reasons[0])
    assert exactly("1") == found.predicted
    assert str(found).startswith("the key at position 3: predicted 1, reported 0: no call is free")


def test_a_projection_saves_bytes_and_no_units() -> None:
    """FC-29: sizes are those of whole items, so a projected scan is predicted, and charged, like any other."""
    whole = pages_read([Size(1_000)] * 50, Consistency.EVENTUAL).units
    found = compare("the scan, projected", whole, 6.5, Work(items=50), label=SYNTHETIC)
    assert Agreement.EQUAL is found.agreement


@pytest.mark.parametrize(
    ("told", "units"),
    [
        (None, None),
        ({}, None),
        ({"TableName": "t"}, None),
        ({"CapacityUnits": "2"}, None),
        ({"CapacityUnits": True}, None),
        ({"CapacityUnits": 0.0}, "0"),
        ({"CapacityUnits": 1.5, "Unheard": {}}, "1.5"),
        ([], None),
        ([{"TableName": "a", "CapacityUnits": 5.0}, {"TableName": "b", "CapacityUnits": 1.5}], "6.5"),
        ([{"CapacityUnits": 5.0}, {"TableName": "b"}], None),
    ],
)
def test_capacity_is_read_from_an_object_or_a_list_or_unknown(told: Any, units: str | None) -> None:
    assert (None if units is None else Decimal(units)) == reported_units(told)
