"""Background loads under which the tools are tested."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Sequence

from common.paths import WORK

CPUS = os.cpu_count() or 1

# Neighbours end by themselves after this time if the bench was killed.
LIFETIME_SECONDS = 900
SPINNER_SECONDS = 900

# A streaming neighbour first touches its memory; measurements start after that.
SETTLE_SECONDS = 0.4

SLOW_MS = (300, 2500, 300, 2500)
QUICK_MS = (20, 200, 20, 200)


def _burst(kind: str, timing_ms: tuple, random: Random) -> list:
    return [WORK, "burst", kind, random.getrandbits(32), *timing_ms, LIFETIME_SECONDS]


def _late_spinner(halfway_seconds: float) -> list:
    return ["/bin/sh", "-c", f'sleep {halfway_seconds:.3f}; exec "$0" spin {LIFETIME_SECONDS}', WORK]


# The argument lists of each load's neighbours, from a random generator and half of the expected time of the run.
LOADS = {
    "idle": lambda random, halfway: [],
    "spinners": lambda random, halfway: [_burst("spin", SLOW_MS, random) for _ in range(2 * CPUS)],
    "quick-spinners": lambda random, halfway: [_burst("spin", QUICK_MS, random) for _ in range(2 * CPUS)],
    "stream": lambda random, halfway: [[WORK, "stream", LIFETIME_SECONDS]],
    "stream-bursts": lambda random, halfway: [_burst("stream", SLOW_MS, random)],
    "step": lambda random, halfway: [_late_spinner(SETTLE_SECONDS + halfway) for _ in range(CPUS)],
}


@contextmanager
def background_load(load: str, random: Random, expected_seconds: float):
    """Runs the neighbours of `load` during the body, which should take `expected_seconds`."""
    neighbours = []
    try:
        for argv in LOADS[load](random, expected_seconds / 2):
            neighbours.append(_start(argv))
        _settle(neighbours)
        yield
    finally:
        for neighbour in neighbours:
            _end(neighbour)


@contextmanager
def spinners(count: int, prefix: Sequence[str] = (), settle_seconds: float = 0.0):
    """Runs `count` busy processes during the body, each started with the words of `prefix` before its command."""
    argv = [*prefix, str(WORK), "spin", str(SPINNER_SECONDS)]
    with ExitStack() as stack:
        for _ in range(count):
            spinner = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
            stack.callback(spinner.wait)
            stack.callback(spinner.kill)
        time.sleep(settle_seconds if count else 0)
        yield


def _start(argv: list) -> subprocess.Popen:
    # An own session: Ctrl-C does not reach the neighbour, and its process group can be killed as a whole.
    return subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, start_new_session=True)


def _settle(neighbours: Sequence[subprocess.Popen]) -> None:
    """Waits until the neighbours have settled. Raises RuntimeError as soon as one has ended."""
    until = time.monotonic() + SETTLE_SECONDS
    while True:
        dead = [neighbour.args for neighbour in neighbours if neighbour.poll() is not None]
        if dead:
            raise RuntimeError(f"a neighbour ended immediately: {dead[0]}")
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, 0.05))


def _end(neighbour: subprocess.Popen) -> None:
    try:
        os.killpg(neighbour.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    neighbour.wait()


def end_neighbours_on_signals() -> None:
    """Exits on SIGINT, SIGTERM and SIGHUP through SystemExit, so that context managers end the neighbours."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, frame: sys.exit(128 + signum))
