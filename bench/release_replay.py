"""Requests of one version that were recorded under load, labelled anew again and again: false verdicts, coverage, power of each design.

The recording is in testdata/releases: two workers on two CPUs, neighbours that come and go. In every window labels are drawn anew
by the design's own coins (or by the process, or by the middle of the window), and NEW's CPU time is multiplied by the true
change. Had the labels been drawn so, the same requests would have been measured. Then simulated services whose truth is known, looks
that keep the error, what one request costs to fold, and how long rows take to judge.

    bench/run release_replay [--windows N] [--only NAME]
"""

import argparse
import subprocess

from common.paths import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release_replay", description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=400, help="of each line (400)")
    parser.add_argument("--only", default="", help="designs whose name holds this")
    options = parser.parse_args()
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_replay", "--",
            str(options.windows), options.only]
    subprocess.run(argv, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
