"""A helper that returns a plain list, for callers that want one: the whole list, or a typed failure."""

from collections.abc import Mapping
from typing import Any

import orders

import itemledger as il


def get_orders(client: Any, ids: list[str]) -> list[Mapping[str, Any]]:
    """All orders that are there, in the caller's order; raises IncompleteReadError when that cannot be said."""
    return il.read_batch(client, "Orders", ids, key="pk", max_passes=2).items(required=il.NONE)


def main() -> None:
    with orders.client() as client:
        print([item["pk"] for item in get_orders(client, ["A-3", "A-1", "Z-9"])])

    with orders.client(leaving_over={"A-1"}) as client:
        try:
            print(get_orders(client, ["A-3", "A-1", "Z-9"]))
        except il.IncompleteReadError as error:
            print(f"no list: {error.decision}, unresolved {sorted(error.result.unresolved)}")


if __name__ == "__main__":
    main()
