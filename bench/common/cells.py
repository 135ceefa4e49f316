"""The cells of the truth table, and the named targets.

A load changes the true effect of a command if it slows start-up and work by different factors. Cells with an effect use
combinations where this change is small, such as a kernel in registers next to a streaming neighbour. It would be large
for cache work or Python next to a stream. They have only the effect 0, which is 0 under any load. The exception is a
target: 2 % on cache work next to a stream, whose start-up (touching the memory) is a twentieth of the whole.
"""

from common.trial import Cell


def _cell(work: str, effect: float, load: str, **options) -> Cell:
    return Cell(f"{work} {100 * effect:g} % {load}", work, effect, load, **options)


def _modes(effect: float, load: str, old: tuple, new: tuple) -> Cell:
    name = f"python22 {100 * effect:g} % modes {old[0]:g} x{old[1]:g} to {new[0]:g} x{new[1]:g} {load}"
    return Cell(name, "python22", effect, load, modes=(old, new))


TRUTH = [
    _cell("alu5", 0.00, "idle"),
    _cell("alu5", 0.01, "spinners"),
    _cell("alu5", 0.02, "quick-spinners"),
    _cell("alu30", 0.00, "step"),
    _cell("alu30", 0.005, "idle", resolution=0.0025),
    _cell("alu30", 0.01, "stream-bursts"),
    _cell("cache15", 0.00, "stream"),
    _cell("cache15", 0.02, "spinners"),
    _cell("syscalls10", 0.00, "quick-spinners"),
    _cell("syscalls10", 0.05, "step"),
    _cell("python22", 0.02, "spinners"),
    _cell("gzip30", 0.00, "spinners"),
    # Two modes: the truth is the ratio of the mean costs. Where both modes change, the typical run changes the other
    # way.
    _modes(0.00, "idle", (0.05, 10), (0.05, 10)),
    _modes(0.00, "spinners", (0.2, 5), (0.2, 5)),
    _modes(0.00, "quick-spinners", (0.5, 2), (0.5, 2)),
    _modes(-0.05, "idle", (0.05, 10), (0.4, 10)),
    _modes(-0.05, "spinners", (0.05, 10), (0.4, 10)),
    _modes(0.05, "spinners", (0.5, 5), (0.1, 5)),
]

# The targets, each with the number of trials out of ten in which the effect should be found.
REACH = {
    _cell("alu5", 0.01, "idle", budget=1.0): 9,
    _cell("alu5", 0.01, "spinners", budget=1.0): 9,
    _cell("alu30", 0.01, "idle", budget=2.0): 9,
    _cell("alu30", 0.01, "spinners", budget=2.0): 9,
    _cell("cache15", 0.02, "stream", budget=10.0): 8,
    _cell("alu30", 0.001, "idle", budget=30.0, resolution=0.0005): 9,
}
