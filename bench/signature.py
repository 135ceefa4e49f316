"""steady signature beside the published way to compute it, in C: per core, by two workers, and what a lock costs eight.

The C program (bench/common/signature_plain.c) is compiled on the spot with cc -O2. Per core it is told by CPU time: the C
program's without reading, ours with it. All run in rounds, in random order within each, and what is compared are ratios within
a round. Where there is valgrind, instructions are counted too; it knows no AVX-512, so that they are those of the portable way.

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
# How many times the C program's speed: what is aimed at, and the least.
WANTED = {("none", "random"): (3.0, 2.0), ("none", "text"): (2.0, 1.5), ("pool", "random"): (1.3, 1.3),
          ("pool", "text"): (1.3, 1.3)}
TWO_WORKERS = 1.9
PUBLISHED = 3.060 / 0.167


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run signature", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--mebibytes", type=int, default=16, help="size of the inputs (16)")
    parser.add_argument("--seed", type=int, default=None, help="of the order")
    options = parser.parse_args()
    if not shutil.which("cc"):
        sys.exit("there is no cc to compile the C program with")
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
        print(counted(plain, files))
    sys.exit(0 if reached else 1)


def inputs(folder: Path, size: int) -> dict:
    """Random bytes, this repository's source text as often as it takes, both of one size; four times the random bytes, for
    workers to share; and 1 MiB of them."""
    random = os.urandom(size)
    source = b"".join(path.read_bytes() for path in sorted((ROOT / "crates").rglob("*.rs")))
    text = (source * (size // len(source) + 1))[:size]
    files = {"random": random, "text": text, "large": 4 * random, "small": random[:MIB]}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in files}


def conditions(plain: Path, files: dict) -> dict:
    """What is run: names, and functions that tell seconds and signature."""
    runs = {}
    for name in ("random", "text"):
        for nodes in ("pool", "malloc"):
            runs[f"C {nodes}", name] = lambda nodes=nodes, name=name: in_c(plain, files[name], nodes)
        for allocator in ("none", "pool", "system"):
            runs[allocator, name] = lambda allocator=allocator, name=name: ours(files[name], allocator, "--single")["cpu"]
    for allocator in ("none", "pool"):
        for workers in (1, 2):
            words = ("--threads", str(workers))
            runs[allocator, workers] = lambda a=allocator, w=words: both(ours(files["large"], a, *w))
    for allocator in ("pool", "global"):
        runs[allocator, "small"] = lambda a=allocator: ours(files["small"], a, "--threads", "8")["wall"]
    return runs


def in_c(plain: Path, path: Path, nodes: str) -> tuple:
    done = subprocess.run([str(plain), str(path), nodes, "1"], stdout=subprocess.PIPE, text=True, check=True)
    signature, seconds = done.stdout.split()
    return float(seconds), int(signature)


def ours(path: Path, allocator: str, *words: str) -> dict:
    """Seconds of CPU time and of wall time, each beside the signature."""
    argv = [str(STEADY), "signature", "--format", "json", "--allocator", allocator, *words, str(path)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)["files"][0]
    signature = found["signature"]
    return {"cpu": (found["user_seconds"] + found["system_seconds"], signature), "wall": (found["elapsed_seconds"], signature)}


def both(found: dict) -> tuple:
    """Wall seconds and signature, and CPU seconds."""
    return (*found["wall"], found["cpu"][0])


def ratios(rounds: list, old: tuple, new: tuple) -> list:
    """How many times as fast `new` is as `old`, round by round."""
    return [one[old][0] / one[new][0] for one in rounds]


def signatures(rounds: list, name) -> set:
    return {found[1] for one in rounds for (_, what), found in one.items() if what == name}


def report(rounds: list, size: int) -> tuple:
    """The tables and what is reached, and whether every least is."""
    lines, reached = [], []
    rows = []
    for name in ("random", "text"):
        same = len(signatures(rounds, name)) == 1
        reached.append(same)
        lines.append(check(f"all ways come to one signature of {name} bytes", same))
        for tool in ("C malloc", "C pool", "system", "pool", "none"):
            found = ratios(rounds, ("C pool", name), (tool, name))
            speed = median(size / 1e6 / one[tool, name][0] for one in rounds)
            rows.append([name, tool, f"{speed:,.0f}", f"{median(found):.2f}", f"{min(found):.2f} to {max(found):.2f}"])
            if (tool, name) in WANTED:
                wanted, least = WANTED[tool, name]
                reached.append(median(found) >= least)
                lines.append(check(f"{tool} on {name} bytes: {median(found):.2f} times C's pool, {wanted:g} wanted, {least:g} at least",
                                   median(found) >= wanted))
    for allocator in ("none", "pool"):
        found = ratios(rounds, (allocator, 1), (allocator, 2))
        reached.append(median(found) >= TWO_WORKERS)
        lines.append(check(f"two workers, {allocator}: {median(found):.2f} times one ({min(found):.2f} to {max(found):.2f}), "
                           f"{TWO_WORKERS:g} wanted", median(found) >= TWO_WORKERS))
        spent = median(one[allocator, 2][2] / one[allocator, 1][2] for one in rounds)
        lines.append(f"- by CPU time two workers, {allocator}, spend {spent:.2f} times what one does, whoever else has the CPUs")
    found = ratios(rounds, ("global", "small"), ("pool", "small"))
    lines.append(f"8 workers on 1 MiB: global takes {median(found):.1f} times pool's time ({min(found):.1f} to {max(found):.1f}); "
                 f"published: {PUBLISHED:.0f} times")
    heads = ["bytes", "way", "MB/s of CPU time", "times C's pool", "of the rounds"]
    return "\n\n".join([table(heads, rows), "\n".join(lines)]), all(reached)


def counted(plain: Path, files: dict) -> str:
    """Instructions a byte, less those of starting and ending. The whole program reads its clock where valgrind has none, so
    that what is counted is an example of the same code without a clock."""
    if not shutil.which("valgrind"):
        return "skipped: there is no valgrind to count instructions with"
    build = ["cargo", "build", "--quiet", "--release", "--package", "steady-workloads", "--example", "signature"]
    if subprocess.run([*build, "--target-dir", str(TARGET)], cwd=ROOT).returncode:
        return "skipped: the example whose instructions are counted could not be built"
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
    told = [f"{name} {'absent' if value is None else f'{value:.1f}'}" for name, value in found.items()]
    return "instructions a byte, counted by callgrind on 1 MiB of random bytes: " + ", ".join(told)


def instructions(argv: list):
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    return int(collected[1]) if done.returncode == 0 and collected else None


if __name__ == "__main__":
    main()
