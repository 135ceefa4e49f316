"""steady bisect: how often it names the right commit, in simulated histories and in built ones next to changing load.

In half of the simulated histories one random commit of 64 costs 3 % more; in the other half none does. Their comparisons
run the program's own code on a simulated machine with load that comes and goes. The built histories are git
repositories with 64 commits of a C program, of which one does 3 % more work. The compiler builds what `steady bisect`
visits, next to spinners that switch on and off.

    bench/run bisections [--histories N] [--built N] [--budget SECONDS]
"""

import argparse
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random, SystemRandom
from tempfile import TemporaryDirectory

from common.loads import background_load, end_neighbours_on_signals
from common.paths import ROOT, STEADY, TARGET

COMMITS = 64
EFFECT = 0.03
SOURCE = """
static volatile unsigned sink;
int main(void) {
    unsigned state = %d;
    for (long i = 0; i < %dL; i++)
        state = state * 1664525u + 1013904223u;
    sink = state;
    return 0;
}
"""
STEPS = 20_000_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run bisections", description=__doc__.splitlines()[0])
    parser.add_argument("--histories", type=int, default=100, help="simulated histories of each kind (100)")
    parser.add_argument("--built", type=int, default=10, help="histories that are built (10)")
    parser.add_argument("--budget", type=int, default=180, help="seconds to measure in a search (180)")
    options = parser.parse_args()
    end_neighbours_on_signals()
    with ThreadPoolExecutor(2) as pool:
        one, none = pool.map(lambda effect: simulated(options.histories, effect, options.budget), [EFFECT, 0.0])
    print("| histories | right | wrong | no commit named | builds | seconds measured |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, found in [("simulated, one step of 3 %", one), ("simulated, no step", none)]:
        right = "-" if found is none else f"{found['right']:.0f}"
        print(f"| {found['histories']:.0f} {name} | {right} | {found['wrong']:.0f} | {found['open']:.0f} | "
              f"{found['builds']:.1f} | {found['seconds']:.0f} |", flush=True)
    if options.built:
        found = [built(options.budget) for _ in range(options.built)]
        counts = [sum(one["result"] == result for one in found) for result in ("right", "wrong", "open")]
        means = [sum(one[key] for one in found) / len(found) for key in ("builds", "seconds")]
        print(f"| {len(found)} built, one step of 3 % | {counts[0]} | {counts[1]} | {counts[2]} | {means[0]:.1f} | "
              f"{means[1]:.0f} |")


def simulated(histories: int, effect: float, budget: int) -> dict:
    words = [str(word) for word in (histories, COMMITS, effect, budget)]
    argv = ["cargo", "run", "--quiet", "--release", "-p", "steady-bisect", "--example", "bisect", "--", *words]
    line = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return {name: float(value) for name, value in zip(line[::2], line[1::2])}


def built(budget: int) -> dict:
    """Searches one history of real builds. Returns the result, the number of builds and the measured time."""
    random = SystemRandom()
    at = random.randint(1, COMMITS)
    with TemporaryDirectory(dir=TARGET, prefix="bisect-") as folder:
        repository = _repository(Path(folder), at)
        words = [STEADY, "bisect", "good..HEAD", "--restart", "--no-history", "--format", "json", "--quiet",
                 "--budget", f"{budget}s", "--build", "cc -O1 -o prog prog.c", "./prog"]
        with background_load("spinners", Random(random.getrandbits(32)), budget):
            done = subprocess.run(words, cwd=repository, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 4):
        raise SystemExit(f"steady bisect failed: {done.stderr}")
    record = json.loads(done.stdout)
    compared = {commit for one in record["comparisons"] for commit in (one["from"], one["to"])}
    result = "open" if record["outcome"] != "found" else "right" if record["candidates"] == [at] else "wrong"
    seconds = sum(one["measured_seconds"] for one in record["comparisons"])
    return {"result": result, "builds": len(compared), "seconds": seconds}


def _repository(folder: Path, at: int) -> Path:
    def git(*words: str) -> None:
        argv = ["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", *words]
        subprocess.run(argv, check=True, capture_output=True)

    git("init", "--quiet")
    for number in range(COMMITS + 1):
        steps = round(STEPS * (1 + EFFECT)) if number >= at else STEPS
        (folder / "prog.c").write_text(SOURCE % (number + 1, steps))
        git("add", "-A")
        git("commit", "--quiet", "--message", f"Change {number}")
        if number == 0:
            git("tag", "good")
    return folder


if __name__ == "__main__":
    main()
