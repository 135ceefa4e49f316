"""steady signature compared with published C code: speed per core, speed-up by two workers, and the cost of a lock.

The C program (bench/common/signature_plain.c) is compiled with cc -O2. The speed per core is by CPU time, for the C
program without reading the file and for steady with it. All run in rounds, in random order within each, and only ratios
within a round are compared. The cost of a lock is measured with eight workers that share one allocator. If valgrind is
installed, instructions are counted too. It does not support AVX-512, so the portable code is counted.

    bench/run signature [--rounds N] [--mebibytes N] [--seed N]
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from statistics import median

from common.paths import ROOT, STEADY, TARGET
from common.verdicts import check, table

PLAIN = Path(__file__).parent / "common" / "signature_plain.c"
MIB = 1 << 20
# The speed relative to the C program: the target and the minimum.
TARGETS = {("none", "random"): (3.0, 2.0), ("none", "text"): (2.0, 1.5), ("pool", "random"): (1.3, 1.3),
          ("pool", "text"): (1.3, 1.3)}
TWO_WORKERS = 1.9
PUBLISHED = 3.060 / 0.167


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run signature", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--mebibytes", type=int, default=16, help="size of the inputs (16)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the random order")
    options = parser.parse_args()
    if not shutil.which("cc"):
        sys.exit("cc is not installed; it is needed to compile the C program")
    random = Random(options.seed)
    print(f"load average before: {os.getloadavg()[0]:.2f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        plain = folder / "plain"
        subprocess.run(["cc", "-O2", str(PLAIN), "-o", str(plain)], check=True)
        files = inputs(folder, options.mebibytes * MIB)
        runs = conditions(plain, files)
        rounds = []
        for number in range(options.rounds):
            order = list(runs)
            random.shuffle(order)
            rounds.append({name: runs[name]() for name in order})
            print(f"round {number + 1} of {options.rounds}", flush=True)
        text, reached = report(rounds, options.mebibytes * MIB)
        print(text)
        print(instructions_per_byte(plain, files))
    sys.exit(0 if reached else 1)


def inputs(folder: Path, size: int) -> dict:
    """Writes the input files.

    `random` has random bytes and `text` this repository's source text, both of one size. `large` has the random bytes
    four times, for workers to share. `small` has 1 MiB of random bytes.
    """
    random = os.urandom(size)
    source = b"".join(path.read_bytes() for path in sorted((ROOT / "crates").rglob("*.rs")))
    text = (source * (size // len(source) + 1))[:size]
    files = {"random": random, "text": text, "large": 4 * random, "small": random[:MIB]}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in files}


def conditions(plain: Path, files: dict) -> dict:
    """Returns functions that measure seconds and signature, by tool and input."""
    runs = {}
    for name in ("random", "text"):
        for nodes in ("pool", "malloc"):
            runs[f"C {nodes}", name] = lambda nodes=nodes, name=name: run_c(plain, files[name], nodes)
        for allocator in ("none", "pool", "system"):
            runs[allocator, name] = lambda allocator=allocator, name=name: run_steady(files[name], allocator, "--single")["cpu"]
    for allocator in ("none", "pool"):
        for workers in (1, 2):
            words = ("--threads", str(workers))
            runs[allocator, workers] = lambda a=allocator, w=words: wall_and_cpu(run_steady(files["large"], a, *w))
    for allocator in ("pool", "global"):
        runs[allocator, "small"] = lambda a=allocator: run_steady(files["small"], a, "--threads", "8")["wall"]
    return runs


def run_c(plain: Path, path: Path, nodes: str) -> tuple:
    done = subprocess.run([str(plain), str(path), nodes, "1"], stdout=subprocess.PIPE, text=True, check=True)
    signature, seconds = done.stdout.split()
    return float(seconds), int(signature)


def run_steady(path: Path, allocator: str, *words: str) -> dict:
    """Runs steady signature. Returns CPU seconds and wall seconds, each with the signature."""
    argv = [str(STEADY), "signature", "--format", "json", "--allocator", allocator, *words, str(path)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)["files"][0]
    signature = found["signature"]
    return {"cpu": (found["user_seconds"] + found["system_seconds"], signature), "wall": (found["elapsed_seconds"], signature)}


def wall_and_cpu(found: dict) -> tuple:
    """Returns wall seconds, signature and CPU seconds."""
    return (*found["wall"], found["cpu"][0])


def ratios(rounds: list, old: tuple, new: tuple) -> list:
    """Returns the speed of `new` relative to `old`, for each round."""
    return [one[old][0] / one[new][0] for one in rounds]


def signatures(rounds: list, name) -> set:
    return {found[1] for one in rounds for (_, what), found in one.items() if what == name}


def report(rounds: list, size: int) -> tuple:
    """Returns the tables and checks, and whether all minimums are reached."""
    lines, reached = [], []
    rows = []
    for name in ("random", "text"):
        same = len(signatures(rounds, name)) == 1
        reached.append(same)
        lines.append(check(f"all programs compute the same signature of {name} bytes", same))
        for tool in ("C malloc", "C pool", "system", "pool", "none"):
            found = ratios(rounds, ("C pool", name), (tool, name))
            speed = median(size / 1e6 / one[tool, name][0] for one in rounds)
            rows.append([name, tool, f"{speed:,.0f}", f"{median(found):.2f}", f"{min(found):.2f} to {max(found):.2f}"])
            if (tool, name) in TARGETS:
                target, least = TARGETS[tool, name]
                reached.append(median(found) >= least)
                lines.append(check(f"{tool} on {name} bytes: {median(found):.2f} times C's pool (target {target:g}, minimum {least:g})",
                                   median(found) >= target))
    for allocator in ("none", "pool"):
        found = ratios(rounds, (allocator, 1), (allocator, 2))
        reached.append(median(found) >= TWO_WORKERS)
        lines.append(check(f"two workers, {allocator}: {median(found):.2f} times the speed of one ({min(found):.2f} to {max(found):.2f}; "
                           f"target {TWO_WORKERS:g})", median(found) >= TWO_WORKERS))
        spent = median(one[allocator, 2][2] / one[allocator, 1][2] for one in rounds)
        lines.append(f"- two workers, {allocator}, use {spent:.2f} times the CPU time of one")
    found = ratios(rounds, ("global", "small"), ("pool", "small"))
    lines.append(f"8 workers on 1 MiB: global takes {median(found):.1f} times pool's time ({min(found):.1f} to {max(found):.1f}); "
                 f"published: {PUBLISHED:.0f} times")
    heads = ["bytes", "program", "MB/s of CPU time", "times C's pool", "range of the rounds"]
    return "\n\n".join([table(heads, rows), "\n".join(lines)]), all(reached)


def instructions_per_byte(plain: Path, files: dict) -> str:
    """Counts instructions per byte, without start and end of the program.

    It measures an example with the same code, because steady reads a clock that valgrind does not support.
    """
    if not shutil.which("valgrind"):
        return "skipped: instructions per byte: valgrind is not installed"
    build = ["cargo", "build", "--quiet", "--release", "--package", "steady-workloads", "--example", "signature"]
    if subprocess.run([*build, "--target-dir", str(TARGET)], cwd=ROOT).returncode:
        return "skipped: instructions per byte: the example could not be built"
    example = TARGET / "release" / "examples" / "signature"
    empty = files["small"].with_name("empty")
    empty.write_bytes(b"")
    ways = {"C pool": lambda path: [str(plain), str(path), "pool", "1"]}
    for allocator in ("pool", "none"):
        ways[allocator] = lambda path, a=allocator: [str(example), str(path), a]
    found = {}
    for name, words in ways.items():
        full, none = (instructions(words(path)) for path in (files["small"], empty))
        found[name] = None if full is None or none is None else (full - none) / MIB
    counts = [f"{name} {'not measured' if value is None else f'{value:.1f}'}" for name, value in found.items()]
    return "instructions per byte, counted by callgrind on 1 MiB of random bytes: " + ", ".join(counts)


def instructions(argv: list):
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    return int(collected[1]) if done.returncode == 0 and collected else None


if __name__ == "__main__":
    main()
