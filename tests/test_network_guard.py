"""The suite cannot leave this machine, and says so where it tries."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable

import boto3
import pytest

from tests.conftest import guard
from tests.engines.launch import CLIENT_CONFIG
from tests.network_guard import DEAD_PROXY, LeftLoopbackError

# Reserved for documentation (RFC 5737, RFC 2606): nobody's address, should the guard ever fail.
FOREIGN_ADDRESS = ("192.0.2.1", 80)
FOREIGN_NAME = "dynamodb.example.invalid"


def connect() -> None:
    with contextlib.closing(socket.socket()) as leaving:
        leaving.connect(FOREIGN_ADDRESS)


def send_datagram() -> None:
    with contextlib.closing(socket.socket(type=socket.SOCK_DGRAM)) as leaving:
        leaving.sendto(b"", FOREIGN_ADDRESS)


def listen_everywhere() -> None:
    with contextlib.closing(socket.socket()) as open_to_all:
        open_to_all.bind(("", 0))


def resolve() -> None:
    socket.getaddrinfo(FOREIGN_NAME, 443)


def use_the_proxy() -> None:
    with contextlib.closing(socket.socket()) as leaving:
        leaving.connect(DEAD_PROXY)


@pytest.mark.parametrize("leave", [connect, send_datagram, listen_everywhere, resolve, use_the_proxy])
def test_leaving_this_machine_is_refused_and_remembered(leave: Callable[[], None]) -> None:
    with pytest.raises(LeftLoopbackError):
        leave()

    assert 1 == len(guard.take_attempts())


def test_a_forgotten_endpoint_is_noticed_even_if_the_error_is_swallowed() -> None:
    client = boto3.session.Session().client("dynamodb", config=CLIENT_CONFIG)

    with contextlib.suppress(Exception):
        client.list_tables()

    client.close()
    assert guard.take_attempts() != []


def test_loopback_is_open() -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        socket.create_connection(server.getsockname()).close()

    assert [] == guard.take_attempts()


def test_a_child_process_meets_a_proxy_that_is_not_there() -> None:
    program = "import urllib.request; urllib.request.urlopen('http://192.0.2.1/', timeout=10)"

    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert "Connection refused" in child.stderr


def test_no_credentials_or_settings_of_this_machine_are_visible() -> None:
    session = boto3.session.Session()
    credentials = session.get_credentials()

    assert credentials is not None
    assert "sealed" == credentials.access_key
    assert [] == session.available_profiles
    assert "true" == os.environ["AWS_EC2_METADATA_DISABLED"]
    assert "DDB_TABLE" not in os.environ
