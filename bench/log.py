"""What the log and the progress bar add to a pair of /bin/true, in microseconds.

The same comparison is made with both and with neither, in random order, and the difference of each round is taken; the
import into the history, which comes after the measuring, is told apart. What appending costs by itself is measured
without running anything.

    bench/run log [--rounds N] [--pairs N]
"""

import argparse
import json
import math
import os
import pty
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from random import SystemRandom
from statistics import median
from typing import NamedTuple

from common.paths import ROOT, STEADY

TARGET_MICROSECONDS = 20.0


class Comparison(NamedTuple):
    """Seconds: the measuring, by its own account, and the whole process."""

    measuring: float
    process: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run log", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=300, help="pairs in each comparison (300)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="steady-log-") as folder:
        appending = min(append(Path(folder) / f"{attempt}.log") for attempt in range(5))
        rounds = [one_round(options.pairs, Path(folder)) for _ in range(options.rounds)]
    measuring = [1e6 * (kept.measuring - bare.measuring) / options.pairs for kept, bare in rounds]
    # What is left of the process: the start of the log, the import, the exit.
    importing = [1e6 * ((kept.process - kept.measuring) - (bare.process - bare.measuring)) / options.pairs
                 for kept, bare in rounds]
    bare = median(1e6 * bare.measuring / options.pairs for _, bare in rounds)
    print(f"{len(rounds)} rounds of {options.pairs} pairs; a pair takes {bare:.0f} us without log and progress")
    print(f"appending a pair, by itself:           {appending:.1f} us (best of 5 times 100,000)")
    print(f"log and progress while measuring:      {told(measuring)}")
    print(f"import after it, spread over the pairs: {told(importing)}")
    print(f"- log and progress under {TARGET_MICROSECONDS:.0f} us a pair: {reached(measuring)}")


def one_round(pairs: int, folder: Path) -> tuple:
    """The comparison with log and progress, and without; which comes first is drawn."""
    arms = {"kept": lambda: kept(pairs, folder), "bare": lambda: bare(pairs)}
    done = {arm: arms[arm]() for arm in SystemRandom().sample(sorted(arms), len(arms))}
    return done["kept"], done["bare"]


def bare(pairs: int) -> Comparison:
    return compare(pairs, ["--no-history", "--quiet"], subprocess.DEVNULL, dict(os.environ))


def kept(pairs: int, folder: Path) -> Comparison:
    """With the progress bar on a terminal, whose other end reads what is drawn."""
    ours, theirs = pty.openpty()
    reader = threading.Thread(target=read_all, args=(ours,))
    reader.start()
    try:
        return compare(pairs, [], theirs, {**os.environ, "XDG_DATA_HOME": str(folder), "TERM": "xterm"})
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)


def read_all(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass  # The other end is closed.


def compare(pairs: int, options: list, stderr, environment: dict) -> Comparison:
    argv = [str(STEADY), "compare", "--format", "json", "--layout", "turns", "--runs", str(pairs), *options]
    started = time.perf_counter()
    done = subprocess.run([*argv, "/bin/true", "/bin/true"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=stderr, env=environment)
    return Comparison(json.loads(done.stdout)["elapsed_seconds"], time.perf_counter() - started)


def append(file: Path) -> float:
    """Microseconds per pair of a log that is written to this file."""
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-experiments", "--example", "append", "--", str(file)]
    done = subprocess.run(argv, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    file.unlink()
    return float(done.stdout.split()[0])


def reached(values: list) -> str:
    """A machine that is busy moves the rounds by more than what is looked for: then nothing is claimed."""
    low, high = median_interval(values)
    if low <= TARGET_MICROSECONDS < high:
        return "undecided, the machine is too busy for so few rounds"
    return "reached" if high <= TARGET_MICROSECONDS else "NOT reached"


def told(values: list) -> str:
    low, high = median_interval(values)
    return f"{median(values):.1f} us a pair ({low:.1f} to {high:.1f}, 95 %)"


def median_interval(values: list) -> tuple:
    """Between which values the median lies: those ranks that fair coins leave out on 2.5 % of the occasions a side."""
    ordered, rank, tail = sorted(values), 0, 0.5 ** len(values)
    while tail <= 0.025:
        rank += 1
        tail += math.comb(len(values), rank) * 0.5 ** len(values)
    return (ordered[rank - 1], ordered[-rank]) if rank else (-math.inf, math.inf)


if __name__ == "__main__":
    main()
