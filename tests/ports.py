"""Ports for servers that are given theirs before they start, or are started again on the same one.

The system gives the ports of its ephemeral range (on Linux 32768 to 60999) to whoever asks for any:
one that was found free there may be another's a moment later. So these lie below that range.
"""

import random
import socket
from contextlib import ExitStack

_FIRST, _LAST = 20_000, 32_000


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nobody listens at this host, and which the system gives to nobody."""
    dice = random.SystemRandom()
    while True:
        port = dice.randint(_FIRST, _LAST)
        with socket.socket() as probe:
            # as servers do: a port whose connections have ended is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if _is_bound(probe, host, port):
                return port


def free_ports(n: int, host: str = "127.0.0.1") -> int:
    """The first of n such ports in a row."""
    while True:
        first = free_port(host)
        with ExitStack() as stack:
            probes = [stack.enter_context(socket.socket()) for _ in range(n)]
            if all(_is_bound(probe, host, first + i) for i, probe in enumerate(probes)):
                return first


def _is_bound(probe: socket.socket, host: str, port: int) -> bool:
    try:
        probe.bind((host, port))
    except OSError:
        return False
    return True
