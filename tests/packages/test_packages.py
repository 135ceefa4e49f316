"""The files of a release: packaging/build builds them, and the tests install and remove them. Needs a release build."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
TOOLS = TARGET / "tools"
CARGO_DEB = "3.8.0"
ARCH = os.uname().machine
VERSION = re.search(r'(?m)^version = "(.+)"$', (ROOT / "Cargo.toml").read_text()).group(1)
PROGRAM_LIMIT = 30 * 1024 * 1024
FEATURES = ["agent", "compare", "costs", "explain", "host", "judge", "limit", "load", "locks", "release", "signature", "warm"]

ENVIRONMENT = {**os.environ, "PATH": f"{TOOLS / 'bin'}:{os.environ['PATH']}"}


def run(*words, **options) -> subprocess.CompletedProcess:
    """Runs a command, which must succeed. Bytes that are not UTF-8, like a checksum that readelf prints, are replaced."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", env=ENVIRONMENT, **options)
    if done.returncode:
        raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.out = cls.folder / "dist"
        run("cargo", "install", "--locked", "--quiet", "cargo-deb", "--version", CARGO_DEB, "--root", TOOLS)
        run(ROOT / "packaging" / "build", cls.out)
        cls.tree = cls.folder / "tree"
        cls.tree.mkdir()
        run("tar", "-xzf", cls.out / f"steady-{ARCH}-linux-gnu.tar.gz", "-C", cls.tree)

    def compares(self, steady) -> None:
        """Compares `true` with itself, outside of the source tree."""
        run(steady, "compare", "--no-history", "--runs", "6", "true", "true", cwd="/")

    def test_the_checksums_are_those_of_the_files(self):
        sums = f"SHA256SUMS-{ARCH}"
        checked = run("sha256sum", "--check", "--strict", sums, cwd=self.out).stdout
        files = {path.name for path in self.out.iterdir()} - {sums}
        self.assertEqual({line.split(":")[0] for line in checked.splitlines()}, files)
        self.assertEqual(len(files), 3)

    def test_the_archive_holds_the_program_and_its_manual(self):
        steady = self.tree / "bin" / "steady"
        self.assertRegex(run(steady, "--version").stdout, rf"^steady {re.escape(VERSION)}\b")
        self.assertLess(steady.stat().st_size, PROGRAM_LIMIT)
        pages = {path.name for path in (self.tree / "share/man/man1").iterdir()}
        self.assertLessEqual({f"steady-{feature}.1" for feature in FEATURES} | {"steady.1"}, pages)
        self.compares(steady)

    def test_the_archive_has_no_owner_of_the_build_machine(self):
        listed = run("tar", "--numeric-owner", "-tvzf", self.out / f"steady-{ARCH}-linux-gnu.tar.gz").stdout
        for line in listed.splitlines():
            self.assertEqual(line.split()[1], "0/0", line)

    def test_the_debug_symbols_belong_to_the_program(self):
        run("tar", "-xzf", self.out / f"steady-{ARCH}-linux-gnu-debug.tar.gz", "-C", self.folder)
        build_id = lambda file: re.search(r"Build ID: (\w+)", run("readelf", "-n", file).stdout).group(1)
        self.assertEqual(build_id(self.tree / "bin" / "steady"), build_id(self.folder / "steady.debug"))
        link = run("readelf", "--string-dump=.gnu_debuglink", self.tree / "bin" / "steady").stdout
        self.assertIn("steady.debug", link)
        self.assertIn(".debug_line", run("readelf", "--section-headers", "--wide", self.folder / "steady.debug").stdout)

    def test_the_debian_package_installs_and_is_removed(self):
        if os.geteuid() or not shutil.which("dpkg"):
            self.skipTest("needs root and dpkg")
        if Path("/usr/bin/steady").exists():
            self.skipTest("/usr/bin/steady is installed here")
        [package] = self.out.glob("*.deb")
        fields = run("dpkg-deb", "--field", package).stdout
        self.assertRegex(fields, r"(?m)^Depends: .*libc6 \(>= [0-9.]+\)")
        run("dpkg", "--install", package)
        try:
            files = run("dpkg", "--listfiles", "steadyhand").stdout.splitlines()
            for file in ("/usr/bin/steady", "/usr/share/bash-completion/completions/steady",
                         "/usr/share/zsh/vendor-completions/_steady", "/usr/share/fish/vendor_completions.d/steady.fish",
                         "/usr/share/doc/steadyhand/copyright"):
                self.assertIn(file, files)
                self.assertTrue(Path(file).exists(), file)
            pages = [file for file in files if "/man1/steady" in file]
            self.assertGreater(len(pages), len(FEATURES))
            self.compares("steady")
            self.unit_is_valid(next(file for file in files if file.endswith("steady-agent.service")))
            self.assertEqual(run("dpkg", "--verify", "steadyhand").stdout, "")
        finally:
            run("dpkg", "--purge", "steadyhand")
        self.assertEqual([file for file in files if "steady" in file and Path(file).exists()], [])

    def unit_is_valid(self, unit: str) -> None:
        if shutil.which("systemd-analyze"):
            checked = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
            self.assertEqual((checked.returncode, checked.stdout), (0, ""))

    def test_cargo_installs_the_program(self):
        root = self.folder / "cargo"
        run("cargo", "install", "--locked", "--quiet", "--path", "crates/cli", "--root", root, "--target-dir", TARGET, cwd=ROOT)
        self.compares(root / "bin" / "steady")

    def test_pip_installs_the_program_from_the_checkout(self):
        run("python3", "-m", "venv", self.folder / "venv")
        pip = [self.folder / "venv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, ROOT / "python"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={**ENVIRONMENT, "CARGO_TARGET_DIR": str(TARGET)})
        self.assertEqual(done.returncode, 0, done.stdout)
        self.compares(self.folder / "venv" / "bin" / "steady")


if __name__ == "__main__":
    unittest.main()
