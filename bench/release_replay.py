"""Requests of one version that were recorded under load, labelled anew again and again: false verdicts, coverage, power of each design.

The recordings are those of `bench/run release record` with --extra 0, else the stretches of two in testdata/releases: workers on two
CPUs, neighbours that come and go, servers that are started anew. In every window labels are drawn anew by the design's own coins
(or by the process, the middle of the window, a restart, a change of neighbours), and NEW's CPU time is multiplied by the true
change. Had the labels been drawn so, the same requests would have been measured. Beside it stands what Welch's test on the means of
the same windows says. Then simulated services whose truth is known, what one request costs to fold, and how long rows take to judge.

    bench/run release_replay [--windows N] [--only NAME] [--recording FOLDER]...
"""

import argparse
import json
import subprocess
from pathlib import Path

from common.compact import compact
from common.paths import ROOT, TARGET

KEPT = TARGET / "bench-release"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release_replay", description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=400, help="of each line (400)")
    parser.add_argument("--only", default="", help="designs whose name holds this")
    parser.add_argument("--recording", type=Path, action="append", help="a recording (all of one code that were made)")
    options = parser.parse_args()
    folders = [small(folder.resolve()) for folder in options.recording or of_one_code()]
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_replay", "--",
            str(options.windows), options.only, *map(str, folders)]
    subprocess.run(argv, cwd=ROOT, check=True)


def of_one_code() -> list:
    """All recordings that are over."""
    abouts = sorted(KEPT.glob("*/about.json"))
    return [about.parent for about in abouts if json.loads(about.read_text())["extra"] == 0]


def small(folder: Path) -> Path:
    """The small files of a recording, which are made where they are not there."""
    if (folder / "requests.tsv.gz").exists():
        return folder
    if not (folder / "compact" / "requests.tsv.gz").exists():
        compact(folder, folder / "compact")
    return folder / "compact"


if __name__ == "__main__":
    main()
