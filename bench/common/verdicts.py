"""Evaluates the recorded trials of a tool: wrong verdicts, effects found, coverage, width and time."""

import math
from dataclasses import dataclass
from typing import Iterable, List

from common.stats import Share, median_or_nan, share

SIGNS = {"faster": -1, "slower": 1}


def is_wrong(verdict: str, truth: float, resolution: float) -> bool:
    """Returns whether a verdict has the wrong direction, or is `same` although the effect exceeds the resolution."""
    if verdict in SIGNS:
        return SIGNS[verdict] * truth <= 0
    return verdict == "same" and abs(truth) > resolution


def holds(low, high, truth: float) -> bool:
    """Returns whether an interval contains the truth. A missing end is infinite."""
    return (low is None or low <= truth) and (high is None or truth <= high)


@dataclass
class Tally:
    """One tool's results in a set of trials, compared with the true change of the time that the tool measures."""

    wrong: Share
    found: Share
    covered: Share
    verdict_covered: Share
    half_width: float
    seconds: float
    failures: int


def tally(records: Iterable[dict], tool: str) -> Tally:
    """Counts the results of `tool` in `records`."""
    trials_of_tool = [record for record in records if tool in record]
    answered = [record for record in trials_of_tool if "error" not in record[tool]]
    field = "truth_wall" if tool == "hyperfine" else "truth"
    trials = [(record[tool], record[field], record["resolution"]) for record in answered]
    return Tally(
        wrong=share(is_wrong(answer["verdict"], truth, resolution) for answer, truth, resolution in trials),
        found=share(SIGNS.get(answer["verdict"], 0) * truth > 0
                    for answer, truth, resolution in trials if abs(truth) > resolution),
        covered=share(holds(answer["low"], answer["high"], truth) for answer, truth, _ in trials),
        verdict_covered=share(holds(answer["verdict_low"], answer["verdict_high"], truth)
                              for answer, truth, _ in trials),
        half_width=median_or_nan(math.inf if answer["half_width"] is None else answer["half_width"]
                                 for answer, _, _ in trials),
        seconds=median_or_nan(answer["process_seconds"] for answer, _, _ in trials),
        failures=len(trials_of_tool) - len(answered),
    )


def by_cell(records: Iterable[dict]) -> dict:
    """Groups records by the name of their cell, in the order of the first trials."""
    cells: dict = {}
    for record in records:
        cells.setdefault(record["cell"], []).append(record)
    return cells


# -- Markdown


def percent(value: float, digits: int = 1) -> str:
    return "-" if math.isnan(value) else "none" if math.isinf(value) else f"{100 * value:.{digits}f} %"


def of_total(part: Share) -> str:
    return f"{part.count}/{part.total}" if part.total else "-"


def with_interval(part: Share) -> str:
    """Formats a rate with its 95 % Clopper-Pearson interval."""
    if not part.total:
        return "-"
    low, high = part.interval()
    return f"{of_total(part)} = {percent(part.rate())} ({100 * low:.1f} to {100 * high:.1f})"


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def table(heads: List[str], rows: List[List[str]]) -> str:
    """Formats a Markdown table. The first column is left-aligned, the others right-aligned."""
    rule = ["---"] + ["---:"] * (len(heads) - 1)
    return "\n".join(map(row, [heads, rule, *rows]))


def reached(is_reached: bool) -> str:
    return "reached" if is_reached else "NOT reached"


def check(claim: str, is_reached: bool) -> str:
    """Formats a claim and whether it is reached as a Markdown list item."""
    return f"- {claim}: {reached(is_reached)}"
