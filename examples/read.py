"""Read keys and say of each where it stands."""

import orders

import itemledger as il


def main() -> None:
    keys = ["A-1", "A-2", "A-3", "Z-9"]
    with orders.client(leaving_over={"A-2"}, in_calls=1) as client:  # yours: client = boto3.client("dynamodb")
        result = il.read_batch(client, "Orders", keys, key="pk", consistent_read=True)

    for outcome in result.outcomes:
        print(outcome.key, outcome.disposition, outcome.item["total"] if outcome.item else "-")
    for entry in result.ledger:
        print(f"pass {entry.application_pass}: asked {len(entry.requested)}, left over {len(entry.unprocessed)}")

    decision = result.decide(required=["A-1", "A-2"])
    print(f"{decision}: {decision.owner}, {decision.next_action}")


if __name__ == "__main__":
    main()
