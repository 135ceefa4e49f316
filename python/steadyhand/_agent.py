"""The way to the agent: a Unix socket for datagrams that is never waited for."""

from __future__ import annotations

import os
import socket

LATER = "the agent did not keep up"
# A plain number: the enumeration's costs more.
_DONTWAIT = int(socket.MSG_DONTWAIT)


def default_path() -> str:
    """Where the agent listens unless it was told otherwise."""
    told = os.environ.get("STEADY_SOCKET")
    if told:
        return told
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return f"{runtime}/steady/agent.sock"
    return f"/tmp/steady-{os.geteuid()}/agent.sock"


class Line:
    """A connection to the agent, made when something is to be sent."""

    def __init__(self, path: str | None) -> None:
        self.path = path or default_path()
        self.why: str | None = None
        self._socket: socket.socket | None = None
        self._identity: tuple[int, int] | None = None

    def send(self, datagram: bytes) -> bool | None:
        """Whether it was sent; None where it may be tried again soon. `why` has the reason then."""
        for again in (True, False):
            try:
                self._connected().send(datagram, _DONTWAIT)
            except (BlockingIOError, InterruptedError):
                self.why = LATER
                return None
            except (OSError, ValueError) as error:
                # An agent that was started anew listens under the same name.
                known = self._socket is not None
                self._leave()
                self.why = f"{self.path}: {getattr(error, 'strerror', None) or error}"
                if not (again and known):
                    return False
            else:
                self.why = None
                return True
        return False

    def forget(self) -> None:
        """In a forked child: the descriptor is the parent's."""
        self._leave()

    def _connected(self) -> socket.socket:
        if self._socket is not None and self._is_ours(self._socket):
            return self._socket
        self._leave()
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            made.connect(self.path)
            found = os.fstat(made.fileno())
        except BaseException:
            made.close()
            raise
        self._identity = (found.st_dev, found.st_ino)
        self._socket = made
        return made

    def _is_ours(self, connected: socket.socket) -> bool:
        """A program that closes all descriptors may have opened something else in this one's place."""
        try:
            found = os.fstat(connected.fileno())
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def _leave(self) -> None:
        connected, self._socket = self._socket, None
        if connected is None:
            return
        if self._is_ours(connected):
            connected.close()
        else:
            connected.detach()
