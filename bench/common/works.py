"""Workloads: commands whose cost is proportional to an amount."""

import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from common.paths import TARGET, WORK

PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Work:
    """A workload with its nominal CPU time in seconds.

    `argv(amount)` prepares the command's files and returns its arguments. Their length does not depend on the amount,
    because a longer argument would move the stack.
    """

    name: str
    seconds: float
    first_guess: int
    argv: Callable[[int], list]


def _kernel(*words) -> Callable[[int], list]:
    return lambda amount: [str(WORK), *words, f"{amount:09}"]


def _python(amount: int) -> list:
    return [PYTHON, "-I", "-c", f"for _ in range({amount:>9}): pass"]


def two_modes(amount: int, share: float, factor: float) -> list:
    """Returns the Python workload with an expensive mode: a `share` of the runs does `factor` times the work."""
    # String hashes are random in every process. Importing a random generator would add to the start-up.
    mode = f"{factor:>5g} if hash('x') % 1000 < {1000 * share:>5g} else 1"
    return [PYTHON, "-I", "-c", f"for _ in range({amount:>9} * ({mode})): pass"]


def _gzip(amount: int) -> list:
    return ["gzip", "-c", str(_text(amount))]


def _text(size: int) -> Path:
    """Returns a file of `size` bytes of real text, from the Python standard library."""
    path = TARGET / "bench-tools" / "text" / f"{size:09}.txt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_standard_library(size))
    return path


def _standard_library(size: int) -> bytes:
    text = bytearray()
    for source in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text += source.read_bytes()
        if len(text) >= size:
            return bytes(text[:size])
    sys.exit(f"Python's standard library has fewer than {size} bytes of text")


WORKS = {
    work.name: work
    for work in (
        Work("alu5", 0.005, 1_000_000, _kernel("alu")),
        Work("alu30", 0.030, 6_000_000, _kernel("alu")),
        Work("cache15", 0.015, 1_000_000, _kernel("cache", str(2 << 20))),
        Work("syscalls10", 0.010, 100_000, _kernel("syscalls")),
        Work("python22", 0.022, 300_000, _python),
        Work("gzip30", 0.030, 1_000_000, _gzip),
    )
}
