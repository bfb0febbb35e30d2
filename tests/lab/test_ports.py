from __future__ import annotations

import socket

from tests.lab.ports import LOOPBACK, free_port


def test_no_port_is_handed_out_twice_and_each_can_be_bound():
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    for port in ports:
        with socket.socket() as server:
            server.bind((LOOPBACK, port))
