"""A provider that is not built in: claims for a worker of your own, and a look-up in your own system of record."""

from itemledger.ledger import Ledger, OwnApi, Policy, Row, Verdict, open_ledger


class Gateway:
    """Stands for a payment gateway; the answer to its second call is lost."""

    def __init__(self) -> None:
        self.refunds: dict[str, int] = {}
        self._calls = 0

    def refund(self, key: str, amount: int) -> str:
        self._calls += 1
        if amount > 1000:
            return "over the limit"
        self.refunds[key] = amount
        if self._calls == 2:
            raise TimeoutError
        return "done"


def work(ledger: Ledger, gateway: Gateway) -> None:
    while True:
        with ledger.claim("refunds", max_items=1) as batch:
            if not batch.rows:
                return
            (row,) = batch.rows
            item = batch.payload(row)
            batch.dispatch()  # the last thing before the send; where it raises, nothing is sent
            answer = gateway.refund(row.idempotency_key, item["amount"])  # what raises in here leaves the row unknown
            if answer == "done":
                batch.succeeded(row)
            else:
                batch.rejected(row, code=answer)


def main() -> None:
    gateway = Gateway()
    refunds = [{"ref": "r-1", "amount": 10}, {"ref": "r-2", "amount": 20}, {"ref": "r-3", "amount": 5000}]

    def look_up(row: Row) -> Verdict:
        return Verdict.SAME if row.idempotency_key in gateway.refunds else Verdict.ABSENT_CONCLUSIVE

    with open_ledger("memory://") as ledger:
        ledger.plan(
            "refunds",
            OwnApi("gateway.Refund", id="ref", looks_up=True),
            refunds,
            policy=Policy(settle_s=0),
            store_payloads=True,
        )
        try:
            work(ledger, gateway)
        except TimeoutError:
            print("no answer:", {str(outcome): n for outcome, n in ledger.counts("refunds").items() if n})
        work(ledger, gateway)  # goes on with what is due; the row without an answer is not sent again
        print("looked up:", {str(verdict): n for verdict, n in ledger.reconcile("refunds", look_up).items()})
        for row in ledger.rows("refunds"):
            print(row.item_id, row.outcome, row.error_code or "-")


if __name__ == "__main__":
    main()
