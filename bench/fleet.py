"""Fleets: the change that a number of hosts can resolve in five minutes with each design, and query times of stores.

The hosts are simulated, so the truth is known. Each host replays an excerpt of the recording in testdata/releases/one
under its own load. The load makes requests more expensive by the published factors for hyper-threads
(testdata/published_load.tsv). The cost level of hosts with the same code differs like that of processes, by 2 to 3 %.
Their changes differ like those of two copies of the same code in one process; that difference is measured first and
printed. The rows are like those of a store of scrapes: 15 seconds each, with all processes of a host together. Random
assignment is simulated by its sums over an interval, which is checked against fleets simulated request by request.

    bench/run fleet simulate [--trials N] [--only NAME]    evaluates simulated fleets
    bench/run fleet store [--hosts N ...] [--times N]      queries a real Prometheus and a real VictoriaMetrics
"""

import argparse
import subprocess

from common.paths import ROOT
from fleets import store


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run fleet", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    simulate = commands.add_parser("simulate", help="evaluate simulated fleets")
    simulate.add_argument("--trials", type=int, default=200, help="trials per line (200)")
    simulate.add_argument("--only", default="", help="only designs whose name contains this")
    of_store = commands.add_parser("store", help="query real stores with many series")
    of_store.add_argument("--hosts", type=int, nargs="+", default=[17, 33, 67],
                          help="numbers of hosts; each host has 2,800 series (17 33 67)")
    of_store.add_argument("--times", type=int, default=5, help="comparisons per store (5)")
    options = parser.parse_args()
    if "hosts" in options:
        store.run(options.hosts, options.times)
        return
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_fleet", "--",
            str(options.trials), options.only]
    subprocess.run(argv, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
