"""The effect of steady warm: spawns, shell loops, a mixed script, the overhead of the hook, break-even.

Each round makes every measurement once normally and once warm, in random order. The results are medians of the rounds'
ratios, because on a busy machine the cost of a launch changes within a minute. A small C program times spawns one by
one and reports the median. For shell loops the result is the time of a turn: a long run minus an empty one. Snapshots
are created beforehand in the bench's own store, except for the break-even, for which `steady warm bench` creates them.

    bench/run warm [--rounds N] [--seed N]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median

from common.paths import STEADY
from common.verdicts import check, table
from costs import ENDS, NOTHING, compiled

LAUNCHES, TURNS, MIXED = 300, 200, 150
BENCH_RUNS = 20
# Times each launch and prints the median in nanoseconds. It uses vfork and execve like make, or posix_spawn like
# libraries.
LOOP = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static int later(const void *a, const void *b) {
    long one = *(const long *)a, other = *(const long *)b;
    return (one > other) - (one < other);
}
int main(int count, char **words) {
    long left = atol(words[2]), all = left, *took = calloc(left, sizeof *took);
    int spawns = !strcmp(words[1], "spawn"), report = dup(1), null = open("/dev/null", O_RDWR);
    fcntl(report, F_SETFD, FD_CLOEXEC);
    dup2(null, 0), dup2(null, 1), close(null);
    while (left-- > 0) {
        struct timespec from, to;
        int status;
        pid_t child;
        clock_gettime(CLOCK_MONOTONIC, &from);
        if (spawns) {
            if (posix_spawn(&child, words[3], 0, 0, words + 3, environ))
                return 1;
        } else if ((child = vfork()) == 0) {
            execve(words[3], words + 3, environ);
            _exit(127);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &to);
        took[left] = (to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec;
    }
    qsort(took, all, sizeof *took, later);
    dprintf(report, "%ld\\n", took[all / 2]);
    return 0;
}
"""
SHELL_LOOP = "i=0; while [ $i -lt {turns} ]; do {program}; i=$((i+1)); done"
BASH_LOOP = "for ((i = 0; i < {turns}; i++)); do {program}; done"
MIXED_TURN = ("sed -n 1p {file} >/dev/null; cat {file} >/dev/null; basename /a/b/c.d .d >/dev/null; "
              "grep line {file} >/dev/null; head -n 2 {file} >/dev/null; sort {file} >/dev/null; wc -l {file} >/dev/null")
MIXED_PROGRAMS = ("sed", "cat", "basename", "grep", "head", "sort", "wc")
# The measurements, with the highest allowed ratio; None for those that are only reported.
SPAWN_TRUE, SPAWN_CAT = "spawn of true", "spawn of cat /dev/null"
TARGETS = {
    SPAWN_TRUE: 0.40,
    "vfork and exec of true": None,
    SPAWN_CAT: 0.38,
    "bash loop of /bin/true, a turn": 0.62,
    f"mixed script, {MIXED} turns": 0.68,
    "the same, with snapshots created during the run": None,
    "dash loop of /bin/true, a turn": None,
    "the hook without a snapshot: true": 1.10,
    "the hook without a snapshot: dash -c :": 1.25,
    "the hook without a snapshot: bash -c :": 1.25,
}
BASELINES = {"busybox": "busybox sh loop of true, a turn", "nothing": "spawn of a static program that only exits"}
BREAK_EVEN = 3


