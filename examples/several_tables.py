"""Read keys of two tables under one deadline, in shared calls."""

import orders

import itemledger as il


def main() -> None:
    with orders.client() as client:  # yours: client = boto3.client("dynamodb")
        results = il.read_tables(
            client,
            [
                il.TableRead("Orders", ["A-1", "A-2"], key="pk", consistent_read=True),
                il.TableRead("Customers", ["c-1", "c-3"], key="pk"),
            ],
            timeout_s=10.0,
        )
    for result in results:
        print(f"{result.table_name}: {sorted(result.returned)} returned, {sorted(result.processed_not_returned)} not")
    print("calls:", len({entry.request_id for result in results for entry in result.ledger}))


if __name__ == "__main__":
    main()
