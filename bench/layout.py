"""A function that is never called: how often it is reported as a difference, with and without --relink.

A program of 120 small functions is built twice; the second build has one more function, at a random place. The hot loop
calls some of the functions, so their positions matter. With --relink, each draw links the objects in a random order.

    bench/run layout [--trials N]   measure; continues where it stopped
    bench/run layout --report       print Markdown from the results
"""

import json
import subprocess
from pathlib import Path
from random import Random, SystemRandom
from tempfile import TemporaryDirectory

from common.loads import end_neighbours_on_signals
from common.paths import STEADY, TARGET
from common.results import Results
from common.session import session_options
from common.verdicts import table

FUNCTIONS = 120
HOT = 12
BUDGET_SECONDS = 12.0

# Without these, compilers align functions and loops, which hides most effects of their positions.
UNALIGNED = ["-fno-align-functions", "-fno-align-loops", "-fno-align-jumps", "-fno-align-labels"]

# Prints the object files of a directory in a random order, from the number in STEADY_LAYOUT.
ORDER = """
import os, random, sys
names = sorted(name for name in os.listdir(".") if name.endswith(".o"))
random.Random(int(os.environ["STEADY_LAYOUT"])).shuffle(names)
print(*names)
"""


def main() -> None:
    options = session_options("layout", __doc__, "trials", 60)
    results = Results(options.results)
    if not options.report:
        end_neighbours_on_signals()
        while len(results.records) < options.wanted:
            results.add(trial())
            print(f"{len(results.records)}/{options.wanted} {results.records[-1]}", flush=True)
    print(report(results.records))


def trial() -> dict:
    random = SystemRandom()
    with TemporaryDirectory(dir=TARGET, prefix="layout-") as folder:
        seed = random.getrandbits(32)
        old, new = _program(Path(folder, "old"), seed, False), _program(Path(folder, "new"), seed, True)
        found = {"with": _verdict(old, new, True), "without": _verdict(old, new, False)}
    return found


def _verdict(old: Path, new: Path, relink: bool) -> str:
    words = [STEADY, "compare", "--no-history", "--format", "json", "--quiet", "--budget", f"{BUDGET_SECONDS}s",
             "--resolution", "0.5%"]
    if relink:
        for program in (old, new):
            words += ["--relink", f"cd {program.parent} && cc -o prog $(python3 order.py)"]
    done = subprocess.run([*words, str(old), str(new)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"steady compare failed: {done.stderr}")
    return json.loads(done.stdout)["verdicts"][0]["verdict"]


def _program(folder: Path, seed: int, has_unused: bool) -> Path:
    """Compiles and links a program. Its source depends on the seed only, except for one function."""
    random = Random(seed)
    folder.mkdir()
    bodies = {f"f{number:03}": _body(random, f"f{number:03}") for number in range(FUNCTIONS)}
    hot = random.sample(sorted(bodies), HOT)
    unused = f"f{random.randrange(FUNCTIONS):03}x"
    if has_unused:
        bodies[unused] = _body(random, unused)
    calls = " ".join(f"state = {name}(state);" for name in hot)
    declared = "".join(f"unsigned {name}(unsigned);\n" for name in hot)
    loop = f"for (long i = 0; i < 60000; i++) {{ {calls} }}"
    bodies["main"] = f"{declared}int main(void) {{ unsigned state = 1; {loop} return state == 7; }}"
    for name, body in bodies.items():
        (folder / f"{name}.c").write_text(body)
    sources = sorted(f"{name}.c" for name in bodies)
    subprocess.run(["cc", "-O2", *UNALIGNED, "-c", *sources], cwd=folder, check=True)
    (folder / "order.py").write_text(ORDER)
    objects = [source.replace(".c", ".o") for source in sources]
    subprocess.run(["cc", "-o", "prog", *objects], cwd=folder, check=True)
    return folder / "prog"


def _body(random: Random, name: str) -> str:
    """A function with short loops, whose speed depends on where they are in a cache line."""
    loops = "".join(
        f"    for (unsigned n = x & 7; n < {random.randrange(9, 16)}; n++) "
        f"x = (x >> {random.randrange(1, 4)}) ^ (x * {random.randrange(3, 9999, 2)}u);\n"
        for _ in range(random.randrange(1, 4))
    )
    return f"unsigned {name}(unsigned x) {{\n{loops}    return x;\n}}\n"


def report(records: list) -> str:
    def different(key: str) -> str:
        return f"{sum(one[key] in ('faster', 'slower') for one in records)} of {len(records)}"

    rows = [["with --relink", different("with")], ["without", different("without")]]
    return table(["", "reported as a difference"], rows)


if __name__ == "__main__":
    main()
