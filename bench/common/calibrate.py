"""The true effect of a trial: how the cost of a workload depends on its amount on this machine.

The model is cost = start-up + slope x amount, fitted to the medians of interleaved runs in random order. Only the share
of the cost that grows with the amount matters: with an amount larger by x, the cost is larger by share * x. The truths
use the share on an idle machine. A load may slow start-up and work by different factors, which changes the true effect
of a whole command. The share under that load shows by how much.
"""

import hashlib
import json
import math
import os
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median, stdev
from typing import NamedTuple, Optional

from common.loads import background_load
from common.paths import RESULTS, WORK
from common.works import WORKS, Work, two_modes

LEVELS = (0.0, 0.5, 1.0, 1.5)
ROUNDS = 40
RESAMPLES = 300


class Cost(NamedTuple):
    """The cost of one run, in seconds."""

    cpu: float
    wall: float


def run_once(argv: list) -> Cost:
    """Runs a command to its end, with input and output at /dev/null. Raises RuntimeError if it fails."""
    null = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    started = time.perf_counter()
    child = os.posix_spawnp(argv[0], argv, os.environ, file_actions=null)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - started
    if status:
        raise RuntimeError(f"{argv} ended with status {os.waitstatus_to_exitcode(status)}")
    return Cost(usage.ru_utime + usage.ru_stime, wall)


class Line(NamedTuple):
    """cost = start + slope x amount."""

    start: float
    slope: float

    def growing_share(self, amount: float) -> float:
        """Returns the share of the cost at `amount` that is proportional to the amount."""
        return self.slope * amount / (self.start + self.slope * amount)


def fit(amounts: list, costs: list) -> Line:
    """Fits a least-squares line through medians whose errors are proportional to their size."""
    weights = [1 / cost**2 for cost in costs]
    total = sum(weights)
    mean_amount = sum(w * x for w, x in zip(weights, amounts)) / total
    mean_cost = sum(w * y for w, y in zip(weights, costs)) / total
    spread = sum(w * (x - mean_amount) ** 2 for w, x in zip(weights, amounts))
    slope = sum(w * (x - mean_amount) * y for w, x, y in zip(weights, amounts, costs)) / spread
    return Line(mean_cost - slope * mean_amount, slope)


@dataclass(frozen=True)
class Pair:
    """Two commands and the true change from the first to the second, with the standard error of that truth.

    `truth_drift` is the additional change under the load of the trial.
    """

    old: list
    new: list
    truth: float
    truth_error: float
    truth_wall: float
    truth_drift: float


@dataclass(frozen=True)
class Calibration:
    """The cost of a workload at `amount` on this machine, and the shares of it that grow with the amount."""

    work: str
    amount: int
    cpu_seconds: float
    cpu_share: float
    cpu_share_error: float
    wall_share: float
    curvature: float

    def pair(self, effect: float, loaded_share: Optional[float] = None) -> Pair:
        """Returns the command and one that costs `effect` more CPU time, start-up included."""
        argv = WORKS[self.work].argv
        more = round(self.amount * effect / self.cpu_share)
        growth = more / self.amount
        # Near its middle, a line misses at most a quarter of the change of the slope between both sides.
        error = growth * math.hypot(self.cpu_share_error, self.curvature / 4)
        drift = 0.0 if loaded_share is None else growth * (loaded_share - self.cpu_share)
        truths = growth * self.cpu_share, abs(error), growth * self.wall_share, drift
        return Pair(argv(self.amount), argv(self.amount + more), *truths)

    def two_modes(self, effect: float, old: tuple, new: tuple) -> Pair:
        """Returns two commands with an expensive mode, given as (share of runs, factor).

        A cheap run of the second costs `effect` more. The truth is the ratio of the mean costs.
        """
        more = round(self.amount * effect / self.cpu_share)

        def mean(amount: int, mode: tuple, growing: float) -> float:
            share, factor = mode
            return 1 - growing + growing * amount / self.amount * (1 + share * (factor - 1))

        def change(growing: float) -> float:
            return mean(self.amount + more, new, growing) / mean(self.amount, old, growing) - 1

        error = abs(change(self.cpu_share + self.cpu_share_error) - change(self.cpu_share))
        commands = two_modes(self.amount, *old), two_modes(self.amount + more, *new)
        return Pair(*commands, change(self.cpu_share), error, change(self.wall_share), 0.0)


