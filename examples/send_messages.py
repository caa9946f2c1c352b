"""Send messages where a lost answer cannot be looked up: a person decides, or the policy is at-least-once."""

import services

import itemledger as il
from itemledger.apis import SendMessageBatch
from itemledger.ledger import Decided, Ledger, OnUnknown, Outcome, Policy, open_ledger


def send(ledger: Ledger, queue: services.Queue, policy: Policy) -> il.WorkResult:
    mails = [{"Id": f"mail-{n}", "MessageBody": f"order A-{n} was taken"} for n in range(1, 13)]
    ledger.plan("mails", SendMessageBatch(queue_url=queue.url), mails, policy=policy, store_payloads=True)
    with services.client("sqs", queue, losing_answer=1) as client:  # boto3.client("sqs", config=il.client_config())
        return il.work(client, ledger, "mails", concurrency=1)


def main() -> None:
    queue = services.Queue()
    with open_ledger("memory://") as ledger:
        result = send(ledger, queue, Policy())
        done = result.counts[Outcome.SUCCEEDED]
        print(f"review: {done} succeeded, {result.waiting} wait for a person: {result.decision}")
        for row in list(ledger.rows("mails", in_review=True)):
            ledger.decide(row.number, Decided.SUCCEEDED, who="ann", why="it is in the queue")
        done = ledger.counts("mails")[Outcome.SUCCEEDED]
        print(f"decided: {done} succeeded, {len(queue.messages)} messages in the queue")

    queue = services.Queue()
    with open_ledger("memory://") as ledger:
        result = send(ledger, queue, Policy(on_unknown=OnUnknown.AT_LEAST_ONCE))
        done = result.counts[Outcome.SUCCEEDED]
        twice = sum(row.possible_duplicates for row in ledger.rows("mails"))
        print(f"at least once: {done} succeeded, {twice} of them possibly twice: {result.decision}")
        print(f"{len(queue.messages)} messages in the queue")


if __name__ == "__main__":
    main()
