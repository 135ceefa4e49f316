"""What a process has to say of one service: lines, gathered for a moment and sent together."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from typing import Any, Iterable, Tuple

from . import _rulers
from ._agent import Line
from ._text import field
from ._versions import Choice

# A datagram costs a system call and wakes the agent, so lines that follow each other closely share one. With texts as long
# as they may be, so many still fit into a datagram.
TOGETHER = 32
GATHER_NS = 50_000_000
# What an agent that does not keep up for a moment is kept, and how soon it is tried again.
KEPT = 4 * TOGETHER
SOON_NS = 5_000_000
# How often a missing agent is looked for.
LATER_NS = 1_000_000_000

# What is told of a request: end, what was chosen for it, route, status, CPU time, wall time, and what else.
Told = Tuple[int, Choice, str, int, int, int, str]


def line(number: int, told: Told) -> str:
    """It as a line."""
    end, (_, version, said), route, status, cpu, wall, more = told
    return f"r\t{end}\t{number}\t{version}\t{route}\t{status}\t{cpu}\t{wall}\t{said}{more}\n"


class Speaker:
    """Numbers, gathers and sends what is said of a service. Any thread may speak."""

    def __init__(self, service: str, path: str | None, kinds: Iterable[str]) -> None:
        self.service = service
        self.rulers = _rulers.Rulers(kinds)
        self._line = Line(path)
        self._begin()

    def _begin(self) -> None:
        self.pid = os.getpid()
        self.began = time.monotonic_ns()
        self._head = f"steady/1\t{field(self.service)}\t{self.pid}\t{self.began}\n"
        self.answered = 0
        self.sent = self.dropped = self.unmeasured = self.failed = 0
        self.failure: str | None = None
        self._unsaid = 0
        self.lines: deque[Told] = deque()
        self._sending = threading.Lock()
        # When what was gathered goes out, and until when it is dropped instead, because nobody listens.
        self.due = 0
        self._deaf_until = 0

    def forked(self) -> None:
        """Begins again in a child: what was gathered is the parent's to send."""
        self._line.forget()
        self._begin()
        self.rulers.begin()

    def say(self, end: int, choice: Choice, route: str, status: int, cpu: int, wall: int, more: str) -> None:
        """Tells of a request; `more` is what its line has behind the assignment. What WSGI does says the same in place."""
        lines = self.lines
        # They become text when they are sent, many at once, and get their numbers then.
        lines.append((end, choice, route, status, cpu, wall, more))
        if end >= self.due or len(lines) >= TOGETHER:
            self.send(end)

    def flush(self) -> None:
        """Sends what has been gathered."""
        self.send(time.monotonic_ns())

    def send(self, now: int) -> None:
        """Sends what has been gathered; it is `now` by the monotonic clock."""
        # Who finds another thread at it has nothing to wait for.
        if not self._sending.acquire(False):
            return
        try:
            if now < self._deaf_until:
                self._drop_all()
                return
            while self.lines:
                taken = [self.lines.popleft() for _ in range(min(TOGETHER, len(self.lines)))]
                if not self._delivered(taken, now):
                    return
            self.due = now + GATHER_NS
        finally:
            self._sending.release()

    def _delivered(self, taken: list[Told], now: int) -> bool:
        unsaid = self._unsaid
        said = f"l\t{unsaid}\n" if unsaid else ""
        lines = [line(number, told) for number, told in enumerate(taken, self.answered + 1)]
        done = self._line.send((self._head + said + "".join(lines)).encode("utf-8", "replace"))
        if done:
            self.sent += len(taken)
            self.answered += len(taken)
            self._unsaid -= unsaid
            return True
        if done is None:
            self.lines.extendleft(reversed(taken))
            while len(self.lines) > KEPT:
                self.lines.popleft()
                self._drop(1)
            self.due = now + SOON_NS
            return False
        self._deaf_until = self.due = now + LATER_NS
        self._drop(len(taken))
        self._drop_all()
        return False

    def _drop_all(self) -> None:
        while self.lines:
            self.lines.popleft()
            self._drop(1)

    def _drop(self, count: int) -> None:
        self.answered += count
        self.dropped += count
        self._unsaid += count

    def fail(self, error: BaseException) -> None:
        """Something of ours went wrong; the request goes on."""
        self.failed += 1
        self.failure = f"{type(error).__name__}: {error}"

    def status(self) -> dict[str, Any]:
        """How it stands."""
        rulers = self.rulers
        passed = max(time.monotonic_ns() - self.began, 1)
        return {
            "service": self.service, "pid": self.pid, "socket": self._line.path,
            "requests": self.answered + len(self.lines), "sent": self.sent, "gathered": len(self.lines), "dropped": self.dropped,
            "agent": self._line.why or ("ok" if self.sent else "nothing was sent yet"),
            "unmeasured": self.unmeasured, "failed": self.failed, "failure": self.failure,
            "rulers": {
                "why_none": rulers.why, "failed": rulers.failed, "spent_ratio": rulers.spent / passed,
                "samples": {kind: rulers.samples[number] for number, kind in enumerate(_rulers.KINDS)},
            },
        }


_speakers: dict[tuple[str, str | None], Speaker] = {}
_speakers_lock = threading.Lock()


def speaker(service: str, path: str | None, rulers: bool | Iterable[str]) -> Speaker:
    """The one of a service: all its applications in this process share their numbers."""
    kinds: tuple[str, ...] = _rulers.KINDS if rulers is True else () if rulers is False else tuple(rulers)
    unknown = set(kinds) - set(_rulers.KINDS)
    if unknown:
        raise ValueError(f"rulers are {', '.join(_rulers.KINDS)}, not {', '.join(map(repr, sorted(unknown)))}")
    with _speakers_lock:
        found = _speakers.get((service, path))
        if found is None:
            found = _speakers[service, path] = Speaker(service, path, kinds)
        return found


def status() -> list[dict[str, Any]]:
    """What this process has told of each service, what was dropped and why, and how its rulers fare."""
    return [found.status() for found in list(_speakers.values())]


def _in_child() -> None:
    global _speakers_lock
    # Whatever the parent's other threads were at, they are not here.
    _speakers_lock = threading.Lock()
    for found in list(_speakers.values()):
        found.forked()


def _at_exit() -> None:
    for found in list(_speakers.values()):
        found.flush()


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
