"""The truth table and the named targets as Markdown."""

from math import exp, log

from common.cells import REACH
from common.stats import Share
from common.verdicts import SIGNS, Tally, by_cell, check, of_total, percent, table, tally, with_interval

# The tools that `steady` is compared with, by their short names in the table.
OTHERS = {"reference": "ref", "hyperfine": "hf"}

# The promised rates, and the error rate of the checks of single cells (Bonferroni over cells).
ERROR_RATE = 0.05
COVERAGE = 0.95
POOLED_COVERAGE = 0.94
CELLWISE_ALPHA = 0.01


def truth(records: list) -> str:
    """Returns the table, the pooled rates and the checks of the promised rates."""
    if not records:
        return "No trials yet."
    other = next(tool for tool in OTHERS if all(tool in record for record in records))
    tools = ("steady", other)
    cells = {name: [tally(trials, tool) for tool in tools] for name, trials in by_cell(records).items()}
    pooled = [tally(records, tool) for tool in tools]
    rows = [_row(name, len(by_cell(records)[name]), tallies) for name, tallies in cells.items()]
    rows.append(_row("**all**", len(records), pooled))
    short = OTHERS[other]
    heads = ["cell", "trials", "wrong", short, "found", short, "covered", "verdict's", short, "half-width", short,
             "seconds", short]
    parts = [table(heads, rows), *map(_pooled, tools, pooled), _checks(pooled[0], cells), _footnote(records, other)]
    if other == "reference":
        parts.append(_speed(records))
    return "\n\n".join(parts)


def _speed(records: list) -> str:
    """How long the verdicts of `steady` take, relative to those of the reference under the same kind of load. Trials in
    which both used their whole budget show only that both were undecided, so they are left out."""
    ratios: dict = {}
    for record in records:
        ours, theirs = (record[tool].get("process_seconds") for tool in ("steady", "reference"))
        if ours and theirs and min(ours, theirs) < 0.95 * record["budget"]:
            ratios.setdefault(record["cell"], []).append(ours / theirs)
    long = [name for name, trials in by_cell(records).items()
            if tally(trials, "reference").seconds > trials[0]["budget"] / 2]
    of = lambda names: [ratio for name in names for ratio in ratios.get(name, ())]
    mean = lambda values: f"{exp(sum(map(log, values)) / len(values)):.2f} ({len(values)} trials)" if values else "-"
    return (f"Time to the verdict relative to ref, geometric mean: {mean(of(ratios))}; in the cells in which ref needs more "
            f"than half the budget: {mean(of(long))}.")


def _row(name: str, trials: int, tallies: list) -> list:
    ours, theirs = tallies
    return [name, str(trials), of_total(ours.wrong), of_total(theirs.wrong), of_total(ours.found),
            of_total(theirs.found), of_total(ours.covered), of_total(ours.verdict_covered), of_total(theirs.covered),
            percent(ours.half_width, 2), percent(theirs.half_width, 2), f"{ours.seconds:.1f}", f"{theirs.seconds:.1f}"]


def _pooled(tool: str, pooled: Tally) -> str:
    parts = [f"wrong {with_interval(pooled.wrong)}", f"found {with_interval(pooled.found)}",
             f"interval covers the truth in {with_interval(pooled.covered)}"]
    if tool != "hyperfine":
        parts.append(f"the verdict's interval covers it in {with_interval(pooled.verdict_covered)}")
    if pooled.failures:
        parts.append(f"failed {pooled.failures} times")
    return f"{tool}, pooled: {'; '.join(parts)}."


def _checks(pooled: Tally, cells: dict) -> str:
    ours = [tallies[0] for tallies in cells.values()]
    alpha = CELLWISE_ALPHA / len(ours)
    wrong = f"wrong at most 5 % pooled ({percent(pooled.wrong.rate())})"
    wrong_cells = "wrong in no cell significantly more than 5 % (Bonferroni at 1 %)"
    covered = f"coverage at least 94 % pooled ({percent(pooled.covered.rate())})"
    covered_cells = "coverage in no cell significantly less than 95 % (Bonferroni at 1 %)"
    return "\n".join([
        check(wrong, pooled.wrong.rate() <= ERROR_RATE),
        check(wrong_cells, all(cell.wrong.chance_of_at_least(ERROR_RATE) >= alpha for cell in ours)),
        check(covered, pooled.covered.rate() >= POOLED_COVERAGE),
        check(covered_cells, all(cell.covered.chance_of_at_most(COVERAGE) >= alpha for cell in ours)),
    ])


def _footnote(records: list, other: str) -> str:
    error = max(record["truth_error"] for record in records)
    drift = max(abs(record["truth_drift"]) for record in records)
    meaning = {"hyperfine": "hf = hyperfine -N --runs 20 and Welch's t-test at 5 % on its times, compared with the true "
                            "change of wall time.",
               "reference": "ref = another build of steady, under the same loads in random order."}[other]
    return (f"{meaning} Truths are known to {percent(error, 3)} or better (one standard error, idle). "
            f"The loads moved them by at most {percent(drift, 3)}, where measured. Seconds are medians per "
            "verdict, including the start of the tool.")


def reach(records: list) -> str:
    """Returns one line per target: how often the effect was found, and the slowest verdict."""
    wanted = {cell.name: (cell, tenths) for cell, tenths in REACH.items()}
    lines = [_target(*wanted[name], trials) for name, trials in by_cell(records).items() if name in wanted]
    return "\n".join(lines) or "No trials yet."


def _target(cell, tenths: int, trials: list) -> str:
    answers = [trial["steady"] for trial in trials if "error" not in trial["steady"]]
    right = sum(SIGNS.get(answer["verdict"], 0) * cell.effect > 0 for answer in answers)
    found = Share(right, len(trials))
    seconds = max((answer["process_seconds"] for answer in answers), default=float("nan"))
    claim = (f"{cell.name}: found within {cell.budget:g} s in {of_total(found)} (target {tenths}/10; "
             f"slowest {seconds:.2f} s)")
    return check(claim, 10 * found.count >= tenths * found.total)
