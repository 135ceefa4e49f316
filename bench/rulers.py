"""Checks whether rulers follow the speed of a resource while a neighbour streams memory in bursts or shares the CPU.

A worker makes random loads from as much memory as the shared-cache ruler uses, on one CPU. The neighbour streams memory
on another CPU. The rulers are read on the worker's CPU, as if they ran in the worker. For each second, the worker's
loads per second of CPU time are compared with the mean reading of the ruler.

With --fifo, worker, rulers and neighbour have real-time priorities, and no other process shares their CPUs. On a busy
machine this is the only way to see the effect of the neighbour alone. It needs root.

    bench/run rulers [--points N] [--every MS] [--seed N] [--fifo] [--same]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from random import Random
from statistics import correlation, fmean, median

from common.loads import LOADS, SETTLE_SECONDS, end_neighbours_on_signals
from common.paths import ROOT, TARGET, WORK
from common.steal import steal_share, steal_ticks
from common.verdicts import reached

WATCH = TARGET / "release" / "examples" / "watch"
LEAST_CORRELATION = 0.9
MOST_RANGE = 0.03
# If the neighbour changes the speed of the worker by less than this, the report says so.
LITTLE = 0.25
# Kinds of processes, and their real-time priorities, if any. Rulers preempt the worker.
WATCH_LOADS, WATCH_RULERS, NEIGHBOUR = "loads", "rulers", "neighbour"
PRIORITY: dict = {}
# The CPU time that a reading may cost, in seconds: of the shared level, and of others.
LIMITS = defaultdict(lambda: 0.001, shared=0.005)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run rulers", description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=60, help="seconds to measure with the bursts (60)")
    parser.add_argument("--every", type=int, default=10, metavar="MS",
                        help="milliseconds between two rounds of readings (10)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the bursts")
    parser.add_argument("--fifo", action="store_true", help="use real-time priorities (needs root)")
    parser.add_argument("--same", action="store_true", help="run the bursts on the worker's CPU, in turns with the worker")
    options = parser.parse_args()
    PRIORITY.update({WATCH_LOADS: 10, WATCH_RULERS: 20, NEIGHBOUR: 10} if options.fifo else {})
    end_neighbours_on_signals()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("this bench needs two CPUs: one for worker and rulers, one for the neighbour")
    build = ["cargo", "build", "--quiet", "--release", "-p", "steady-compare", "--example", "watch"]
    subprocess.run(build, cwd=ROOT, check=True)
    print(f"load average before: {os.getloadavg()[0]:.2f}; {'real-time' if options.fifo else 'normal'} priorities")
    all_reached = bursts(options, cpus)
    sharing(options, cpus)
    sys.exit(0 if all_reached else 1)


def bursts(options: argparse.Namespace, cpus: list) -> bool:
    """Runs worker and rulers on one CPU, with a bursty stream on another or the same one, and without a neighbour."""
    place = "the same CPU, in turns" if options.same else "another CPU"
    size = int(lines([WATCH, "size", "shared"])[0][0])
    argv = LOADS["stream-bursts"](Random(options.seed), (options.points + 3) / 2)[0]
    cpu_of = {"bursts": cpus[0 if options.same else 1], "none": None}
    # In random order, because the CPU's clock rate may drift.
    seen = {name: watched(options, size, argv, cpu_of[name], cpus[0])
            for name in Random(options.seed).sample(sorted(cpu_of), 2)}
    speed, shared, alu, readings, stolen = seen["bursts"]
    print(f"\n{len(speed)} seconds with a neighbour that streams in bursts on {place}, {stolen}")
    print(f"worker: {size / 2**20:g} MiB, {min(speed) / 1e6:.1f} to {max(speed) / 1e6:.1f} loads per CPU microsecond")
    moved = max(speed) / min(speed) - 1
    if moved < LITTLE:
        print(f"(the neighbour changed the worker's speed by only {moved:.0%}, so a ruler has little to follow)")
    found = correlation(speed, shared)
    print(f"- the shared level's ruler read {1e9 / max(shared):.0f} to {1e9 / min(shared):.0f} ns per load (means of one second)")
    print(f"- the shared level's ruler follows the worker: correlation {found:.3f} ({reached(found >= LEAST_CORRELATION)}: at least "
          f"{LEAST_CORRELATION:g}); of ranks {correlation(ranks(speed), ranks(shared)):.3f}")
    extent = max(alu) / min(alu) - 1
    print(f"- the arithmetic ruler stays within {extent:.2%} ({reached(extent <= MOST_RANGE)}: within {MOST_RANGE:.0%}); "
          f"its correlation with the shared level's is {correlation(alu, shared):.2f}")
    quiet = seen["none"]
    print(f"- the same time without the neighbour, {quiet[4]}: arithmetic within {max(quiet[2]) / min(quiet[2]) - 1:.2%}; "
          f"its median {1e9 * median(quiet[2]):.3f} ns, with the bursts {1e9 * median(alu):.3f} ns; "
          f"the worker within {max(quiet[0]) / min(quiet[0]) - 1:.0%}")
    return costs(readings) and found >= LEAST_CORRELATION and extent <= MOST_RANGE and len(speed) >= options.points


def watched(options: argparse.Namespace, size: int, argv: list, neighbour, cpu: int) -> tuple:
    """Runs worker and rulers on `cpu`, and the neighbour on its CPU, if any.

    Returns, for each whole second, the worker's loads per second of CPU time, the inverse reading of the shared ruler
    and the reading of the arithmetic ruler; then all readings, and the steal time.
    """
    seconds = options.points + 3
    before = steal_ticks()
    with pinned(argv, neighbour), tempfile.TemporaryFile("w+") as output:
        time.sleep(SETTLE_SECONDS)
        worker = start(WATCH_LOADS, [WATCH, "loads", size, seconds, cpu], output)
        readings = lines([WATCH, "rulers", seconds, options.every, cpu])
        if worker.wait():
            sys.exit("the worker failed")
        output.seek(0)
        worked = [line.split() for line in output]
    stolen = f"steal {steal_share(before):.2%}"
    speeds = by_second((float(at), (float(loads), float(used))) for at, loads, used in worked)
    rulers = {name: by_second((float(at), float(unit)) for at, of, unit, _ in readings if of == name)
              for name in {line[1] for line in readings}}
    # The first and the last second are incomplete.
    whole = sorted(set(speeds) & set.intersection(*(set(points) for points in rulers.values())))[1:-1][:options.points]
    speed = [sum(loads for loads, _ in speeds[at]) / sum(used for _, used in speeds[at]) for at in whole]
    shared = [1 / fmean(rulers["shared"][at]) for at in whole]
    alu = [median(rulers["alu"][at]) for at in whole]
    return speed, shared, alu, readings, stolen


def costs(readings: list) -> bool:
    """Prints the CPU time of readings and returns whether all are within their limits."""
    spent = defaultdict(list)
    for _, name, _, cost in readings:
        spent[name].append(float(cost))
    kept = {name: max(values) <= LIMITS[name] for name, values in spent.items()}
    for name, values in spent.items():
        print(f"- {name}: a reading costs {1e3 * median(values):.2f} ms of CPU, at most {1e3 * max(values):.2f} ms of "
              f"{len(values)} ({reached(kept[name])}: at most {1e3 * LIMITS[name]:g} ms)")
    return all(kept.values())


def sharing(options: argparse.Namespace, cpus: list) -> None:
    """Prints the readings of every ruler alone, with a stream on another CPU, and with a stream on the same CPU."""
    print("\nmedian time per unit, with a neighbour that streams all the time")
    print(f"{'':12}{'alone':>12}{'other CPU':>22}{'same CPU, in turns':>22}")
    places = {"alone": None, "other CPU": cpus[1], "same CPU": cpus[0]}
    read = {}
    for place in Random(options.seed).sample(sorted(places), len(places)):
        with pinned([WORK, "stream", 60], places[place]):
            time.sleep(SETTLE_SECONDS)
            units = defaultdict(list)
            for _, name, unit, _ in lines([WATCH, "rulers", 8, options.every, cpus[0]]):
                units[name].append(float(unit))
        read[place] = {name: median(values) for name, values in units.items()}
    for name, alone in read["alone"].items():
        shared = "".join(f"{1e9 * read[place][name]:>13.2f} ns {read[place][name] / alone:>5.2f}" for place in list(places)[1:])
        print(f"{name:12}{1e9 * alone:>9.2f} ns{shared}")


@contextmanager
def pinned(argv: list, cpu):
    """Runs a neighbour on one CPU during the body; none if `cpu` is None."""
    if cpu is None:
        yield
        return
    neighbour = start(NEIGHBOUR, argv)
    try:
        os.sched_setaffinity(neighbour.pid, {cpu})
        yield
        if neighbour.poll() is not None:
            raise RuntimeError(f"the neighbour ended too early: {neighbour.args}")
    finally:
        neighbour.kill()
        neighbour.wait()


def start(kind: str, argv: list, output=subprocess.DEVNULL) -> subprocess.Popen:
    return subprocess.Popen(words(kind, argv), stdin=subprocess.DEVNULL, stdout=output, text=True)


def words(kind: str, argv: list) -> list:
    """Returns the words of a command, with its priority, if any."""
    priority = ["chrt", "--fifo", str(PRIORITY[kind])] if kind in PRIORITY else []
    return priority + [str(word) for word in argv]


def lines(argv: list) -> list:
    """Runs a command and returns the words of each line of its output."""
    command = words(WATCH_RULERS, argv)
    output = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
    return [line.split() for line in output.splitlines()]


def by_second(points) -> dict:
    """Groups values by the whole second of their time."""
    seconds = defaultdict(list)
    for at, value in points:
        seconds[int(at)].append(value)
    return seconds


def ranks(values: list) -> list:
    order = sorted(values)
    return [order.index(value) for value in values]


if __name__ == "__main__":
    main()
