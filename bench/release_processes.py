"""How much processes that run the same code differ in CPU time per request.

    bench/run release_processes [--recording FOLDER]...

Without recordings, the excerpts of two recordings in testdata/releases are used: 16 workers of one server, and two
workers that were restarted ten times. Workers of the same start are compared within each minute and route, by the mean
logarithm of CPU time. The result for a process is the mean of its differences from the mean of all of them.

It prints the standard deviation of the processes, the part of it that follows from the number of requests, and the largest
difference between two processes of a start.
"""

import argparse
import gzip
import math
import re
import statistics
from collections import defaultdict
from pathlib import Path

from common.paths import ROOT
from release_replay import small

EXCERPTS = [ROOT / "testdata" / "releases" / name for name in ("canary", "one")]
# A process, a route, the time since the previous request, and the CPU time; see testdata/releases/README.md.
REQUEST = re.compile(r"(\d+)([A-Z])(\d+) (\d+)")
# Times are in tenths of a millisecond.
MINUTE = 600_000
# Fewer requests in a minute are left out.
LEAST_REQUESTS = 30


def requests(folder: Path):
    """Yields the start, minute, route, process and CPU time of each request of a recording."""
    with gzip.open(folder / "processes.tsv.gz", "rt") as file:
        starts = [int(line.split()[0]) for line in file]
    now = 0
    with gzip.open(folder / "requests.tsv.gz", "rt") as file:
        for line in file:
            process, route, since, cpu = REQUEST.match(line).groups()
            now += int(since)
            yield starts[int(process)], now // MINUTE, route, int(process), int(cpu)


def differences(all_requests) -> "dict[int, list[tuple[float, float]]]":
    """Returns for each start the differences of its processes in percent, with their standard errors."""
    groups = defaultdict(lambda: defaultdict(list))
    for start, minute, route, process, cpu in all_requests:
        groups[start, minute, route][process].append(math.log(max(cpu, 1)))
    found = defaultdict(list)
    for (start, _, _), costs in groups.items():
        means = {process: statistics.fmean(logs) for process, logs in costs.items() if len(logs) >= LEAST_REQUESTS}
        if len(means) > 1:
            middle = statistics.fmean(means.values())
            for process, mean in means.items():
                found[start, process].append((mean - middle, statistics.variance(costs[process]) / len(costs[process])))
    by_start = defaultdict(list)
    for (start, _), each in found.items():
        error = math.sqrt(sum(variance for _, variance in each)) / len(each)
        by_start[start].append((100 * statistics.fmean(difference for difference, _ in each), 100 * error))
    return by_start


def deviations(by_start) -> "tuple[float, float]":
    """Returns the standard deviation within starts, and the part of it that follows from the number of requests."""
    several = [each for each in by_start.values() if len(each) > 1]
    freedom = sum(len(each) - 1 for each in several)
    squares = sum(difference**2 for each in several for difference, _ in each)
    errors = sum((1 - 1 / len(each)) * error**2 for each in several for _, error in each)
    return math.sqrt(squares / freedom), math.sqrt(errors / freedom)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release_processes", description=__doc__.splitlines()[0])
    parser.add_argument("--recording", type=Path, action="append", help="a recording; may be repeated (excerpts)")
    options = parser.parse_args()
    print("| recording | starts | processes | standard deviation | by the number of requests | most between two |")
    print("|---|---|---|---|---|---|")
    for folder in [small(folder.resolve()) for folder in options.recording or EXCERPTS]:
        by_start = differences(requests(folder))
        deviation, by_number = deviations(by_start)
        each_start = [[difference for difference, _ in each] for each in by_start.values()]
        most = max(max(each) - min(each) for each in each_start)
        print(f"| {folder.name} | {len(each_start)} | {sum(map(len, each_start))} | {deviation:.2f} % | {by_number:.2f} % | "
              f"{most:.2f} % |")


if __name__ == "__main__":
    main()
