"""Comparisons of equal commands under load, evaluated repeatedly with random labels: false verdicts.

Each recording is one comparison that used its whole budget. Every replay swaps the labels of each pair at random and
repeats all looks. The commands are equal, so the same runs would have been measured with these labels. Therefore the
share of verdicts that find a difference is the error rate on the noise of this machine, with tests, error spending and
looks.

    bench/run replay [--replays N] [--budget SECONDS]
"""

import argparse
import json
import subprocess
from random import Random, SystemRandom

from common.calibrate import Calibrations
from common.cells import TRUTH
from common.loads import background_load, end_neighbours_on_signals
from common.paths import STEADY
from common.stats import share
from common.tools import steady_json
from common.verdicts import of_total, table, with_interval

# A resolution so small that no verdict ends the recording early.
NEVER = "0.0001%"
RESOLUTION = 0.005


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run replay", description=__doc__.splitlines()[0])
    parser.add_argument("--replays", type=int, default=400, help="replays of each recording (400)")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of each recording (10)")
    options = parser.parse_args()
    end_neighbours_on_signals()
    rows, every = [], []
    for cell in (cell for cell in TRUTH if cell.effect == 0):
        recording = record(cell, options.budget)
        wrong = [finds_difference(relabelled(recording, Random(SystemRandom().getrandbits(64)))) for _ in range(options.replays)]
        rows.append([cell.name, str(recording["pairs"]), of_total(share(wrong))])
        every += wrong
        print(rows[-1], flush=True)
    print(table(["cell", "pairs", "false verdicts"], rows))
    print(f"\nFalse verdicts: {with_interval(share(every))}.")


def record(cell, budget: float) -> dict:
    """Compares a command with itself and returns the JSON with its samples."""
    pair = Calibrations().of(cell.work).pair(0.0)
    with background_load(cell.load, Random(SystemRandom().getrandbits(64)), budget):
        recording, _ = steady_json(pair.old, pair.new, "--samples", "--metric", "cpu", "--resolution", NEVER,
                                   "--budget", f"{budget:g}s")
    recording["plan"]["resolution_ratio"] = RESOLUTION
    return recording


def relabelled(recording: dict, coin: Random) -> dict:
    """Returns the recording with the labels of each block swapped or not, at random."""
    def block(old: dict) -> dict:
        swap = coin.getrandbits(1)
        return {**old, "runs": [{**run, "command": run["command"] ^ swap} for run in old["runs"]]}
    samples = recording["samples"]
    return {**recording, "samples": {**samples, "blocks": [block(old) for old in samples["blocks"]]}}


def finds_difference(recording: dict) -> bool:
    """Returns whether the verdict finds a difference.

    If an interval excludes zero at a look, it also does at later looks. Therefore a comparison that stops early is not
    wrong more often.
    """
    argv = [str(STEADY), "judge", "--format", "json", "--quiet", "-"]
    done = subprocess.run(argv, input=json.dumps(recording), stdout=subprocess.PIPE, text=True, check=True)
    primary = next(verdict for verdict in json.loads(done.stdout)["verdicts"] if verdict["primary"])
    return primary["verdict"] in ("faster", "slower")


if __name__ == "__main__":
    main()
