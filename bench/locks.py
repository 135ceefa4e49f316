"""steady locks: its overhead compared with no tool and with valgrind's DRD, on uncontended and contended locks.

Each program runs bare, under steady and, if valgrind is installed, under DRD, in random order within each round. It
measures the CPU and wall time of its loop by its own clocks. Only ratios within a round are compared. The number of
work steps per microsecond is calibrated once. The contention of a program depends on the scheduler: if other processes
use the CPUs, its threads run concurrently less often. With --realtime the programs have priority (SCHED_RR, which needs
privileges).

    bench/run locks [--rounds N] [--seed N] [--realtime]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from statistics import median

from common.paths import STEADY
from common.verdicts import check, table

PAIRS = 10_000_000
MOST_UNCONTENDED = 1.5
MOST_CONTENDED = 1.05

# Prints the CPU time and the wall time of a pair, in nanoseconds.
SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long pairs, inside, outside;
static double clock_of(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}
static void *nothing(void *given) { return given; }
/* In registers: the time of memory accesses depends on the layout. */
static void work(long steps) { for (long step = 0; step < steps; step++) __asm__ volatile("" : "+r"(step)); }
static long steps_a_microsecond(void) {
    double least = 1e9;
    for (int time = 0; time < 50; time++) {
        double before = clock_of(CLOCK_MONOTONIC);
        work(1000000);
        double took = clock_of(CLOCK_MONOTONIC) - before;
        if (took < least) least = took;
    }
    return 1e9 / least;
}
static void *contend(void *given) {
    for (long number = 0; number < pairs; number++) {
        pthread_mutex_lock(&lock);
        work(inside);
        pthread_mutex_unlock(&lock);
        work(outside);
    }
    return given;
}
int main(int argc, char **argv) {
    pthread_t threads[16];
    if (argc < 5) return printf("%ld\n", steps_a_microsecond()) < 0;
    int count = atoi(argv[1]);
    pairs = atol(argv[2]), inside = atol(argv[3]), outside = atol(argv[4]);
    if (count > 0) pthread_create(threads, NULL, nothing, NULL), pthread_join(threads[0], NULL);
    double cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID), wall = clock_of(CLOCK_MONOTONIC);
    if (count < 2) {
        for (long number = 0; number < pairs; number++) pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock);
    } else {
        for (int one = 0; one < count; one++) pthread_create(&threads[one], NULL, contend, NULL);
        for (int one = 0; one < count; one++) pthread_join(threads[one], NULL);
        pairs *= count;
    }
    printf("%.3f %.3f\n", (clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / pairs, (clock_of(CLOCK_MONOTONIC) - wall) / pairs);
    return 0;
}
"""

# For each program: its description; threads, pairs, and microseconds of work inside the lock, with as many outside; the
# number of pairs under DRD; and the highest allowed ratio of CPU time.
PROGRAMS = {
    "uncontended": ("10 M pairs, in a program with threads", (1, PAIRS, 0), 200_000, MOST_UNCONTENDED),
    "alone": ("10 M pairs, in a program without threads", (0, PAIRS, 0), 200_000, None),
    "contended": ("4 threads, half of the work inside the lock, 1 us per pair", (4, 100_000, 1), 500, MOST_CONTENDED),
    "contended longer": ("the same, 10 us per pair", (4, 10_000, 10), 500, MOST_CONTENDED),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run locks", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds (15)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the random order")
    parser.add_argument("--realtime", action="store_true", help="run the programs with realtime priority")
    options = parser.parse_args()
    random = Random(options.seed)
    print(f"load average before: {os.getloadavg()[0]:.2f}", flush=True)
    ways = ["bare", "watched", "DRD"] if shutil.which("valgrind") else ["bare", "watched"]
    if "DRD" not in ways:
        print("skipped: valgrind is not installed")
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "program")
        subprocess.run(["cc", "-O2", "-pthread", "-x", "c", "-", "-o", program], input=SOURCE, text=True, check=True)
        steps = int(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
        print(f"work steps per microsecond: {steps:,}", flush=True)
        for number in range(options.rounds):
            jobs = [(name, way) for name in PROGRAMS for way in ways]
            random.shuffle(jobs)
            rounds.append({job: run(program, steps, *job, folder, options.realtime) for job in jobs})
            print(f"round {number + 1} of {options.rounds}", flush=True)
    print(report(rounds))
    sys.exit(0 if all(is_reached(rounds, name) for name in PROGRAMS) else 1)


def run(program: str, steps: int, name: str, way: str, folder: str, realtime: bool) -> tuple:
    """Returns CPU and wall time of a pair in nanoseconds and, under steady, the contended share of acquisitions."""
    threads, pairs, inside = PROGRAMS[name][1]
    pairs = PROGRAMS[name][2] if way == "DRD" else pairs
    words = [str(word) for word in (threads, pairs, inside * steps, inside * steps)]
    report_file = f"{folder}/report.json"
    before = {"bare": [], "watched": [str(STEADY), "locks", "--quiet", "--no-history", "--export-json", report_file, "--"],
              "DRD": ["valgrind", "--tool=drd", "-q", f"--log-file={folder}/log"]}[way]
    argv = [*before, program, *words]
    set_priority = (lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))) if realtime else None
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=set_priority)
    if done.returncode:
        sys.exit(f"{' '.join(argv)} ended with status {done.returncode}: {done.stderr[-2000:]}")
    cpu, wall = map(float, done.stdout.split())
    return cpu, wall, contended(report_file) if way == "watched" else None


def contended(path: str) -> float:
    """Returns the contended share of the acquisitions of the program's main lock."""
    lock = max(json.loads(Path(path).read_text())["locks"], key=lambda lock: lock["acquisitions"])
    return lock["contended"] / lock["acquisitions"]


def ratios(rounds: list, name: str, way: str, which: int) -> list:
    """Returns the CPU time (which = 0) or wall time (1) of a pair relative to a bare run, for each round."""
    return [found[name, way][which] / found[name, "bare"][which] for found in rounds if (name, way) in found]


def is_reached(rounds: list, name: str) -> bool:
    most = PROGRAMS[name][3]
    return most is None or median(ratios(rounds, name, "watched", 0)) <= most


def report(rounds: list) -> str:
    rows, checks = [], []
    for name, (what, _, _, most) in PROGRAMS.items():
        for way in ("bare", "watched", "DRD"):
            found = [one[name, way] for one in rounds if (name, way) in one]
            if not found:
                continue
            cpu, wall = (ratios(rounds, name, way, which) for which in (0, 1))
            rows.append([what, way, f"{median(one[0] for one in found):,.1f}", f"{median(cpu):.2f}",
                         f"{min(cpu):.2f} to {max(cpu):.2f}", f"{median(wall):.2f}",
                         f"{median(one[2] for one in found):.1%}" if way == "watched" else ""])
        if most is not None:
            checks.append(check(f"{what}: watched at most {most:g} x bare, by CPU time", is_reached(rounds, name)))
    heads = ["program", "run", "CPU ns per pair", "x bare", "range of the rounds", "x bare, wall", "contended"]
    return "\n\n".join([table(heads, rows), "\n".join(checks)])


if __name__ == "__main__":
    main()
