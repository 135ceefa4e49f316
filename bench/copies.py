"""Two copies of one binary: how often a comparison finds a difference, and which part of it is constant.

A copy has its own inode and its own pages in memory. Their effect is the same in all pairs of a comparison, and
randomisation does not remove it. Each block makes two new copies and compares them several times, with comparisons of
one copy against itself in between. The lasting difference is the variation of the estimates between blocks.

    bench/run copies [--blocks N]   measure; continues where it stopped
    bench/run copies --report       print Markdown from the results
"""

import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import SystemRandom
from statistics import fmean, variance
from tempfile import TemporaryDirectory

from common import tools
from common.calibrate import Calibrations
from common.loads import end_neighbours_on_signals
from common.paths import ROOT, TARGET
from common.results import Results
from common.session import session_options
from common.stats import share
from common.verdicts import SIGNS, percent, table, with_interval

WORKS = ("alu5", "gzip30")
# Benchmarks of a test program of Go, which has much more code than the other programs.
GO_WORKS = ("BenchmarkJSON", "BenchmarkRegexp")
COMPARISONS = 4
BUDGET_SECONDS = 2.0
RESOLUTION = 0.001


def main() -> None:
    options = session_options("copies", __doc__, "blocks", 30)
    results = Results(options.results)
    if options.report:
        print(report(results.records))
    else:
        end_neighbours_on_signals()
        _measure(results, options.wanted)


def _measure(results: Results, blocks: int) -> None:
    known = Calibrations()
    commands = {work: known.of(work).pair(0.0).old for work in WORKS} | go_commands()
    # Keep all copies until the end: new copies would otherwise get the memory of removed ones.
    with TemporaryDirectory(dir=TARGET / "bench-tools", prefix="copies-") as folder:
        for block in range(blocks):
            for work in commands:
                if len(results.of(work=work)) > block:
                    continue
                answers = _block(commands[work], Path(folder) / f"{work}-{block:04}")
                results.add({"work": work, **answers})
                print(f"{block + 1}/{blocks} {work}: " + ", ".join(map(_brief, answers["copies"])), flush=True)


def go_commands() -> dict:
    """Builds the sample suite of Go. Returns a command for each of its benchmarks here, which measures for about 20 ms."""
    program = str(TARGET / "bench-tools" / "copies-go.test")
    words = ["go", "test", "-c", "-vet=off", "-o", program, "./text"]
    subprocess.run(words, cwd=ROOT / "testdata" / "suites" / "go", check=True)
    commands = {}
    for work in GO_WORKS:
        command = [program, "-test.run=^$", f"-test.bench=^{work}$"]
        printed = subprocess.run([*command, "-test.benchtime=0.1s"], check=True, capture_output=True, text=True).stdout
        nanoseconds = min(float(one) for one in re.findall(r"\s([0-9.]+) ns/op", printed))
        commands[work] = [*command, f"-test.benchtime={max(1, round(2e7 / nanoseconds))}x"]
    return commands


def _brief(answer: dict) -> str:
    return "?" if answer["change"] is None else f"{answer['change']:+.3%}"


def _block(argv: list, folder: Path) -> dict:
    """Makes two new copies of a command's program. Compares them, and the first with itself, in random order."""
    random = SystemRandom()
    first, second = _fresh_copies(argv[0], folder, random)
    answers: dict = {"copies": [], "itself": []}
    for kind in random.sample(sorted(answers) * COMPARISONS, 2 * COMPARISONS):
        other = second if kind == "copies" else first
        seed = random.getrandbits(63)
        answer = tools.steady([first, *argv[1:]], [other, *argv[1:]], seed, BUDGET_SECONDS, RESOLUTION)
        answers[kind].append({**answer, "seed": str(seed)})
    return answers


def _fresh_copies(program: str, folder: Path, random) -> list:
    """Copies a program to two paths of the same length, because the length of the arguments moves the stack."""
    source = shutil.which(program) or sys.exit(f"no such program: {program}")
    folder.mkdir()
    paths = [folder / name for name in ("a", "b")]
    for path in random.sample(paths, len(paths)):
        shutil.copy(source, path)
    return [str(path) for path in paths]


def report(records: list) -> str:
    """Reports how often a program differs from its copy and from itself, and the lasting difference."""
    rows = []
    for work in (*WORKS, *GO_WORKS):
        blocks = [record for record in records if record["work"] == work]
        for kind, against in (("copies", "its copy"), ("itself", "itself")):
            answers = [[answer for answer in block[kind] if answer["change"] is not None] for block in blocks]
            different = share(answer["verdict"] in SIGNS for answers_of_block in answers for answer in answers_of_block)
            changes = [[answer["change"] for answer in block] for block in answers]
            largest = max((abs(fmean(block)) for block in changes if block), default=math.nan)
            rows.append([f"{work} against {against}", str(len(blocks)), with_interval(different),
                         percent(lasting_spread(changes), 3), percent(largest, 3)])
    heads = ["work", "blocks", "called different", "lasting difference (sd)", "largest block mean"]
    return table(heads, rows)


def lasting_spread(blocks: list) -> float:
    """Returns the standard deviation between blocks beyond what the variation within blocks explains; at least 0.

    This is a one-way analysis of variance. Blocks of fewer than two values are ignored.
    """
    blocks = [block for block in blocks if len(block) > 1]
    if len(blocks) < 2:
        return math.nan
    within = fmean(variance(block) / len(block) for block in blocks)
    return math.sqrt(max(0.0, variance(map(fmean, blocks)) - within))


if __name__ == "__main__":
    main()
