"""Read a manifest too large to hold: each item is handed out once, as it settles, and forgotten."""

from collections.abc import Iterator

import orders

import itemledger as il


def keys() -> Iterator[str]:
    """Yours may come from a file or a cursor."""
    return (f"A-{n}" for n in range(1, 301))


def main() -> None:
    total, absent = 0, 0
    with orders.client() as client:  # yours: client = boto3.client("dynamodb")
        for step in il.iter_read(client, "Orders", keys(), key="pk", timeout_s=600.0):
            match step:
                case il.KeyOutcome(disposition=il.Disposition.RETURNED, item=item):
                    assert item is not None
                    total += item["total"]
                case il.KeyOutcome(disposition=il.Disposition.PROCESSED_NOT_RETURNED):
                    absent += 1
                case il.KeyOutcome(key=key):
                    print("unresolved:", key)
                case il.ReadResult() as summary:
                    print(f"{summary.stop_reason}: {len(summary.requested_order)} keys in {summary.totals.calls} calls")
    print(f"sum of totals {total}, {absent} not visible to this read")


if __name__ == "__main__":
    main()
