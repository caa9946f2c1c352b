"""Cursors in a FastAPI application: a page of so many open orders, the next one by ``nextCursor``."""

import secrets
from typing import Annotated, Any

import order_table
from fastapi import FastAPI, Header, Query, Request
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient

from itemledger.errors import CursorError
from itemledger.pages import query_pages
from itemledger.tables.cursor import Cursors
from itemledger.tables.cursor_query import QueryShape


def application(client: Any, cursors: Cursors) -> FastAPI:
    app = FastAPI()

    @app.get("/orders")
    def orders(
        x_user: Annotated[str, Header()],  # yours: whoever your authentication says it is
        status: str = "open",
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        request = {
            "TableName": "Orders",
            "IndexName": "by-customer",
            "KeyConditionExpression": "customer = :customer",
            "FilterExpression": "#status = :status",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {":customer": x_user, ":status": status},
        }
        query = QueryShape.of(request)
        start = cursors.open(cursor, query, principal=x_user)
        pages = query_pages(
            client, **request, ExclusiveStartKey=start, max_items=limit, key=order_table.KEY, timeout_s=2.0
        )
        items = [{"id": item["pk"], "total": str(item["total"])} for item in pages.items()]
        more = cursors.seal(query, pages.result.last_key, principal=x_user, ttl_s=3600)
        return {"items": items, "nextCursor": more}

    @app.exception_handler(CursorError)
    def refused(_: Request, error: CursorError) -> JSONResponse:
        return JSONResponse({"status": 400, "title": "Bad Request", "detail": str(error)}, 400)

    return app


def main() -> None:
    keys = [secrets.token_bytes(32)]  # yours: from your secret store, the same on every server
    with order_table.client() as client, TestClient(application(client, Cursors(keys))) as web:
        ada = {"x-user": "ada"}
        first = web.get("/orders", params={"limit": 3}, headers=ada).json()
        print("first page: ", [order["id"] for order in first["items"]])
        go_on = {"cursor": first["nextCursor"], "limit": 10}
        second = web.get("/orders", params=go_on, headers=ada).json()
        print("second page:", [order["id"] for order in second["items"]], "next:", second["nextCursor"])

        for what, params, user in [
            ("altered", {"cursor": f"{first['nextCursor']}A"}, "ada"),
            ("of another query", {**go_on, "status": "paid"}, "ada"),
            ("of somebody else", go_on, "grace"),
        ]:
            answer = web.get("/orders", params=params, headers={"x-user": user})
            print(f"{what}: {answer.status_code} {answer.json()['detail']}")


if __name__ == "__main__":
    main()
