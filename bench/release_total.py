"""Requests of unequal cost that NEW changes unequally: does the report have the sign of the total, and does its interval hold it?

The costs of recorded requests are multiplied (a tenth by 16, one in a hundred by 50, log-normal and Pareto factors), versions are
drawn again for each request, and NEW changes the expensive requests otherwise than the others. The truth is known exactly. Each
line is judged by what the report says of the total and, for comparison, of the usual request.

    bench/run release_total [--windows N] [--only NAME]
"""

import argparse
import subprocess

from common.paths import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release_total", description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=1000, help="of each line (1000)")
    parser.add_argument("--only", default="", help="mixtures whose name holds this")
    options = parser.parse_args()
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_total", "--",
            str(options.windows), options.only]
    subprocess.run(argv, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
