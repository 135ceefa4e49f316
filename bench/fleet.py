"""Fleets: what so many hosts resolve in five minutes by each design, whose truth is known; and how long a store of them takes to answer.

Each simulated host plays a stretch of the recording in testdata/releases/one under a load of its own, which makes requests dearer as
hyper-threads were published to (testdata/published_load.tsv). Hosts of the same code differ in their level by what
processes do (2 to 3 %), and in what a change is by as much as two copies of the same code, recorded in the same process,
may differ: that is measured first, and printed. Rows are those of a store of scrapes: 15 seconds each, all processes of a
host together. What coins did in an interval is drawn as sums, which is held against fleets drawn request by request.

    bench/run fleet simulate [--trials N] [--only NAME]
    bench/run fleet store [--hosts N ...] [--times N]      a real Prometheus and a real VictoriaMetrics with made-up hosts
"""

import argparse
import subprocess

from common.paths import ROOT
from fleets import store


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run fleet", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    simulate = commands.add_parser("simulate", help="judge simulated fleets")
    simulate.add_argument("--trials", type=int, default=200, help="of each line (200)")
    simulate.add_argument("--only", default="", help="designs whose name holds this")
    of_store = commands.add_parser("store", help="ask real stores that hold many series")
    of_store.add_argument("--hosts", type=int, nargs="+", default=[17, 33, 67], help="2,800 series each (17 33 67)")
    of_store.add_argument("--times", type=int, default=5, help="comparisons of each (5)")
    options = parser.parse_args()
    if "hosts" in options:
        store.run(options.hosts, options.times)
        return
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_fleet", "--",
            str(options.trials), options.only]
    subprocess.run(argv, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
