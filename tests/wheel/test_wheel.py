"""The wheel: built by maturin, installed into a new environment, and run from there.

It is built with the profile of the other tests, so that nothing is compiled twice. During the build the binary may be
missing from the target directory, so no other test may run at the same time.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))

from listener import PYTHON, TARGET, UNREACHABLE, environment, run

MATURIN = "1.16.0"


def maturin() -> Path:
    """Returns the path of maturin, which is downloaded once into cargo's target directory."""
    program = TARGET / "python-tools" / MATURIN / "bin" / "maturin"
    if run("test", "-x", program).returncode:
        programs = environment(program.parents[1])
        got = run(programs / "python", "-m", "pip", "install", "--retries", "1", "--timeout", "20", f"maturin=={MATURIN}")
        if UNREACHABLE in got.stderr:
            raise unittest.SkipTest(f"maturin {MATURIN} cannot be downloaded: no package index can be reached")
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
            # Each test reports the skip: a class that is skipped as a whole is not counted.
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
        """Runs the installed program outside of the source tree and without the user's environment."""
        return run(self.programs / "steady", *words, cwd="/", env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"})

    def test_the_installed_program_prints_its_version(self):
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
        package = Path(done.stdout.strip()).parent
        self.assertTrue(package.is_relative_to(self.folder), done.stdout)
        packaged = {path.name for path in package.iterdir() if path.is_file()}
        self.assertEqual(packaged, {path.name for path in (PYTHON / "steadyhand").iterdir() if path.is_file()})
        self.assertIn("py.typed", packaged)

    def test_the_middleware_finds_the_rulers_of_the_installed_program(self):
        script = "from steadyhand import _rulers; print(_rulers.library())"
        environment = {"XDG_CACHE_HOME": str(self.folder), "PATH": "/usr/bin:/bin"}
        done = run(self.programs / "python", "-I", "-c", script, cwd="/", env=environment)
        self.assertRegex(done.stdout, r"^\(<PyDLL .*, None\)\n$", done.stderr)
        self.assertTrue(list(self.folder.glob("steady-u*/libsteady_rulers.so")))


if __name__ == "__main__":
    unittest.main()
