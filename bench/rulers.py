"""Whether the rulers follow what they measure, beside a neighbour that streams in bursts and one on the same CPU.

A worker makes random loads from as much memory as the ruler of the shared cache goes over, on one CPU; the neighbour
streams on another; the rulers are read on the worker's CPU, as they would be inside it. In each second the worker's
loads per second of CPU time are held against the mean of what the ruler read.

With --fifo worker, rulers and neighbour have a real-time priority, so that nothing else shares their CPUs with them:
on a machine that is not quiet it is the one way to see what the neighbour alone does. It needs root.

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

WATCH = TARGET / "release" / "examples" / "watch"
LEAST_CORRELATION = 0.9
MOST_RANGE = 0.03
# What a worker may move by without any neighbour.
LITTLE = 0.25
# Kinds of processes, and the real-time priorities that they have, if any: rulers take the CPU from the worker.
WATCH_LOADS, WATCH_RULERS, NEIGHBOUR = "loads", "rulers", "neighbour"
PRIORITY: dict = {}
# CPU time that a reading may cost, in seconds: the shared level and the others.
LIMITS = defaultdict(lambda: 0.001, shared=0.005)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run rulers", description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=60, help="seconds beside the bursts (60)")
    parser.add_argument("--every", type=int, default=10, metavar="MS", help="pause between two rounds of readings (10)")
    parser.add_argument("--seed", type=int, default=None, help="of the bursts")
    parser.add_argument("--fifo", action="store_true", help="real-time priorities")
    parser.add_argument("--same", action="store_true", help="the bursts on the worker's CPU, in turns with it")
    options = parser.parse_args()
    PRIORITY.update({WATCH_LOADS: 10, WATCH_RULERS: 20, NEIGHBOUR: 10} if options.fifo else {})
    end_neighbours_on_signals()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("two CPUs are needed: one for worker and rulers, one for the neighbour")
    build = ["cargo", "build", "--quiet", "--release", "-p", "steady-compare", "--example", "watch"]
    subprocess.run(build, cwd=ROOT, check=True)
    print(f"load average before: {os.getloadavg()[0]:.2f}; {'real-time' if options.fifo else 'usual'} priorities")
    reached = bursts(options, cpus)
    sharing(options, cpus)
    sys.exit(0 if reached else 1)


def bursts(options: argparse.Namespace, cpus: list) -> bool:
    """Worker and rulers on one CPU, a bursty stream on the other, or on the same; and without the neighbour."""
    place = "the same CPU, in turns" if options.same else "another CPU"
    size = int(lines([WATCH, "size", "shared"])[0][0])
    argv = LOADS["stream-bursts"](Random(options.seed), (options.points + 3) / 2)[0]
    beside = {"bursts": cpus[0 if options.same else 1], "nobody": None}
    # A coin says which comes first: a clock that changes its rate by itself does so in either.
    seen = {who: watched(options, size, argv, beside[who], cpus[0]) for who in Random(options.seed).sample(sorted(beside), 2)}
    speed, shared, alu, readings, stolen = seen["bursts"]
    print(f"\n{len(speed)} seconds beside a neighbour that streams in bursts on {place}, {stolen}")
    print(f"worker: {size / 2**20:g} MiB, {min(speed) / 1e6:.1f} to {max(speed) / 1e6:.1f} loads per CPU microsecond")
    moved = max(speed) / min(speed) - 1
    if moved < LITTLE:
        print(f"(the neighbour moved the worker by no more than {moved:.0%}: there is little here that a ruler could follow)")
    found = correlation(speed, shared)
    print(f"- the shared level's ruler read {1e9 / max(shared):.0f} to {1e9 / min(shared):.0f} ns a load, means of a second")
    print(f"- the shared level's ruler follows it: correlation {found:.3f} ({told(found >= LEAST_CORRELATION)}: at least "
          f"{LEAST_CORRELATION:g}); of the ranks {correlation(ranks(speed), ranks(shared)):.3f}")
    extent = max(alu) / min(alu) - 1
    print(f"- the arithmetic ruler stays within {extent:.2%} ({told(extent <= MOST_RANGE)}: within {MOST_RANGE:.0%}); "
          f"its correlation with the shared level's is {correlation(alu, shared):.2f}")
    quiet = seen["nobody"]
    print(f"- as many seconds without the neighbour, {quiet[4]}: arithmetic within {max(quiet[2]) / min(quiet[2]) - 1:.2%}; "
          f"its median {1e9 * median(quiet[2]):.3f} ns there, {1e9 * median(alu):.3f} ns beside the bursts; "
          f"the worker within {max(quiet[0]) / min(quiet[0]) - 1:.0%}")
    return costs(readings) and found >= LEAST_CORRELATION and extent <= MOST_RANGE and len(speed) >= options.points


def watched(options: argparse.Namespace, size: int, argv: list, neighbour, cpu: int) -> tuple:
    """Worker and rulers on one CPU, a neighbour on its own if it has one. By whole seconds the worker's loads per second
    of CPU, one over the shared ruler's time and the arithmetic ruler's; all readings; and how much was stolen."""
    seconds = options.points + 3
    before = steal()
    with pinned(argv, neighbour), tempfile.TemporaryFile("w+") as output:
        time.sleep(SETTLE_SECONDS)
        worker = start(WATCH_LOADS, [WATCH, "loads", size, seconds, cpu], output)
        readings = lines([WATCH, "rulers", seconds, options.every, cpu])
        if worker.wait():
            sys.exit("the worker failed")
        output.seek(0)
        worked = [line.split() for line in output]
    stolen = told_steal(before)
    speeds = by_second((float(at), (float(loads), float(used))) for at, loads, used in worked)
    rulers = {name: by_second((float(at), float(unit)) for at, of, unit, _ in readings if of == name)
              for name in {line[1] for line in readings}}
    # The first and the last second are not whole.
    whole = sorted(set(speeds) & set.intersection(*(set(points) for points in rulers.values())))[1:-1][:options.points]
    speed = [sum(loads for loads, _ in speeds[at]) / sum(used for _, used in speeds[at]) for at in whole]
    shared = [1 / fmean(rulers["shared"][at]) for at in whole]
    alu = [median(rulers["alu"][at]) for at in whole]
    return speed, shared, alu, readings, stolen


def costs(readings: list) -> bool:
    """What readings cost, beside the limits."""
    spent = defaultdict(list)
    for _, name, _, cost in readings:
        spent[name].append(float(cost))
    kept = {name: max(values) <= LIMITS[name] for name, values in spent.items()}
    for name, values in spent.items():
        print(f"- {name}: a reading costs {1e3 * median(values):.2f} ms of CPU, at most {1e3 * max(values):.2f} ms of "
              f"{len(values)} ({told(kept[name])}: at most {1e3 * LIMITS[name]:g} ms)")
    return all(kept.values())


def sharing(options: argparse.Namespace, cpus: list) -> None:
    """Every ruler alone, beside a stream on another CPU, and beside one that shares its CPU in time."""
    print("\ntime per unit, medians; beside a neighbour that streams all the time")
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
        beside = "".join(f"{1e9 * read[place][name]:>13.2f} ns {read[place][name] / alone:>5.2f}" for place in list(places)[1:])
        print(f"{name:12}{1e9 * alone:>9.2f} ns{beside}")


@contextmanager
def pinned(argv: list, cpu):
    """Runs a neighbour on one CPU around the body; none where there is no CPU for it."""
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
    """The words of a command, with its priority if it has one."""
    priority = ["chrt", "--fifo", str(PRIORITY[kind])] if kind in PRIORITY else []
    return priority + [str(word) for word in argv]


def lines(argv: list) -> list:
    """The words of every line that a command prints."""
    command = words(WATCH_RULERS, argv)
    output = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
    return [line.split() for line in output.splitlines()]


def by_second(points) -> dict:
    """The values of each second."""
    seconds = defaultdict(list)
    for at, value in points:
        seconds[int(at)].append(value)
    return seconds


def ranks(values: list) -> list:
    order = sorted(values)
    return [order.index(value) for value in values]


def steal() -> tuple:
    """Stolen ticks and all ticks of the machine so far."""
    with open("/proc/stat") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    return ticks[7], sum(ticks)


def told_steal(before: tuple) -> str:
    stolen, total = (after - then for after, then in zip(steal(), before))
    return f"steal {stolen / total:.2%}"


def told(within: bool) -> str:
    return "reached" if within else "NOT reached"


if __name__ == "__main__":
    main()
