"""Steal time: CPU time that the hypervisor gave to other guests."""

from pathlib import Path


def steal_ticks() -> tuple:
    """Returns the stolen time and the total time of all CPUs since the boot, in ticks."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)


def steal_share(before: tuple) -> float:
    """Returns the share of stolen time since `before`, a result of `steal_ticks`."""
    stolen, total = (now - then for now, then in zip(steal_ticks(), before))
    return stolen / max(total, 1)
