"""steady limit: overshoot of concurrent jobs, verdicts on jobs of 0.9 and 1.1 times the budget, and its own cost.

    bench/run limit [--jobs N]     measure: N jobs for each concurrency (100); 2 N of each size, half of them under spinners
    bench/run limit --report       print Markdown from the results
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from common.loads import SETTLE_SECONDS, end_neighbours_on_signals, spinners
from common.paths import RESULTS, STEADY, WORK
from common.results import Results
from common.stats import Share, share
from common.steal import steal_share, steal_ticks
from common.verdicts import check, of_total, table

CONCURRENCIES = (1, 2, 4, 8, 16)
OVERSHOOT_BUDGET_SECONDS = 0.2
TARGET_SECONDS = 0.005

BUDGET_SECONDS = 0.3
SIZES = (0.9, 1.1)
SPINNERS = 8
# The number of concurrent jobs in tests of verdicts. More jobs would add to the load.
JUDGED_CONCURRENCY = {"idle": 2, "8 spinners": 4}

COST_BUDGET_SECONDS = 5.0
COST_JOBS = 3
MOST_COST = 0.005

LIFETIME_SECONDS = 600
LIMIT_REACHED = 124


def main() -> None:
    options = _options()
    results = Results(options.results)
    if not options.report:
        end_neighbours_on_signals()
        measure(results, options.jobs)
    print(report(results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run limit", description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=100, help="jobs for each concurrency (100)")
    parser.add_argument("--report", action="store_true", help="print Markdown from the results")
    parser.add_argument("--results", type=Path, default=RESULTS / "limit.jsonl")
    return parser.parse_args()


def measure(results: Results, jobs: int) -> None:
    """Measures everything that is not in the results yet."""
    for concurrency in CONCURRENCIES:
        if not results.of(kind="overshoot", at_once=concurrency):
            results.add(overshoots(concurrency, jobs))
    for load, neighbours in (("idle", 0), (f"{SPINNERS} spinners", SPINNERS)):
        for judge in ("steady limit", "timeout"):
            if not results.of(kind="judged", load=load, judge=judge):
                results.add(judged(load, neighbours, judge, jobs))
        if not results.of(kind="cost", load=load):
            results.add(costs(load, neighbours))


def overshoots(concurrency: int, jobs: int) -> dict:
    """Measures the CPU time beyond the limit of endless jobs, `concurrency` of them concurrently."""
    spin = [str(WORK), "spin", str(LIFETIME_SECONDS)]
    stolen = steal_ticks()
    with ThreadPoolExecutor(concurrency) as pool:
        reports = list(pool.map(lambda _: limited(OVERSHOOT_BUDGET_SECONDS, spin), range(jobs)))
    log(f"{concurrency} concurrent: {jobs} jobs")
    return {"kind": "overshoot", "at_once": concurrency, "budget": OVERSHOOT_BUDGET_SECONDS, "steal": steal_share(stolen),
            "sources": sorted({report["source"] for report in reports}),
            "outcomes": sorted({report["outcome"] for report in reports}),
            "overshoots": [report["overshoot_seconds"] for report in reports]}


def judged(load: str, neighbours: int, judge: str, jobs: int) -> dict:
    """Limits jobs that use a known share of the budget, by `steady limit` or by timeout, and records the outcomes."""
    judgement = judged_by_cpu if judge == "steady limit" else judged_by_wall
    sizes = [size for _ in range(jobs) for size in SIZES]
    with spinners(neighbours, settle_seconds=SETTLE_SECONDS), ThreadPoolExecutor(JUDGED_CONCURRENCY[load]) as pool:
        answers = list(pool.map(judgement, sizes))
    log(f"{judge}, {load}: {len(sizes)} jobs")
    return {"kind": "judged", "load": load, "judge": judge, "budget": BUDGET_SECONDS,
            "answers": [{"size": size, "outcome": outcome} for size, outcome in zip(sizes, answers)]}


def judged_by_cpu(size: float) -> str:
    return limited(BUDGET_SECONDS, job(size))["outcome"]


def judged_by_wall(size: float) -> str:
    done = subprocess.run(["timeout", f"{BUDGET_SECONDS}s", *job(size)], stdin=subprocess.DEVNULL)
    return {0: "ok", LIMIT_REACHED: "wall-limit"}[done.returncode]


def job(size: float) -> list:
    """Returns a command that uses this share of the budget by its own CPU clock, start-up included."""
    loop = f"import time\nwhile time.process_time() < {size * BUDGET_SECONDS}: pass"
    return [sys.executable, "-I", "-S", "-c", loop]


def costs(load: str, neighbours: int) -> dict:
    """Measures the CPU time of steady's front process and guardian, start included, relative to the job's."""
    shares = []
    with spinners(neighbours, settle_seconds=SETTLE_SECONDS), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        for _ in range(COST_JOBS):
            argv = words(COST_BUDGET_SECONDS, [str(WORK), "spin", str(LIFETIME_SECONDS)], file)
            _, _, usage = os.wait4(os.posix_spawn(argv[0], argv, os.environ), 0)
            used = json.loads(file.read_text())["cpu_seconds"]
            shares.append((usage.ru_utime + usage.ru_stime - used) / used)
    log(f"cost, {load}")
    return {"kind": "cost", "load": load, "budget": COST_BUDGET_SECONDS, "shares": shares}


def limited(budget: float, argv: list) -> dict:
    """Runs a command under `steady limit` and returns the report."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        line = words(budget, argv, file)
        done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, LIMIT_REACHED):
            raise RuntimeError(f"{line} ended with status {done.returncode}: {done.stderr.strip()[-2000:]}")
        return json.loads(file.read_text())


