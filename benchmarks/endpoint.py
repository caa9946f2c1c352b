"""A canned endpoint behind a socket, for the command line: it finds an item for whatever key it is asked for.

``python -m benchmarks.endpoint PAYLOAD_BYTES`` prints its port, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import re
import sys

from benchmarks import items

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


async def serve(payload_bytes: int) -> None:
    tails = items.payload_tails(payload_bytes)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                request = await reader.readexactly(int(length[1]) if length else 0)
                body = items.answer(items.keys_in(request), tails, capacity=b"ReturnConsumedCapacity" in request)
                headers = "".join(f"{name}: {value}\r\n" for name, value in items.headers_for(body).items())
                writer.write(f"HTTP/1.1 200 OK\r\n{headers}\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the other side has gone
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
