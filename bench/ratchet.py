"""Loops over many candidate changes with --ratchet: how often they accept something, on a simulated machine.

In the first half of the loops no candidate changes anything; the error rate is 5 %. In the second half one candidate
costs 5 % less. Every comparison is simulated with the program's own code: warm-up, random order, looks, verdicts.

    bench/run ratchet [--loops N] [--candidates N]
"""

import argparse
import subprocess
from concurrent.futures import ThreadPoolExecutor

from common.paths import ROOT


def simulated(words: list[str]) -> dict[str, float]:
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-compare", "--example", "ratchet", "--", *words]
    line = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return {name: float(value) for name, value in zip(line[::2], line[1::2])}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run ratchet", description=__doc__.splitlines()[0])
    parser.add_argument("--loops", type=int, default=2000, help="loops of each kind (2000)")
    parser.add_argument("--candidates", type=int, default=500, help="candidates of a loop (500)")
    options = parser.parse_args()
    size = [str(options.loops), str(options.candidates)]
    with ThreadPoolExecutor(2) as pool:
        nothing, one = pool.map(simulated, [size, [*size, "-0.05", str(options.candidates // 2)]])
    print("| loops | candidates | accepted something else | accepted the improvement | second comparisons in a loop |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, found in [("no improvement", nothing), ("one of 5 %, half-way", one)]:
        improved = "-" if name == "no improvement" else f"{found['found']:.0f} of {found['loops']:.0f}"
        wrong = f"{found['wrong']:.0f} of {found['loops']:.0f}"
        print(f"| {name} | {options.candidates} | {wrong} | {improved} | {found['tests']:.1f} |")


if __name__ == "__main__":
    main()
