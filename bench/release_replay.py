"""Recorded requests of one version, relabelled at random: false verdicts, coverage and power of each design.

The recordings are from `bench/run release record` with --extra 0. Without such recordings, the excerpts of two
recordings in testdata/releases are used: workers on two CPUs, neighbours that come and go, servers that restart.

In every window, the labels are drawn again as the design draws them, or they follow the process, the middle of the
window, the restart or the change of neighbours. NEW's CPU time is multiplied by the true change. The original labels
had no effect, so the same requests would have been measured with the new ones. For comparison, Welch's test is applied
to the means of the same windows.

Results for simulated services with a known truth follow, then the cost of adding a request and the time to evaluate
rows.

    bench/run release_replay [--windows N] [--only NAME] [--recording FOLDER]...
"""

import argparse
import json
import subprocess
from pathlib import Path

from common.compact import compact
from common.paths import ROOT, TARGET

RECORDINGS = TARGET / "bench-release"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release_replay", description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=400, help="windows per line (400)")
    parser.add_argument("--only", default="", help="only designs whose name contains this")
    parser.add_argument("--recording", type=Path, action="append", help="a recording; may be repeated (all recordings of equal code)")
    options = parser.parse_args()
    folders = [small(folder.resolve()) for folder in options.recording or of_equal_code()]
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_replay", "--",
            str(options.windows), options.only, *map(str, folders)]
    subprocess.run(argv, cwd=ROOT, check=True)


def of_equal_code() -> list:
    """Returns the folders of all finished recordings whose versions run the same code."""
    abouts = sorted(RECORDINGS.glob("*/about.json"))
    return [about.parent for about in abouts if json.loads(about.read_text())["extra"] == 0]


def small(folder: Path) -> Path:
    """Returns the folder with a recording's small files, which are created if necessary."""
    if (folder / "requests.tsv.gz").exists():
        return folder
    if not (folder / "compact" / "requests.tsv.gz").exists():
        compact(folder, folder / "compact")
    return folder / "compact"


if __name__ == "__main__":
    main()
