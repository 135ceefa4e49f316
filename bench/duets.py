"""Which part of a difference duets show, compared with turns under the same load.

Runs in a duet contend for caches, memory and locks, and the longer one has its last part for itself. A duet therefore
shows a smaller or larger difference than turns. `steady compare` assumes at least 0.85 times the difference, or the cost
of a run in turns divided by that in a duet if this is smaller, and at most the reciprocal. The table has the measured
part and the assumed ones.

    bench/run duets [--rounds N]   measure; continues where it stopped (one round: 10 minutes)
    bench/run duets --report       print Markdown from the results
"""

import math
from random import SystemRandom
from statistics import fmean

from common import tools
from common.calibrate import Calibrations
from common.loads import background_load, end_neighbours_on_signals
from common.results import Results
from common.session import session_options
from common.verdicts import table

WORKS = ("alu5", "alu30", "syscalls10", "gzip30", "python22", "cache15")
LOADS = ("idle", "spinners", "stream")
EFFECTS = (0.02, 0.05, 0.2)
BUDGET_SECONDS = 5.0
LAYOUTS = ("turns", "duet")
ASSUMED = 0.85


def main() -> None:
    options = session_options("duets", __doc__, "rounds", 2)
    results = Results(options.results)
    if options.report:
        print(report(results.records))
        return
    end_neighbours_on_signals()
    known = Calibrations()
    pairs = {(work, effect): known.of(work).pair(effect) for work in WORKS for effect in EFFECTS}
    random = SystemRandom()
    cells = [(work, effect, load) for work, effect in pairs for load in LOADS]
    for number in range(options.wanted):
        done = {(one["work"], one["effect"], one["load"]) for one in results.records if one["round"] == number}
        for work, effect, load in random.sample(cells, len(cells)):
            if (work, effect, load) not in done:
                measured = _measure(pairs[work, effect], load, random)
                results.add({"round": number, "work": work, "effect": effect, "load": load, **measured})
                print(f"{number} {work} {effect} {load}: {measured}", flush=True)


def _measure(pair, load: str, random: SystemRandom) -> dict:
    """Compares the pair in each layout, in random order, under one load."""
    found = {}
    with background_load(load, random, 2 * BUDGET_SECONDS):
        for layout in random.sample(LAYOUTS, len(LAYOUTS)):
            options = ("--layout", layout, "--budget", f"{BUDGET_SECONDS:g}s", "--resolution", "0.01%", "--metric", "cpu")
            json, _ = tools.steady_json(pair.old, pair.new, *options)
            verdict = next(one for one in json["verdicts"] if one["primary"])
            found[layout] = {"change": verdict["change"], "low": verdict["verdict_low"], "high": verdict["verdict_high"],
                             "cost": json["commands"][0]["cpu_seconds"]}
    return found


def report(records: list) -> str:
    """Returns a table with a row for each work and load: all effects and rounds together."""
    rows = []
    for work in WORKS:
        for load in LOADS:
            cell = [one for one in records if (one["work"], one["load"]) == (work, load)]
            if cell:
                rows.append(_row(work, load, cell))
    heads = ["work", "load", "comparisons", "cost in duets / in turns", "part shown", "± standard error", "assumed"]
    return table(heads, rows)


def _row(work: str, load: str, cell: list) -> list:
    contention = math.exp(fmean(math.log(one["duet"]["cost"] / one["turns"]["cost"]) for one in cell))
    part, error = _part(cell)
    assumed = min(ASSUMED, 1 / contention)
    return [work, load, str(len(cell)), f"{contention:.2f}", f"{part:.2f}", f"{error:.2f}", f"{assumed:.2f} to {1 / assumed:.2f}"]


def _part(cell: list) -> tuple:
    """Returns the part that duets show: the slope of the changes in duets over those in turns, through zero."""
    def logs(layout: str) -> list:
        return [math.log1p(one[layout]["change"]) for one in cell]

    def widths(layout: str) -> list:
        return [(math.log1p(one[layout]["high"]) - math.log1p(one[layout]["low"])) / 4 for one in cell]

    turns, duets = logs("turns"), logs("duet")
    weights = [1 / (own**2 + other**2) for own, other in zip(widths("duet"), widths("turns"))]
    squares = sum(weight * one**2 for weight, one in zip(weights, turns))
    part = sum(weight * one * other for weight, one, other in zip(weights, turns, duets)) / squares
    return part, 1 / math.sqrt(squares)


if __name__ == "__main__":
    main()
