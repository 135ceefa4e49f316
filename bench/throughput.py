"""Runs per second of /bin/true, compared with hyperfine -N.

    bench/run throughput [--rounds N] [--seconds S]
"""

import argparse
import subprocess
import time
from random import Random
from statistics import median

from common.paths import HYPERFINE
from common.tools import steady_json

TRUE = ["/bin/true"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run throughput", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--seconds", type=float, default=3.0, help="measuring time of each tool in a round (3)")
    options = parser.parse_args()
    runs = max(10, round(options.seconds * hyperfine_rate(500)))
    measure = {"steady": lambda: steady_rate(options.seconds), "hyperfine": lambda: hyperfine_rate(runs)}
    rates: dict = {"steady": [], "hyperfine": []}
    for _ in range(options.rounds):
        for tool in Random().sample(sorted(measure), len(measure)):
            rates[tool].append(measure[tool]())
        print("  ".join(f"{tool} {rates[tool][-1]:.0f}/s" for tool in rates), flush=True)
    ratios = [ours / theirs for ours, theirs in zip(rates["steady"], rates["hyperfine"])]
    middle = {tool: median(values) for tool, values in rates.items()}
    print(f"medians: steady {middle['steady']:.0f} runs/s, hyperfine {middle['hyperfine']:.0f} runs/s; "
          f"ratio {median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f} over {len(ratios)} rounds)")


def steady_rate(seconds: float) -> float:
    """Returns runs per second of the time that `steady` reports. The resolution is too small for an early stop."""
    options = ["--layout", "turns", "--budget", f"{seconds:g}s", "--resolution", "0.0001%"]
    report, _ = steady_json(TRUE, TRUE, *options)
    return report["runs"] / report["elapsed_seconds"]


def hyperfine_rate(runs: int) -> float:
    """Returns runs per second of the whole process, because its export lacks the time between runs."""
    argv = [str(HYPERFINE), "-N", "--style", "none", "--runs", str(runs), *TRUE]
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return runs / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
