"""Short commands compared normally and with --warm: how wide the absolute difference is, and how often it is found.

Each round makes every comparison once normally and once from snapshots, in random order, with the same budget. The
commands are loops of a given CPU time, dynamically linked to the C library, and sort(1) on lists of n and 1.02 n lines.
Then equal commands are compared from snapshots: two copies of one program, and one program with itself.

    bench/run warm_compare [--rounds N] [--equals N] [--budget S] [--seed N]
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from random import Random

from common.paths import STEADY
from common.stats import median_or_nan, share
from common.verdicts import SIGNS, holds, table, with_interval
from costs import compiled

# A loop of dependent operations, with the number of turns as argument. Without an argument it prints the time of a
# turn.
LOOP = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double turn(long turns) {
    volatile unsigned long seed = 88172645463325252ul;
    unsigned long x = seed;
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (long i = 0; i < turns; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        __asm__ volatile("" : "+r"(x));
    }
    seed = x;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return (to.tv_sec - from.tv_sec + 1e-9 * (to.tv_nsec - from.tv_nsec)) / turns;
}
int main(int count, char **words) {
    if (count > 1)
        return turn(atol(words[1])) < 0;
    printf("%g\\n", turn(50000000));
    return 0;
}
"""
WORK_SECONDS = 100e-6
EXTRA_SECONDS = (2e-6, 5e-6, 20e-6)
LINES = 500


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=20, help="rounds (20)")
    options.add_argument("--equals", type=int, default=60, help="number of comparisons of equal commands, of each kind (60)")
    options.add_argument("--budget", type=float, default=2.0, help="seconds of each comparison (2)")
    options.add_argument("--seed", type=int, default=1, help="seed of the random order (1)")
    options = options.parse_args()
    random = Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="warm-compare-") as folder:
        cells = works(Path(folder))
        found: dict = {}
        for number in range(options.rounds):
            for name, mode in random.sample([(name, mode) for name in cells for mode in ("usual", "warm")], 2 * len(cells)):
                found.setdefault((name, mode), []).append(compare(cells[name][0](), mode, options.budget))
            print(f"round {number + 1}/{options.rounds}", file=sys.stderr, flush=True)
        equal: dict = {}
        for number in range(options.equals):
            for name, pair in equals(Path(folder), number).items():
                equal.setdefault(name, []).append(compare(pair, "warm", options.budget))
            print(f"equals {number + 1}/{options.equals}", file=sys.stderr, flush=True)
    text, reached = report(cells, found, equal)
    print(text)
    sys.exit(0 if reached else 1)


def works(folder: Path) -> dict:
    """Returns, for each cell, a function that creates the commands, and their difference in seconds, if known."""
    loop = compiled(folder / "loop", LOOP, [])
    cells = {}
    for extra in EXTRA_SECONDS:
        name = f"loop of {1e6 * WORK_SECONDS:.0f} us, {1e6 * extra:.0f} us more"
        cells[name] = (partial(loops, loop, extra), extra)
    for name, lines in (("few", LINES), ("more", round(1.02 * LINES))):
        (folder / name).write_text("".join(f"{line * 7919 % 10007}\n" for line in range(lines)))
    cells[f"sort of {LINES} lines, 2 % more"] = (lambda: (f"sort {folder}/few", f"sort {folder}/more"), None)
    return cells


def loops(loop: Path, extra: float) -> tuple:
    """Returns two loops, the second longer by `extra` seconds at the CPU's current clock rate."""
    per_turn = float(subprocess.run([loop], check=True, stdout=subprocess.PIPE, text=True).stdout)
    return tuple(f"{loop} {round(seconds / per_turn)}" for seconds in (WORK_SECONDS, WORK_SECONDS + extra))


def equals(folder: Path, number: int) -> dict:
    """Returns equal commands: two new copies with names of the same length, and one program with itself."""
    copies = [folder / f"{name}-{number:04}" for name in ("a", "b")]
    for copy in copies:
        shutil.copy(folder / "loop", copy)
    one, other = (f"{copy} 20000" for copy in copies)
    return {"two copies": (one, other), "one program": (one, one)}


def compare(commands: tuple, mode: str, budget: float) -> dict:
    words = [str(STEADY), "compare", "--no-history", "--format", "json", "--budget", f"{1000 * budget:.0f}ms",
             "--resolution", "0.2%", *(("--warm",) if mode == "warm" else ()), *commands]
    done = subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment())
    return read(json.loads(done.stdout))


def environment() -> dict:
    """Returns the environment without variables that disable snapshots."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "MALLOC_"))}


def read(document: dict) -> dict:
    """Returns the verdict by CPU time, its interval in seconds of the first command, and the start-up time."""
    verdict = next(one for one in document["verdicts"] if one["primary"])
    if document["plan"].get("warm") and document["warm"] is None:
        sys.exit(f"no snapshots: {document['warm_absent']}")
    first = document["commands"][0]
    seconds = first["cpu_seconds"]
    ends = [None if verdict[end] is None else verdict[end] * seconds for end in ("low", "high")]
    return {"verdict": verdict["verdict"], "low": ends[0], "high": ends[1], "seconds": seconds,
            "units": verdict["pairs"], "pairs": document["pairs"], "start_up": first.get("startup_seconds")}


def half_width(answer: dict) -> float:
    return math.inf if None in (answer["low"], answer["high"]) else (answer["high"] - answer["low"]) / 2


def report(cells: dict, found: dict, equal: dict) -> tuple:
    """Returns the tables, and whether equal commands were called different at most as often as promised."""
    rows = []
    for name, (_, extra) in cells.items():
        for mode in ("usual", "warm"):
            answers = found.get((name, mode), [])
            covered = share(holds(answer["low"], answer["high"], extra) for answer in answers) if extra else None
            rows.append([f"{name}, {mode}", micros(median_or_nan(answer["seconds"] for answer in answers)),
                         micros(median_or_nan(map(half_width, answers))),
                         f"{sum(SIGNS.get(answer['verdict'], 0) > 0 for answer in answers)}/{len(answers)}",
                         f"{covered.count}/{covered.total}" if covered else "",
                         f"{median_or_nan(answer['units'] for answer in answers):.0f}"])
    heads = ["", "CPU time of a run", "half-width of the difference", "found", "covered", "pairs or draws"]
    lines = [table(heads, rows), ""]
    reached = True
    for name, answers in equal.items():
        wrong = share(answer["verdict"] in SIGNS for answer in answers)
        # The interval of the rate of wrong verdicts must not lie above the promised 5 %.
        fair = not wrong.total or wrong.interval()[0] <= 0.05
        reached &= fair
        lines.append(f"- {name}, warm: called different in {with_interval(wrong)}: {'as promised' if fair else 'TOO OFTEN'}")
    return "\n".join(lines), reached


def micros(seconds: float) -> str:
    return f"{1e6 * seconds:,.2f} us"


if __name__ == "__main__":
    main()
