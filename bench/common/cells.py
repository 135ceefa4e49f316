"""The cells of the truth table, and those of the named targets.

Cells with an effect are ones whose truth a load moves little: where a neighbour makes start-up and work dearer by
different factors, the share of the work in the whole, and so the true effect of the command, moves too. A kernel in
registers beside a streaming neighbour keeps all but the start-up's small share; cache work or Python beside a stream
would not, so there only the effect 0 is asked for, which is 0 under any load. The one exception is a target: 2 % on the
cache work beside a stream, whose start-up (touching the memory) is a twentieth of the whole.
"""

from common.trial import Cell


def _cell(work: str, effect: float, load: str, **asked) -> Cell:
    return Cell(f"{work} {100 * effect:g} % {load}", work, effect, load, **asked)


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
    # Two modes: what is true is the ratio of mean costs, which the usual run contradicts where both change.
    _modes(0.00, "idle", (0.05, 10), (0.05, 10)),
    _modes(0.00, "spinners", (0.2, 5), (0.2, 5)),
    _modes(0.00, "quick-spinners", (0.5, 2), (0.5, 2)),
    _modes(-0.05, "idle", (0.05, 10), (0.4, 10)),
    _modes(-0.05, "spinners", (0.05, 10), (0.4, 10)),
    _modes(0.05, "spinners", (0.5, 5), (0.1, 5)),
]

# With each target, in how many of ten trials the effect should be found.
REACH = {
    _cell("alu5", 0.01, "idle", budget=1.0): 9,
    _cell("alu5", 0.01, "spinners", budget=1.0): 9,
    _cell("alu30", 0.01, "idle", budget=2.0): 9,
    _cell("alu30", 0.01, "spinners", budget=2.0): 9,
    _cell("cache15", 0.02, "stream", budget=10.0): 8,
    _cell("alu30", 0.001, "idle", budget=30.0, resolution=0.0005): 9,
}
