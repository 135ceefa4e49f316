"""steady bench: false alarms on suites of equal builds, and how often it finds the one benchmark that is 3 % slower.

    bench/run suites --simulated [N]           N simulated suites of 20 benchmarks (2,000)
    bench/run suites --equal [N]               N runs of each harness over one build, next to moving load (10)
    bench/run suites --changed [N]             N runs of each harness in which one of 20 benchmarks is slower (10)
    bench/run suites --rebuilt N               two builds of equal code, in a repository with two commits, idle
    bench/run suites --overhead                CPU time of steady, relative to that of the harness for the same work
    bench/run suites --spread                  how much the numbers of criterion vary between processes under load
    bench/run suites --report                  print Markdown from the results

--harness NAME (may be repeated) chooses harnesses, --filter benchmarks, and --others also runs each harness's own
comparison on the same suites, next to the same kind of load. The sample suites are in testdata/suites; their libraries
must be installed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from math import log
from pathlib import Path
from random import Random, SystemRandom
from statistics import median

from common.loads import background_load, end_neighbours_on_signals
from common.paths import RESULTS, ROOT, STEADY, TARGET
from common.results import Results
from common.stats import share
from common.verdicts import with_interval

HARNESSES = ("criterion", "go", "google-benchmark", "pytest-benchmark")
LOADS = ("spinners", "quick-spinners", "stream", "stream-bursts")
EQUAL = {"SAMPLE_UNUSED": "1"}
CHANGED = {"SAMPLE_WORK": "1030"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run suites", description=__doc__.splitlines()[0])
    parser.add_argument("--simulated", type=int, nargs="?", const=2000, default=0)
    parser.add_argument("--equal", type=int, nargs="?", const=10, default=0)
    parser.add_argument("--changed", type=int, nargs="?", const=10, default=0)
    parser.add_argument("--rebuilt", type=int, default=0, metavar="N")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--others", action="store_true", help="also run the harness's own comparison")
    parser.add_argument("--harness", action="append", choices=HARNESSES)
    parser.add_argument("--metric", help="--metric of steady bench")
    parser.add_argument("--filter", action="append", default=[], help="--filter of steady bench (may be repeated)")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS / "suites.jsonl")
    options = parser.parse_args()
    results = Results(options.results)
    if options.report:
        print(report(results.records))
        return
    end_neighbours_on_signals()
    if options.simulated:
        simulations(options.simulated)
    names = options.harness or HARNESSES
    for name in names if options.rebuilt else ():
        if name != "pytest-benchmark":
            rebuilt(name, options.rebuilt, words("filter", options.filter))
    if not (options.equal or options.changed or options.overhead or options.spread):
        return
    for name in names:
        prepared(name)
    for kind, wanted, budget, variables in (("equal", options.equal, "1m", EQUAL),
                                            ("changed", options.changed, "5m", CHANGED)):
        measure(kind, wanted, budget, variables, names, results, options)
    if options.overhead:
        for name in names:
            overhead(name)
    if options.spread:
        spread()


def simulations(suites: int) -> None:
    """Prints the results of simulated suites: equal builds for a minute, and one changed benchmark for five."""
    print("| simulated suites | error rate | found | others reported | intervals that contain the truth |")
    print("| --- | --- | ---: | ---: | ---: |")
    rows = [(suites, 60, 0.0, "family"), (suites, 60, 0.0, "discovery"),
            (max(suites // 10, 1), 300, 0.03, "family"), (max(suites // 10, 1), 300, 0.03, "discovery")]
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "steady-bench", "--example", "suites"], cwd=ROOT, check=True)
    with ThreadPoolExecutor(2) as pool:
        for (count, seconds, effect, error), found in zip(rows, pool.map(lambda row: simulated(*row), rows)):
            what = f"one of 20 is {effect:.0%} slower" if effect else "equal builds"
            hit = f"{found['found']:.0f} of {count}" if effect else "-"
            print(f"| {count} with 20 benchmarks, {seconds} s: {what} | {error} | {hit} | "
                  f"{found['others']:.0f} of {count} | {found['covered'] / found['intervals']:.1%} |", flush=True)


def simulated(suites: int, seconds: int, effect: float, error: str) -> dict:
    words = [str(TARGET / "release" / "examples" / "suites"), str(suites), "20", str(seconds), str(effect), error]
    line = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return {name: float(value) for name, value in zip(line[::2], line[1::2])}


def folder(name: str) -> Path:
    return TARGET / "bench-suites" / name


def prepared(name: str) -> None:
    """Copies a sample suite and builds it once, so that later builds have nothing to do."""
    shutil.copytree(ROOT / "testdata" / "suites" / name, folder(name), dirs_exist_ok=True)
    bench(name, "--list", "--env-new", "SAMPLE_UNUSED=1")


def bench(name: str, *words: str) -> subprocess.CompletedProcess:
    argv = [STEADY, "bench", "--adapter", name, *words]
    done = subprocess.run(argv, cwd=folder(name), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"steady bench failed: {done.stderr}")
    return done


def measure(kind: str, wanted: int, budget: str, variables: dict, names: tuple, results: Results,
            options: argparse.Namespace) -> None:
    """Runs the missing repetitions, in random order of harnesses and loads."""
    random = SystemRandom()
    loads = LOADS if kind == "equal" else ("spinners",)
    for repetition in range(wanted):
        for name in random.sample(names, len(names)):
            tools = ["steady", "other"] if options.others and kind == "equal" else ["steady"]
            for tool in random.sample(tools, len(tools)):
                chosen = words("metric", options.metric) + words("filter", options.filter)
                label = " ".join([tool, *chosen]) if tool == "steady" else tool
                if len(results.of(kind=kind, harness=name, tool=label)) > repetition:
                    continue
                load = random.choice(loads)
                with background_load(load, Random(random.getrandbits(32)), 60):
                    started = time.monotonic()
                    found = other(name) if tool == "other" else steady(name, budget, variables, chosen)
                record = {"kind": kind, "harness": name, "tool": label, "load": load,
                          "seconds": time.monotonic() - started, **found}
                results.add(record)
                print(f"{kind} {name} {label} {load}: {one_line(record)}", flush=True)


def one_line(record: dict) -> str:
    return (f"changed {', '.join(record['changed']) or '-'}; {record.get('undecided', '-')} undecided; "
            f"{record['seconds']:.0f} s")


def words(option: str, values) -> list:
    """An option of steady bench with its values, as words."""
    values = values if isinstance(values, list) else [values] if values else []
    return [word for value in values for word in (f"--{option}", value)]


def steady(name: str, budget: str, variables: dict, chosen: list) -> dict:
    environment = words("env-new", [f"{variable}={value}" for variable, value in variables.items()])
    done = bench(name, "--budget", budget, "--format", "json", "--quiet", "--no-history", *environment, *chosen)
    record = json.loads(done.stdout)
    benchmarks = record["benchmarks"]
    ends = [one["interval"] for one in benchmarks if one["interval"]]
    return {
        "changed": [one["name"] for one in benchmarks if one["verdict"] in ("slower", "faster")],
        "intervals_of_changed": [one["interval"] for one in benchmarks if one["verdict"] in ("slower", "faster")],
        "undecided": sum(one["verdict"] == "undecided" for one in benchmarks),
        "unmeasured": len(record["unmeasured"]),
        "covered": sum(end["low"] <= 0 <= end["high"] for end in ends),
        "intervals": len(ends),
        "pairs": sum(one["pairs"] for one in benchmarks),
    }


def rebuilt(name: str, wanted: int, chosen: list) -> None:
    """Builds a sample suite at two revisions that differ in no code, and counts the runs that report a change."""
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    with tempfile.TemporaryDirectory(dir=TARGET, prefix="rebuilt-") as place:
        shutil.copytree(ROOT / "testdata" / "suites" / name, place, dirs_exist_ok=True)
        for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "one"],
                      ["commit", "--quiet", "--allow-empty", "-m", "two"]):
            subprocess.run([*git, *words], cwd=place, check=True)
        argv = [STEADY, "bench", "--adapter", name, "--rev", "HEAD~..HEAD", "--budget", "20s", "--resolution", "0.1%",
                "--format", "json", "--quiet", "--no-history", *chosen]
        runs = []
        for _ in range(wanted):
            done = subprocess.run(argv, cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                raise SystemExit(f"steady bench failed: {done.stderr}")
            benchmarks = json.loads(done.stdout)["benchmarks"]
            changed = [one for one in benchmarks if one["verdict"] in ("slower", "faster")]
            runs.append((len(changed), len(benchmarks), sum(one["pairs"] for one in benchmarks)))
            listed = ", ".join("{name} {change:+.2%}".format(**one) for one in changed)
            print(f"rebuilt {name}: {listed or '-'}", flush=True)
        false = sum(changed > 0 for changed, _, _ in runs)
        print(f"{name}: a change was reported in {false} of {wanted} runs, for {sum(one[0] for one in runs)} of "
              f"{sum(one[1] for one in runs)} benchmarks, {sum(one[2] for one in runs)} pairs", flush=True)


def programs(name: str) -> list:
    """The programs of a sample suite that was built."""
    place = folder(name)
    if name == "go":
        return sorted((place / ".steady-bench").glob("*.test"))
    if name == "google-benchmark":
        files = (place / ".steady-bench").iterdir()
        return sorted(file for file in files if file.is_file() and os.access(file, os.X_OK))
    files = (place / "target" / "release" / "deps").iterdir()
    found = [file for file in files if os.access(file, os.X_OK) and file.is_file() and file.suffix == ""]
    return sorted(file for file in found if file.name.split("-")[0] in ("numbers", "text"))


def other(name: str) -> dict:
    """Runs the harness's own comparison of one build with itself, in about a minute. Returns what it reports as changed."""
    with tempfile.TemporaryDirectory(prefix="steady-suites-") as place:
        return {"changed": OTHERS[name](Path(place))}


