"""Comparisons of equal commands (A = A): false verdicts in many short comparisons under random loads.

    bench/run null [--trials N]   measure; continues where it stopped (1,000 verdicts of 1 s: half an hour)
    bench/run null --report       print Markdown from the results
"""

from random import SystemRandom

from common.calibrate import Calibrations
from common.loads import LOADS, end_neighbours_on_signals
from common.results import Results
from common.session import session_options
from common.stats import Share, share
from common.trial import Cell, Session, one_line
from common.verdicts import by_cell, of_total, percent, table, tally, with_interval

WORKS = ("alu5", "cache15", "syscalls10")
BUDGET_SECONDS = 1.0


def main() -> None:
    options = session_options("null", __doc__, "trials", 1000)
    results = Results(options.results)
    if options.report:
        print(report(results.records))
    else:
        end_neighbours_on_signals()
        _measure(results, options.wanted)


def _measure(results: Results, trials: int) -> None:
    known = Calibrations()
    pairs = {work: known.of(work).pair(0.0) for work in WORKS}
    session = Session("null", results, ("steady",))
    random = SystemRandom()
    while len(results.records) < trials:
        work, load = random.choice(WORKS), random.choice(sorted(LOADS))
        # The tool chooses metric and layout: the rate of false verdicts must hold for every choice.
        cell = Cell(f"{work} 0 % {load}", work, 0.0, load, budget=BUDGET_SECONDS, metric="auto")
        record = session.run(cell, pairs[work])
        print(f"{len(results.records)}/{trials} {one_line(record, session.under_test)}", flush=True)


def report(records: list) -> str:
    """Reports false verdicts and coverage of 0, by load and in total."""
    if not records:
        return "No trials yet."
    loads = {load: [record for record in records if record["load"] == load] for load in LOADS}
    rows = [_row(load, trials) for load, trials in loads.items() if trials]
    rows += [_row(f"metric {metric}", trials) for metric, trials in _by_metric(records).items()]
    pooled = tally(records, "steady")
    lines = [f"False verdicts: {with_interval(pooled.wrong)}.",
             f"The interval of the change covers 0 in {with_interval(pooled.covered)}; "
             f"the verdict's interval covers it in {with_interval(pooled.verdict_covered)}. Failed: {pooled.failures}.",
             f"Estimates below 0 (expected: half): {with_interval(_below_zero(records))}."]
    heads = ["load", "verdicts", "false", "covers 0", "verdict's", "half-width", "seconds"]
    return "\n\n".join([table(heads, [*rows, _row("**all**", records)]), *lines])


def _below_zero(records: list) -> Share:
    """Counts estimates that favour the second command. For equal commands, only random assignment may decide that."""
    changes = [record["steady"].get("change") for record in records]
    return share(change < 0 for change in changes if change)


def _by_metric(records: list) -> dict:
    return by_cell({**record, "cell": record["steady"].get("metric", "failed")} for record in records)


def _row(name: str, trials: list) -> list:
    ours = tally(trials, "steady")
    return [name, str(len(trials)), of_total(ours.wrong), of_total(ours.covered), of_total(ours.verdict_covered),
            percent(ours.half_width, 2), f"{ours.seconds:.1f}"]


if __name__ == "__main__":
    main()
