"""Truth table: effects of known size under real load, compared with hyperfine.

    bench/run truth [--trials N] [--cell NAME]...   measure; continues where it stopped
    bench/run truth --reference BINARY [...]        compare with another build of `steady` instead of hyperfine
    bench/run truth --reach [...]                   measure the named targets: only `steady`, within their budgets
    bench/run truth [--reach] --list                list the cells and the number of trials of each
    bench/run truth [--reach] --report              print Markdown from the results
"""

import argparse
import sys
from pathlib import Path
from random import Random
from typing import Optional

from common import truth_report
from common.calibrate import Calibrations, Pair
from common.cells import REACH, TRUTH
from common.loads import end_neighbours_on_signals
from common.paths import RESULTS
from common.results import Results
from common.trial import Session, one_line


def main() -> None:
    options = _options()
    kind = "reach" if options.reach else "builds" if options.reference else "truth"
    cells = _chosen(list(REACH) if options.reach else TRUTH, options.cell)
    results = Results(options.results)
    if options.list:
        for cell in cells:
            print(f"{len(results.of(kind=kind, cell=cell.name)):4} trials  {cell.name}")
    elif options.report:
        print((truth_report.reach if options.reach else truth_report.truth)(results.of(kind=kind)))
    else:
        end_neighbours_on_signals()
        _measure(kind, cells, results, options.trials or (10 if options.reach else 40), options.reference)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run truth", description=__doc__.splitlines()[0])
    parser.add_argument("--reach", action="store_true", help="use the named targets instead of the table")
    parser.add_argument("--trials", type=int, help="trials per cell, including those already in the results (40; targets: 10)")
    parser.add_argument("--cell", action="append", help="only this cell (may be repeated)")
    parser.add_argument("--reference", type=Path, metavar="BINARY", help="another build, to compare with instead of hyperfine")
    parser.add_argument("--list", action="store_true", help="list the cells")
    parser.add_argument("--report", action="store_true", help="print Markdown from the results")
    parser.add_argument("--results", type=Path, default=RESULTS / "truth.jsonl")
    return parser.parse_args()


def _chosen(cells: list, names) -> list:
    known = {cell.name: cell for cell in cells}
    for name in names or ():
        if name not in known:
            sys.exit(f"no such cell: '{name}'; --list names them")
    return [known[name] for name in names] if names else cells


def _pair(known: Calibrations, cell) -> Pair:
    if cell.modes:
        return known.of(cell.work).two_modes(cell.effect, *cell.modes)
    return known.pair(cell.work, cell.effect, cell.load)


def _measure(kind: str, cells: list, results: Results, trials: int, reference: Optional[Path]) -> None:
    """Runs the missing trials.

    Each round has all cells in random order, so an interrupted session has equal numbers.
    """
    known = Calibrations()
    pairs = {cell: _pair(known, cell) for cell in cells}
    under_test = {"reach": ("steady",), "builds": ("steady", "reference"), "truth": ("steady", "hyperfine")}[kind]
    session = Session(kind, results, under_test, reference)
    random = Random()
    for trial in range(trials):
        for cell in random.sample(cells, len(cells)):
            if len(results.of(kind=kind, cell=cell.name)) > trial:
                continue
            record = session.run(cell, pairs[cell])
            print(f"{trial + 1}/{trials} {one_line(record, under_test)}", flush=True)


if __name__ == "__main__":
    main()