def words(budget: float, argv: list, file: Path) -> list:
    """Returns the command line that limits a command and exports the report to `file`."""
    options = ["--cpu", f"{budget}s", "--wall-factor", "20", "--quiet", "--no-history", "--export-json", str(file)]
    return [str(STEADY), "limit", *options, "--", *argv]


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# -- Reports


def report(results: Results) -> str:
    parts = [overshoot_report(results.of(kind="overshoot")), judged_report(results.of(kind="judged")),
             cost_report(results.of(kind="cost"))]
    return "\n\n".join(part for part in parts if part) or "Nothing measured yet."


def overshoot_report(records: list) -> str:
    if not records:
        return ""
    rows, reached = [], []
    for record in records:
        beyond = [1e3 * seconds for seconds in record["overshoots"]]
        reached.append(median(record["overshoots"]) <= TARGET_SECONDS)
        rows.append([str(record["at_once"]), str(len(beyond)), f"{median(beyond):.2f}", f"{max(beyond):.2f}",
                     f"{record['steal']:.1%}", ", ".join(record["sources"])])
    about = f"CPU time beyond a limit of {1e3 * records[0]['budget']:.0f} ms, in ms."
    heads = ["concurrent", "jobs", "median", "maximum", "steal", "read from"]
    return "\n\n".join([about, table(heads, rows), check("the median is at most 5 ms for each", all(reached))])


def judged_report(records: list) -> str:
    if not records:
        return ""
    rows = [[record["judge"], record["load"], *(of_total(wrong(record, size)) for size in SIZES)] for record in records]
    ours = [wrong(record, size) for record in records if record["judge"] == "steady limit" for size in SIZES]
    about = f"Jobs that use 0.9 and 1.1 times the budget of {1e3 * records[0]['budget']:.0f} ms. Wrong outcomes:"
    heads = ["tool", "load", *(f"{size} x the budget" for size in SIZES)]
    claim = check("steady limit has no wrong outcome", all(answer.count == 0 for answer in ours))
    return "\n\n".join([about, table(heads, rows), claim])


def wrong(record: dict, size: float) -> Share:
    answers = [answer["outcome"] for answer in record["answers"] if answer["size"] == size]
    return share((outcome == "ok") != (size < 1) for outcome in answers)


def cost_report(records: list) -> str:
    if not records:
        return ""
    rows = [[record["load"], f"{record['budget']:.0f} s", *(f"{share:.3%}" for share in record["shares"])]
            for record in records]
    heads = ["load", "job", *(str(number + 1) for number in range(COST_JOBS))]
    reached = all(share <= MOST_COST for record in records for share in record["shares"])
    about = "CPU time of steady's processes relative to the job's:"
    return "\n\n".join([about, table(heads, rows), check(f"at most {MOST_COST:.1%}", reached)])


if __name__ == "__main__":
    main()
