"""Paths of the repository, of results and of the tools under test."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "target"
RESULTS = ROOT / "bench" / "results"

WORK = TARGET / "bench-tools" / "bin" / "work"
HYPERFINE = TARGET / "bench-tools" / "bin" / "hyperfine"
STEADY = Path(os.environ.get("STEADY", TARGET / "release" / "steady"))
