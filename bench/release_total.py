"""Requests of unequal cost that NEW changes unequally: whether the report finds the sign of the total and covers it.

The costs of recorded requests are multiplied (a tenth by 16, one in a hundred by 50, log-normal and Pareto factors).
Versions are drawn again for each request, and NEW changes the expensive requests differently from the others. The truth
is known exactly. Each line evaluates the report on the total and, for comparison, on the typical request.

    bench/run release_total [--windows N] [--only NAME]
"""

import argparse
import subprocess

from common.paths import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release_total", description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=1000, help="windows per line (1000)")
    parser.add_argument("--only", default="", help="only mixtures whose name contains this")
    options = parser.parse_args()
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_total", "--",
            str(options.windows), options.only]
    subprocess.run(argv, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
