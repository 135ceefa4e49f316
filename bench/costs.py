"""steady costs compared with other tools: perf bench sched pipe, perf bench syscall, and spawns in a plain loop.

All run on one CPU, in rounds, in random order within each round. For the other tools, the result is the CPU time of a
long run minus that of a short run, children included. This excludes their start-up. Only ratios within a round are
compared, because the cost of a switch changes from minute to minute on a busy machine.

    bench/run costs [--rounds N] [--cpu N] [--seed N]
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from statistics import median

from common.calibrate import run_once
from common.paths import STEADY
from common.verdicts import check, table

MOST_DEVIATION = 0.10
REPETITIONS = 100
# The number of operations in each tool's short and long run.
PIPE_OPS = (20_000, 220_000)
CALLS = (500_000, 5_500_000)
STATIC_SPAWNS = (200, 4_200)
DYNAMIC_SPAWNS = (50, 550)
PROBES = ("system_call", "process_switch", "spawn_static", "spawn_dynamic")

# A program that only exits, with one segment like the probe's, and one that starts a program repeatedly. It passes an
# empty environment, which saves a tenth of the cost.
ENDS = {"x86_64": 'asm("mov $60, %eax; xor %edi, %edi; syscall");',
        "aarch64": 'asm("mov x8, #93; mov x0, #0; svc #0");'}
NOTHING = "void _start(void) { %s for (;;); }\n"
LOOP = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    for (long left = atol(words[1]); left > 0; left--) {
        pid_t child = vfork();
        if (child == 0) {
            execve(words[2], words + 2, (char *[]){0});
            _exit(127);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    return 0;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run costs", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU to use (the last one)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the random order")
    options = parser.parse_args()
    random = Random(options.seed)
    print(f"load average before: {os.getloadavg()[0]:.2f}; CPU {options.cpu}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        peers = {name: peer for name, peer in all_peers(Path(folder), options.cpu).items() if peer is not None}
        rounds = []
        for number in range(options.rounds):
            tools = ["steady", *peers]
            random.shuffle(tools)
            found = {tool: steady_costs(options.cpu) if tool == "steady" else peers[tool]() for tool in tools}
            rounds.append(found)
            print(f"round {number + 1} of {options.rounds}: {', '.join(tools)}", flush=True)
    print(report(rounds))
    sys.exit(1 if "pipe" in peers and deviation(rounds, "pipe") > MOST_DEVIATION else 0)


def all_peers(folder: Path, cpu: int) -> dict:
    """Returns functions that measure the CPU seconds of each tool's operation; None if a tool is not available."""
    perf, compiler = shutil.which("perf"), shutil.which("cc")
    for name, path in (("perf", perf), ("cc", compiler)):
        if path is None:
            print(f"skipped: {name} is not installed")
    bench = lambda suite, ops: lambda: per_op(lambda count: [perf, "bench", *suite, "--loop", str(count)], ops, cpu)
    peers = {"pipe": perf and bench(("sched", "pipe"), PIPE_OPS), "syscall": perf and bench(("syscall", "basic"), CALLS)}
    if compiler:
        loop = compiled(folder / "loop", LOOP, [])
        spawns = lambda program, counts: lambda: per_op(lambda count: [loop, str(count), program], counts, cpu)
        peers["dynamic"] = spawns(shutil.which("true"), DYNAMIC_SPAWNS)
        ends = ENDS.get(platform.machine())
        flags = ["-static", "-nostdlib", "-fno-stack-protector", "-Wl,--build-id=none", "-Wl,-z,noseparate-code",
                 "-fno-asynchronous-unwind-tables"]
        peers["static"] = ends and spawns(compiled(folder / "nothing", NOTHING % ends, flags), STATIC_SPAWNS)
    return {name: peer or None for name, peer in peers.items()}


def compiled(path: Path, source: str, flags: list) -> str:
    subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", str(path), *flags], input=source, text=True, check=True)
    return str(path)


