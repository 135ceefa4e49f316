"""Fleets of ten to a thousand hosts whose truth is known: what they resolve in five minutes, and how often that is wrong.

Each host plays a stretch of the recording in testdata/releases under a load of its own, which makes requests dearer as
hyper-threads were published to (testdata/published_load.tsv). Hosts of the same code differ in their level by what
processes do (2 to 3 %), and in what a change is by as much as two copies of the same code, recorded in the same process,
may differ: that is measured first, and printed. Rows are those of a store of scrapes: 15 seconds each, all processes of a
host together. What coins did in an interval is drawn as sums, which is held against fleets drawn request by request.

    bench/run fleet simulate [--trials N] [--only NAME]
"""

import argparse
import subprocess

from common.paths import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run fleet", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    simulate = commands.add_parser("simulate", help="judge simulated fleets")
    simulate.add_argument("--trials", type=int, default=200, help="of each line (200)")
    simulate.add_argument("--only", default="", help="designs whose name holds this")
    options = parser.parse_args()
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_fleet", "--",
            str(options.trials), options.only]
    subprocess.run(argv, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
