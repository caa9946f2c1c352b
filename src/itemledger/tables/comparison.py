"""Predicted units beside reported ones: where they differ, why, and which of the two to go by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

from itemledger.core.answer import EvidenceLabel
from itemledger.tables.page_answer import consumed_of
from itemledger.tables.units import EXACT, Units, figure


class Agreement(StrEnum):
    """How a reported figure stands to the rules."""

    EQUAL = "equal"
    """It is what was predicted."""
    WITHIN_ROUNDING = "within_rounding"
    """The rules allow it: a number's byte, or a page that ended elsewhere, makes the difference."""
    DIFFERENT = "different"
    """The rules do not allow it."""
    UNKNOWN = "unknown"
    """Nothing was reported, or nothing could be predicted; it is never 0."""


class Reason(StrEnum):
    """What a figure that the rules do not allow goes by, as far as the figure itself shows."""

    OTHER_PAGES = "other_pages"
    """The pages ended elsewhere than 1 MB would have them; each was charged rightly."""
    ROUNDED_TOGETHER = "rounded_together"
    """Items that are to be rounded up one by one were added up first."""
    NOTHING_CHARGED = "nothing_charged"
    """0, although the least that any call takes is more."""
    COUNTS_ITEMS = "counts_items"
    """A fixed figure for each item or key, whatever its size."""
    COUNTS_CALLS = "counts_calls"
    """A fixed figure for each call, whatever it read or wrote."""
    INDEXES_LEFT_OUT = "indexes_left_out"
    """The table's own part is right, and that of its indexes is not there."""
    CONSISTENCY_IGNORED = "consistency_ignored"
    """Half or double: strong and eventual reads are charged alike."""
    UNEXPLAINED = "unexplained"


#: What shows that whoever reported does not model capacity: bytes have no part in the figure.
NO_MODEL = frozenset({Reason.COUNTS_ITEMS, Reason.COUNTS_CALLS})

_SENTENCES = {
    Reason.OTHER_PAGES: "its pages ended elsewhere, and each is rounded up by itself",
    Reason.ROUNDED_TOGETHER: "it adds up items before it rounds, where each is to be rounded up by itself",
    Reason.NOTHING_CHARGED: "no call is free",
    Reason.COUNTS_ITEMS: "it counts items, whatever their size",
    Reason.COUNTS_CALLS: "it counts calls, whatever they read or wrote",
    Reason.INDEXES_LEFT_OUT: "it leaves out what the indexes take",
    Reason.CONSISTENCY_IGNORED: "it charges strong and eventual reads alike",
    Reason.UNEXPLAINED: "nothing here explains it",
}