def per_op(argv, counts: tuple, cpu: int) -> float:
    """Returns the CPU seconds of one operation: the difference of a long and a short run, per operation."""
    few, many = counts
    return (cpu_seconds(argv(many), cpu) - cpu_seconds(argv(few), cpu)) / (many - few)


def cpu_seconds(argv: list, cpu: int) -> float:
    """Runs a command on one CPU and returns its CPU time in seconds, children included."""
    return run_once(["taskset", "-c", str(cpu), *argv]).cpu


def steady_costs(cpu: int) -> dict:
    """Returns the costs that steady measures, and the time of the switch's empty loop."""
    words = [str(STEADY), "costs", "--only", ",".join(PROBES), "--repetitions", str(REPETITIONS), "--cpu", str(cpu)]
    words += ["--samples", "--format", "json", "--no-history"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    return read(json.loads(done.stdout))


def read(document: dict) -> dict:
    """Returns the medians of a report, and `calls`: the CPU time of one round of the switch's empty loop."""
    found = {probe["name"]: probe["median_seconds"] for probe in document["probes"]}
    switch = next(probe for probe in document["probes"] if probe["name"] == "process_switch")
    rounds = [one["empty"]["cpu_seconds"] / one["empty"]["loops"] for one in switch["samples"]]
    return {**found, "calls": median(rounds)}


# Each tool's name, what one of its operations consists of, and the cost of that according to steady.
MADE_OF = {
    "pipe": ("perf bench sched pipe", "2 switches, 2 reads, 2 writes",
             lambda costs: 2 * costs["process_switch"] + costs["calls"]),
    "syscall": ("perf bench syscall basic", "1 system call", lambda costs: costs["system_call"]),
    "static": ("vfork, exec, wait: static", "1 spawn", lambda costs: costs["spawn_static"]),
    "dynamic": ("vfork, exec, wait: true", "1 spawn", lambda costs: costs["spawn_dynamic"]),
}


def ratios(rounds: list, peer: str) -> list:
    """Returns steady's cost divided by the tool's, for each round in which steady measured all costs."""
    made = MADE_OF[peer][2]
    pairs = [(found["steady"], found[peer]) for found in rounds if peer in found]
    return [made(costs) / other for costs, other in pairs if None not in costs.values()]


def deviation(rounds: list, peer: str) -> float:
    """Returns how far the median ratio is from 1; infinite without rounds."""
    per_round = ratios(rounds, peer)
    return abs(median(per_round) - 1) if per_round else float("inf")


def report(rounds: list) -> str:
    rows, lines = [], []
    for peer, (name, made_of, made) in MADE_OF.items():
        found = ratios(rounds, peer)
        if not found:
            continue
        by_us = median(made(one["steady"]) for one in rounds if None not in one["steady"].values())
        by_it = median(one[peer] for one in rounds)
        rows.append([name, made_of, nanos(by_it), nanos(by_us), f"{median(found):.3f}",
                     f"{min(found):.3f} to {max(found):.3f}"])
    heads = ["peer", "an operation is", "peer, ns", "steady, ns", "ratio", "range of the rounds"]
    if any("pipe" in found for found in rounds):
        switch, calls = (median(one["steady"][name] for one in rounds) for name in ("process_switch", "calls"))
        total = 2 * switch + calls
        lines = [f"2 x {nanos(switch)} ns (switch) + {nanos(calls)} ns (2 reads and 2 writes) = {nanos(total)} ns per operation",
                 check(f"the switch agrees within {MOST_DEVIATION:.0%}", deviation(rounds, "pipe") <= MOST_DEVIATION)]
    return "\n\n".join([table(heads, rows), *lines])


def nanos(seconds: float) -> str:
    return f"{seconds * 1e9:,.1f}" if seconds < 1e-6 else f"{seconds * 1e9:,.0f}"


if __name__ == "__main__":
    main()
