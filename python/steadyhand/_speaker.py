"""What a process has to say of one service: lines, gathered for a moment and sent together."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from typing import Any, Iterable, Optional, Tuple

from . import _follow, _rulers
from ._agent import Line
from ._routes import rule_text
from ._text import field
from ._versions import Choice

# A datagram costs a system call and wakes the agent, and what formats it is no longer in the caches: the lines of three
# seconds share one.
TOGETHER = 64
GATHER_NS = 3_000_000_000
# The longest datagram (docs/protocol.md).
LONGEST = 65_000
# How many lines wait for an agent that does not keep up for a moment, and how soon it is tried again.
KEPT = 4 * TOGETHER
SOON_NS = 5_000_000
# How often a missing agent is looked for.
LATER_NS = 1_000_000_000

# A finished request: end, what was chosen for it, route, status, CPU time, wall time, further fields, and under WSGI its thread
# and the CPU time of that when it began. To keep the request's path short, route and status are still what the framework
# gave and become text when sent.
Request = Tuple[int, Choice, Any, Any, int, int, str, Optional[int], int]
# A change of slots: when, what was chosen for the requests before, and the CPU time of the process, as `Speaker.read_cpu` has it.
Change = Tuple[int, Choice, Tuple[int, int, int, int]]
# A thread that had a request which could not be measured.
Unknown = Tuple[int]
# Their lengths, by which they are told apart.
REQUEST, CHANGE, UNKNOWN = 9, 3, 1

# How many threads are followed.
MOST_THREADS = 256

# In place of a choice: several versions or slots served.
_SEVERAL: Choice = (None, "", "")

# The numbers of status lines that were seen.
_statuses: dict[str, int] = {}


def status_number(status: str) -> int:
    """The number of a status line; 0 where it has none, which the server has to refuse."""
    number = _statuses.get(status)
    if number is None:
        number = int(status[:3]) if status[:3].isdecimal() else 0
        if len(_statuses) < 100:
            _statuses[status] = number
    return number


def request_line(number: int, request: Request) -> str:
    """The line of a request."""
    end, (_, version, said), route, status, cpu, wall, more, _, _ = request
    if status.__class__ is not int:
        status = status_number(status)
    if route.__class__ is not str:
        route = rule_text(route)
    return f"r\t{end}\t{number}\t{version}\t{route}\t{status}\t{cpu}\t{wall}\t{said}{more}\n"


class ProcessCpu:
    """Readings of the CPU time of the process next to that of its requests: `c` lines.

    CPU time of the server itself, between requests on the threads that serve them, is left out of both: it is the same for
    all versions. What remains of the process beyond its requests is other threads' and tasks'. A reading names the version
    and the slot of the requests since the reading before, if all of them had the same.
    """

    __slots__ = ("ends", "last", "requests", "served", "server")

    def __init__(self) -> None:
        # CPU time of all requests so far, and what was chosen for those since the last reading.
        self.requests = 0
        self.served: Choice | None = None
        # CPU time of the server in threads of WSGI, and for each of these its CPU time when its last request ended.
        self.server = 0
        self.ends: dict[int, int] = {}
        # The CPU time of the process in the last reading.
        self.last = 0

    def copy(self) -> ProcessCpu:
        """A copy, which becomes valid once its lines were delivered."""
        other = ProcessCpu()
        other.requests, other.served, other.server, other.last = self.requests, self.served, self.server, self.last
        other.ends = dict(self.ends)
        return other

    def add(self, request: Request) -> None:
        """Adds a request."""
        cpu, thread, begin = request[4], request[7], request[8]
        self.requests += cpu
        choice = request[1]
        if self.served is not choice:
            self.served = choice if self.served is None and choice[2] != "random" else _SEVERAL
        if thread is not None:
            self.server += self._gap(thread, begin)
            if len(self.ends) >= MOST_THREADS:
                self.ends.clear()
            self.ends[thread] = begin + cpu

    def _gap(self, thread: int, cpu: int) -> int:
        """What a thread has used since its last request; 0 if it is another thread with the same number."""
        return max(0, cpu - self.ends.get(thread, cpu))

    def line(self, now: int, read: tuple[int, int, int, int], before: Choice | None = None) -> str:
        """A reading as a line. `before` is what was chosen before a change of slots."""
        served, self.served = self.served, None
        label = ""
        if served is not None and served is not _SEVERAL and (before is None or before is served):
            slot = served[2].partition("\t")[2]
            label = f"\t{slot}\tversion={served[1]}" if slot else f"\tversion={served[1]}"
        process, thread, thread_cpu, of_loop = read
        # Gaps of other threads are known later only, which must not take the counter back.
        self.last = max(self.last, process - self.server - self._gap(thread, thread_cpu) - of_loop)
        return f"c\t{now}\t{self.last}\t{self.requests}{label}\n"

    def lose(self) -> None:
        """A reading was lost: the next one is of more requests than are known here."""
        self.served = _SEVERAL


class Speaker:
    """Numbers, gathers and sends what is said of a service. Any thread may speak."""

    __slots__ = ("skip", "lines", "due", "began", "rulers", "follows", "unmeasured", "failed", "failure", "service", "pid", "answered", "sent",
                 "dropped", "_line", "_head", "_unsaid", "_process", "_sending", "_deaf_until")

    def __init__(self, service: str, path: str | None, kinds: Iterable[str]) -> None:
        self.service = service
        self.rulers = _rulers.Rulers(kinds)
        # Whether it has applications under an event loop, of which everything that they start there is timed.
        self.follows = False
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
        self.lines: deque[Request | Change | Unknown] = deque()
        self._process = ProcessCpu()
        self._sending = threading.Lock()
        # When what was gathered goes out, and until when it is dropped instead, because nobody listens.
        self.due = 0
        self._deaf_until = 0
        # How many requests come before the next one with a ruler.
        self.skip = self.rulers.gap()

    def forked(self) -> None:
        """Begins again in a child: what was gathered is the parent's to send."""
        self._line.forget()
        self.rulers.begin()
        self._begin()

    def ruler(self) -> tuple[int, str, int | None]:
        """Runs a ruler: see `Rulers.run`."""
        self.skip = self.rulers.gap()
        return self.rulers.run()

    def slot_changes(self, before: Choice) -> None:
        """Reads the CPU time of the process between the requests of one slot and those of the next."""
        self.lines.append((time.monotonic_ns(), before, self.read_cpu()))

    def read_cpu(self) -> tuple[int, int, int, int]:
        """CPU time of the process, this thread, its CPU time, and that of the event loop's server."""
        thread_cpu = time.thread_time_ns()
        of_loop = _follow.server_cpu(thread_cpu) if self.follows else 0
        return time.process_time_ns(), threading.get_ident(), thread_cpu, of_loop

    def not_measured(self, thread: int) -> None:
        """A request that began in this thread could not be measured."""
        self.unmeasured += 1
        self.lines.append((thread,))

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
            together = TOGETHER
            while self.lines:
                taken = [self.lines.popleft() for _ in range(min(together, len(self.lines)))]
                datagram, numbered, process = self._datagram(taken, now)
                if len(datagram) > LONGEST and len(taken) > 1:
                    self.lines.extendleft(reversed(taken))
                    together = len(taken) // 2
                elif not self._delivered(datagram, taken, now):
                    return
                else:
                    self.sent += numbered
                    self.answered += numbered
                    self._process = process
            self.due = now + GATHER_NS
        finally:
            self._sending.release()

    def _datagram(self, taken: list[Request | Change | Unknown], now: int) -> tuple[bytes, int, ProcessCpu]:
        """Formats records. Returns the datagram, how many requests are in it, and what is known of the process after it."""
        process = self._process.copy()
        number = self.answered
        lines = [self._head]
        if self._unsaid:
            lines.append(f"l\t{self._unsaid}\n")
        for record in taken:
            if len(record) == REQUEST:
                number += 1
                process.add(record)
                lines.append(request_line(number, record))
            elif len(record) == CHANGE:
                lines.append(process.line(record[0], record[2], record[1]))
            else:
                process.ends.pop(record[0], None)
        if not self.lines:
            lines.append(process.line(now, self.read_cpu()))
        return "".join(lines).encode("utf-8", "replace"), number - self.answered, process

    def _delivered(self, datagram: bytes, taken: list[Request | Change | Unknown], now: int) -> bool:
        """Sends a datagram. Returns whether the agent has it; else its records are kept for later or dropped."""
        done = self._line.send(datagram)
        if done:
            self._unsaid = 0
            return True
        if done is None:
            self.lines.extendleft(reversed(taken))
            while len(self.lines) > KEPT:
                self._drop(self.lines.popleft())
            self.due = now + SOON_NS
            return False
        self._deaf_until = self.due = now + LATER_NS
        for record in taken:
            self._drop(record)
        self._drop_all()
        return False

    def _drop_all(self) -> None:
        while self.lines:
            self._drop(self.lines.popleft())

    def _drop(self, record: Request | Change | Unknown) -> None:
        self._process.lose()
        if len(record) == UNKNOWN:
            self._process.ends.pop(record[0], None)
        elif len(record) == REQUEST:
            self._process.add(record)
            self.answered += 1
            self.dropped += 1
            self._unsaid += 1

    def fail(self, error: BaseException) -> None:
        """Something of ours went wrong; the request goes on."""
        self.failed += 1
        self.failure = f"{type(error).__name__}: {error}"

    def status(self) -> dict[str, Any]:
        """How it stands."""
        rulers = self.rulers
        gathered = sum(len(record) == REQUEST for record in list(self.lines))
        passed = max(time.monotonic_ns() - self.began, 1)
        return {
            "service": self.service, "pid": self.pid, "socket": self._line.path,
            "requests": self.answered + gathered, "sent": self.sent, "gathered": gathered, "dropped": self.dropped,
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
    kinds: tuple[str, ...] = _rulers.USUAL if rulers is True else () if rulers is False else tuple(rulers)
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
