"""Stands before the agent's socket, keeps what services send, and hands it on.

    tap.py SOCKET AGENT_SOCKET FILE.gz     until it is told to end
"""

import gzip
import os
import signal
import socket
import sys


def main(path: str, agent: str, kept: str) -> None:
    """Datagrams are kept one after the other, each with an empty line behind it."""
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
