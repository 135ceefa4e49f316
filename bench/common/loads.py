"""Loads: neighbours beside which a tool must find the truth."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from random import Random

from common.paths import WORK

CPUS = os.cpu_count() or 1

# Neighbours end by themselves after this long, should nobody be left to end them.
LIFETIME_SECONDS = 300

# A streaming neighbour first touches its memory; measuring starts after that.
SETTLE_SECONDS = 0.4

SLOW_MS = (300, 2500, 300, 2500)
QUICK_MS = (20, 200, 20, 200)


def _burst(kind: str, timing_ms: tuple, random: Random) -> list:
    return [WORK, "burst", kind, random.getrandbits(32), *timing_ms, LIFETIME_SECONDS]


def _late_spinner(halfway_seconds: float) -> list:
    return ["/bin/sh", "-c", f'sleep {halfway_seconds:.3f}; exec "$0" spin {LIFETIME_SECONDS}', WORK]


# By name: the neighbours' argument lists, from a source of seeds and the time after which half of the run is over.
LOADS = {
    "idle": lambda random, halfway: [],
    "spinners": lambda random, halfway: [_burst("spin", SLOW_MS, random) for _ in range(2 * CPUS)],
    "quick-spinners": lambda random, halfway: [_burst("spin", QUICK_MS, random) for _ in range(2 * CPUS)],
    "stream": lambda random, halfway: [[WORK, "stream", LIFETIME_SECONDS]],
    "stream-bursts": lambda random, halfway: [_burst("stream", SLOW_MS, random)],
    "step": lambda random, halfway: [_late_spinner(SETTLE_SECONDS + halfway) for _ in range(CPUS)],
}


@contextmanager
def beside(load: str, random: Random, expected_seconds: float):
    """Runs the neighbours of `load` around the body, which should take `expected_seconds`."""
    neighbours = []
    try:
        for argv in LOADS[load](random, expected_seconds / 2):
            neighbours.append(_start(argv))
        time.sleep(SETTLE_SECONDS)
        dead = [neighbour.args for neighbour in neighbours if neighbour.poll() is not None]
        if dead:
            raise RuntimeError(f"a neighbour ended at once: {dead[0]}")
        yield
    finally:
        for neighbour in neighbours:
            _end(neighbour)


def _start(argv: list) -> subprocess.Popen:
    # A session of its own: Ctrl-C does not reach it, and its group can be ended as a whole.
    return subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, start_new_session=True)


def _end(neighbour: subprocess.Popen) -> None:
    try:
        os.killpg(neighbour.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    neighbour.wait()


def end_neighbours_on_signals() -> None:
    """Lets Ctrl-C, a plain kill and a closed terminal unwind without a word, so that neighbours are ended."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, frame: sys.exit(128 + signum))
