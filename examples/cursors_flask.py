"""Encrypted cursors in a Flask application, and a new key for them while clients are half-way through their pages."""

import secrets
from typing import Any

import order_table
from flask import Flask, request

from itemledger.errors import CursorError
from itemledger.pages import query_pages
from itemledger.tables.cursor import Cursors
from itemledger.tables.cursor_query import QueryShape


def application(client: Any, cursors: Cursors) -> Flask:
    app = Flask(__name__)

    @app.get("/customers/<customer>/orders")
    def orders(customer: str) -> dict[str, Any]:
        asked = {
            "TableName": "Orders",
            "IndexName": "by-customer",
            "KeyConditionExpression": "customer = :customer",
            "ExpressionAttributeValues": {":customer": customer},
            "Limit": min(request.args.get("limit", 20, int), 100),
        }
        query = QueryShape.of(asked)
        start = cursors.open(request.args.get("cursor"), query)
        page = next(query_pages(client, **asked, ExclusiveStartKey=start, timeout_s=2.0))
        items = [{"id": item["pk"], "total": str(item["total"])} for item in page.items]
        return {"items": items, "nextCursor": cursors.seal(query, page.last_key)}

    @app.errorhandler(CursorError)
    def refused(error: CursorError) -> tuple[dict[str, Any], int]:
        return {"status": 400, "title": "Bad Request", "detail": str(error)}, 400

    return app


def main() -> None:
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    with order_table.client() as client:
        # First every server learns the new key, then every server seals with it, then the old one goes.
        servers = [application(client, Cursors(ring, encrypt=True)) for ring in ([old], [old, new], [new, old], [new])]
        cursor = None
        for number, app in enumerate(servers, start=1):
            answer = app.test_client().get("/customers/grace/orders", query_string={"cursor": cursor, "limit": 2})
            body = answer.get_json()
            print(
                f"server {number}:", [order["id"] for order in body["items"]], "more" if body["nextCursor"] else "end"
            )
            cursor = body["nextCursor"]
            if number == 1:
                early = cursor

        answer = servers[-1].test_client().get("/customers/grace/orders", query_string={"cursor": early})
        print(f"old key gone: {answer.status_code} {answer.get_json()['detail']}")


if __name__ == "__main__":
    main()
