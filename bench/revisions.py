"""A revision against itself, built twice: false verdicts of `steady compare --rev HEAD..HEAD` under changing loads.

The bench creates a repository with a small C program. Every comparison checks it out and builds it twice. Another program
is a large one of Go, whose build is a copy: two equal files in different pages of memory.

    bench/run revisions [--trials N]   measure; continues where it stopped
    bench/run revisions --report       print Markdown from the results
"""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random, SystemRandom
from tempfile import TemporaryDirectory

from common.loads import background_load, end_neighbours_on_signals
from common.paths import STEADY, TARGET
from common.results import Results
from common.session import session_options
from common.stats import share
from common.trial import FAILURES_ALLOWED
from common.verdicts import SIGNS, of_total, table, with_interval
from copies import GO_WORKS, go_commands

# Loads that change during a comparison, and none.
MOVING = ("idle", "spinners", "quick-spinners", "stream-bursts")

# Some milliseconds of arithmetic and of random accesses to the program's memory.
SOURCE = """
#include <stdlib.h>
static unsigned table[1 << 16];
int main(void) {
    unsigned state = 1;
    for (long i = 0; i < 1500000; i++) {
        state = state * 1664525u + 1013904223u;
        table[state >> 16] += state;
    }
    return table[1] == 12345;
}
"""
MAKEFILE = "prog: prog.c\n\t$(CC) -O2 -g -o prog prog.c\n"


@dataclass
class Program:
    """A program, how it is built and run, and how it is compared."""

    build: str
    command: str
    budget_seconds: float
    # The resolution in percent, which is as small as the differences between files.
    resolution: float


def _programs() -> dict:
    programs = {"C": Program("make", "./prog", 1.0, 1.0)}
    for work, argv in go_commands().items():
        build = f"cp {shlex.quote(argv[0])} prog"
        programs[work] = Program(build, shlex.join(["./prog", *argv[1:]]), 4.0, 0.1)
    return programs


def main() -> None:
    options = session_options("revisions", __doc__, "trials", 200)
    results = Results(options.results)
    if not options.report:
        end_neighbours_on_signals()
        _measure(results, options.wanted)
    print(report(results.records))


def _measure(results: Results, trials: int) -> None:
    with TemporaryDirectory(dir=TARGET, prefix="revisions-") as folder:
        repository, programs = _repository(Path(folder)), _programs()
        in_a_row = 0
        while len(results.records) < trials:
            random = SystemRandom()
            name, load, seed = random.choice(list(programs)), random.choice(MOVING), random.getrandbits(63)
            with background_load(load, Random(seed), 2 * programs[name].budget_seconds):
                answer = _compare(repository, programs[name], seed)
            results.add({"program": name, "load": load, "seed": str(seed), **answer})
            change = answer.get("change")
            outcome = answer.get("error") or f"{answer['verdict']} {'?' if change is None else f'{change:+.2%}'}"
            print(f"{len(results.records)}/{trials} {name} {load}: {outcome}", flush=True)
            in_a_row = in_a_row + 1 if "error" in answer else 0
            if in_a_row >= FAILURES_ALLOWED:
                sys.exit(f"{in_a_row} failures in a row: the bench ends. The results so far are stored")


def _repository(folder: Path) -> Path:
    (folder / "prog.c").write_text(SOURCE)
    (folder / "Makefile").write_text(MAKEFILE)
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        subprocess.run(["git", "-C", str(folder), *identity, *words], check=True)
    return folder


def _compare(repository: Path, program: Program, seed: int) -> dict:
    """Runs one comparison. Returns its primary verdict, or its error: under a load, a short budget may not suffice."""
    words = ["--rev", "HEAD..HEAD", "--build", program.build, "--seed", str(seed)]
    words += ["--budget", f"{program.budget_seconds:g}s", "--resolution", f"{program.resolution:g}%"]
    argv = [str(STEADY), "compare", "--format", "json", "--quiet", *words, program.command]
    # Without git's variables: the bench may be called from a git hook of another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(argv, cwd=repository, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode:
        return {"error": f"status {done.returncode}: {done.stderr.strip()}"}
    primary = next(verdict for verdict in json.loads(done.stdout)["verdicts"] if verdict["primary"])
    return {field: primary.get(field) for field in ("metric", "verdict", "change", "low", "high", "pairs")}


def report(records: list) -> str:
    """Reports false verdicts by program and load, and in total."""
    if not records:
        return "No trials yet."
    failed = sum("error" in record for record in records)
    records = [record for record in records if "error" not in record]
    rows = []
    everything = "**all**"
    for program, load in [*product(("C", *GO_WORKS), MOVING), (everything, everything)]:
        own = [record for record in records
               if program in (record["program"], everything) and load in (record["load"], everything)]
        false = share(record["verdict"] in SIGNS for record in own)
        below = share(record["change"] < 0 for record in own if record["change"])
        faster = share(record["verdict"] == "faster" for record in own)
        rows.append([program, load, str(len(own)), of_total(false), of_total(faster), of_total(below)])
    false = share(record["verdict"] in SIGNS for record in records)
    line = f"False verdicts: {with_interval(false)}. Failed: {failed}."
    return "\n\n".join([table(["program", "load", "comparisons", "false", "false: faster", "below 0"], rows), line])


if __name__ == "__main__":
    main()
