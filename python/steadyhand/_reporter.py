"""Batches the lines that a process reports about a service, and sends them to the agent."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from typing import Any, Iterable, Optional, Tuple

from . import _follow, _rulers
from ._agent import Connection
from ._routes import rule_text
from ._text import field, name_field
from ._versions import Choice

# Each datagram costs a system call, wakes the agent, and runs code that is no longer in the caches. Therefore the lines
# of three seconds share one, or `BATCH` requests.
BATCH = 64
BATCH_NS = 3_000_000_000
# The longest datagram in bytes (docs/protocol.md).
LONGEST = 65_000
# How many lines are kept while the agent's queue is full, and the time until the next attempt.
MOST_WAITING = 4 * BATCH
RETRY_NS = 5_000_000
# The time between attempts to reach a missing agent.
RECONNECT_NS = 1_000_000_000

# A finished request: end, choice, route, status, CPU time, wall time, further fields and, under WSGI, its thread and
# the CPU time of the thread when the request began. Times are in nanoseconds. Route and status are still what the
# framework gave: they become text when the line is sent, which keeps the request's path short.
Request = Tuple[int, Choice, Any, Any, int, int, str, Optional[int], int]
# A slot change: its time, the choice of the requests before it, and the result of `Reporter.read_cpu`.
Change = Tuple[int, Choice, Tuple[int, int, int, int]]
# The thread of a request that could not be measured.
Unknown = Tuple[int]
# The lengths of these tuples, which distinguish them.
REQUEST, CHANGE, UNKNOWN = 9, 3, 1

# The number of threads whose CPU time is tracked.
MOST_THREADS = 256

# A placeholder choice: several versions or slots served.
_SEVERAL: Choice = (None, "", "")

# The status numbers of known status lines.
_statuses: dict[str, int] = {}


def status_number(status: str) -> int:
    """Returns the number of a status line; 0 if it has none, which servers refuse."""
    number = _statuses.get(status)
    if number is None:
        number = int(status[:3]) if status[:3].isdecimal() else 0
        if len(_statuses) < 100:
            _statuses[status] = number
    return number


def request_line(number: int, request: Request) -> str:
    """Formats the line of a request."""
    end, (_, version, assignment), route, status, cpu, wall, more, _, _ = request
    if status.__class__ is not int:
        # Frameworks may give an `http.HTTPStatus`, and WSGI has status lines.
        status = int(status) if isinstance(status, int) else status_number(str(status))
    if route.__class__ is not str:
        route = rule_text(route)
    return f"r\t{end}\t{number}\t{version}\t{route}\t{status}\t{cpu}\t{wall}\t{assignment}{more}\n"


class ProcessCpu:
    """Formats `c` lines: the CPU time of the process and of its requests.

    Both exclude the CPU time of the server itself, between requests on the threads that serve them, because it is the
    same for all versions, and that of the requests of other services in the process. The rest of the process's CPU time
    was used by other threads and tasks. A line names a version and slot if all requests since the previous line had the
    same version and slot.
    """

    __slots__ = ("ends", "last", "requests", "served", "server")

    def __init__(self) -> None:
        # CPU time of all requests so far, and the choice of the requests since the last reading.
        self.requests = 0
        self.served: Choice | None = None
        # CPU time of the server and of other services in WSGI threads, and the CPU time of each such thread at the end of
        # its last request.
        self.server = 0
        self.ends: dict[int, int] = {}
        # The process's CPU time in the last reading.
        self.last = 0

    def copy(self) -> ProcessCpu:
        """Returns a copy, which replaces this object once its lines are delivered."""
        other = ProcessCpu()
        other.requests, other.served, other.server, other.last = self.requests, self.served, self.server, self.last
        other.ends = dict(self.ends)
        return other

    def add(self, request: Request) -> None:
        """Adds a request to the sums."""
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
        """Returns the CPU time of a thread since its last request; 0 if a new thread has reused the number."""
        return max(0, cpu - self.ends.get(thread, cpu))

    def line(self, now: int, read: tuple[int, int, int, int], before: Choice | None = None) -> str:
        """Formats a reading. `before` is the choice of the requests before a slot change."""
        served, self.served = self.served, None
        label = ""
        if served is not None and served is not _SEVERAL and (before is None or before is served):
            slot = served[2].partition("\t")[2]
            label = f"\t{slot}\tversion={served[1]}" if slot else f"\tversion={served[1]}"
        process, thread, thread_cpu, of_others = read
        # The gaps of other threads, and the costs of requests, become known later. They must not make the counter go back.
        self.last = max(self.last, process - self.server - self._gap(thread, thread_cpu) - of_others)
        return f"c\t{now}\t{self.last}\t{self.requests}{label}\n"

    def lose(self) -> None:
        """Records that a reading was lost: the versions of the requests before the next one are unknown."""
        self.served = _SEVERAL


class Reporter:
    """Numbers, batches and sends the lines about a service. It is thread-safe."""

    __slots__ = ("skip", "lines", "due", "began", "rulers", "follows", "loop_cpu", "unmeasured", "failed", "failure",
                 "service", "pid", "answered", "sent", "dropped", "_connection", "_head", "_unreported_drops", "_process", "_sending",
                 "_retry_at", "_drop_until")

    def __init__(self, service: str, path: str | None, kinds: Iterable[str]) -> None:
        self.service = service
        self.rulers = _rulers.Rulers(kinds)
        # Whether an application of the service runs under an event loop, with its tasks timed by `_follow`.
        self.follows = False
        self._connection = Connection(path)
        self._begin()

    def _begin(self) -> None:
        self.pid = os.getpid()
        self.began = time.monotonic_ns()
        self._head = f"steady/1\t{field(self.service)}\t{self.pid}\t{self.began}\n"
        # CPU time of its requests under an event loop.
        self.loop_cpu = 0
        self.answered = 0
        self.sent = self.dropped = self.unmeasured = self.failed = 0
        self.failure: str | None = None
        self._unreported_drops = 0
        self.lines: deque[Request | Change | Unknown] = deque()
        self._process = ProcessCpu()
        self._sending = threading.Lock()
        # When the batch is sent, when a full queue is tried again, and until when lines are dropped because no agent
        # listens.
        self.due = 0
        self._retry_at = 0
        self._drop_until = 0
        # The number of requests before the next one with a ruler.
        self.skip = self.rulers.gap()

    def forked(self) -> None:
        """Starts again in a forked child: the parent sends what it has batched."""
        self._connection.forget()
        self.rulers.begin()
        self._begin()

    def ruler(self) -> tuple[int, str, int | None]:
        """Runs a ruler; see `Rulers.run`."""
        self.skip = self.rulers.gap()
        return self.rulers.run()

    def slot_changes(self, before: Choice) -> None:
        """Reads the process's CPU time between the requests of two slots. `before` is the choice of the first slot."""
        self.lines.append((time.monotonic_ns(), before, self.read_cpu()))

    def read_cpu(self) -> tuple[int, int, int, int]:
        """Returns the CPU time of the process, the current thread and its CPU time, and that of others on event loops.

        Others are the server of a loop and the requests of other services.
        """
        others = sum(found.loop_cpu for found in list(_reporters.values()) if found is not self)
        thread_cpu = time.thread_time_ns()
        of_server = _follow.server_cpu(thread_cpu) if self.follows else 0
        return time.process_time_ns(), threading.get_ident(), thread_cpu, of_server + others

    def not_measured(self, thread: int) -> None:
        """Counts a request of this thread that could not be measured."""
        self.unmeasured += 1
        self.lines.append((thread,))
        if len(self.lines) >= BATCH:
            self._try_to_send()

    def flush(self) -> None:
        """Sends all batched lines, also if the agent's queue was just full. An error of the middleware is recorded."""
        self._retry_at = 0
        self._try_to_send()

    def _try_to_send(self) -> None:
        try:
            self.send(time.monotonic_ns())
        except Exception as error:
            self.fail(error)

    def send(self, now: int) -> None:
        """Sends all batched lines. `now` is the monotonic time in nanoseconds."""
        if os.getpid() != self.pid:
            # Forked without Python's hooks, as by uWSGI. The parent sends what it has batched.
            _in_child()
            return
        # If another thread is sending, it sends these lines too.
        if not self._sending.acquire(False):
            return
        try:
            if now < self._drop_until:
                self._drop_all()
                return
            if now < self._retry_at:
                self._drop_oldest()
                return
            size = BATCH
            while self.lines:
                batch = [self.lines.popleft() for _ in range(min(size, len(self.lines)))]
                try:
                    datagram, numbered, process = self._datagram(batch, now)
                except Exception:
                    for record in batch:
                        self._drop(record)
                    raise
                if len(datagram) > LONGEST and len(batch) > 1:
                    self.lines.extendleft(reversed(batch))
                    size = len(batch) // 2
                elif not self._delivered(datagram, batch, now):
                    return
                else:
                    self.sent += numbered
                    self.answered += numbered
                    self._process = process
            self.due = now + BATCH_NS
        finally:
            self._sending.release()

    def _datagram(self, batch: list[Request | Change | Unknown], now: int) -> tuple[bytes, int, ProcessCpu]:
        """Formats records. Returns the datagram, its number of requests, and the state of the CPU readings after it."""
        process = self._process.copy()
        number = self.answered
        lines = [self._head]
        if self._unreported_drops:
            lines.append(f"l\t{self._unreported_drops}\n")
        for record in batch:
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

    def _delivered(self, datagram: bytes, batch: list[Request | Change | Unknown], now: int) -> bool:
        """Sends a datagram. Returns whether the agent has it; otherwise its records are kept for later or dropped."""
        done = self._connection.send(datagram)
        if done:
            self._unreported_drops = 0
            return True
        if done is None:
            self.lines.extendleft(reversed(batch))
            self._drop_oldest()
            self._retry_at = self.due = now + RETRY_NS
            return False
        self._drop_until = self.due = now + RECONNECT_NS
        for record in batch:
            self._drop(record)
        self._drop_all()
        return False

    def _drop_oldest(self) -> None:
        while len(self.lines) > MOST_WAITING:
            self._drop(self.lines.popleft())

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
            self._unreported_drops += 1

    def fail(self, error: BaseException) -> None:
        """Records an error of the middleware itself; the request continues."""
        self.failed += 1
        self.failure = f"{type(error).__name__}: {error}"

    def status(self) -> dict[str, Any]:
        """Returns the counters of this service, as documented in docs/middleware.md."""
        rulers = self.rulers
        gathered = sum(len(record) == REQUEST for record in list(self.lines))
        elapsed = max(time.monotonic_ns() - self.began, 1)
        return {
            "service": self.service, "pid": self.pid, "socket": self._connection.path,
            "requests": self.answered + gathered, "sent": self.sent, "gathered": gathered, "dropped": self.dropped,
            "agent": self._connection.why or ("ok" if self.sent else "nothing was sent yet"),
            "unmeasured": self.unmeasured, "failed": self.failed, "failure": self.failure,
            "rulers": {
                "why_none": rulers.why, "failed": rulers.failed, "spent_ratio": rulers.spent / elapsed,
                "samples": {kind: rulers.samples[number] for number, kind in enumerate(_rulers.KINDS)},
            },
        }


