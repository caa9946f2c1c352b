"""Read with asyncio and aiobotocore (``pip install 'itemledger[aio]'``): the same names, awaited."""

import asyncio

import orders
from aiobotocore.session import get_session

import itemledger as il
from itemledger import aio


async def main() -> None:
    async with get_session().create_client("dynamodb", **orders.SETTINGS) as client:
        with orders.service(client, leaving_over={"A-2"}, in_calls=1):  # not with a table of your own
            result = await aio.read_batch(client, "Orders", ["A-1", "A-2", "Z-9"], key="pk", concurrency=8)

    for outcome in result.outcomes:
        print(outcome.key, outcome.disposition)
    print(result.decide(required=il.NONE), "after", result.totals.application_passes, "passes")


if __name__ == "__main__":
    asyncio.run(main())
