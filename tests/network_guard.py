"""Refuses every socket that leaves this machine, and remembers it, so that swallowing the refusal does not hide it."""

from __future__ import annotations

import ipaddress
import sys

# Child processes cannot be watched from here. They inherit a proxy that does not exist, so what they send anywhere else
# than loopback ends there; in this process the proxy's address counts as leaving.
DEAD_PROXY = ("127.0.0.1", 9)
PROXY_ENVIRONMENT = {
    "HTTP_PROXY": f"http://{DEAD_PROXY[0]}:{DEAD_PROXY[1]}",
    "HTTPS_PROXY": f"http://{DEAD_PROXY[0]}:{DEAD_PROXY[1]}",
    "NO_PROXY": "127.0.0.1,localhost,::1,[::1]",
}


class LeftLoopbackError(PermissionError):
    """A test tried to reach another machine. It is an OSError, so that libraries close the socket as ever."""


class NetworkGuard:
    """An audit hook cannot be removed again, so there is one for the whole run."""

    def __init__(self) -> None:
        self.attempts: list[str] = []

    def install(self) -> None:
        sys.addaudithook(self._audit)

    def take_attempts(self) -> list[str]:
        attempts, self.attempts = self.attempts, []
        return attempts

    def _audit(self, event: str, args: tuple[object, ...]) -> None:
        if not event.startswith("socket."):
            return
        match event, args:
            case (("socket.connect" | "socket.bind" | "socket.sendto" | "socket.sendmsg"), (_, address, *_)):
                foreign = address == DEAD_PROXY or not _is_local_address(address)
            case (("socket.getaddrinfo" | "socket.gethostbyname" | "socket.gethostbyaddr"), (address, *_)):
                foreign = not _is_local_host(address)
            case _:
                return
        if foreign:
            self.attempts.append(f"{event} {address!r}")
            raise LeftLoopbackError(f"{event} {address!r}: tests talk to loopback only")


def _is_local_address(address: object) -> bool:
    # A UNIX socket's address is a path; None is the peer that a connected socket already has.
    return not isinstance(address, tuple) or _is_local_host(address[0])


def _is_local_host(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", errors="replace")
    if host is None or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False
