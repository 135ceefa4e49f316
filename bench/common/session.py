"""Command-line options of benches that repeat one kind of trial and continue where they stopped."""

import argparse
from pathlib import Path

from common.paths import RESULTS


def session_options(name: str, doc: str, unit: str, wanted: int) -> argparse.Namespace:
    """Parses `--UNIT N` with the default `wanted`, `--report` and `--results`."""
    parser = argparse.ArgumentParser(prog=f"bench/run {name}", description=doc.splitlines()[0])
    about = f"number of {unit}, including those already in the results (default: {wanted})"
    parser.add_argument(f"--{unit}", dest="wanted", metavar="N", type=int, default=wanted, help=about)
    parser.add_argument("--report", action="store_true", help="print Markdown from the results")
    parser.add_argument("--results", type=Path, default=RESULTS / f"{name}.jsonl")
    return parser.parse_args()
