"""Switchback on identical code: false verdicts on a real server, as recorded and with slots that are drawn again.

    bench/run release_switchback [--minutes M] [--windows K] [--recording FOLDER]...

The recording is made as by `bench/run release record --design switchback --extra 0`: Flask under gunicorn, a client
with a changing rate and mix of pages, neighbours that come and go. Two results are printed:

- Redrawn: in K windows, the slots are drawn again offline as the middleware draws them (`release_replay`), for slots of
  1 and 2 s.
- As recorded: the results of `steady release compare` on the recorded windows. They include effects that last from one
  slot to the next.
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
    parser.add_argument("--minutes", type=float, default=15.0, help="minutes to record (15)")
    parser.add_argument("--windows", type=int, default=400, help="number of windows to redraw (400)")
    parser.add_argument("--recording", type=Path, action="append", help="use this recording instead of a new one; may be repeated")
    options = parser.parse_args()
    folders = options.recording
    if not folders:
        seed = SystemRandom().getrandbits(32)
        recording = release.Recording("switchback", 0, options.minutes * 60, Random(seed), seed)
        recording.run()
        folders = [recording.folder]
    print("Redrawn:", flush=True)
    small = [release_replay.small(folder.resolve()) for folder in folders]
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-release", "--example", "release_replay", "--",
            str(options.windows), "switchback", *map(str, small)]
    subprocess.run(argv, cwd=ROOT, check=True)
    print("\nAs recorded:")
    for seconds in LENGTHS:
        print(as_recorded(folders, seconds))


def as_recorded(folders: list, seconds: int) -> str:
    """Counts the windows of this length that are called different. They do not overlap."""
    wrong = []
    for folder in folders:
        about = json.loads((folder / "about.json").read_text())
        for window in release.windows(about, seconds):
            answer = release.compared(folder, window)
            if "error" in answer:
                print(f"{folder.name}: {answer['error']}", file=sys.stderr)
            elif not answer["refused"]:
                wrong.append(is_wrong(answer["verdict"], 0.0, release.RESOLUTION))
    return f"{seconds} s: {sum(wrong)} of {len(wrong)} windows ({with_interval(share(wrong)) if wrong else 'none'})"


if __name__ == "__main__":
    main()
