"""The options of benches that make one kind of trial again and again, and go on where they stopped."""

import argparse
from pathlib import Path

from common.paths import RESULTS


def session_options(name: str, doc: str, unit: str, wanted: int) -> argparse.Namespace:
    """`--UNIT N`, as `wanted`, with `wanted` for a default; `--report` and `--results`."""
    parser = argparse.ArgumentParser(prog=f"bench/run {name}", description=doc.splitlines()[0])
    about = f"{unit} wanted, those on file included ({wanted})"
    parser.add_argument(f"--{unit}", dest="wanted", metavar="N", type=int, default=wanted, help=about)
    parser.add_argument("--report", action="store_true", help="print Markdown from the results")
    parser.add_argument("--results", type=Path, default=RESULTS / f"{name}.jsonl")
    return parser.parse_args()
