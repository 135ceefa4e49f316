"""Which version serves a request, and what is said of how that was decided."""

from __future__ import annotations

import hashlib
import os
import random
import time
from typing import Any, Callable, Tuple

from ._text import field

# The application, its version as a field, and the end of its lines: assignment and, with slots, the slot.
Choice = Tuple[Any, str, str]


def fixed(app: Any, version: str, assigned: str) -> Choice:
    """One version, whatever comes."""
    if assigned not in ("none", "canary"):
        raise ValueError(f"assigned is 'none' or 'canary', not {assigned!r}")
    return app, field(version), assigned


def coin(old_app: Any, new_app: Any, versions: tuple[str, str], share: float) -> Callable[[], Choice]:
    """A coin for each request, which falls on the new version with a probability of `share`."""
    if not 0 < share < 1:
        raise ValueError(f"share is between 0 and 1, not {share!r}")
    old, new = _two(versions)
    choices = ((old_app, old, "random"), (new_app, new, "random"))
    drawn = random.Random(os.urandom(32))
    # Children would else throw their parent's coins, all of them the same.
    os.register_at_fork(after_in_child=lambda: drawn.seed(os.urandom(32)))
    throw = drawn.random
    return lambda: choices[throw() < share]


def slots(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], seconds: int,
          changed: Callable[[Choice], None] = lambda before: None) -> Callable[[], Choice]:
    """A coin for each pair of slots, the same one in all processes of a host.

    `changed` is called before the first request of each slot, with the choice of the requests before.
    """
    if not (isinstance(seconds, int) and seconds >= 1):
        raise ValueError(f"seconds is a whole number from 1 on, not {seconds!r}")
    old, new = _two(versions)
    host = boot()
    # The number of the slot, and what serves in it: replaced as a whole, for other threads read it.
    known: tuple[int, Choice] = (-1, (old_app, old, ""))

    def choose() -> Choice:
        nonlocal known
        slot = time.monotonic_ns() // 1_000_000_000 // seconds
        number, choice = known
        if number != slot:
            is_new = slot % 2 ^ pair_coin(host, service, versions, seconds, slot // 2)
            said = f"slot\tslot={seconds}:{slot * seconds}"
            changed(choice)
            choice = (new_app, new, said) if is_new else (old_app, old, said)
            known = (slot, choice)
        return choice

    return choose


def pair_coin(host: str, service: str, versions: tuple[str, str], seconds: int, pair: int) -> int:
    """0 or 1, fair and independent from pair to pair, and the same wherever it is asked for."""
    words = [word.encode("utf-8", "surrogatepass") for word in (host, service, *versions, str(seconds), str(pair))]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(word), word) for word in words)).digest()[0] & 1


def boot() -> str:
    """This boot of this host: other hosts, and this one after its next start, throw other coins."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _two(versions: tuple[str, str]) -> tuple[str, str]:
    old, new = versions
    old, new = field(old), field(new)
    if old == new:
        raise ValueError(f"the versions have the same name, {old!r}")
    return old, new
