"""Listens in front of the agent's socket, stores what services send, and forwards it.

    tap.py SOCKET AGENT_SOCKET FILE.gz     runs until SIGTERM or SIGINT
"""

import gzip
import os
import signal
import socket
import sys


def main(path: str, agent: str, kept: str) -> None:
    """Forwards datagrams and stores them in order, each followed by an empty line."""
    going = [True]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: going.clear())
    inlet = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    inlet.bind(path)
    inlet.settimeout(0.2)
    outlet = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    outlet.connect(agent)
    with gzip.open(kept, "wb", compresslevel=1) as file:
        while going:
            try:
                datagram = inlet.recv(70_000)
            except TimeoutError:
                continue
            file.write(datagram.rstrip(b"\n") + b"\n\n")
            outlet.send(datagram)
    os.unlink(path)


if __name__ == "__main__":
    main(*sys.argv[1:4])
