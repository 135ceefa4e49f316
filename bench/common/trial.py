"""One trial: a pair of commands of known truth, a load, and the tools' answers."""

import sys
from dataclasses import asdict, dataclass
from random import Random, SystemRandom
from statistics import median
from typing import Optional

from common import tools
from common.calibrate import Pair
from common.loads import beside
from common.results import Results

# A tool may refuse a trial under a load that leaves it no time; so many trials in a row are no accident.
FAILURES_ALLOWED = 5

# What a tool takes before any trial has told: hyperfine's runs are counted, not timed.
HYPERFINE_SECONDS = 1.5


@dataclass(frozen=True)
class Cell:
    """A work, an effect and a load, and what `steady` is asked for."""

    name: str
    work: str
    effect: float
    load: str
    budget: float = 10.0
    resolution: float = 0.005
    metric: str = "cpu"
    fail_if: Optional[str] = None
    # The expensive modes of both commands, each (share of its runs, factor of their work); None: every run is alike.
    modes: Optional[tuple] = None


class Session:
    """Runs trials, keeps each at once, and gives up when a tool keeps failing."""

    def __init__(self, kind: str, results: Results, under_test: tuple):
        self.kind, self.results, self.under_test = kind, results, under_test
        self.failures_in_a_row = 0

    def run(self, cell: Cell, pair: Pair) -> dict:
        """One trial, each tool under a fresh load of the cell's kind, in random order."""
        seed = SystemRandom().getrandbits(63)
        random = Random(seed)
        record = {"kind": self.kind, "cell": cell.name, **asdict(cell), **asdict(pair), "seed": str(seed)}
        del record["name"]  # it stands under "cell"
        for tool in random.sample(self.under_test, len(self.under_test)):
            with beside(cell.load, random, self._expected_seconds(cell, tool)):
                record[tool] = self._ask(tool, cell, pair, seed)
        self.results.add(record)
        self._give_up_if_hopeless(record)
        return record

    def _give_up_if_hopeless(self, record: dict) -> None:
        failed = any("error" in record[tool] for tool in self.under_test)
        self.failures_in_a_row = self.failures_in_a_row + 1 if failed else 0
        if self.failures_in_a_row >= FAILURES_ALLOWED:
            sys.exit(f"{self.failures_in_a_row} failures in a row: giving up; what was measured is kept")

    def _expected_seconds(self, cell: Cell, tool: str) -> float:
        before = [record[tool]["process_seconds"] for record in self.results.of(kind=self.kind, cell=cell.name)
                  if "error" not in record[tool]]
        if before:
            return median(before)
        return cell.budget if tool == "steady" else HYPERFINE_SECONDS

    @staticmethod
    def _ask(tool: str, cell: Cell, pair: Pair, seed: int) -> dict:
        """The tool's answer, or its error: a failure is a result too."""
        try:
            if tool == "steady":
                return tools.steady(pair.old, pair.new, seed, cell.budget, cell.resolution, cell.metric,
                                    cell.fail_if)
            return tools.hyperfine(pair.old, pair.new)
        except tools.ToolFailed as failure:
            print(failure, file=sys.stderr)
            return {"error": str(failure)}


def one_line(record: dict, under_test: tuple) -> str:
    """A trial in a line, to follow a session by."""
    answers = []
    for tool in under_test:
        answer = record[tool]
        if "error" in answer:
            answers.append(f"{tool}: failed")
        else:
            change = "?" if answer["change"] is None else f"{answer['change']:+.2%}"
            answers.append(f"{tool}: {answer['verdict']} {change} in {answer['process_seconds']:.1f} s")
    return f"{record['cell']}: true {record['truth']:+.2%}; " + "; ".join(answers)
