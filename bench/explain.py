"""Checks whether `steady explain` attributes CPU time correctly, on programs that cause a known number of events.

The true cost of N events is the CPU time of a program that causes N of them minus that of one that causes none, both
run without steady. It is compared with the lines that should contain it. Programs that sleep, or wait for a CPU or a
lock, have known waits. All run in random order in several rounds; medians are reported.

Prices are measured next to zero, two and four spinners. Each set of prices explains pairs and single runs under each of
these loads. The sum of the parts is compared with the CPU time of the same runs.

    bench/run explain [--rounds N] [--pairs N] [--only counted,waited,real,pairs]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from random import SystemRandom
from statistics import median

from common.loads import end_neighbours_on_signals, spinners
from common.paths import ROOT, STEADY, TARGET
from common.verdicts import reached, table

MADE = TARGET / "bench-tools" / "bin" / "made"
WITHIN = 0.15
ONE_CPU = ["taskset", "-c", "0"]
# The kind of event, how often it is caused, on which CPUs, and the events whose lines together should contain the time.
COUNTED = [
    ("faults", 5000, [], {"minor_fault"}),
    ("faults", 20000, [], {"minor_fault"}),
    ("faults", 100000, [], {"minor_fault"}),
    ("calls", 1000000, [], {"kernel_entry"}),
    ("pingpong", 50000, ONE_CPU, {"switch", "call_read", "call_write", "kernel_entry"}),
    ("forks", 1000, ONE_CPU, {"fork", "minor_fault", "switch", "kernel_entry"}),
]
# System calls of these programs are priced by name: a tracer counts them in a separate run.
BY_NAME = {"pingpong"}
# Pairs: how often OLD and NEW cause the event, and the events whose lines should contain the difference.
PAIRS = {"faults": (100, 5200, {"minor_fault"}), "calls": (100, 60100, {"kernel_entry"})}
SPINNERS, PAIR_SECONDS = (0, 2, 4), 1.5
THREADS, HELD_SECONDS = 4, 0.1
SLEPT_SECONDS, SPUN_SECONDS = 0.5, 0.5
REAL = {
    "gzip -6 of 30 MB": ["sh", "-c", "head -c 30000000 /dev/zero | gzip -6"],
    "python3 -c pass": ["python3", "-c", "pass"],
    "git status": ["git", "-C", str(ROOT), "status", "--short"],
    "sh: 200 x true": ["sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"],
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run explain", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="number of runs of each program (7)")
    parser.add_argument("--pairs", type=int, default=3, help="number of runs of each pair with each set of prices (3)")
    parser.add_argument("--only", default="counted,waited,real,pairs", help="the tables to print")
    options = parser.parse_args()
    only = options.only.split(",")
    all_reached = True
    end_neighbours_on_signals()
    MADE.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O2", "-pthread", "-o", MADE, ROOT / "testdata" / "made" / "made.c"], check=True)
    if set(only) - {"pairs"}:
        # Measure prices once, while nothing else runs.
        explained(["true"], "--fresh")
        print(f"prices: {', '.join(map(price, explained(['true'])['prices']['events']))}\n")
    for name, check in {"counted": counted, "waited": waited, "real": real}.items():
        all_reached &= name not in only or check(options.rounds)
    all_reached &= "pairs" not in only or pairs(options.pairs)
    sys.exit(0 if all_reached else 1)


def counted(rounds: int) -> bool:
    """Compares the lines of a known number of events with the true cost of these events."""
    seen, own = defaultdict(list), defaultdict(list)
    cpus_of = {(name, count): cpus for name, number, cpus, _ in COUNTED for count in (0, number)}
    jobs = list(cpus_of) * rounds
    for name, count in SystemRandom().sample(jobs, len(jobs)):
        argv = [*cpus_of[name, count], str(MADE), name, str(count)]
        for measure in SystemRandom().sample((cpu_seconds_without_steady, explained), 2):
            use_memory()
            (own if measure is cpu_seconds_without_steady else seen)[name, count].append(measure(argv))
    rows, all_reached = [], True
    for name, number, cpus, events in COUNTED:
        truth = median(own[name, number]) - median(own[name, 0])
        with_counts = {count: explained([*cpus, str(MADE), name, str(count)], "--trace") if name in BY_NAME else None
                       for count in (0, number)}
        lines = {count: median(seconds_of(parts_by_name(one, with_counts[count]), events) for one in seen[name, count])
                 for count in (0, number)}
        line = lines[number] - lines[0]
        most = max(parts_by_name(seen[name, number][0], with_counts[number]), key=lambda part: part["seconds"])
        over = sum(one["unexplained_high_seconds"] < 0 for one in seen[name, number])
        within = abs(line / truth - 1) <= WITHIN
        all_reached &= within and not over
        rows.append((f"{number:,} {name}", f"{1e3 * truth:.1f} ms", f"{1e3 * line:.1f} ms", f"{line / truth - 1:+.1%}",
                     reached(within), most["name"], f"{1e3 * median(counting(one) for one in seen[name, number]):.1f} ms",
                     f"{1e3 * (median(map(cpu, seen[name, number])) - median(own[name, number])):.1f} ms",
                     f"{over} of {rounds}"))
    print(table(["events", "true cost", "lines", "off by", f"within {WITHIN:.0%}", "largest line", "reported cost of counting",
                 "true cost of counting", "parts exceed the whole"], rows))
    return all_reached


def use_memory() -> None:
    """Touches as many pages as any run does, because a hypervisor may have reclaimed free memory since its last use.

    Measured: getting a page back from the hypervisor costs two to five times as much as a page fault.
    """
    subprocess.run([str(MADE), "faults", str(max(number for name, number, _, _ in COUNTED if name == "faults"))], check=True)


def cpu_seconds_without_steady(argv: list) -> float:
    """Returns the CPU time of a command without steady, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parts_by_name(report: dict, traced) -> list:
    """Returns the parts of a run. If a traced run is given, its system calls by name replace the run's own."""
    if traced is None:
        return report["parts"]
    is_call = lambda part: part["event"] == "kernel_entry" or part["event"].startswith("call_")
    return [part for part in report["parts"] if not is_call(part)] + [part for part in traced["parts"] if is_call(part)]


