"""Switchback on identical code: a real server is recorded, and its slots are drawn again and again: how many windows are called different.

    bench/run release_switchback [--minutes M] [--windows K] [--recording FOLDER]...

The recording is that of `bench/run release record --design switchback --extra 0`: Flask under gunicorn, a client whose rate and mix
of pages move, neighbours that come and go. Two things are printed of it. Drawn again: in K windows the pairs of slots are drawn
anew offline, as the middleware draws them (`release_replay`), for slots of 1 and 2 s. As drawn: what `steady release compare`
says of the windows as they were recorded, which has what carries over from one slot to the next.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from random import Random, SystemRandom

import release
import release_replay
from common.paths import ROOT
from common.stats import share
from common.verdicts import is_wrong, with_interval

LENGTHS = (120, 300, 600)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release_switchback", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15.0, help="how long is recorded (15)")
    parser.add_argument("--windows", type=int, default=400, help="windows that are drawn again (400)")
    parser.add_argument("--recording", type=Path, action="append", help="judge these instead of a new one")
    options = parser.parse_args()
    folders = options.recording
    if not folders:
        seed = SystemRandom().getrandbits(32)
        recording = release.Recording("switchback", 0, options.minutes * 60, Random(seed), seed)
        recording.run()
        folders = [recording.folder]
    print("Drawn again:", flush=True)
    small = [release_replay.small(folder.resolve()) for folder in folders]
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_replay", "--",
            str(options.windows), "switchback", *map(str, small)]
    subprocess.run(argv, cwd=ROOT, check=True)
    print("\nAs drawn:")
    for seconds in LENGTHS:
        print(as_drawn(folders, seconds))


def as_drawn(folders: list, seconds: int) -> str:
    """How many windows of this length are called different; no two overlap."""
    wrong = []
    for folder in folders:
        about = json.loads((folder / "about.json").read_text())
        for window in release.windows(about, seconds):
            answer = release.asked(folder, window)
            if "error" in answer:
                print(f"{folder.name}: {answer['error']}", file=sys.stderr)
            elif not answer["refused"]:
                wrong.append(is_wrong(answer["verdict"], 0.0, release.RESOLUTION))
    return f"{seconds} s: {sum(wrong)} of {len(wrong)} windows ({with_interval(share(wrong)) if wrong else 'none'})"


if __name__ == "__main__":
    main()
