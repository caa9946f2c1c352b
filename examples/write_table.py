"""Write items under a ledger: an answer is lost, and every item still ends with exactly one outcome."""

import services

import itemledger as il
from itemledger.apis import BatchWriteItem
from itemledger.ledger import Outcome, Policy, open_ledger


def main() -> None:
    orders = [{"pk": f"A-{n}", "total": n * 10} for n in range(1, 61)]
    api = BatchWriteItem(table_name="Orders", key={"pk": "S"})
    table = services.Table()

    # Yours: open_ledger("sqlite:///orders.db"), which is there after a crash, and
    # client = boto3.client("dynamodb", config=il.client_config()).
    with open_ledger("memory://") as ledger, services.client("dynamodb", table, losing_answer=2) as client:
        ledger.plan("day-1", api, orders, policy=Policy(settle_s=0.2), store_payloads=True).raise_for_conflicts()
        result = il.work(client, ledger, "day-1", concurrency=1)

        lost = [row for row in ledger.rows("day-1") if any(e.event == "lost" for e in ledger.history(row.number))]
        print(f"{result.counts[Outcome.SUCCEEDED]} of {result.planned} succeeded, {len(lost)} of them by a look-up")
        print("row 26:", ", ".join(entry.event for entry in ledger.history(26)))
        print(f"{result.decision}: {len(table.rows)} items in the table after {result.calls} calls")

        again = ledger.plan("day-1", api, orders, store_payloads=True)
        print(f"the same items again: {again.new} new, {again.repeated} there already")


if __name__ == "__main__":
    main()
