"""steady locks: what watching costs, against bare and valgrind's DRD: pairs of lock and unlock, and contended programs.

Each program is run bare, watched and, where valgrind is there, under DRD, in random order within each round; it tells the
CPU time and the wall time of its loop by its own clocks. What is compared are ratios within a round. How many steps of work
make a microsecond is found out once, before. Whether a program is contended depends on who gets the CPUs: what else runs on the
machine keeps its threads from meeting. With --realtime the programs come first (SCHED_RR, which takes rights).

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

# Prints the CPU time and the wall time of what it does, in nanoseconds a pair.
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
/* In registers: what goes through memory takes now one time and now another, as it happens to lie. */
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

# What each program is; its threads, pairs and microseconds of work with the lock, with as many without; how many pairs DRD is given
# instead; and what watching may cost at most.
PROGRAMS = {
    "uncontended": ("10 M pairs, of a program with threads", (1, PAIRS, 0), 200_000, MOST_UNCONTENDED),
    "alone": ("10 M pairs, of a program without", (0, PAIRS, 0), 200_000, None),
    "contended": ("4 threads, half of their work with the lock, 1 us each time", (4, 100_000, 1), 500, MOST_CONTENDED),
    "contended longer": ("the same, 10 us each time", (4, 10_000, 10), 500, MOST_CONTENDED),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run locks", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds (15)")
    parser.add_argument("--seed", type=int, default=None, help="of the order")
    parser.add_argument("--realtime", action="store_true", help="programs come before whatever else runs")
    options = parser.parse_args()
    random = Random(options.seed)
    print(f"load average before: {os.getloadavg()[0]:.2f}", flush=True)
    ways = ["bare", "watched", "DRD"] if shutil.which("valgrind") else ["bare", "watched"]
    if "DRD" not in ways:
        print("skipped: there is no valgrind")
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "program")
        subprocess.run(["cc", "-O2", "-pthread", "-x", "c", "-", "-o", program], input=SOURCE, text=True, check=True)
        steps = int(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
        print(f"steps of work a microsecond: {steps:,}", flush=True)
        for number in range(options.rounds):
            every = [(name, way) for name in PROGRAMS for way in ways]
            random.shuffle(every)
            rounds.append({one: run(program, steps, *one, folder, options.realtime) for one in every})
            print(f"round {number + 1} of {options.rounds}", flush=True)
    print(report(rounds))
    sys.exit(0 if all(is_reached(rounds, name) for name in PROGRAMS) else 1)


def run(program: str, steps: int, name: str, way: str, folder: str, realtime: bool) -> tuple:
    """The CPU time and the wall time of a pair, as the program tells them; and what share of all was contended, as the watched one does."""
    threads, pairs, inside = PROGRAMS[name][1]
    pairs = PROGRAMS[name][2] if way == "DRD" else pairs
    words = [str(word) for word in (threads, pairs, inside * steps, inside * steps)]
    told = f"{folder}/told.json"
    before = {"bare": [], "watched": [str(STEADY), "locks", "--quiet", "--no-history", "--export-json", told, "--"],
              "DRD": ["valgrind", "--tool=drd", "-q", f"--log-file={folder}/log"]}[way]
    argv = [*before, program, *words]
    first = (lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))) if realtime else None
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=first)
    if done.returncode:
        sys.exit(f"{' '.join(argv)} ended with status {done.returncode}: {done.stderr[-2000:]}")
    cpu, wall = map(float, done.stdout.split())
    return cpu, wall, contended(told) if way == "watched" else None


def contended(path: str) -> float:
    """What share of the acquisitions of a program's one lock was contended."""
    lock = max(json.loads(Path(path).read_text())["locks"], key=lambda lock: lock["acquisitions"])
    return lock["contended"] / lock["acquisitions"]


def ratios(rounds: list, name: str, way: str, which: int) -> list:
    """How much more a pair takes than bare, round by round: of the CPU (0) or of the wall (1)."""
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
    heads = ["program", "run", "CPU ns a pair", "x bare", "of the rounds", "x bare, wall", "contended"]
    return "\n\n".join([table(heads, rows), "\n".join(checks)])


if __name__ == "__main__":
    main()