def waited(rounds: int) -> bool:
    """Compares waits and CPU time with their known values."""
    sleep = [explained([str(MADE), "sleep", str(SLEPT_SECONDS)]) for _ in range(rounds)]
    locks = [explained([str(MADE), "locks", str(THREADS), str(HELD_SECONDS)]) for _ in range(rounds)]
    with spinners(2, ONE_CPU):
        spin = [explained([*ONE_CPU, str(MADE), "spin", str(SPUN_SECONDS)]) for _ in range(rounds)]
    # Each thread waits for the threads before it, and the main thread for all of them.
    blocked = HELD_SECONDS * (THREADS * (THREADS - 1) / 2 + THREADS)
    cells = [
        (f"sleep {SLEPT_SECONDS:g} s", "blocked_seconds", sleep, lambda _: SLEPT_SECONDS),
        (f"{THREADS} threads on a lock", "blocked_seconds", locks, lambda _: blocked),
        (f"{THREADS} threads on a lock", "cpu_seconds", locks, lambda _: THREADS * HELD_SECONDS),
        ("spin under two spinners", "waiting_seconds", spin, lambda one: one["wall_seconds"] - SPUN_SECONDS),
        ("spin under two spinners", "cpu_seconds", spin, lambda _: SPUN_SECONDS),
    ]
    rows, all_reached = [], True
    for name, field, reports, truth in cells:
        missing = [one[f"{field}_absent"] for one in reports if one[field] is None]
        if missing:
            rows.append((name, field, "", "", missing[0], ""))
            all_reached = False
            continue
        off = median(one[field] / truth(one) - 1 for one in reports)
        all_reached &= abs(off) <= WITHIN
        rows.append((name, field, f"{median(map(truth, reports)):.3f} s", f"{median(one[field] for one in reports):.3f} s",
                     f"{off:+.1%}", reached(abs(off) <= WITHIN)))
    print("\n" + table(["program", "time", "true", "explained", "off by", f"within {WITHIN:.0%}"], rows))
    return all_reached


def real(rounds: int) -> bool:
    """Reports the share of the CPU time of real programs that the parts explain, with and without a tracer's counts."""
    rows = []
    for name, argv in REAL.items():
        reports = [explained(argv) for _ in range(rounds)]
        share = median(seconds_of(one["parts"]) / (cpu(one) - counting(one)) for one in reports)
        over = sum(one["unexplained_high_seconds"] < 0 for one in reports)
        parts = sorted(reports[0]["parts"], key=lambda part: -part["seconds"])[:3]
        rows.append((name, f"{1e3 * median(map(cpu, reports)):.1f} ms", f"{share:.0%}", f"{over} of {rounds}",
                     ", ".join(f"{part['name']} {part['seconds'] / cpu(reports[0]):.0%}" for part in parts)))
    print("\n" + table(["command", "CPU time", "explained by counts", "parts exceed the whole", "largest parts"], rows))
    return True


