"""A non-blocking connection to the agent's Unix datagram socket."""

from __future__ import annotations

import os
import socket

TOO_SLOW = "the agent did not keep up"
# A plain int: `socket.MSG_DONTWAIT` is an enum member, which is slower.
_DONTWAIT = int(socket.MSG_DONTWAIT)


def default_path() -> str:
    """Returns the path of the agent's socket: `STEADY_SOCKET` or the default."""
    configured = os.environ.get("STEADY_SOCKET")
    if configured:
        return configured
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return f"{runtime}/steady/agent.sock"
    return f"/tmp/steady-{os.geteuid()}/agent.sock"


class Connection:
    """A connection to the agent. It connects at the first datagram, and again after an error."""

    def __init__(self, path: str | None) -> None:
        self.path = path or default_path()
        self.why: str | None = None
        self._socket: socket.socket | None = None
        self._identity: tuple[int, int] | None = None

    def send(self, datagram: bytes) -> bool | None:
        """Returns whether the datagram was sent, or None if the agent's queue is full.

        If not sent, `why` has the reason.
        """
        for again in (True, False):
            try:
                self._connected().send(datagram, _DONTWAIT)
            except (BlockingIOError, InterruptedError):
                self.why = TOO_SLOW
                return None
            except (OSError, ValueError) as error:
                # A restarted agent listens on a new socket with the same name.
                was_connected = self._socket is not None
                self._disconnect()
                self.why = f"{self.path}: {getattr(error, 'strerror', None) or error}"
                if not (again and was_connected):
                    return False
            else:
                self.why = None
                return True
        return False

    def forget(self) -> None:
        """Drops the connection of the parent process, in a forked child."""
        self._disconnect()

    def _connected(self) -> socket.socket:
        if self._socket is not None and self._is_ours(self._socket):
            return self._socket
        self._disconnect()
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            # With `socket.setdefaulttimeout()`, Python would wait for the agent before the system call.
            connected.setblocking(False)
            connected.connect(self.path)
            found = os.fstat(connected.fileno())
        except BaseException:
            connected.close()
            raise
        self._identity = (found.st_dev, found.st_ino)
        self._socket = connected
        return connected

    def _is_ours(self, connected: socket.socket) -> bool:
        """Returns whether the descriptor is still this socket.

        A program that closes all descriptors may have reused its number for another file.
        """
        try:
            found = os.fstat(connected.fileno())
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def _disconnect(self) -> None:
        connected, self._socket = self._socket, None
        if connected is None:
            return
        if self._is_ours(connected):
            connected.close()
        else:
            connected.detach()
