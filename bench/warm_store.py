"""The cost of steady warm with an empty store: a script like configure with 0, 4 and 12 busy processes.

Each round runs the script normally and under `steady warm` with a new, empty store, in random order and under each
load. Ratios are computed per pair, because runs a minute apart differ. A second measurement launches a program every 50
ms, and finds the first launch from a snapshot. Commands run in their own session, as if from a terminal.

    bench/run warm_store [--rounds N] [--seed N] [--loads 0,4,12]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median

from common.paths import STEADY
from common.verdicts import check, table
from warm import rest

# The highest allowed ratio of a run to the script alone.
MOST = 1.05
# The launch from which a program should run from a snapshot, if launched every 50 ms on an idle machine.
FROM_LAUNCH = 2
PAUSE = 0.05
LAUNCHES = 10
# Like configure: many small programs, most of them run a few times and some often, and some computation.
SCRIPT = """
turn=0
while [ $turn -lt 40 ]; do
    /bin/sed -n 1p {file} >/dev/null
    /bin/cat {file} >/dev/null
    /bin/grep -q line {file}
    turn=$((turn + 1))
    case $turn in
        5|15) sort {file} >/dev/null; wc -l {file} >/dev/null; uname -a >/dev/null; tr a b <{file} >/dev/null ;;
        10|20) head -n 2 {file} >/dev/null; basename /a/b.c .c >/dev/null; cut -c1 {file} >/dev/null; id >/dev/null ;;
        30) expr 1 + 1 >/dev/null; date >/dev/null; dirname /a/b >/dev/null; od -c {file} >/dev/null; tail -1 {file} >/dev/null ;;
    esac
done
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run warm_store", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds (15)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the random order")
    parser.add_argument("--loads", default="0,4,12", help="busy processes, one number for each row (0,4,12)")
    options = parser.parse_args()
    random = Random(options.seed)
    loads = [int(load) for load in options.loads.split(",")]
    print(f"load average before: {os.getloadavg()[0]:.2f}", flush=True)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        workspace = Path(folder)
        file = workspace / "lines"
        file.write_text("".join(f"line {number}\n" for number in range(200)))
        script = workspace / "configure"
        script.write_text(SCRIPT.format(file=file))
        found = {load: [] for load in loads}
        for number in range(options.rounds):
            for load in random.sample(loads, len(loads)):
                with busy(load):
                    found[load].append(pair(workspace, script, random))
            print(f"round {number + 1} of {options.rounds}", flush=True)
        spaced = [first_warm(workspace) for _ in range(options.rounds)]
    print(f"load average after: {os.getloadavg()[0]:.2f}\n")
    text, reached = report(found, spaced)
    print(text)
    sys.exit(0 if reached else 1)


@contextmanager
def busy(count: int):
    """Runs `count` busy processes in other sessions, like those of other users, during the body."""
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin, start_new_session=True) for _ in range(count)]
    try:
        time.sleep(0.2)
        yield
    finally:
        for other in others:
            other.kill()
        for other in others:
            other.wait()


def warm(store: str, *words: str) -> list:
    return ["env", f"XDG_CACHE_HOME={store}", str(STEADY), "warm", *words]


def status(store: str) -> dict:
    done = subprocess.run(warm(store, "status", "--format", "json"), check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def seconds(argv: list) -> float:
    started = time.monotonic()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    return time.monotonic() - started


def pair(workspace: Path, script: Path, random: Random) -> dict:
    """Runs the script normally and with an empty store, in random order. Returns the seconds and the warm launches."""
    took = {}
    with tempfile.TemporaryDirectory(dir=workspace) as store:
        for way in random.sample(["normal", "warm"], 2):
            before = warm(store, "--") if way == "warm" else []
            took[way] = seconds([*before, "/bin/sh", str(script)])
        launches = status(store)["store"]["launches"]
        rest(store)
    return {**took, "launches": launches["warm"]}


def first_warm(workspace: Path):
    """Returns the number of the first launch from a snapshot, from 1; None if there was none."""
    shell = f"i=0; while [ $i -lt {LAUNCHES} ]; do /bin/cat /proc/self/maps | head -n 1; sleep {PAUSE}; i=$((i + 1)); done"
    with tempfile.TemporaryDirectory(dir=workspace) as store:
        done = subprocess.run(warm(store, "--", "/bin/bash", "-c", shell), check=True, stdout=subprocess.PIPE, text=True)
        rest(store)
    lines = done.stdout.splitlines()
    return next((number for number, line in enumerate(lines, 1) if "/snapshots/" in line), None)


def report(found: dict, spaced: list) -> tuple:
    """Returns the table and checks, and whether all targets are reached."""
    rows, claims, reached = [], [], True
    for load, pairs in sorted(found.items()):
        ratios = sorted(one["warm"] / one["normal"] for one in pairs)
        middle = median(ratios)
        rows.append([str(load), f"{1e3 * median(one['normal'] for one in pairs):,.0f} ms",
                     f"{1e3 * median(one['warm'] for one in pairs):,.0f} ms",
                     f"{middle:.3f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
                     f"{median(one['launches'] for one in pairs):.0f}"])
        reached &= middle <= MOST
        claims.append(check(f"with {load} busy processes: {middle:.3f} of normal, at most {MOST}", middle <= MOST))
    known = [number for number in spaced if number is not None]
    typical = median(known) if len(known) * 2 > len(spaced) else None
    within = typical is not None and typical <= FROM_LAUNCH
    reached &= within
    claims.append(check(f"launched every {1e3 * PAUSE:.0f} ms: first launch from a snapshot: {'none' if typical is None else typical}, at most {FROM_LAUNCH}", within))
    heads = ["busy processes", "normal", "empty store", "ratio, median (range)", "launches from snapshots"]
    return "\n".join([table(heads, rows), "", *claims]), reached


if __name__ == "__main__":
    if not shutil.which("bash"):
        sys.exit("skipped: bash is not installed")
    main()
