"""The two tables of the reference numbers, as typed items; every number in the tests is computed from them."""

from __future__ import annotations

from typing import Any

from itemledger.apis.item_size import item_size
from itemledger.tables.units import Size, measured

TypedItem = dict[str, dict[str, Any]]


def small_orders() -> list[TypedItem]:
    """1,000 orders of 200 users, five each; a few bytes an item."""
    return [{"user": {"S": f"user-{number // 5:03}"}, "order": {"S": f"order-{number:04}"}} for number in range(1_000)]


#: Of one order: about 1 KB, as in an account published of what AWS charges for pages of such items.
LARGE_ORDER_BYTES = 1_042


def large_orders() -> list[TypedItem]:
    """1,000 orders of one customer, of which ten are open; the sort key begins with the step that an order is at.

    Together they have less than 1 MB. Their names are so short that dynalite, which counts a page's bytes in its own
    way, nevertheless needs a second page.
    """
    return [_large(number, "open" if number < 10 else "paid") for number in range(1_000)]


def _large(number: int, step: str) -> TypedItem:
    item: TypedItem = {
        "pk": {"S": "customer-1"},
        "sk": {"S": f"{step}#{number:04}"},
        "step": {"S": step},
        "pad": {"S": ""},
    }
    item["pad"] = {"S": "x" * (LARGE_ORDER_BYTES - item_size(item))}
    return item


def sizes_of(items: list[TypedItem]) -> list[Size]:
    return [measured(item, item_size) for item in items]
