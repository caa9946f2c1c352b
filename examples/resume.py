"""Stop with keys unresolved, keep the hold record in a private file, and go on from it later."""

import json
import os
import tempfile
from pathlib import Path

import orders

import itemledger as il


def stopped_read(hold: Path) -> il.ReadResult:
    with orders.client(leaving_over={"A-2", "A-4"}) as client:
        result = il.read_batch(client, "Orders", [f"A-{n}" for n in range(1, 6)], key="pk", max_passes=2)
    # It holds plain keys: for the owner's eyes only.
    with open(os.open(hold, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(result.hold_record().to_json(), file)
    return result


def resumed_read(hold: Path) -> il.ReadResult:
    with orders.client() as client:
        return il.resume(client, json.loads(hold.read_text()))


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        hold = Path(directory, "hold.json")
        first = stopped_read(hold)
        print(f"first: {first.stop_reason}, unresolved {sorted(first.unresolved)}, {first.decide()}")
        rest = resumed_read(hold)
        print(f"rest:  {rest.stop_reason}, returned {sorted(rest.returned)}, {rest.decide()}")

    # Two observations, two moments. Whoever joins them does so knowingly.
    items = {**first.items_by_key, **rest.items_by_key}
    print(f"{len(items)} items from observations {first.observation.number} and {rest.observation.number}")


if __name__ == "__main__":
    main()
