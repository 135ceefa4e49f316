"""Loops over many candidate changes with --ratchet: how often they accept something, on a simulated machine.

In the first half of the loops no candidate changes anything; the error rate is 5 %. In the second half one candidate
costs 5 % less. Every comparison is simulated with the program's own code: warm-up, random order, looks, verdicts. The
real loop compiles a C program for each candidate, next to spinners that switch on and off.

    bench/run ratchet [--loops N] [--candidates N] [--real N]

The simulated loops are kept in blocks, so that an interrupted bench can continue. Remove its file of results when the
program has changed.
"""

import argparse
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random, SystemRandom
from tempfile import TemporaryDirectory

from common.loads import background_load, end_neighbours_on_signals
from common.paths import RESULTS, ROOT, STEADY, TARGET
from common.results import Results

EFFECT = -0.05
STEPS = 20_000_000
SOURCE = """
static volatile unsigned sink;
int main(void) {
    unsigned state = %d;
    for (long i = 0; i < %dL; i++)
        state = state * 1664525u + 1013904223u;
    sink = state;
    return 0;
}
"""


KINDS = {"no improvement": False, "one of 5 %, half-way": True}
# Loops of a block, after which the results are kept.
BLOCK = 50


def simulated(first: int, candidates: int, has_improvement: bool) -> dict[str, int]:
    program = str(TARGET / "release" / "examples" / "ratchet")
    words = [str(EFFECT), str(candidates // 2)] if has_improvement else []
    argv = [program, str(first), str(BLOCK), str(candidates), *words]
    line = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    return {name: int(value) for name, value in zip(line[::2], line[1::2])}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run ratchet", description=__doc__.splitlines()[0])
    parser.add_argument("--loops", type=int, default=2000, help="loops of each kind, in blocks of 50 (2000)")
    parser.add_argument("--candidates", type=int, default=500, help="candidates of a loop (500)")
    parser.add_argument("--real", type=int, default=60, help="candidates of the loop with real programs (60)")
    parser.add_argument("--results", type=Path, default=RESULTS / "ratchet.jsonl")
    options = parser.parse_args()
    end_neighbours_on_signals()
    if options.loops:
        simulations(options)
    if options.real:
        real(options.real)


def simulations(options: argparse.Namespace) -> None:
    """Simulates the blocks of loops that are not in the results yet."""
    build = ["cargo", "build", "--quiet", "--release", "-p", "steady-compare", "--example", "ratchet"]
    subprocess.run(build, cwd=ROOT, check=True)
    results = Results(options.results)
    known = {(one["kind"], one["first"]) for one in results.of(candidates=options.candidates)}
    missing = [(kind, first) for first in range(0, options.loops, BLOCK) for kind in KINDS if (kind, first) not in known]
    with ThreadPoolExecutor(2) as pool:
        blocks = pool.map(lambda block: simulated(block[1], options.candidates, KINDS[block[0]]), missing)
        for (kind, first), found in zip(missing, blocks):
            results.add({"kind": kind, "first": first, "candidates": options.candidates, **found})
    print("| loops | candidates | accepted something else | accepted the improvement | second comparisons in a loop |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for kind, has_improvement in KINDS.items():
        records = [one for one in results.of(kind=kind, candidates=options.candidates) if one["first"] < options.loops]
        loops, wrong, found, tests = (sum(one[name] for one in records) for name in ("loops", "wrong", "found", "tests"))
        improved = f"{found} of {loops}" if has_improvement else "-"
        print(f"| {kind} | {options.candidates} | {wrong} of {loops} | {improved} | {tests / loops:.1f} |", flush=True)


def real(candidates: int) -> None:
    """Runs one loop of real programs. The candidate in the middle costs 5 % less; no other one changes the cost."""
    random = SystemRandom()
    accepted = []
    with TemporaryDirectory(dir=TARGET, prefix="ratchet-") as folder:
        place, steps = Path(folder), STEPS
        build(place / "best", 0, steps)
        for candidate in range(candidates):
            tried = round(STEPS * (1 + EFFECT)) if candidate == candidates // 2 else steps
            build(place / "new", candidate + 1, tried)
            words = [STEADY, "compare", "--ratchet", "loop.json", "--no-history", "--quiet", "--budget", "8s", "./best", "./new"]
            with background_load("spinners", Random(random.getrandbits(32)), 8):
                done = subprocess.run(words, cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode not in (0, 1):
                raise SystemExit(f"steady compare failed: {done.stderr}")
            if done.returncode == 0:
                accepted.append(candidate)
                steps = tried
                shutil.copy(place / "new", place / "best")
    improved = "yes" if candidates // 2 in accepted else "no"
    others = len([candidate for candidate in accepted if candidate != candidates // 2])
    print(f"\nA real loop of {candidates} candidates: the improvement was accepted: {improved}; others accepted: {others}.")


def build(program: Path, seed: int, steps: int) -> None:
    source = program.with_suffix(".c")
    source.write_text(SOURCE % (seed, steps))
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)


if __name__ == "__main__":
    main()