@dataclass(frozen=True, slots=True)
class Work:
    """What was done for the units, by which a figure is explained.

    ``calls`` are requests, or pages; ``items`` the items or keys read or written, missing ones too. ``as_they_came``
    are the units of the pages where they really ended, ``rounded_together`` those if items were added up before they
    are rounded, ``without_indexes`` those of the table alone.
    """

    calls: int = 1
    items: int | None = None
    as_they_came: Units | None = None
    rounded_together: Units | None = None
    without_indexes: Units | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both figures; neither is ever changed to fit the other. ``subject`` is what was read or written, in words."""

    subject: str
    predicted: Units | None
    reported: Decimal | None
    work: Work
    agreement: Agreement
    reasons: Sequence[Reason] = ()
    label: EvidenceLabel | None = None
    reporter: str = "the endpoint"

    @property
    def models_capacity(self) -> bool | None:
        """``False`` where the figure goes by something else than bytes; ``None`` where that is not known.

        One that is right may be so by chance: it proves nothing if a plain count would have given it, too.
        """
        if Reason.OTHER_PAGES in self.reasons:
            return True
        if self.agreement in (Agreement.EQUAL, Agreement.WITHIN_ROUNDING):
            return None if self.reported is None or [*_counts(self.reported, self.work)] else True
        return False if NO_MODEL & set(self.reasons) else None

    @property
    def believed(self) -> Units | None:
        """What the service charges: what AWS reports, else the prediction; ``None`` is "unknown".

        No other engine's figure is, not even one that the rules allow: it does not send the bill.
        """
        if self.reported is not None and self.label is EvidenceLabel.OBSERVED:
            return Units.exactly(self.reported)
        return self.predicted

    def __str__(self) -> str:
        predicted = "unknown" if self.predicted is None else str(self.predicted)
        reported = "unknown" if self.reported is None else figure(self.reported)
        both = f"{self.subject}: predicted {predicted}, reported {reported}"
        match self.agreement:
            case Agreement.EQUAL | Agreement.UNKNOWN:
                return both
            case Agreement.WITHIN_ROUNDING:
                return f"{both}; sizes and page ends are not known closely enough to tell"
            case Agreement.DIFFERENT:
                return f"{both}: {self._why()}"
            case _:
                assert_never(self.agreement)

    def _why(self) -> str:
        why = _SENTENCES[self.reasons[0]]
        if self.label is EvidenceLabel.OBSERVED:
            return f"{why}; what AWS reports is what it charges"
        if self.models_capacity is False:
            return f"{why}; {self.reporter} does not model capacity, and its figure is not believed"
        return why if self.models_capacity else f"{why}; the figure of {self.reporter} is not believed"


def compare(
    subject: str,
    predicted: Units | None,
    reported: Decimal | float | None,
    work: Work,
    *,
    label: EvidenceLabel | None = None,
    reporter: str = "the endpoint",
) -> Comparison:
    """``reported`` is ``None`` where an answer did not tell, ``label`` that of the answer it came in."""
    told = None if reported is None else Decimal(reported)
    if told is None or predicted is None:
        return Comparison(subject, predicted, told, work, Agreement.UNKNOWN, (), label, reporter)
    if predicted.admits(told):
        agreement = Agreement.EQUAL if told == predicted.units else Agreement.WITHIN_ROUNDING
        return Comparison(subject, predicted, told, work, agreement, (), label, reporter)
    reasons = tuple(_reasons(predicted, told, work)) or (Reason.UNEXPLAINED,)
    return Comparison(subject, predicted, told, work, Agreement.DIFFERENT, reasons, label, reporter)


def reported_units(told: object) -> Decimal | None:
    """CapacityUnits of a reply's ConsumedCapacity: one object, or a list with one for each table, added up.

    ``None``, "unknown", where any of them is missing or no number.
    """
    replies = told if isinstance(told, list) else [told]
    total = Decimal(0)
    for reply in replies:
        consumed = consumed_of(reply)
        if consumed is None:
            return None
        total = EXACT.add(total, Decimal(consumed.units))
    return total if replies else None


def _reasons(predicted: Units, told: Decimal, work: Work) -> Iterator[Reason]:
    """All that fit, the most telling first: two calls of one item each look alike by either count."""
    if work.as_they_came is not None and work.as_they_came.admits(told):
        yield Reason.OTHER_PAGES
    if work.rounded_together is not None and work.rounded_together.admits(told):
        yield Reason.ROUNDED_TOGETHER
    if told == 0:
        yield Reason.NOTHING_CHARGED
    if work.without_indexes is not None and work.without_indexes.admits(told):
        yield Reason.INDEXES_LEFT_OUT
    yield from _counts(told, work)
    if predicted.times(2).admits(told) or predicted.admits(EXACT.multiply(told, 2)):
        yield Reason.CONSISTENCY_IGNORED


def _counts(told: Decimal, work: Work) -> Iterator[Reason]:
    if work.items is not None and work.items > work.calls and _is_fixed(told, work.items):
        yield Reason.COUNTS_ITEMS
    if _is_fixed(told, work.calls):
        yield Reason.COUNTS_CALLS


def _is_fixed(told: Decimal, count: int) -> bool:
    return told in (Decimal(count), Decimal(count) / 2)
