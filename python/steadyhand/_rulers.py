"""Rulers: short pieces of fixed work that run right before some of the requests, and tell how the machine fares.

Their library comes with `steady`. Without it requests are told all the same, without rulers.
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
VERSION = 1
NAME = "libsteady_rulers.so"

# How many a second of each kind are wanted, and the share of a CPU that all of them together may take.
WANTED = 25.0
BUDGET = 0.005
# What may have been spent beyond the budget when there is little time to take a share of: some rulers.
AHEAD_NS = 500_000
# Of the requests that have a ruler, the share whose waiting for CPUs is read, too: that takes as long as a ruler.
WATCHED = 0.25
# How long the rate of requests is looked at before the chance follows it.
LOOK_NS = 250_000_000

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
    """Which requests have a ruler before them, and how much that may cost."""

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
        self.chance = 1.0 if self._ruler else 0.0
        self.samples = [0] * len(KINDS)
        self.failed = 0
        self.spent = 0
        self._began = self._clock()
        self._look = self._began
        self._seen = 0

    def run(self, number: int) -> tuple[int, str, int | None]:
        """Runs one, if it may be afforded: now, what a line says of it, and how long the thread has waited for CPUs so far.

        `number` is how many requests have been answered.
        """
        begin = time.thread_time_ns()
        now = self._clock()
        if now - self._look > LOOK_NS:
            self._follow(now, number)
        if self._ruler is None or self._run_delay is None or self.spent > AHEAD_NS + BUDGET * (now - self._began):
            return now, "", None
        kind = self._random.choice(self.kinds)
        took = self._ruler(kind)
        said = ""
        if took:
            self.samples[kind] += 1
            said = f"\truler={KINDS[kind]}:{took}"
        else:
            self.failed += 1
        delay: int | None = None
        done = time.thread_time_ns()
        if self._random.random() < WATCHED:
            delay = self._run_delay()
            if delay == _ABSENT:
                delay = None
            # What it takes at the end of the request.
            self.spent += time.thread_time_ns() - done
            done = time.thread_time_ns()
        self.spent += done - begin
        return self._clock(), said, delay

    def delay_since(self, before: int) -> str:
        """What a line says of the time that the thread has waited since."""
        after = self._run_delay() if self._run_delay else _ABSENT
        return "" if after == _ABSENT or after < before else f"\tdelay={after - before}"

    def _follow(self, now: int, number: int) -> None:
        """The chance of a request: as many as are wanted and can be afforded, at the rate of the last look."""
        seconds = (now - self._look) / 1e9
        rate = (number - self._seen) / seconds
        self._look, self._seen = now, number
        ran = sum(self.samples)
        wanted = WANTED * len(self.kinds)
        if ran:
            wanted = min(wanted, BUDGET * 1e9 / (self.spent / ran))
        self.chance = min(1.0, wanted / rate) if rate > 0 else 1.0
