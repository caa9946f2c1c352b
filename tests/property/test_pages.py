"""Any table, cut into any pages, read in any order and stopped anywhere: every item exactly once, every sum exact."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from itemledger.core.answer import Answer, Failure, FailureCause
from itemledger.tables.page import LastKey
from itemledger.tables.page_answer import PageCall
from itemledger.tables.page_result import PageStop
from itemledger.tables.page_run import PageBounds
from tests.tables.page_world import Pages, answer, failure, row, world

SPLITS = st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=5)
PASSING = st.sampled_from([FailureCause.THROTTLED, FailureCause.TRANSIENT, FailureCause.DAMAGED])


def table(splits: list[list[int]], dangling: set[int]) -> tuple[Pages, list[str]]:
    names = {
        segment: [[f"{segment}-{page}-{n}" for n in range(size)] for page, size in enumerate(sizes)]
        for segment, sizes in enumerate(splits)
    }
    ended = frozenset(number for number in dangling if names.get(number))
    return Pages(names, ended), sorted(name for pages in names.values() for page in pages for name in page)


@given(SPLITS, st.sets(st.integers(0, 4)), st.integers(1, 6), st.data())
def test_every_item_once_over_a_run_that_is_stopped_anywhere_and_gone_on_from(
    splits: list[list[int]], dangling: set[int], concurrency: int, data: st.DataObject
) -> None:
    pages, names = table(splits, dangling)
    bounds = PageBounds(concurrency=concurrency, max_attempts=1_000)

    def flaky(call: PageCall) -> Answer | Failure:
        if data.draw(st.integers(0, 4)) == 0:
            return failure(data.draw(PASSING))
        return pages(call)

    def choose(count: int) -> int:
        return data.draw(st.integers(0, count - 1))

    first = world(flaky, starts=dict.fromkeys(range(len(splits))), total=len(splits), bounds=bounds)
    for _ in range(data.draw(st.integers(0, 30))):
        if first.step(choose) is None:
            break
    first.run.stop(PageStop.INTERRUPTED)
    stood = first.run.result()
    rest = world(pages, starts=stood.starts, total=len(splits), bounds=bounds)
    rest.through(choose)

    assert names == sorted(first.names + rest.names)
    assert rest.run.result().complete
    for result, there in ((stood, first), (rest.run.result(), rest)):
        assert len(there.pages) == result.totals.pages == sum(each.totals.pages for each in result.segments)
        assert len(there.names) == result.totals.returned == result.totals.examined
        assert 0.5 * len(there.pages) == result.totals.reported.units
        # What failed or was abandoned did not tell; what was abandoned is not even counted as answered.
        assert (result.totals.calls == result.totals.pages) == (result.totals.consumed is not None)
    assert not stood.starts or stood.stop_reason is PageStop.INTERRUPTED


@given(st.integers(0, 30), st.integers(1, 7), st.integers(1, 12), st.integers(1, 4))
def test_so_many_matching_items_and_the_rest_after_them_are_the_whole(
    count: int, page_size: int, most: int, one_in: int
) -> None:
    """Rows are numbered, a page holds so many, and one in so many matches."""

    def respond(call: PageCall) -> Answer:
        start = call.start_key
        place = 0 if start is None else int(start["pk"]["S"]) + 1
        examined = [str(n) for n in range(place, min(count, place + page_size))]
        last = row(examined[-1]) if examined and int(examined[-1]) + 1 < count else None
        return answer([name for name in examined if int(name) % one_in == 0], examined=len(examined), last=last)

    seen: list[str] = []
    starts: Mapping[int, LastKey | None] = {0: None}
    for _ in range(count + 2):
        there = world(
            respond, starts=starts, bounds=PageBounds(max_items=most), known_key=("pk",), FilterExpression="f"
        )
        there.through()
        seen += there.names
        result = there.run.result()
        if result.complete:
            break
        assert most == len(there.names)
        starts = result.starts
    assert [str(n) for n in range(count) if n % one_in == 0] == seen
