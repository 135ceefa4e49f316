"""Recordings of A against A under load, judged again and again with the labels drawn anew: false verdicts.

Each recording is one comparison that ran to the end of its budget. In every replay a coin per pair decides which run is
called the first command's, and all the looks that were made are made again. Had the labels been drawn so, the very same
runs would have been measured; so the share of verdicts that see a difference tells whether tests, spending and looks
keep their promise on the noise of this machine.

    bench/run replay [--replays N] [--budget SECONDS]
"""

import argparse
import json
import subprocess
from random import Random, SystemRandom

from common.calibrate import Calibrations
from common.cells import TRUTH
from common.loads import beside, end_neighbours_on_signals
from common.paths import STEADY
from common.stats import share
from common.tools import steady_json
from common.verdicts import of_total, table, with_interval

# So fine that no verdict ends the recording.
NEVER = "0.0001%"
RESOLUTION = 0.005


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run replay", description=__doc__.splitlines()[0])
    parser.add_argument("--replays", type=int, default=400, help="of each recording (400)")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of each recording (10)")
    options = parser.parse_args()
    end_neighbours_on_signals()
    rows, every = [], []
    for cell in (cell for cell in TRUTH if cell.effect == 0):
        recording = record(cell, options.budget)
        wrong = [judged(relabelled(recording, Random(SystemRandom().getrandbits(64)))) for _ in range(options.replays)]
        rows.append([cell.name, str(recording["pairs"]), of_total(share(wrong))])
        every += wrong
        print(rows[-1], flush=True)
    print(table(["cell", "pairs", "false verdicts"], rows))
    print(f"\nFalse verdicts: {with_interval(share(every))}.")


def record(cell, budget: float) -> dict:
    """The JSON of one comparison of a command with itself, with its samples."""
    pair = Calibrations().of(cell.work).pair(0.0)
    with beside(cell.load, Random(SystemRandom().getrandbits(64)), budget):
        recording, _ = steady_json(pair.old, pair.new, "--samples", "--metric", "cpu", "--resolution", NEVER,
                                   "--budget", f"{budget:g}s")
    recording["plan"]["resolution_ratio"] = RESOLUTION
    return recording


def relabelled(recording: dict, coin: Random) -> dict:
    """The same runs, in each block the one command's called the other's or not."""
    def block(old: dict) -> dict:
        swap = coin.getrandbits(1)
        return {**old, "runs": [{**run, "command": run["command"] ^ swap} for run in old["runs"]]}
    samples = recording["samples"]
    return {**recording, "samples": {**samples, "blocks": [block(old) for old in samples["blocks"]]}}


def judged(recording: dict) -> bool:
    """Whether the verdict sees a difference. An interval that has left zero out keeps it out at later looks, so a
    comparison that stopped at one of them would have been wrong no more often."""
    argv = [str(STEADY), "judge", "--format", "json", "--quiet", "-"]
    done = subprocess.run(argv, input=json.dumps(recording), stdout=subprocess.PIPE, text=True, check=True)
    primary = next(verdict for verdict in json.loads(done.stdout)["verdicts"] if verdict["primary"])
    return primary["verdict"] in ("faster", "slower")


if __name__ == "__main__":
    main()