def calibrate(work: Work, random: Random) -> Calibration:
    """Measures `work` on this machine, which should be idle."""
    amount = _amount_for(work)
    rounds = [_round(work, amount, random) for _ in range(ROUNDS)]
    cpu, wall = ([[getattr(cost, field) for cost in costs] for costs in rounds] for field in Cost._fields)
    resampled = [_share(random.choices(cpu, k=ROUNDS)) for _ in range(RESAMPLES)]
    medians = _medians(cpu)
    curvature = (medians[3] - 2 * medians[2] + medians[1]) / (0.5 * medians[2])
    return Calibration(work.name, amount, medians[2], _share(cpu), stdev(resampled), _share(wall), curvature)


def share_under(load: str, known: Calibration, random: Random) -> float:
    """Measures the share of CPU time that grows with the amount, like `calibrate`, while `load` runs."""
    work = WORKS[known.work]
    with background_load(load, random, sum(LEVELS) * ROUNDS * known.cpu_seconds):
        return _share([[cost.cpu for cost in _round(work, known.amount, random)] for _ in range(ROUNDS)])


def _amount_for(work: Work) -> int:
    """Finds the amount whose cost is nearest to the nominal cost of the workload."""
    amount = work.first_guess
    start = median(run_once(work.argv(0)).cpu for _ in range(5))
    if start >= work.seconds:
        raise RuntimeError(f"{work.name}: start-up alone takes {start:.3f} s of CPU time here")
    for _ in range(3):
        cost = median(run_once(work.argv(amount)).cpu for _ in range(7))
        # Limit the step: a slow start-up by chance would otherwise turn the amount negative.
        amount = max(1, round(amount * (work.seconds - start) / max(cost - start, cost / 10)))
    return amount


def _round(work: Work, amount: int, random: Random) -> list:
    """Runs each level once, in random order. Returns the costs in the order of the levels."""
    order = random.sample(range(len(LEVELS)), len(LEVELS))
    costs = {level: run_once(work.argv(round(amount * LEVELS[level]))) for level in order}
    return [costs[level] for level in sorted(costs)]


def _medians(rounds: list) -> list:
    return [median(level) for level in zip(*rounds)]


def _share(rounds: list) -> float:
    """Returns the growing share at level 1.0, where the levels are amounts in units of the nominal amount."""
    return fit(list(LEVELS), _medians(rounds)).growing_share(1.0)


class Calibrations:
    """The calibrations of this machine, kept in a file. A missing one is measured on first use."""

    def __init__(self, path: Path = RESULTS / "calibration.json"):
        self.path = path
        self.kept = json.loads(path.read_text()) if path.exists() else {}
        host = _host()
        if self.kept.get("host") != host:
            self.kept = {"host": host, "works": {}, "loaded_shares": {}}

    def of(self, work: str) -> Calibration:
        return Calibration(**self._known("works", work, lambda: asdict(calibrate(WORKS[work], Random()))))

    def pair(self, work: str, effect: float, load: str) -> Pair:
        """Returns the pair with this effect. If the load could change the truth, its drift is measured."""
        known = self.of(work)
        if not effect or load == "idle":
            return known.pair(effect)
        share = self._known("loaded_shares", f"{work} {load}", lambda: share_under(load, known, Random()))
        return known.pair(effect, share)

    def _known(self, section: str, name: str, measure):
        if name not in self.kept[section]:
            print(f"calibrating {name} ...", flush=True)
            self.kept[section][name] = measure()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.kept, indent=1) + "\n")
        return self.kept[section][name]


def _host() -> dict:
    """Describes what a calibration is valid for: CPU, kernel and binary."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    binary = hashlib.sha256(WORK.read_bytes()).hexdigest()
    return {"cpu": model[:1], "cpus": os.cpu_count(), "kernel": platform.release(), "work": binary}
