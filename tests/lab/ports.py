"""Ports for parts that are told theirs on the command line."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"
_handed_out: set[int] = set()


def free_port() -> int:
    """A loopback TCP port that is free now and was not returned before in this process.

    The kernel may give it to somebody else before the part binds it; parts then fail at once with
    "address in use".
    """
    while True:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        if port not in _handed_out:
            _handed_out.add(port)
            return port