def criterion(place: Path) -> list:
    options = ["--bench", "--noplot", "--warm-up-time", "0.3", "--measurement-time", "1"]
    environment = {**os.environ, "CRITERION_HOME": str(place)}
    printed = ""
    for words in (["--save-baseline", "old"], ["--baseline", "old"]):
        printed = ""
        for program in programs("criterion"):
            printed += subprocess.run([program, *options, *words], env=environment, cwd=folder("criterion"), check=True,
                                      capture_output=True, text=True).stdout
    changed, last = [], ""
    for line in printed.splitlines():
        last = line.split("  ")[0].strip() or last if "time:" in line else last
        if "Performance has" in line:
            changed.append(last)
    return changed


def go(place: Path) -> list:
    files = [place / "old.txt", place / "new.txt"]
    for file in files:
        with file.open("w") as out:
            for program in programs("go"):
                words = ["-test.run=^$", "-test.bench=.", "-test.benchtime=0.15s", "-test.count=6"]
                subprocess.run([program, *words], stdout=out, check=True, cwd=folder("go"))
    benchstat = shutil.which("benchstat") or Path.home() / "go" / "bin" / "benchstat"
    printed = subprocess.run([benchstat, "-format", "csv", *files], check=True, capture_output=True, text=True).stdout
    changed, unit = [], ""
    for line in printed.splitlines():
        cells = line.split(",")
        if len(cells) > 5 and cells[0] == "":
            unit = cells[1]
        elif unit == "sec/op" and len(cells) > 5 and cells[0] != "geomean" and cells[5] not in ("~", "", "vs base"):
            changed.append(cells[0])
    return changed


