"""Gates: how often `--fail-if 'slower>2%'` fails, for equal commands and for a change of 5 %, under changing load.

    bench/run gates [--trials N]             measure; continues where it stopped (100 gates at A = A, a fifth at +5 %)
    bench/run gates --budgets [--trials N]   measure the time to a verdict on A = A, by resolution and work (15 each)
    bench/run gates [--budgets] --report     print Markdown from the results
"""

import argparse
import math
from pathlib import Path
from random import SystemRandom

from common.calibrate import Calibrations
from common.loads import end_neighbours_on_signals
from common.paths import RESULTS
from common.results import Results
from common.stats import Share, median_or_nan, share
from common.trial import Cell, Session, one_line
from common.verdicts import check, of_total, table, with_interval

# Loads that change while a gate measures.
MOVING = ("spinners", "quick-spinners", "stream-bursts", "step")
CONDITION = "slower>2%"
EFFECT = 0.05

GATE_WORKS = ("alu30", "cache15", "python22")
# The defaults of `steady`.
GATE_BUDGET_SECONDS = 10.0
GATE_RESOLUTION = 0.01

BUDGET_WORKS = ("alu5", "alu30", "cache15")
RESOLUTIONS = (0.005, 0.01, 0.02, 0.05)
# The longest time that a gate may take.
LONGEST_SECONDS = 120.0


def main() -> None:
    options = _options()
    kind = "budgets" if options.budgets else "gates"
    results = Results(options.results)
    if options.report:
        records = results.of(kind=kind)
        print(budgets_report(records) if options.budgets else gates_report(records))
        return
    end_neighbours_on_signals()
    wanted = budget_cells(options.trials or 15) if options.budgets else gate_cells(options.trials or 100)
    _measure(kind, results, wanted)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run gates", description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", action="store_true", help="measure the time to a verdict instead of gates")
    parser.add_argument("--trials", type=int, help="number of gates at A = A (100), or of verdicts per resolution and work (15)")
    parser.add_argument("--report", action="store_true", help="print Markdown from the results")
    parser.add_argument("--results", type=Path, default=RESULTS / "gates.jsonl")
    return parser.parse_args()


def gate_cells(trials: int) -> dict:
    """Returns the kinds of gates by effect, and the number of each. Workload and load are drawn for each trial."""
    kinds = {0.0: trials, EFFECT: math.ceil(trials / 5)}
    return {Cell(f"gate {effect:.0%}", "", effect, "", GATE_BUDGET_SECONDS, GATE_RESOLUTION, "auto", CONDITION): count
            for effect, count in kinds.items()}


def budget_cells(trials: int) -> dict:
    """Returns cells for A = A at each resolution on each workload, with a budget longer than in normal use."""
    return {Cell(f"{work} to {resolution:.1%}", work, 0.0, "", LONGEST_SECONDS, resolution, "auto"): trials
            for work in BUDGET_WORKS for resolution in RESOLUTIONS}


def _measure(kind: str, results: Results, wanted: dict) -> None:
    """Runs the missing trials in random order, so an interrupted session has similar numbers of all cells."""
    known, random = Calibrations(), SystemRandom()
    session = Session(kind, results, ("steady",))
    while left := [cell for cell, count in wanted.items() for _ in range(count - len(_on_file(results, kind, cell)))]:
        kind_of = random.choice(left)
        work = kind_of.work or random.choice(GATE_WORKS)
        cell = Cell(**{**vars(kind_of), "work": work, "load": random.choice(MOVING)})
        record = session.run(cell, known.of(work).pair(cell.effect))
        print(f"{len(left) - 1} left: {work} {cell.load}: {one_line(record, session.under_test)}", flush=True)


def _on_file(results: Results, kind: str, cell: Cell) -> list:
    return results.of(kind=kind, cell=cell.name)


# -- Reports


def gates_report(records: list) -> str:
    """Reports how many gates failed, by effect, and their verdicts."""
    if not records:
        return "No gates yet."
    equal = [record for record in records if record["effect"] == 0]
    changed = [record for record in records if record["effect"] > 0]
    rows = [_gate_row("A = A", equal), _gate_row(f"+{EFFECT:.0%}", changed)]
    heads = ["truth", "gates", "failed", "same", "faster", "slower", "undecided", "error", "seconds", "slowest"]
    false, found = _failed(equal), _failed(changed)
    checks = [_check(f"of 100 gates at A = A at most 1 fails ({of_total(false)})", 100, false,
                     false.count <= false.total // 100),
              _check(f"of 20 gates at +{EFFECT:.0%} at least 18 fail ({of_total(found)})", 20, found,
                     10 * found.count >= 9 * found.total)]
    lines = [f"Failed at A = A: {with_interval(false)}; at +{EFFECT:.0%}: {with_interval(found)}."]
    about = f"`steady compare --budget {GATE_BUDGET_SECONDS:.0f}s --fail-if '{CONDITION}'` under these loads: {', '.join(MOVING)}."
    return "\n\n".join([about, table(heads, rows), *lines, "\n".join(checks)])


def _check(claim: str, needed: int, gates: Share, reached: bool) -> str:
    """Formats a check. With too few gates, the claim is neither confirmed nor refuted."""
    return check(claim, reached) if gates.total >= needed else f"- {claim}: too few yet"


def _failed(records: list) -> Share:
    """Counts gates that ended with status 1. Errors are not verdicts and are reported separately."""
    return share(record["steady"]["status"] == 1 for record in records if "error" not in record["steady"])


def _gate_row(name: str, records: list) -> list:
    answers = [record["steady"] for record in records if "error" not in record["steady"]]
    verdicts = [answer["verdict"] for answer in answers]
    counts = [str(verdicts.count(verdict)) for verdict in ("same", "faster", "slower", "undecided")]
    errors = str(len(records) - len(answers))
    return [name, str(len(records)), of_total(_failed(records)), *counts, errors, *_seconds(answers)]


def _seconds(answers: list) -> list:
    seconds = [answer["process_seconds"] for answer in answers]
    return [f"{median_or_nan(seconds):.1f}", f"{max(seconds, default=math.nan):.1f}"]


def budgets_report(records: list) -> str:
    """Reports the median and the longest time to a verdict, by resolution and work."""
    if not records:
        return "No trials yet."
    rows = [[f"{resolution:.1%}", *(_time_to_verdict(records, work, resolution) for work in BUDGET_WORKS)]
            for resolution in RESOLUTIONS]
    about = (f"Seconds until a verdict on A = A under these loads: {', '.join(MOVING)}. Median, longest, and how many were "
             f"undecided after {LONGEST_SECONDS:.0f} s.")
    return "\n\n".join([about, table(["resolution", *BUDGET_WORKS], rows)])


def _time_to_verdict(records: list, work: str, resolution: float) -> str:
    here = [record for record in records if (record["work"], record["resolution"]) == (work, resolution)]
    answers = [record["steady"] for record in here if "error" not in record["steady"]]
    if not answers:
        return "-"
    middle, slowest = _seconds(answers)
    undecided = share(answer["verdict"] == "undecided" for answer in answers)
    return f"{middle} ({slowest}; {of_total(undecided)})"


if __name__ == "__main__":
    main()
