"""The HTML page of 100,000 pairs: its size and the time to draw it; the targets are 3 MB and one second.

    bench/run pages [--pairs N] [--rounds N]
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median

from common.paths import ROOT, STEADY

sys.path.insert(0, str(ROOT / "tests" / "pages"))
import browser  # noqa: E402

MOST_BYTES = 3_000_000
MOST_SECONDS = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run pages", description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=100_000, help="pairs on the page (100000)")
    parser.add_argument("--rounds", type=int, default=5, help="how often the page is drawn (5)")
    options = parser.parse_args()
    program = browser.find() or sys.exit("Chromium is not installed (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder:
        record, page = Path(folder) / "record.json", Path(folder) / "page.html"
        write_record(record, options.pairs)
        started = time.perf_counter()
        judge = [str(STEADY), "judge", "--quiet", "--export-html", str(page), str(record)]
        subprocess.run(judge, check=True, stdin=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
        size = page.stat().st_size
        print(f"{options.pairs} pairs: steady judge takes {seconds:.1f} s for {record.stat().st_size / 1e6:.0f} MB of samples")
        print(f"page: {size / 1e6:.3f} MB ({within(size <= MOST_BYTES)} {MOST_BYTES / 1e6:.0f} MB)")
        drawn = [draw(program, page) for _ in range(options.rounds)]
        print(f"drawn in {median(drawn):.2f} s, the slowest of {len(drawn)} in {max(drawn):.2f} s "
              f"({within(max(drawn) <= MOST_SECONDS)} {MOST_SECONDS:.0f} s)")
        if size > MOST_BYTES or max(drawn) > MOST_SECONDS:
            sys.exit(1)


def within(ok: bool) -> str:
    return "within" if ok else "NOT within"


def draw(program: str, page: Path) -> float:
    """Starts a browser and returns the seconds from the navigation to the second frame after the page has loaded."""
    with browser.Browser(program) as opened:
        opened.show(page, 1400)
        return opened.value("performance.now()") / 1e3


def write_record(to: Path, pairs: int) -> None:
    """Writes a record of `pairs` pairs in two layouts: a real record whose runs are replaced by simulated ones."""
    command = [str(STEADY), "compare", "--quiet", "--runs", "60", "--samples", "--export-json", str(to), "true", "/bin/true"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    record = json.loads(to.read_text())
    random, clock = Random(1), 0.0
    template, moments = record["samples"]["blocks"][0]["runs"], []
    blocks = []
    for number in range(pairs):
        duet = number % 3 == 2
        load = 1.0 + 0.5 * (math.sin(clock / 40) > 0.6)
        runs, started = [], clock
        for command in random.sample([0, 1], 2):
            hit = 10 ** random.random() if random.random() < 0.01 else 1.0
            cpu = round(0.005 * (1 + 0.01 * command) * load * math.exp(random.gauss(0, 0.02 * load)) * hit, 6)
            wall = round(cpu * (1 + 0.02 * random.random()), 9)
            run = dict(template[0], command=command, started_seconds=round(started, 9), wall_seconds=wall,
                       user_seconds=cpu, system_seconds=0.0, cpu=command if duet else None)
            runs.append(run)
            started += 0.0 if duet else wall
        clock = round(max(run["started_seconds"] + run["wall_seconds"] for run in runs), 9)
        blocks.append({"layout": "duet" if duet else "turns", "ended_seconds": clock, "runs": runs})
        if not moments or clock - moments[-1]["at_seconds"] >= 0.25:
            busy = min(1.0, 0.4 * load + 0.1 * random.random())
            moments.append({"at_seconds": clock, "busy_ratio": busy, "steal_ratio": 0.0, "pressure": busy / 3})
    numbers = [math.ceil(pairs / 2 ** (half / 2)) for half in range(16, -1, -1)]
    looks = [{"blocks": blocks, "fraction_ratio": blocks / pairs, "last": blocks == pairs} for blocks in numbers]
    record["samples"] = {"looks": looks, "moments": moments, "blocks": blocks}
    record["elapsed_seconds"] = clock + 1.0
    to.write_text(json.dumps(record))


if __name__ == "__main__":
    main()
