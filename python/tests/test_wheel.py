"""The wheel: built by maturin, installed into a fresh environment, and run from there.

It is built from the same profile as the tests beside it, so that nothing is compiled twice.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", PYTHON.parent / "target")).absolute()
MATURIN = "1.16.0"

# What pip says where there is no index to ask; of a package that is missing from one it lists the versions.
UNREACHABLE = "(from versions: none)"


def run(*words, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **options)


def environment(folder: Path) -> Path:
    """A new Python environment; the folder of its programs."""
    if not importlib.util.find_spec("ensurepip"):
        raise unittest.SkipTest("no environment can be made: python3 has no ensurepip (Debian: python3-venv)")
    made = run(sys.executable, "-m", "venv", folder)
    if made.returncode:
        raise RuntimeError(made.stdout + made.stderr)
    return folder / "bin"


def maturin() -> Path:
    """The builder, fetched once and kept beside what cargo builds."""
    program = TARGET / "python-tools" / MATURIN / "bin" / "maturin"
    if run("test", "-x", program).returncode:
        programs = environment(program.parents[1])
        got = run(programs / "python", "-m", "pip", "install", "--retries", "1", "--timeout", "20", f"maturin=={MATURIN}")
        if UNREACHABLE in got.stderr:
            raise unittest.SkipTest(f"maturin {MATURIN} cannot be fetched: no package index can be reached")
        if got.returncode:
            raise RuntimeError(got.stderr)
    return program


class Wheel(unittest.TestCase):
    missing = None

    @classmethod
    def setUpClass(cls):
        try:
            cls.install()
        except unittest.SkipTest as skip:
            # Told test by test: a class that is skipped as a whole counts as no test at all.
            cls.missing = str(skip)

    def setUp(self):
        if self.missing:
            self.skipTest(self.missing)

    @classmethod
    def install(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        built = run(maturin(), "build", "--profile", "dev", "--strip", "false", "--out", cls.folder / "wheels",
                    cwd=PYTHON, env={**os.environ, "CARGO_TARGET_DIR": str(TARGET)})
        if built.returncode:
            raise RuntimeError(built.stderr)
        [wheel] = (cls.folder / "wheels").glob("steadyhand-*-py3-none-*.whl")
        cls.programs = environment(cls.folder / "fresh")
        installed = run(cls.programs / "python", "-m", "pip", "install", "--no-index", wheel)
        if installed.returncode:
            raise RuntimeError(installed.stderr)

    def steady(self, *words) -> subprocess.CompletedProcess:
        """The installed program, far from the sources and with nothing of the user's."""
        return run(self.programs / "steady", *words, cwd="/", env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"})

    def test_the_installed_program_names_its_version(self):
        done = self.steady("--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = run(self.programs / "python", "-m", "pip", "show", "steadyhand").stdout
        version = re.search(r"(?m)^Version: (\S+)$", listed).group(1)
        self.assertRegex(done.stdout, rf"^steady {re.escape(version)}( \([0-9a-f]{{7,}}(\+changes)? [-0-9]{{10}}\))?\n$")

    def test_the_installed_program_compares(self):
        done = self.steady("compare", "--runs", "5", "--format", "json", "--quiet", "true", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["pairs"], 5)

    def test_the_package_can_be_imported(self):
        done = run(self.programs / "python", "-I", "-c", "import steadyhand; print(steadyhand.__file__)", cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(Path(done.stdout.strip()).is_relative_to(self.folder), done.stdout)


if __name__ == "__main__":
    unittest.main()
