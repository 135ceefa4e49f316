"""Trials: the tools' results for a pair of commands with a known truth, under a load."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random, SystemRandom
from statistics import median
from typing import Optional

from common import tools
from common.calibrate import Pair
from common.loads import background_load
from common.results import Results

# A tool may fail under a load that leaves it no CPU time. This many failures in a row have another cause.
FAILURES_ALLOWED = 5

# The assumed duration before the first trial. Hyperfine has a number of runs instead of a time budget.
HYPERFINE_SECONDS = 1.5


@dataclass(frozen=True)
class Cell:
    """A workload, an effect and a load, and the options of `steady`."""

    name: str
    work: str
    effect: float
    load: str
    budget: float = 10.0
    resolution: float = 0.005
    metric: str = "cpu"
    fail_if: Optional[str] = None
    # The expensive modes of both commands, each (share of runs, factor of work); None if all runs do the same work.
    modes: Optional[tuple] = None


class Session:
    """Runs trials, writes each result immediately, and ends the bench if a tool keeps failing.

    The tools under test are "steady", "hyperfine", and "reference": the build of `steady` at the path `reference`.
    """

    def __init__(self, kind: str, results: Results, under_test: tuple, reference: Optional[Path] = None):
        self.kind, self.results, self.under_test = kind, results, under_test
        self.reference = reference
        self.failures_in_a_row = 0

    def run(self, cell: Cell, pair: Pair) -> dict:
        """Runs one trial: each tool under a new load of the cell's kind, in random order."""
        seed = SystemRandom().getrandbits(63)
        random = Random(seed)
        record = {"kind": self.kind, "cell": cell.name, **asdict(cell), **asdict(pair), "seed": str(seed)}
        del record["name"]  # it is stored as "cell"
        for tool in random.sample(self.under_test, len(self.under_test)):
            with background_load(cell.load, random, self._expected_seconds(cell, tool)):
                record[tool] = self._result_of(tool, cell, pair, seed)
        self.results.add(record)
        self._exit_after_many_failures(record)
        return record

    def _exit_after_many_failures(self, record: dict) -> None:
        failed = any("error" in record[tool] for tool in self.under_test)
        self.failures_in_a_row = self.failures_in_a_row + 1 if failed else 0
        if self.failures_in_a_row >= FAILURES_ALLOWED:
            sys.exit(f"{self.failures_in_a_row} failures in a row: the bench ends. The results so far are stored")

    def _expected_seconds(self, cell: Cell, tool: str) -> float:
        before = [record[tool]["process_seconds"] for record in self.results.of(kind=self.kind, cell=cell.name)
                  if "error" not in record[tool]]
        if before:
            return median(before)
        return HYPERFINE_SECONDS if tool == "hyperfine" else cell.budget

    def _result_of(self, tool: str, cell: Cell, pair: Pair, seed: int) -> dict:
        """Runs a tool and returns its result, or its error, which is recorded like a result."""
        try:
            if tool == "hyperfine":
                return tools.hyperfine(pair.old, pair.new)
            build = {"binary": self.reference} if tool == "reference" else {}
            return tools.steady(pair.old, pair.new, seed, cell.budget, cell.resolution, cell.metric, cell.fail_if,
                                **build)
        except tools.ToolFailed as failure:
            print(failure, file=sys.stderr)
            return {"error": str(failure)}


def one_line(record: dict, under_test: tuple) -> str:
    """Formats a trial as one line, to follow a session."""
    answers = []
    for tool in under_test:
        answer = record[tool]
        if "error" in answer:
            answers.append(f"{tool}: failed")
        else:
            change = "?" if answer["change"] is None else f"{answer['change']:+.2%}"
            answers.append(f"{tool}: {answer['verdict']} {change} in {answer['process_seconds']:.1f} s")
    return f"{record['cell']}: true {record['truth']:+.2%}; " + "; ".join(answers)
