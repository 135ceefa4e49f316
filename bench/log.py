"""The cost of the log and the progress bar per pair of /bin/true, in microseconds.

The same comparison runs with neither, with both, and with both and the import into the history, in random order. The
differences within each round are the result. Only the CPU time of the `steady` process is used, because the CPU time of
launchers and commands would hide the differences. Launchers append the pairs to the log; this cost is measured
separately and added.

    bench/run log [--rounds N] [--pairs N]
"""

import argparse
import math
import os
import pty
import sqlite3
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
    """The CPU seconds of `steady` in a comparison, without launchers and commands."""

    own: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run log", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="rounds (60)")
    parser.add_argument("--pairs", type=int, default=500, help="pairs in each comparison (500)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="steady-log-") as folder:
        appending = min(append(Path(folder) / f"{attempt}.log") for attempt in range(5))
        refusing = Path(folder) / "refusing"
        refuse_imports(refusing)
        arms = {
            "bare": lambda: bare(options.pairs),
            "logged": lambda: kept(options.pairs, refusing),
            "kept": lambda: kept(options.pairs, Path(folder) / "history"),
        }
        rounds = [one_round(arms) for _ in range(options.rounds)]
    report(rounds, options.pairs, appending)


def report(rounds: list, pairs: int, appending: float) -> None:
    def added(arm: str, base: str) -> list:
        """Returns the additional microseconds per pair, for each round."""
        return [1e6 * (done[arm].own - done[base].own) / pairs for done in rounds]

    takes = median(1e6 * done["bare"].own / pairs for done in rounds)
    in_all = [appending + value for value in added("logged", "bare")]
    print(f"{len(rounds)} rounds of {pairs} pairs; steady itself uses {takes:.1f} us of CPU time per pair without log and progress bar")
    print(f"a launcher appends a pair in:     {appending:.1f} us (best of 5 runs of 100,000)")
    print(f"log and progress in steady add:   {with_interval(added('logged', 'bare'))}")
    print(f"both together:                    {with_interval(in_all)}")
    print(f"the import at the end adds:       {with_interval(added('kept', 'logged'))}")
    print(f"- log and progress under {TARGET_MICROSECONDS:.0f} us per pair: {reached(in_all)}")


def one_round(arms: dict) -> dict:
    """Runs each comparison once, in random order."""
    return {arm: arms[arm]() for arm in SystemRandom().sample(sorted(arms), len(arms))}


def refuse_imports(folder: Path) -> None:
    """Creates a data directory with a history of a future schema, which `steady` does not touch."""
    (folder / "steady").mkdir(parents=True)
    with sqlite3.connect(folder / "steady" / "history.db") as connection:
        connection.execute("PRAGMA user_version = 1000000")
    connection.close()


def bare(pairs: int) -> Comparison:
    return compare(pairs, ["--no-history", "--quiet"], subprocess.DEVNULL, dict(os.environ))


def kept(pairs: int, folder: Path) -> Comparison:
    """Compares with the progress bar on a pseudo-terminal; a thread reads the other end."""
    ours, theirs = pty.openpty()
    reader = threading.Thread(target=read_all, args=(ours,))
    reader.start()
    try:
        return compare(pairs, [], theirs, {**os.environ, "XDG_DATA_HOME": str(folder), "TERM": "xterm"})
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
        # Logs that were not imported would be read again by the next run.
        for log in (folder / "steady" / "logs").glob("*.log"):
            log.unlink()


def read_all(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass  # The other end is closed.


def compare(pairs: int, options: list, stderr, environment: dict) -> Comparison:
    argv = [str(STEADY), "compare", "--format", "json", "--layout", "turns", "--runs", str(pairs), *options]
    with subprocess.Popen([*argv, "/bin/true", "/bin/true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=stderr, env=environment) as child:
        # The process has ended and is not reaped: its CPU clock still exists, with nanosecond resolution.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        own = time.clock_gettime(cpu_clock_of(child.pid))
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, argv)
    return Comparison(own)


def cpu_clock_of(pid: int) -> int:
    """Returns the CPU-time clock of another process, as clock_getcpuclockid(3) does."""
    return (~pid << 3) | 2


def append(file: Path) -> float:
    """Writes pairs to a log in this file and returns the microseconds per pair."""
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-compare", "--example", "append", "--", str(file)]
    done = subprocess.run(argv, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    file.unlink()
    return float(done.stdout.split()[0])


def reached(values: list) -> str:
    """Compares the median with the target. On a busy machine the rounds vary too much, and the result is undecided."""
    low, high = median_interval(values)
    if low <= TARGET_MICROSECONDS < high:
        return "undecided: too few rounds for such a busy machine"
    return "reached" if high <= TARGET_MICROSECONDS else "NOT reached"


def with_interval(values: list) -> str:
    low, high = median_interval(values)
    return f"{median(values):.1f} us per pair ({low:.1f} to {high:.1f}, 95 %)"


def median_interval(values: list) -> tuple:
    """Returns the 95 % interval of the median, from the binomial distribution of ranks.

    It is infinite for fewer than six values.
    """
    ordered, rank, tail = sorted(values), 0, 0.5 ** len(values)
    while tail <= 0.025:
        rank += 1
        tail += math.comb(len(values), rank) * 0.5 ** len(values)
    return (ordered[rank - 1], ordered[-rank]) if rank else (-math.inf, math.inf)


if __name__ == "__main__":
    main()