class Workspace:
    """The bench's folder, stores and programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = compiled(folder / "loop", LOOP, [])
        self.lines = folder / "lines"
        self.lines.write_text("".join(f"line {number * 7919 % 200}\n" for number in range(200)))
        self.warm, self.bare = folder / "warm", folder / "bare"
        for store in (self.warm, self.bare):
            store.mkdir(mode=0o700)
        self.path = {name: shutil.which(name) for name in ("true", "bash", "dash", "busybox", *MIXED_PROGRAMS)}

    def steady(self, store: Path, *words: str) -> list:
        """Returns a `steady warm` command that uses this store."""
        return ["env", f"XDG_CACHE_HOME={store}", str(STEADY), "warm", *words]

    def make_ready(self) -> None:
        """Creates all snapshots, and unpacks a hook into a store without snapshots."""
        programs = sorted({*MIXED_PROGRAMS, "true", "dash", "bash"} & {name for name, path in self.path.items() if path})
        created = subprocess.run(self.steady(self.warm, "snapshot", *programs), text=True, capture_output=True)
        print(f"snapshots of {', '.join(programs)}: status {created.returncode}\n{created.stdout}{created.stderr}".rstrip())
        # A program that none of the measurements uses, because it may get a snapshot here.
        subprocess.run(self.steady(self.bare, "--", "uname"), check=True, stdout=subprocess.DEVNULL)
        # A keeper may create its snapshot late. It must have ended before the measurements.
        time.sleep(2)
        rest(str(self.bare))
        hooks = list(self.bare.glob("steady/warm/*/hook.so"))
        if len(hooks) != 1 or not self.is_bare():
            sys.exit(f"{self.bare} has {len(hooks)} hooks instead of 1, or more snapshots than expected")
        self.hook = hooks[0]

    def is_bare(self) -> bool:
        """Returns whether the store without snapshots has none of a measured program."""
        return len(list(self.bare.glob("steady/warm/*/cards/*"))) <= 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run warm", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11, help="rounds (11)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the random order")
    options = parser.parse_args()
    random = Random(options.seed)
    print(f"load average before: {os.getloadavg()[0]:.2f}", flush=True)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        workspace = Workspace(Path(folder))
        workspace.make_ready()
        measurements = all_measurements(workspace)
        rounds = []
        for number in range(options.rounds):
            orders = [(name, way) for name, ways in measurements.items() for way in ways]
            random.shuffle(orders)
            found: dict = {}
            for name, way in orders:
                found.setdefault(name, {})[way] = measurements[name][way]()
            rounds.append(found)
            print(f"round {number + 1} of {options.rounds}", flush=True)
        if not workspace.is_bare():
            sys.exit("the results are invalid: a program that measures the hook without a snapshot has got one")
        even = {pause: break_even(pause) for pause in ("50ms", None)}
    text, reached = report(rounds, even)
    print(f"load average after: {os.getloadavg()[0]:.2f}\n\n{text}")
    sys.exit(0 if reached else 1)


def all_measurements(workspace: Workspace) -> dict:
    """Returns functions for each measurement: `normal` and `warm`, or only `normal` for a baseline."""
    warm = workspace.steady(workspace.warm, "--")
    hooked = ["env", f"LD_PRELOAD={getattr(workspace, 'hook', '')}"]

    def spawns(before: list, mode: str, *words: str) -> float:
        return int(output([*before, workspace.loop, mode, str(LAUNCHES), *words])) * 1e-9

    def both(measure, before: list = warm) -> dict:
        return {"normal": lambda: measure([]), "warm": lambda: measure(before)}

    def turns(shell: list, text: str, program: str):
        return lambda before: per_turn(lambda count: [*before, *shell, text.format(turns=count, program=program)])

    def mixed(before: list) -> float:
        script = BASH_LOOP.format(turns=MIXED, program=MIXED_TURN.format(file=workspace.lines))
        return wall([*before, workspace.path["bash"], "-c", script])

    def mixed_with_empty_store() -> float:
        # A new store, as on the first run after a boot.
        with tempfile.TemporaryDirectory(dir=workspace.folder) as store:
            seconds = mixed(workspace.steady(Path(store), "--"))
            rest(store)
            return seconds

    true = workspace.path["true"]
    cat = [workspace.path["cat"], "/dev/null"]
    bash, dash = [workspace.path["bash"], "-c"], [workspace.path["dash"], "-c"]
    names = list(TARGETS)
    ways = [
        both(lambda before: spawns(before, "spawn", true)),
        both(lambda before: spawns(before, "vfork", true)),
        both(lambda before: spawns(before, "spawn", *cat)),
        both(turns(bash, BASH_LOOP, "/bin/true")),
        both(mixed),
        {"normal": lambda: mixed([]), "warm": mixed_with_empty_store},
        both(turns(dash, SHELL_LOOP, "/bin/true")) if dash[0] else {},
        both(lambda before: spawns(before, "spawn", true), hooked),
        both(lambda before: spawns(before, "spawn", *dash, ":"), hooked) if dash[0] else {},
        both(lambda before: spawns(before, "spawn", *bash, ":"), hooked),
    ]
    measurements = dict(zip(names, ways))
    if workspace.path["busybox"]:
        measurements[BASELINES["busybox"]] = {
            "normal": lambda: turns([workspace.path["busybox"], "sh", "-c"], SHELL_LOOP, "true")([])}
    else:
        print("skipped: busybox sh: busybox is not installed")
    if not dash[0]:
        print("skipped: dash: not installed")
    ends = ENDS.get(os.uname().machine)
    if ends:
        flags = ["-static", "-nostdlib", "-fno-stack-protector", "-Wl,--build-id=none"]
        nothing = compiled(workspace.folder / "nothing", NOTHING % ends, flags)
        measurements[BASELINES["nothing"]] = {"normal": lambda: spawns([], "spawn", nothing)}
    return {name: ways for name, ways in measurements.items() if ways}


def output(argv: list) -> str:
    return subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def wall(argv: list) -> float:
    """Runs a command and returns its wall time in seconds."""
    started = time.monotonic()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def per_turn(argv) -> float:
    """Returns the time of a turn in seconds: a long run minus an empty one, per turn."""
    return (wall(argv(TURNS)) - wall(argv(0))) / TURNS


def rest(store: str) -> None:
    """Waits until no process that creates snapshots uses the store, so that it can be removed."""
    def busy(process: Path) -> bool:
        try:
            return store.encode() in (process / "cmdline").read_bytes()
        except OSError:
            return False

    for _ in range(400):
        if not any(busy(process) for process in Path("/proc").glob("[0-9]*")):
            return
        time.sleep(0.05)


def break_even(pause) -> dict:
    """Runs `steady warm bench` on true, launched on demand, with a pause between launches or none."""
    words = [str(STEADY), "warm", "bench", "--programs", "true", "--runs", str(BENCH_RUNS), "--format", "json",
             "--no-history", *(("--count", "10", "--pause", pause) if pause else ("--count", "100"))]
    return read(json.loads(output(words)))


def read(document: dict) -> dict:
    """Returns after how many launches a snapshot pays for itself, by wall and CPU time, and the CPU time to create it."""
    modes = document["programs"][0]["modes"]
    on_demand = next(mode for mode in modes if mode["mode"] == "on-demand")
    even = on_demand["break_even"]
    if even is None:
        print(f"no break-even: {on_demand['break_even_absent']}")
        return {"wall": (None, False), "cpu": (None, False), "creation": None}
    found = {time: (even[time]["launches"], even[time]["extrapolated"]) for time in ("wall", "cpu")}
    return {**found, "creation": even["cpu"]["capture_seconds"]}


def ratios(rounds: list, name: str) -> list:
    """Returns the ratio of warm to normal for each round."""
    return [found[name]["warm"] / found[name]["normal"] for found in rounds if "warm" in found.get(name, {})]


def report(rounds: list, even: dict) -> tuple:
    """Returns the table and checks, and whether all targets are reached."""
    rows, claims, reached = [], [], True
    names = [*TARGETS, *BASELINES.values()]
    for name in names:
        values = ratios(rounds, name)
        normal = [found[name]["normal"] for found in rounds if name in found]
        if not normal:
            claims.append(f"- {name}: skipped")
            continue
        warm = [found[name]["warm"] for found in rounds if "warm" in found[name]]
        target = TARGETS.get(name)
        ratio = f"{median(values):.3f} ({min(values):.2f} to {max(values):.2f})" if values else ""
        rows.append([name, micros(median(normal)), micros(median(warm)) if warm else "", ratio,
                     f"{target:.2f}" if target else ""])
        if target and values:
            reached &= median(values) <= target
            claims.append(check(f"{name}: {median(values):.3f} of normal, at most {target:.2f}", median(values) <= target))
    for pause, found in even.items():
        how = f"launches of true {pause} apart" if pause else "launches of true without a pause"
        claim = f"{how}: the snapshot pays for itself after {launches(found['wall'])} by wall time, {launches(found['cpu'])} by CPU time; " \
                f"creating it takes {'?' if found['creation'] is None else format(1e3 * found['creation'], '.1f')} ms of CPU time"
        if pause:
            within = found["wall"][0] is not None and found["wall"][0] <= BREAK_EVEN
            reached &= within
            claims.append(check(f"{claim}; at most {BREAK_EVEN} by wall time", within))
        else:
            claims.append(f"- {claim}")
    heads = ["medians of the rounds", "normal", "warm", "warm / normal (range)", "at most"]
    return "\n".join([table(heads, rows), "", *claims]), reached


def launches(even: tuple) -> str:
    count, extrapolated = even
    return "more launches than measured" if count is None else f"about {count}" if extrapolated else str(count)


def micros(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f} us" if seconds < 0.01 else f"{1e3 * seconds:,.1f} ms"


if __name__ == "__main__":
    main()
