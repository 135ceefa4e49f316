"""Chooses the version that serves a request."""

from __future__ import annotations

import hashlib
import os
import random
import time
from typing import Any, Callable, Tuple

from ._text import name_field

# The application, its version as a field, and the last fields of its lines: the assignment and, with slots, the slot.
Choice = Tuple[Any, str, str]


def fixed(app: Any, version: str, assigned: str) -> Choice:
    """Returns the choice for an application with a single version. Raises ValueError for wrong arguments."""
    if assigned not in ("none", "canary"):
        raise ValueError(f"assigned must be 'none' or 'canary', not {assigned!r}")
    return app, name_field(version, "version"), assigned


def coin(old_app: Any, new_app: Any, versions: tuple[str, str], share: float) -> Callable[[], Choice]:
    """Returns a function that chooses the version of each request at random: the new one with probability `share`."""
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, not {share!r}")
    old, new = _version_fields(versions)
    choices = ((old_app, old, "random"), (new_app, new, "random"))
    generator = random.Random(os.urandom(32))
    draw, getpid = generator.random, os.getpid
    owner = getpid()

    def choose() -> Choice:
        nonlocal owner
        # Otherwise all children would continue with the same random state. Some servers fork without Python's hooks.
        if getpid() != owner:
            generator.seed(os.urandom(32))
            owner = getpid()
        return choices[draw() < share]

    return choose


def slots(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], seconds: int,
          changed: Callable[[Choice], None] = lambda before: None) -> Callable[[], Choice]:
    """Returns a function that chooses the version of a request by its time slot.

    Of each two slots of `seconds`, a coin flip gives one to the old version and the other to the new one. All processes
    of a host compute the same flips. `changed` is called before the first request of each slot, with the choice of the
    previous slot.
    """
    if not (isinstance(seconds, int) and seconds >= 1):
        raise ValueError(f"seconds must be an integer of at least 1, not {seconds!r}")
    old, new = _version_fields(versions)
    host = boot()
    # The slot number and its choice, replaced together because other threads read them.
    current: tuple[int, Choice] = (-1, (old_app, old, ""))

    def choose() -> Choice:
        nonlocal current
        slot = time.monotonic_ns() // 1_000_000_000 // seconds
        number, choice = current
        if number != slot:
            is_new = slot % 2 ^ pair_coin(host, service, versions, seconds, slot // 2)
            fields = f"slot\tslot={seconds}:{slot * seconds}"
            changed(choice)
            choice = (new_app, new, fields) if is_new else (old_app, old, fields)
            current = (slot, choice)
        return choice

    return choose


def pair_coin(host: str, service: str, versions: tuple[str, str], seconds: int, pair: int) -> int:
    """Returns the coin flip of a pair of slots, 0 or 1: a hash of the arguments, which is the same in every process."""
    words = [str(word).encode("utf-8", "surrogatepass") for word in (host, service, *versions, str(seconds), str(pair))]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(word), word) for word in words)).digest()[0] & 1


def boot() -> str:
    """Returns the ID of this boot, so that hosts and boots have different coin flips; empty if the kernel has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _version_fields(versions: tuple[str, str]) -> tuple[str, str]:
    if isinstance(versions, str) or len(versions) != 2:
        raise ValueError(f"versions must be the names of the old and the new version, not {versions!r}")
    old, new = versions
    old, new = name_field(old, "version"), name_field(new, "version")
    if old == new:
        raise ValueError(f"the versions must have different names, but both are {old!r}")
    return old, new
