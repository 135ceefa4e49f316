"""Rulers: short pieces of fixed work that run right before some of the requests, and tell how the machine fares.

Their library comes with `steady`. Without it requests are told all the same, without rulers.
"""

from __future__ import annotations

import ctypes
import math
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from typing import Callable, Iterable

KINDS = ("icode", "syscall", "alu", "memory")
# Those that run unless kinds are named. The memory ruler explains little of what requests cost, and costs much itself.
USUAL = ("icode", "syscall", "alu")
VERSION = 1
NAME = "libsteady_rulers.so"

# What rulers may cost a request on average, in nanoseconds of CPU time, and the share of a CPU that they may take.
REQUEST_BUDGET_NS = 4_000
CPU_BUDGET = 0.005
# What a request pays for the cache lines that a ruler before it evicted, at most (bench/run middleware).
EVICTION_NS = 30_000
# What a ruler is taken to cost before any was timed.
EXPECTED_NS = 120_000
# Rulers are planned in groups: of a first one, by which costs are learnt, and of later ones.
FIRST_GROUP = 8
GROUP = 32
# Of the requests that have a ruler, one in so many has its waiting for CPUs read, too.
WATCHED = 4
# The gap where there are no rulers. Greater numbers are slower.
NO_RULERS = (1 << 30) - 1

_ABSENT = 2**64 - 1
_lock = threading.Lock()
_found: tuple[ctypes.PyDLL | None, str | None] | None = None


def library() -> tuple[ctypes.PyDLL | None, str | None]:
    """The library, asked for once in the life of a process and its children; or why there is none."""
    global _found
    with _lock:
        if _found is None:
            try:
                _found = _load(_folder()), None
            except (OSError, ValueError, AttributeError, subprocess.SubprocessError) as error:
                _found = None, str(error)
        return _found


def _folder() -> str:
    beside = os.path.join(os.path.dirname(sys.executable or ""), "steady")
    program = beside if os.access(beside, os.X_OK) else shutil.which("steady")
    if program is None:
        raise OSError("there is no program 'steady' beside Python or in PATH")
    done = subprocess.run([program, "agent", "library"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=10)
    # A server that reaps all children may have taken the status: what was printed is what counts.
    folder = os.fsdecode(done.stdout).rstrip("\n")
    if not folder:
        raise OSError(os.fsdecode(done.stderr).strip() or f"'{program} agent library' printed nothing")
    return folder


def _load(folder: str) -> ctypes.PyDLL:
    # The interpreter is kept meanwhile: to ask for it again could take longer than the ruler, and another thread's work
    # would be between the ruler and the request.
    loaded = ctypes.PyDLL(os.path.join(folder, NAME))
    loaded.steady_ruler.argtypes = [ctypes.c_int]
    loaded.steady_ruler.restype = ctypes.c_uint64
    loaded.steady_run_delay.argtypes = []
    loaded.steady_run_delay.restype = ctypes.c_uint64
    version = loaded.steady_rulers_version()
    if version != VERSION:
        raise ValueError(f"{folder}/{NAME} is of version {version}, and this package knows {VERSION}")
    return loaded


class Rulers:
    """Decides which requests have a ruler before them, from what rulers really cost, and runs them.

    A ruler may cost a request `REQUEST_BUDGET_NS` on average, and all rulers together `CPU_BUDGET` of a CPU. The cost is
    the CPU time of the whole call, which is mostly that of cold caches, and what the request pays for evicted cache lines.
    Kinds share that time equally, so cheap kinds run more often. Decisions are made for groups of rulers, so that a
    single ruler runs little code.
    """

    def __init__(self, kinds: Iterable[str], clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.kinds = [KINDS.index(kind) for kind in kinds]
        self._clock = clock
        loaded, self.why = library() if self.kinds else (None, "not asked for")
        self._ruler = loaded.steady_ruler if loaded else None
        self._run_delay = loaded.steady_run_delay if loaded else None
        self.begin()

    def begin(self) -> None:
        """Counts from here on; also in a forked child."""
        # The parent's coins would be the same in all of its children.
        self._random = random.Random(os.urandom(16))
        self._draw = self._random.random
        self.samples = [0] * len(KINDS)
        self.failed = 0
        self.spent = 0
        # The mean cost of each kind in nanoseconds, and those of the current group.
        self._costs = [EXPECTED_NS] * len(KINDS)
        self._group: list[tuple[int, int]] = []
        # The kinds that come next, and twice the mean number of requests between two rulers.
        self._next: list[int] = []
        self._twice_gap = 0
        # The requests that were let pass since the group began.
        self._passed = 0
        self._planned = self._clock()
        if self._ruler is not None:
            self._plan()

    def gap(self) -> int:
        """Draws how many requests come before the next one with a ruler."""
        if self._ruler is None:
            return NO_RULERS
        gap = int(self._draw() * self._twice_gap)
        self._passed += gap + 1
        return gap

    def run(self) -> tuple[int, str, int | None]:
        """Runs a ruler.

        Returns the time after it, its field for the request's line, and how long the thread has waited for a CPU so far
        where that is read.
        """
        if self._ruler is None:
            return self._clock(), "", None
        begin = time.thread_time_ns()
        try:
            kind = self._next.pop()
        except IndexError:
            # Another thread is planning.
            return self._clock(), "", None
        took = self._ruler(kind)
        delay = None
        cost = EVICTION_NS - begin
        if len(self._next) % WATCHED == 0:
            # It is read again at the end of the request.
            cost -= time.thread_time_ns()
            delay = self._run_delay()  # type: ignore[misc]
            cost += time.thread_time_ns()
            if delay == _ABSENT:
                delay = None
        if not self._next:
            self._plan()
        said = ""
        if took:
            self.samples[kind] += 1
            said = f"\truler={KINDS[kind]}:{took}"
        else:
            self.failed += 1
        cost += time.thread_time_ns()
        self.spent += cost
        self._group.append((kind, cost))
        return self._clock(), said, delay

    def delay_since(self, before: int) -> str:
        """The field for the time that the thread has waited for a CPU since then."""
        after = self._run_delay() if self._run_delay else _ABSENT
        return "" if after == _ABSENT or after < before else f"\tdelay={after - before}"

    def _plan(self) -> None:
        """Plans the next group by the costs and the rate of the last one."""
        for kind in self.kinds:
            costs = sorted(cost for ran, cost in self._group if ran == kind)
            if costs:
                # Not the mean: the first run of a kind gets its memory, and interrupts are nobody's cost.
                self._costs[kind] = costs[len(costs) // 2]
        shares = [1 / self._costs[kind] for kind in self.kinds]
        # Equal times have the harmonic mean of the kinds as their mean cost.
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
