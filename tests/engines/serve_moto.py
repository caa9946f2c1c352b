"""Serves moto on a free loopback port, names the port, and ends when whoever started it closes stdin or dies."""

import sys

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(f"listening {server.get_host_and_port()[1]}", flush=True)
sys.stdin.read()
