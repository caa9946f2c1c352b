"""The demo's embedded DynamoDB engine: moto's server in a process of its own, on a free loopback port."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from itemledger.cli.problems import CommandError

STARTED = "listening on port "


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The engine's URL. It ends with the block, and also when this process dies: it watches its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C is for the demo; the engine ends with it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.startswith(STARTED):
            raise CommandError("the embedded engine did not start; install it with: pip install 'itemledger[demo]'")
        yield f"http://127.0.0.1:{int(line.removeprefix(STARTED))}"
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def serve() -> None:
    """Serves until standard input ends."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    print(f"{STARTED}{server.get_host_and_port()[1]}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