def google(place: Path) -> list:
    changed = []
    for program in programs("google-benchmark"):
        files = [place / "old.json", place / "new.json"]
        for file in files:
            words = [f"--benchmark_out={file}", "--benchmark_repetitions=9", "--benchmark_min_time=0.12"]
            subprocess.run([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        script = next(Path("/usr/share").glob("**/benchmark/**/compare.py"))
        dumped = place / "compared.json"
        # Debian's Python has the library that its statistics need.
        subprocess.run(["/usr/bin/python3", script, "--no-color", "-d", dumped, "benchmarks", *files], check=True,
                       stdout=subprocess.DEVNULL)
        for one in json.loads(dumped.read_text()):
            if one.get("utest", {}).get("time_pvalue", 1) < 0.05:
                changed.append(one["name"])
    return changed


def pytest(place: Path) -> list:
    """It has no test: changes of the mean above 5 % are counted."""
    words = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "--benchmark-only",
             "--benchmark-max-time=1", f"--benchmark-storage=file://{place}"]
    where = {"cwd": folder("pytest-benchmark"), "env": {**os.environ, "PYTHONPATH": "src"}}
    subprocess.run([*words, "--benchmark-save=old"], check=True, capture_output=True, **where)
    done = subprocess.run([*words, "--benchmark-compare", "--benchmark-compare-fail=mean:5%"], text=True,
                          capture_output=True, **where)
    return re.findall(r"^\s*(\S+) \(.*\) - Field 'mean'", done.stdout + done.stderr, re.M)


OTHERS = {"criterion": criterion, "go": go, "google-benchmark": google, "pytest-benchmark": pytest}


def overhead(name: str) -> None:
    """Compares the CPU time of steady and all its processes, with the listing and the calibration, with that of the
    harness alone for the same work."""
    # The start of Python and the listing take as long as the rest of a minute, so it gets the default budget.
    budget = "5m" if name == "pytest-benchmark" else "20s"
    modes = {"one build in two environments": ["--env-new", "SAMPLE_UNUSED=1"]}
    if name != "pytest-benchmark":
        program = max(programs(name), key=lambda program: program.stat().st_size)
        modes[f"two programs of {program.stat().st_size / 1e6:.1f} MB"] = [program, program]
    for mode, argv in modes.items():
        before = cpu_time()
        done = bench(name, "--budget", budget, "--resolution", "0.1%", "--format", "json", "--quiet", "--no-history",
                     "--samples", *argv)
        whole = cpu_time() - before
        benchmarks = json.loads(done.stdout)["benchmarks"]
        if name == "pytest-benchmark":
            # Its processes run several benchmarks. The CPU time of a benchmark does not contain the start of Python.
            own = 2 * sum(one["pairs"] for one in benchmarks) * plain_pytest()
        else:
            own = sum(sum(one["samples"][side]["cpu_seconds"]) for one in benchmarks for side in ("old", "new"))
        print(f"{name}, {mode}: {whole:.2f} s of CPU time; the harness alone needs {own:.2f} s: {whole / own:.3f}",
              flush=True)


def cpu_time() -> float:
    """The CPU time of all processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system


def plain_pytest() -> float:
    """The CPU time of a benchmark in a process of pytest that runs the whole suite, with the options of the adapter.
    Like the adapter, it does not measure the precision of the timer, which takes a second."""
    script = """if True:
        import sys, time, pytest
        from pytest_benchmark.fixture import BenchmarkFixture
        BenchmarkFixture._precisions[time.perf_counter] = 1e-7
        sys.exit(pytest.main(sys.argv[1:]))"""
    words = ["python3", "-c", script, "-q", "-o", "addopts=", "-p", "no:cacheprovider", "--benchmark-only",
             "--benchmark-warmup=off", "--benchmark-min-rounds=3", "--benchmark-min-time=0.0003",
             "--benchmark-max-time=0.05", "--benchmark-storage=file:///tmp"]
    place = folder("pytest-benchmark")
    times = []
    for _ in range(5):
        before = cpu_time()
        subprocess.run(words, cwd=place, env={**os.environ, "PYTHONPATH": "src:."}, check=True, capture_output=True)
        times.append(cpu_time() - before)
    return median(times) / 20


def spread() -> None:
    """Prints how much what criterion prints varies from process to process, next to spinners that switch on and off."""
    expressions = {"its estimate": r"time:\s+\[\S+ \S+ ([0-9.]+) (\S+) ", "mean, lower end": r"mean\s+\[([0-9.]+) (\S+) ",
                   "median, lower end": r"median \[([0-9.]+) (\S+) "}
    units = {"ps": 1e-12, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
    program = programs("criterion")[0]
    print("| benchmark | samples | " + " | ".join(expressions) + " |")
    print("| --- | ---: | " + "---: | " * len(expressions))
    for benchmark in ("gcd", "sort/100", "map/hash"):
        for samples in (10, 30, 100):
            words = [program, "--bench", f"^{benchmark}$", "--noplot", "--discard-baseline", "--verbose", "--color", "never",
                     "--sample-size", str(samples), "--nresamples", "1001", "--warm-up-time", "0.009",
                     "--measurement-time", "0.03"]
            found = {name: [] for name in expressions}
            with background_load("spinners", Random(samples), 20):
                for _ in range(60):
                    printed = subprocess.run(words, cwd=folder("criterion"), check=True, capture_output=True, text=True).stdout
                    for name, expression in expressions.items():
                        value, unit = re.search(expression, printed).groups()
                        found[name].append(log(float(value) * units[unit]))
            spreads = [f"{1.4826 * median(abs(one - other) for one, other in zip(logs[::2], logs[1::2])) / 2 ** 0.5:.1%}"
                       for logs in found.values()]
            print(f"| {benchmark} | {samples} | {' | '.join(spreads)} |", flush=True)


def report(records: list) -> str:
    lines = ["| suite | tool | load | runs | runs with a false alarm | false alarms | undecided | covered |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    keys = sorted({(one["kind"], one["harness"], one["tool"]) for one in records})
    for kind, harness, tool in keys:
        some = [one for one in records if (one["kind"], one["harness"], one["tool"]) == (kind, harness, tool)]
        is_right = [any("changed" in name.lower() for name in one["changed"]) for one in some]
        wrong = [[name for name in one["changed"] if kind == "equal" or "changed" not in name.lower()] for one in some]
        intervals = sum(one.get("intervals", 0) for one in some)
        covered = f"{sum(one['covered'] for one in some)} of {intervals}" if intervals and kind == "equal" else "-"
        undecided = sum(one.get("undecided", 0) for one in some)
        what = harness if kind == "equal" else f"{harness}, one 3 % slower: found in {sum(is_right)}"
        lines.append(f"| {what} | {tool} | {'moving' if kind == 'equal' else 'spinners'} | {len(some)} | "
                     f"{sum(map(bool, wrong))} | {sum(map(len, wrong))} | {undecided} | {covered} |")
    own = [one for one in records if one["kind"] == "equal" and one["tool"] == "steady"]
    lines += ["", f"Runs of steady with a false alarm: {with_interval(share(bool(one['changed']) for one in own))}."] if own else []
    return "\n".join(lines)


if __name__ == "__main__":
    main()
