"""Rulers: short pieces of fixed work that run right before some requests and measure the current speed of the machine.

Their library comes with `steady`. Without it, requests are reported without rulers.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from typing import Callable, Iterable

KINDS = ("icode", "syscall", "alu", "memory")
# The kinds that run by default. The memory ruler is expensive and explains little of the requests' cost.
USUAL = ("icode", "syscall", "alu")
VERSION = 1
NAME = "libsteady_rulers.so"

# The mean CPU time that rulers may add to a request, in nanoseconds, and the share of a CPU that they may use.
REQUEST_BUDGET_NS = 4_000
CPU_BUDGET = 0.005
# The highest cost for a request of cache lines that the ruler before it evicted (bench/run middleware).
EVICTION_NS = 30_000
# The assumed cost of a ruler until one was timed.
EXPECTED_NS = 120_000
# Rulers are planned in groups. The first one is small: it measures the cost of each kind.
FIRST_GROUP = 8
GROUP = 32
# For one in this many requests with a ruler, the thread's wait for a CPU is read too.
WATCHED = 4
# The gap between rulers if there are none. Larger numbers make the countdown slower.
NO_RULERS = (1 << 30) - 1

_ABSENT = 2**64 - 1
_lock = threading.Lock()
_found: tuple[ctypes.PyDLL | None, str | None] | None = None


def library() -> tuple[ctypes.PyDLL | None, str | None]:
    """Returns the library, or the reason why there is none.

    It is loaded once per process. Forked children inherit it.
    """
    global _found
    with _lock:
        if _found is None:
            try:
                _found = _load(_folder()), None
            except (OSError, ValueError, AttributeError, subprocess.SubprocessError) as error:
                _found = None, str(error)
        return _found


def _folder() -> str:
    sibling = os.path.join(os.path.dirname(sys.executable or ""), "steady")
    program = sibling if os.access(sibling, os.X_OK) else shutil.which("steady")
    if program is None:
        raise OSError("no program 'steady' next to the Python interpreter or in PATH")
    done = subprocess.run([program, "agent", "library"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=10)
    # The exit status is ignored, because a server that reaps all children may have reaped this one.
    folder = os.fsdecode(done.stdout).rstrip("\n")
    if not folder:
        raise OSError(os.fsdecode(done.stderr).strip() or f"'{program} agent library' printed nothing")
    return folder


def _load(folder: str) -> ctypes.PyDLL:
    # Functions of a `PyDLL` keep the GIL. Acquiring it again could take longer than the ruler, and another thread could
    # run between the ruler and the request.
    loaded = ctypes.PyDLL(os.path.join(folder, NAME))
    loaded.steady_ruler.argtypes = [ctypes.c_int]
    loaded.steady_ruler.restype = ctypes.c_uint64
    loaded.steady_run_delay.argtypes = []
    loaded.steady_run_delay.restype = ctypes.c_uint64
    version = loaded.steady_rulers_version()
    if version != VERSION:
        raise ValueError(f"{folder}/{NAME} has version {version}; this package supports version {VERSION}")
    return loaded


class Rulers:
    """Chooses the requests that have a ruler before them, and runs the rulers.

    Rulers may add `REQUEST_BUDGET_NS` to a request on average, and may use `CPU_BUDGET` of a CPU in total. The cost of
    a ruler is measured: the CPU time of the call, mostly due to cold caches, plus `EVICTION_NS` for the cache lines
    that it evicts. All kinds get the same time, so cheap kinds run more often. Rulers are planned in groups, so that a
    single one runs little code.
    """

    def __init__(self, kinds: Iterable[str], clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.kinds = [KINDS.index(kind) for kind in kinds]
        self._clock = clock
        loaded, self.why = library() if self.kinds else (None, "not requested")
        self._ruler = loaded.steady_ruler if loaded else None
        self._run_delay = loaded.steady_run_delay if loaded else None
        self.begin()

    def begin(self) -> None:
        """Resets all counts and plans the first group; also called in a forked child."""
        # Otherwise all children would continue with the same random state.
        self._random = random.Random(os.urandom(16))
        self._draw = self._random.random
        self.samples = [0] * len(KINDS)
        self.failed = 0
        self.spent = 0
        # The typical cost of each kind in nanoseconds, and the costs measured in the current group.
        self._costs = [EXPECTED_NS] * len(KINDS)
        self._group: list[tuple[int, int]] = []
        # The kinds of the next rulers, and twice the mean number of requests between two rulers.
        self._next: list[int] = []
        self._twice_gap = 0
        # The number of requests since the start of the group.
        self._passed = 0
        self._planned = self._clock()
        if self._ruler is not None:
            self._plan()

    def gap(self) -> int:
        """Draws the number of requests before the next one with a ruler."""
        if self._ruler is None:
            return NO_RULERS
        gap = int(self._draw() * self._twice_gap)
        self._passed += gap + 1
        return gap

    def run(self) -> tuple[int, str, int | None]:
        """Runs a ruler.

        Returns the monotonic time after it, its field for the request's line, and the thread's total wait for a CPU so
        far in nanoseconds, or None if that was not read.
        """
        if self._ruler is None:
            return self._clock(), "", None
        begin = time.thread_time_ns()
        try:
            kind = self._next.pop()
        except IndexError:
            # Another thread is planning the next group.
            return self._clock(), "", None
        took = self._ruler(kind)
        delay = None
        cost = EVICTION_NS - begin
        if len(self._next) % WATCHED == 0:
            # It is read a second time at the end of the request, at the same cost.
            cost -= time.thread_time_ns()
            delay = self._run_delay()  # type: ignore[misc]
            cost += time.thread_time_ns()
            if delay == _ABSENT:
                delay = None
        if not self._next:
            self._plan()
        field = ""
        if took:
            self.samples[kind] += 1
            field = f"\truler={KINDS[kind]}:{took}"
        else:
            self.failed += 1
        cost += time.thread_time_ns()
        self.spent += cost
        self._group.append((kind, cost))
        return self._clock(), field, delay

    def delay_since(self, before: int) -> str:
        """Returns the field for the thread's wait for a CPU since the reading `before`; empty if unknown."""
        after = self._run_delay() if self._run_delay else _ABSENT
        return "" if after == _ABSENT or after < before else f"\tdelay={after - before}"

    def _plan(self) -> None:
        """Plans the next group, from the costs and the request rate of the last one."""
        for kind in self.kinds:
            costs = sorted(cost for ran, cost in self._group if ran == kind)
            if costs:
                # The median: the first run of a kind allocates its memory, and interrupts are not its cost.
                self._costs[kind] = costs[len(costs) // 2]
        shares = [1 / self._costs[kind] for kind in self.kinds]
        # Kinds with equal total times have the harmonic mean of their costs as mean cost.
        cost = len(self.kinds) / sum(shares)
        now = self._clock()
        rate = self._passed * 1e9 / max(now - self._planned, 1)
        gap = max(cost / REQUEST_BUDGET_NS, cost * rate / (CPU_BUDGET * 1e9)) - 1
        count = GROUP if self._group else FIRST_GROUP
        self._next = [kind for kind, share in zip(self.kinds, shares) for _ in range(max(1, round(count * share / sum(shares))))]
        self._random.shuffle(self._next)
        self._twice_gap = max(0, 2 * gap) + 1
        self._group = []
        self._passed = 0
        self._planned = now
