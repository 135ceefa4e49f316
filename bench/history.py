"""How long steady history takes with 10,000 runs in its database; the target is 100 ms for the list.

    bench/run history [--runs N] [--repeats N]
"""

import argparse
import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from common.paths import STEADY
from common.tools import wall_seconds
from common.verdicts import check

TARGET_SECONDS = 0.1
PAIRS = 30


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run history", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000, help="runs in the database (10000)")
    parser.add_argument("--repeats", type=int, default=15, help="repetitions of each call (15)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="steady-history-") as folder:
        environment = {**os.environ, "XDG_DATA_HOME": folder}
        run(["compare", "--quiet", "--runs", str(PAIRS), "/bin/true", "/bin/true"], environment)
        database = Path(folder) / "steady" / "history.db"
        multiply(database, options.runs)
        print(f"{options.runs} runs of {PAIRS} pairs, {database.stat().st_size / 1e6:.1f} MB")
        calls = [["list"], ["list", "--format", "json"], ["list", "--limit", "20"], ["show", "last"], ["report", "1"]]
        took = {" ".join(call): timed(["history", *call], environment, options.repeats) for call in calls}
    for call, seconds in took.items():
        print(f"steady history {call:20} {1000 * median(seconds):6.1f} ms (median of {len(seconds)}; "
              f"{1000 * min(seconds):.1f} to {1000 * max(seconds):.1f})")
    print(check(f"the list within {1000 * TARGET_SECONDS:.0f} ms", median(took["list"]) <= TARGET_SECONDS))


def multiply(database: Path, runs: int) -> None:
    """Copies the only run and its record until there are `runs` of them."""
    with sqlite3.connect(database) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
        values = {"id": ":id", "log": "log || :id"}
        copied = ", ".join(values.get(column, column) for column in columns)
        for number in range(2, runs + 1):
            connection.execute(f"INSERT INTO runs SELECT {copied} FROM runs WHERE id = 1", {"id": number})
            connection.execute("INSERT INTO records SELECT :id, json FROM records WHERE run = 1", {"id": number})
    connection.close()


def timed(words: list, environment: dict, repeats: int) -> list:
    return [wall_seconds([str(STEADY), *words], environment) for _ in range(repeats)]


def run(words: list, environment: dict) -> None:
    subprocess.run([str(STEADY), *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   env=environment)


if __name__ == "__main__":
    main()
