"""Runs the tools under test on a pair of commands and converts their results to one form.

A record has `verdict` (faster, slower, same, undecided), `change`, `low`, `high`, `verdict_low`, `verdict_high`,
`half_width`, `pairs` and `process_seconds`, the wall time of the whole tool. An infinite end of an interval is null.
"""

import json
import shlex
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple, Optional

from common.paths import HYPERFINE, STEADY
from common.stats import welch

HYPERFINE_RUNS = 20


class ToolFailed(Exception):
    """A tool ended with an error; the message contains its stderr."""


class Done(NamedTuple):
    """A tool's output, its wall time and its exit status."""

    output: str
    seconds: float
    status: int


def _run(argv: list, accepted: tuple = (0,)) -> Done:
    """Runs a tool. Raises ToolFailed unless it ends with one of the accepted statuses."""
    started = time.perf_counter()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - started
    if done.returncode not in accepted:
        raise ToolFailed(f"{shlex.join(argv)} ended with status {done.returncode}: {done.stderr.strip()[-2000:]}")
    return Done(done.stdout, seconds, done.returncode)


def wall_seconds(argv: list, environment: Optional[dict] = None) -> float:
    """Runs a command without input and output, which must succeed, and returns its wall time."""
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - started


def _compare(old: list, new: list, options: tuple, accepted: tuple = (0,), binary: Optional[Path] = None) -> Done:
    argv = [str(binary or STEADY), "compare", "-N", "--format", "json", "--quiet", "--no-history", *options]
    argv += [shlex.join(old), shlex.join(new)]
    return _run(argv, accepted)


def steady_json(old: list, new: list, *options: str) -> tuple:
    """Returns the JSON of `steady compare` and the wall time of the process in seconds."""
    done = _compare(old, new, options)
    return json.loads(done.output), done.seconds


def steady(old: list, new: list, seed: int, budget: float, resolution: float, metric: str = "cpu",
           fail_if: Optional[str] = None, binary: Optional[Path] = None) -> dict:
    """Runs one comparison by `steady`, or by another build of it.

    Returns its primary verdict and the exit status, which is 1 if `fail_if` holds.
    """
    options = ["--seed", str(seed), "--budget", f"{budget:g}s", "--resolution", f"{100 * resolution:g}%"]
    gate = ["--fail-if", fail_if] if fail_if else []
    done = _compare(old, new, (*options, "--metric", metric, *gate), accepted=(0, 1) if fail_if else (0,),
                    binary=binary)
    report = json.loads(done.output)
    primary = next(verdict for verdict in report["verdicts"] if verdict["primary"])
    fields = ("metric", "verdict", "change", "low", "high", "verdict_low", "verdict_high", "pairs",
              "decided_by", "mean_change", "mean_low", "mean_high")
    record = {field: primary.get(field) for field in fields}
    layouts = {name: layout["pairs"] for name, layout in report["layouts"].items()}
    record.update(layouts=layouts, elapsed_seconds=report["elapsed_seconds"], process_seconds=done.seconds,
                  status=done.status)
    record["half_width"] = _half_width(record["low"], record["high"])
    return record


def _half_width(low: Optional[float], high: Optional[float]) -> Optional[float]:
    return None if low is None or high is None else (high - low) / 2


def hyperfine(old: list, new: list) -> dict:
    """Runs one comparison by `hyperfine` and applies Welch's t-test at 5 % to the wall times that it exports."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        options = ["-N", "--style", "none", "--runs", str(HYPERFINE_RUNS), "--export-json", file.name]
        done = _run([str(HYPERFINE), *options, shlex.join(old), shlex.join(new)])
        before, after = (result["times"] for result in json.load(file)["results"])
    p, change, low, high = welch(before, after)
    verdict = "undecided" if p >= 0.05 else "slower" if change > 0 else "faster"
    ends = {"low": low, "high": high, "verdict_low": low, "verdict_high": high}
    return {"verdict": verdict, "p": p, "change": change, **ends, "half_width": _half_width(low, high),
            "pairs": HYPERFINE_RUNS, "process_seconds": done.seconds}
