"""steady release on a Django route with requests of unequal cost: the reported total compared with the known one.

    bench/run release_mixed [--seconds S] [--windows 40,120] [--classes] [--quiet]
        Makes a recording and evaluates it, which takes some minutes.
    bench/run release_mixed --report
        Evaluates earlier recordings.

Every tenth response costs sixteen times as much. The new version makes those 28 % more expensive and the others 4 %
cheaper. Together, the requests need about 17 % more CPU time. Each request gets a random version, under gunicorn with
two workers. An open-loop client sends about 100 requests per second while neighbours come and go (--quiet: none). The
truth is measured directly, before and after the recording: a separate process calls both versions in random order. With
--classes the application names the class of each request before it runs.
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random, SystemRandom

import release
from common.paths import ROOT, TARGET
from common.verdicts import percent, table

RECORDINGS = TARGET / "bench-release-mixed"
EXPENSIVE_SHARE = 0.1
CALLS = 400


class Mixed(release.Recording):
    """Records the Django site, with its truth."""

    app = "mixed:app"
    rates = (90, 110)
    routes = ["mixed"]
    recordings = RECORDINGS

    def __init__(self, seconds: float, seed: int, with_classes: bool, is_quiet: bool):
        super().__init__("random", 0, seconds, Random(seed), seed)
        self.with_classes, self.is_quiet = with_classes, is_quiet
        self.truths: list = []

    def _record(self) -> None:
        self.truths.append(truth(self.python))
        if self.with_classes:
            os.environ["MIXED_CLASSES"] = "1"
        super()._record()
        self._end("server")
        self.truths.append(truth(self.python))
        about = json.loads((self.folder / "about.json").read_text())
        about.update(truths=self.truths, classes=self.with_classes)
        (self.folder / "about.json").write_text(json.dumps(about))

    def _neighbours(self, phase: str) -> None:
        super()._neighbours("idle" if self.is_quiet else phase)


def truth(python: Path) -> float:
    """Measures the change of the total CPU time directly."""
    argv = [str(python), str(release.HERE / "mixed.py"), str(CALLS)]
    done = subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=True, stdout=subprocess.PIPE, text=True)
    return change_of(json.loads(done.stdout))


def change_of(costs: dict) -> float:
    """Returns the change of the total CPU time if a tenth of the requests is expensive."""
    old, new = (EXPENSIVE_SHARE * costs[version]["expensive"] + (1 - EXPENSIVE_SHARE) * costs[version]["common"]
                for version in ("v1", "v2"))
    return new / old - 1


def compared(folder: Path, window: tuple) -> dict:
    """Runs `steady release compare` on a window. Returns its JSON and whether a gate at 1 % fails, or the error."""
    begin, end, old, new = window
    words = [release.STEADY, "release", "compare", old, new, "--service", "shop", "--store", folder / "store.db", "--from", begin,
             "--to", end, "--format", "json", "--fail-if", "slower>1%"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return {"error": done.stderr.strip()}
    return {"report": json.loads(done.stdout), "failed": done.returncode == 1}


def report(folders: list, lengths: list) -> str:
    """Returns a table of all windows of the recordings."""
    rows = []
    for folder in folders:
        about = json.loads((folder / "about.json").read_text())
        known = sum(about["truths"]) / len(about["truths"])
        for seconds in lengths:
            answers = [compared(folder, window) for window in release.windows(about, seconds)]
            for answer in answers:
                if "error" in answer:
                    print(f"{folder.name}: {answer['error']}", file=sys.stderr)
            rows += [row(about, known, seconds, answer) for answer in answers if "report" in answer]
    heads = ["classes", "seconds", "truth", "estimate", "interval", "verdict", "covers the truth", "--fail-if slower>1%"]
    return table(heads, rows)


def row(about: dict, known: float, seconds: int, answer: dict) -> list:
    """Returns one row of the table."""
    total = answer["report"]["total"]
    low, high = ((math.nan if total[bound] is None else total[bound]) for bound in ("low", "high"))
    change = math.nan if total["change"] is None else total["change"]
    return ["yes" if about["classes"] else "no", str(seconds), percent(known), percent(change), f"{percent(low)} to {percent(high)}",
            str(total["verdict"]), "yes" if low <= known <= high else "NO", "fails" if answer["failed"] else "passes"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release_mixed", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=260.0, help="seconds to record (260)")
    parser.add_argument("--windows", default="40,120", help="lengths of windows in seconds (40,120)")
    parser.add_argument("--classes", action="store_true", help="the application names the class of each request")
    parser.add_argument("--quiet", action="store_true", help="no neighbours")
    parser.add_argument("--seed", type=int, default=None, help="seed of load and neighbours")
    parser.add_argument("--report", action="store_true", help="evaluate earlier recordings")
    options = parser.parse_args()
    lengths = [int(seconds) for seconds in options.windows.split(",")]
    if not options.report:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda signum, frame: sys.exit(128 + signum))
        seed = options.seed if options.seed is not None else SystemRandom().getrandbits(32)
        recording = Mixed(options.seconds, seed, options.classes, options.quiet)
        recording.run()
        print(report([recording.folder], lengths))
        return
    print(report(sorted(path.parent for path in RECORDINGS.glob("*/about.json")), lengths))


if __name__ == "__main__":
    main()