_reporters: dict[tuple[str, str | None], Reporter] = {}
_reporters_lock = threading.Lock()


def reporter(service: str, path: str | None, rulers: bool | Iterable[str]) -> Reporter:
    """Returns the reporter of a service. All its applications in this process share one, and so its request numbers."""
    kinds: tuple[str, ...] = _rulers.USUAL if rulers is True else () if rulers is False else tuple(rulers)
    unknown = set(kinds) - set(_rulers.KINDS)
    if unknown:
        raise ValueError(f"rulers are {', '.join(_rulers.KINDS)}, not {', '.join(map(repr, sorted(unknown)))}")
    name_field(service, "service")
    with _reporters_lock:
        found = _reporters.get((service, path))
        if found is None:
            found = _reporters[service, path] = Reporter(service, path, kinds)
        return found


def status() -> list[dict[str, Any]]:
    """Returns a dict per service of this process: its counters, why lines were dropped, and the state of its rulers."""
    return [found.status() for found in list(_reporters.values())]


def _in_child() -> None:
    global _reporters_lock
    # The parent's other threads do not exist here, and one of them may have held the lock.
    _reporters_lock = threading.Lock()
    for found in list(_reporters.values()):
        found.forked()


def _at_exit() -> None:
    for found in list(_reporters.values()):
        found.flush()


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
