"""How far `steady load` exceeds a CPU budget, exact and polled, and its own cost.

Rows of 1 to 16 processes hash for a CPU budget. They are stopped once by an exact timer and once by a polling thread.
`steady` reports the excess of each process, the steal time during the run, and its own CPU time.

    bench/run load [--cpu-time SECONDS] [--poll SECONDS] [--rounds N]
    bench/run load --full          # both published experiments at full length
"""

import argparse
import json
import shlex
import subprocess
from statistics import median

from common.paths import STEADY
from common.verdicts import check

OWN_SHARE_TARGET = 0.005
PROCS = "1..4,8,16"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run load", description=__doc__.splitlines()[0])
    parser.add_argument("--cpu-time", type=float, default=1.0, help="CPU seconds of each process (1)")
    parser.add_argument("--poll", type=float, default=0.2, help="polling interval in seconds (0.2)")
    parser.add_argument("--rounds", type=int, default=3, help="repetitions of each experiment (3)")
    parser.add_argument("--full", action="store_true", help="both published experiments at full length instead")
    options = parser.parse_args()
    if options.full:
        run_published()
        return
    budget = ["--cpu-time", f"{options.cpu_time}s", "--procs", PROCS]
    exact = [run_experiment(*budget) for _ in range(options.rounds)]
    polled = [run_experiment(*budget, "--poll", f"{options.poll}s") for _ in range(options.rounds)]
    print_overshoot("exact", exact)
    print_overshoot(f"polled every {options.poll:g} s", polled)
    cost = median(report["poll_cost_ratio"] for report in polled)
    print(f"The polling thread uses {1e6 * cost:.1f} us of CPU time per second, by its own clock (median of {len(polled)}).\n")
    print_own_cost(exact + polled)


def run_published() -> None:
    """Runs the two experiments of the published tables and prints their command lines."""
    for words in (["--workload", "hash", "--cpu-time", "5s", "--poll", "1s", "--procs", "1..32"],
                  ["--workload", "sum", "--work", "100000001", "--procs", "1,2,4,8,16"]):
        argv = [str(STEADY), "load", "--no-history", *words]
        print(f"$ {shlex.join(['steady', *argv[1:]])}", flush=True)
        subprocess.run(argv, stdin=subprocess.DEVNULL, check=True)
        print()


def run_experiment(*words: str) -> dict:
    """Runs one experiment and returns its JSON, including all runs."""
    argv = [str(STEADY), "load", "--no-history", "--quiet", "--samples", "--format", "json", *words]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def print_overshoot(name: str, reports: list) -> None:
    """Prints the overshoot by number of processes, over all processes of all rounds."""
    print(f"Overshoot, {name}")
    print(f"{'processes':>9} {'median ms':>10} {'max ms':>9} {'steal':>7} {'own CPU':>8}")
    for procs in sorted({row["procs"] for report in reports for row in report["rows"]}):
        rows = [row for report in reports for row in report["rows"] if row["procs"] == procs]
        over = [run["overshoot_seconds"] for row in rows for run in row["runs"]]
        steal = mean_ratio([row["activity"]["steal_ratio"] for row in rows])
        print(f"{procs:>9} {1e3 * median(over):>10.4f} {1e3 * max(over):>9.3f} {steal:>7} {100 * own_share(rows):>6.3f} %")
    print()


def print_own_cost(reports: list) -> None:
    """Prints steady's own CPU time relative to that of its processes."""
    rows = [row for report in reports for row in report["rows"]]
    worst = max(rows, key=lambda row: own_share([row]))
    total, most = own_share(rows), own_share([worst])
    processes = "1 process" if worst["procs"] == 1 else f"{worst['procs']} processes"
    print(f"steady itself, rulers and supervision included: {100 * total:.3f} % of its processes' CPU time in total; "
          f"{100 * most:.3f} % in the worst of {len(rows)} rows ({processes})")
    print(check(f"at most {100 * OWN_SHARE_TARGET:g} % in total", total <= OWN_SHARE_TARGET))
    print(check(f"at most {100 * OWN_SHARE_TARGET:g} % in every row", most <= OWN_SHARE_TARGET))


def own_share(rows: list) -> float:
    used = sum(row["procs"] * row["cpu_seconds"] for row in rows)
    return sum(row["own_cpu_seconds"] for row in rows) / used


def mean_ratio(ratios: list) -> str:
    """Formats the mean of the known values."""
    there = [ratio for ratio in ratios if ratio is not None]
    return f"{100 * sum(there) / len(there):.2f} %" if there else "not available"


if __name__ == "__main__":
    main()