def pairs(rounds: int) -> bool:
    """Compares the parts with the CPU time, for prices measured under one load and runs under another."""
    with tempfile.TemporaryDirectory() as folder:
        homes = {load: Path(folder) / str(load) for load in SPINNERS}
        for load, home in homes.items():
            with spinners(load):
                explained(["true"], "--fresh", home=home)
        cells = [(prices, load, made) for prices in SPINNERS for load in SPINNERS for made in PAIRS] * rounds
        seen, single = defaultdict(list), defaultdict(list)
        for prices, load, made in SystemRandom().sample(cells, len(cells)):
            old, new, events = PAIRS[made]
            with spinners(load):
                seen[load, made].append(attributed(pair(made, old, new, homes[prices]), events))
                one = explained([str(MADE), made, str(new)], home=homes[prices])
            single[load, made].append(one["unexplained_high_seconds"] < 0)
    rows, all_reached = [], True
    for (load, made), found in sorted(seen.items()):
        over, ones = sum(one["over"] for one in found), sum(single[load, made])
        off = median(one["off"] for one in found)
        within = abs(off) <= WITHIN
        all_reached &= within and not over and not ones
        rows.append((f"{PAIRS[made][1] - PAIRS[made][0]:,} {made} more", f"{load} spinners",
                     f"{1e3 * median(one['whole'] for one in found):.2f} ms", f"{1e3 * median(one['part'] for one in found):.2f} ms",
                     f"{off:+.1%}", reached(within), f"±{median(one['half'] for one in found):.1%}",
                     f"{sum(one['holds'] for one in found)} of {len(found)}", f"{over} of {len(found)}", f"{ones} of {len(found)}"))
    print("\n" + table(["pair", "load", "CPU time", "line", "off by", f"within {WITHIN:.0%}", "its interval", "covers the CPU time",
                        "parts exceed the whole", "in single runs"], rows))
    return all_reached


def pair(made: str, old: int, new: int, home: Path) -> dict:
    """Returns steady's report on the difference of two programs."""
    commands = [f"{MADE} {made} {count}" for count in (old, new)]
    options = ["--quiet", "--no-history", "--format", "json", "--budget", f"{PAIR_SECONDS}s"]
    out = subprocess.run([str(STEADY), "explain", *options, *commands], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         env=at_home(home)).stdout
    return json.loads(out)


def attributed(report: dict, events: set) -> dict:
    """Compares the lines of these events with the difference in CPU time; shares are relative to that difference."""
    whole = next(line for line in report["lines"] if line["line"] == "cpu")
    parts = [line for line in report["lines"] if line["line"] == "part"]
    right = [line for line in parts if line["event"] in events]
    sums = {end: sum(line[f"difference{end}_seconds"] for line in right) for end in ("", "_low", "_high")}
    size, low, high = (whole[f"difference{end}_seconds"] for end in ("", "_low", "_high"))
    return {"whole": size, "part": sums[""], "off": sums[""] / size - 1, "half": (sums["_high"] - sums["_low"]) / 2 / size,
            "holds": sums["_low"] <= high and sums["_high"] >= low,
            "over": sum(line["difference_low_seconds"] for line in parts) > high}


def at_home(home) -> dict:
    """Returns an environment in which steady keeps its prices in the folder `home`; None: the default one."""
    return os.environ if home is None else {**os.environ, "XDG_DATA_HOME": str(home)}


def explained(argv: list, *options: str, home=None) -> dict:
    """Returns steady's report on one run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = [str(STEADY), "explain", "--quiet", "--no-history", "--export-json", file.name, *options, "--", *argv]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=at_home(home))
        return json.loads(Path(file.name).read_text())


def cpu(report: dict) -> float:
    return report["cpu_seconds"]


def counting(report: dict) -> float:
    return report["counting_cost_seconds"] or 0.0


def seconds_of(parts: list, events=None) -> float:
    """Returns the seconds of the parts of these events, or of all parts."""
    return sum(part["seconds"] for part in parts if events is None or part["event"] in events)


def price(entry: dict) -> str:
    seconds = entry["price_seconds"]
    return f"{entry['event']} {'not measured' if seconds is None else f'{1e9 * seconds:.0f} ns'}"


if __name__ == "__main__":
    main()
