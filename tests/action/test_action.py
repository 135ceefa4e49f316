"""The composite action: action.yml and the workflows are well-formed, and its scripts run as under a runner."""

import functools
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
STEADY = TARGET / "debug" / "steady"

EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


def load(path: Path):
    if yaml is None:
        raise unittest.SkipTest("no yaml for python3 (Debian: python3-yaml)")
    return yaml.safe_load(path.read_text())


def busy(turns: int) -> str:
    """Returns a shell loop whose cost is proportional to `turns`."""
    return f"sh -c 'i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done'"


class Action:
    """Runs the action's steps as a runner does: inputs in the environment, outputs in files."""

    def __init__(self, folder: Path):
        self.file, self.folder = load(ROOT / "action.yml"), folder
        self.outputs, self.summary = folder / "outputs", folder / "summary"
        self.server = "http://localhost:9"  # nothing listens there

    def run(self, step: str, path: str = os.environ["PATH"], where: Path = ROOT, **given) -> subprocess.CompletedProcess:
        for file in (self.outputs, self.summary):
            file.write_text("")
        [found] = [candidate for candidate in self.file["runs"]["steps"] if candidate["id"] == step]
        inputs = {name: entry["default"] for name, entry in self.file["inputs"].items()}
        inputs.update({"steady": str(STEADY)}, **{name.replace("_", "-"): value for name, value in given.items()})
        environment = {name: self._value(text, inputs) for name, text in found["env"].items()}
        files = {"GITHUB_OUTPUT": str(self.outputs), "GITHUB_STEP_SUMMARY": str(self.summary)}
        own = {"PATH": path, "HOME": str(self.folder), "RUNNER_TEMP": str(self.folder)}
        script = self.folder / "script"
        script.write_text(found["run"])
        # A runner starts `shell: bash` with these words.
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=where, text=True,
                              env={**own, **files, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

    def _value(self, text: str, inputs: dict) -> str:
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {
            "inputs.steady || steps.released.outputs.steady || format('{0}/steadyhand/bin/steady', runner.temp)": inputs["steady"],
            "inputs.release || github.action_ref": inputs["release"],
            "github.action_path": str(ROOT),
            "github.action_repository": "owner/steadyhand",
            "github.server_url": self.server,
        }
        return EXPRESSION.sub(lambda match: known[match.group(1).strip()], text)

    def scripts(self) -> list:
        """Returns the steps that run a script."""
        return [step for step in self.file["runs"]["steps"] if "run" in step]

    def output_values(self) -> dict:
        return dict(line.split("=", 1) for line in self.outputs.read_text().splitlines())


class WithAction(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.action = Action(self.folder)

    def compare(self, status: int, **inputs) -> dict:
        """Runs the comparison, which must end with `status`, and returns its outputs."""
        done = self.action.run("compare", **inputs)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.stdout = done.stdout
        return self.action.output_values()


class Files(WithAction):
    def test_text_from_outside_never_becomes_code(self):
        for step in self.action.scripts():
            self.assertNotRegex(step["run"], EXPRESSION)

    def test_every_input_is_used_and_every_output_set(self):
        text = (ROOT / "action.yml").read_text()
        used = set(re.findall(r"inputs\.([a-z-]+)", text))
        self.assertEqual(used, set(self.action.file["inputs"]))
        outputs = self.compare(0, old="true", new="true", budget="1s")
        self.assertEqual(set(outputs), set(self.action.file["outputs"]))

    def test_scripts_are_clean(self):
        if not shutil.which("shellcheck"):
            self.skipTest("no shellcheck")
        for step in self.action.scripts():
            script = "set -eo pipefail\n" + step["run"]  # the options of the runner's shell
            checked = subprocess.run(["shellcheck", "--shell=bash", "-"], input=script, text=True,
                                     stdout=subprocess.PIPE)
            self.assertEqual(checked.returncode, 0, checked.stdout)
        for script in ("test", "packaging/build"):
            checked = subprocess.run(["shellcheck", "--severity=warning", ROOT / script], text=True, stdout=subprocess.PIPE)
            self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_workflows_are_valid(self):
        tools = TARGET / "tools" / "bin"
        actionlint = shutil.which("actionlint", path=f"{tools}:{os.environ['PATH']}")
        if not actionlint:
            self.skipTest("no actionlint (go install github.com/rhysd/actionlint/cmd/actionlint@latest)")
        files = [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "examples" / "workflow.yml"]
        self.assertGreater(len(files), 2)
        checked = subprocess.run([actionlint, *files], stdout=subprocess.PIPE, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_the_example_uses_existing_inputs_and_outputs(self):
        steps = load(ROOT / "examples" / "workflow.yml")["jobs"]["gate"]["steps"]
        uses = [step["uses"] for step in steps if "uses" in step]
        self.assertEqual(uses, ["actions/checkout@v4", "OWNER/steadyhand@COMMIT"])
        [ours] = [step for step in steps if step.get("id") == "steady"]
        self.assertLessEqual(set(ours["with"]), set(self.action.file["inputs"]))
        outputs = re.findall(r"steps\.steady\.outputs\.([a-z]+)", (ROOT / "examples" / "workflow.yml").read_text())
        self.assertLessEqual(set(outputs), set(self.action.file["outputs"]))


class Comparing(WithAction):
    def test_a_condition_that_certainly_holds_fails_the_job(self):
        outputs = self.compare(1, old=busy(4000), new=busy(20000), budget="10s", fail_if="slower>2%")
        self.assertEqual((outputs["verdict"], outputs["status"]), ("slower", "1"))
        low, change, high = (float(outputs[name]) for name in ("low", "change", "high"))
        self.assertTrue(0.02 < low < change < high, outputs)
        self.assertIn("::error title=steady::slower>2%25 certainly holds", self.stdout)
        self.assertIn("times the CPU time", self.action.summary.read_text())

    def test_a_condition_that_does_not_hold_passes(self):
        outputs = self.compare(0, old=busy(8000), new=busy(4000), budget="10s", fail_if="slower>2%")
        self.assertEqual(outputs["verdict"], "faster")
        self.assertNotIn("::error", self.stdout)
        judged = subprocess.run([STEADY, "judge", "--format", "json", outputs["report"]], stdout=subprocess.PIPE, text=True)
        self.assertEqual(judged.returncode, 0)
        self.assertIn(outputs["change"], judged.stdout)

    def test_undecided_fails_only_if_a_verdict_is_required(self):
        few = {"old": "true", "new": "true", "budget": "", "args": "--runs 3"}
        outputs = self.compare(0, **few)
        self.assertEqual((outputs["verdict"], outputs["change"]), ("undecided", ""))
        outputs = self.compare(4, require_verdict="true", **few)
        self.assertEqual(outputs["status"], "4")
        self.assertIn("::warning title=steady::undecided", self.stdout)
        self.assertNotEqual(self.action.summary.read_text(), "")
        self.compare(4, require_verdict="true", fail_if="slower>2%", **few)
        self.assertIn("::warning title=steady::it is not known whether slower>2%25 holds;", self.stdout)
        self.assertNotIn("::error", self.stdout)

    def test_more_options_keep_their_quotes(self):
        note = self.folder / "a file"
        self.compare(0, old="true", new="true", budget="1s", args=f"--layout turns --setup 'echo $HOME >\"{note}\"'")
        self.assertEqual(note.read_text(), f"{self.folder}\n")
        self.compare(1, old="true", new="true", args="--setup 'unclosed")

    def test_a_failed_measurement_keeps_its_status_and_has_no_outputs(self):
        for status, inputs in ((2, {"old": "/no/such/program", "new": "true"}), (3, {"old": "true", "new": "false"})):
            self.assertEqual(self.compare(status, **inputs), {"status": str(status)})
            self.assertEqual(self.action.summary.read_text(), "")

    def test_incomplete_inputs_are_refused(self):
        for inputs in ({}, {"old": "true"}, {"rev": "a..b"}, {"old": "a", "new": "b", "rev": "a..b", "command": "c"},
                       {"rev": "a..b", "build": "b"}, {"bench": "true"},
                       {"bench": "true", "rev": "a..b", "command": "c"}):
            self.assertEqual(self.compare(2, **inputs), {"status": "2"})
            self.assertIn("give old and new, rev and command, or rev and bench", self.stdout)


class Revisions(WithAction):
    def test_two_revisions_are_built_and_compared(self):
        origin, clone = self.folder / "origin", self.folder / "clone"
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(origin)]
        subprocess.run(["git", "init", "-q", origin], check=True)
        for turns in (2000, 4000, 8000):
            (origin / "source").write_text("#!/bin/sh\n" + busy(turns) + "\n")
            subprocess.run([*git, "add", "source"], check=True)
            subprocess.run([*git, "commit", "-qm", f"{turns} turns"], check=True)
        # The example has the same depth.
        subprocess.run(["git", "clone", "-q", "--depth", "2", f"file://{origin}", clone], check=True)
        inputs = {"rev": "HEAD^1..HEAD", "build": "install source prog", "command": "./prog", "budget": "10s"}
        done = self.action.run("compare", where=clone, fail_if="slower>2%", **inputs)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(self.action.output_values()["verdict"], "slower")


    def test_the_benchmarks_of_two_revisions_are_compared(self):
        where = self.folder / "repository"
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(where)]
        subprocess.run(["git", "init", "-q", where], check=True)
        (where / "mine.toml").write_text(ADAPTER)
        for turns in (2000, 4000):
            (where / "suite.sh").write_text(SUITE.replace("TURNS", str(turns)))
            (where / "suite.sh").chmod(0o755)
            subprocess.run([*git, "add", "."], check=True)
            subprocess.run([*git, "commit", "-qm", f"{turns} turns"], check=True)
        done = self.action.run("compare", where=where, bench="true", rev="HEAD^1..HEAD", budget="10s",
                               args="--adapter mine.toml", fail_if="slower>5%")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        outputs = self.action.output_values()
        self.assertEqual((outputs["slower"], outputs["faster"], outputs["verdict"]), ("1", "0", ""))
        self.assertEqual(outputs["condition"], "holds")
        self.assertIn("**got slower** in HEAD", self.action.summary.read_text())
        (where / "suite.sh").write_text(SUITE.replace("i=0", "exit 7; i=0"))
        subprocess.run([*git, "commit", "-qam", "broken"], check=True)
        done = self.action.run("compare", where=where, bench="true", rev="HEAD^1..HEAD", budget="10s",
                               args="--adapter mine.toml", fail_if="slower>5%")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("::error title=steady::a measured command or benchmark failed", done.stdout)
        self.assertIn("failed** in HEAD", self.action.summary.read_text())


# A harness whose suite is a shell script with one benchmark. It reports a constant, because this tests the action.
ADAPTER = """
name = "mine"
programs = ["./suite.sh"]
list = "{program} list"
run = "{program} {name} {iterations}"
metrics = ["time[s]=regex:([0-9]+) (?<unit>ns)"]
seconds = 0.02
"""
SUITE = """#!/bin/sh
[ "$1" != list ] || { echo only; exit; }
i=0
while [ $i -lt $(($2 * TURNS)) ]; do i=$((i+1)); done
echo $((TURNS * 500)) ns
"""


class Installing(WithAction):
    def test_the_actions_own_source_is_installed(self):
        # A fake cargo instead of a release build: it records its arguments and installs the existing binary.
        cargo = self.folder / "cargo"
        cargo.write_text(f'#!/bin/sh\npwd >{self.folder}/called\necho "$@" >>{self.folder}/called\n'
                         f'mkdir -p "$RUNNER_TEMP/steadyhand/bin"\nln -s {STEADY} "$RUNNER_TEMP/steadyhand/bin/steady"\n')
        cargo.chmod(0o755)
        done = self.action.run("install", path=f"{self.folder}:{os.environ['PATH']}")
        self.assertEqual(done.returncode, 0, done.stderr)
        where, words = (self.folder / "called").read_text().splitlines()
        self.assertEqual(Path(where), ROOT)
        self.assertRegex(words, r"^install --locked .*--path crates/cli --root \S+/steadyhand ")
        self.assertRegex(done.stdout, r"^steady \d")
        self.assertTrue((self.folder / "steadyhand" / "bin" / "steady").exists())


class Released(WithAction):
    """The download of a released binary, from a web server that plays the release page."""

    def setUp(self):
        super().setUp()
        if not shutil.which("curl"):
            self.skipTest("no curl")
        self.page = self.folder / "site" / "owner" / "steadyhand" / "releases" / "download" / "v0.1.0"
        self.page.mkdir(parents=True)
        handler = functools.partial(QuietHandler, directory=self.folder / "site")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.action.server = f"http://127.0.0.1:{server.server_port}"

    def publish(self, text: str) -> None:
        """Puts a release with this program on the page."""
        arch = os.uname().machine
        program = self.folder / "tree" / "bin" / "steady"
        program.parent.mkdir(parents=True)
        program.write_text(text)
        program.chmod(0o755)
        name = f"steady-{arch}-linux-gnu.tar.gz"
        subprocess.run(["tar", "-czf", self.page / name, "-C", self.folder / "tree", "."], check=True)
        digest = hashlib.sha256((self.page / name).read_bytes()).hexdigest()
        (self.page / f"SHA256SUMS-{arch}").write_text(f"{digest}  {name}\n")

    def released(self, status: int = 0, **inputs) -> dict:
        done = self.action.run("released", **inputs)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return self.action.output_values()

    def test_the_binary_of_a_release_is_used(self):
        self.publish("#!/bin/sh\necho steady 0.1.0\n")
        outputs = self.released(release="v0.1.0")
        self.assertEqual(set(outputs), {"steady"})
        ran = subprocess.run([outputs["steady"]], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(ran.stdout, "steady 0.1.0\n")

    def test_a_binary_with_another_checksum_is_never_run(self):
        self.publish(f"#!/bin/sh\ntouch {self.folder}/ran\n")
        [sums] = self.page.glob("SHA256SUMS-*")
        sums.write_text("0" * 64 + sums.read_text()[64:])
        self.assertEqual(self.released(1, release="v0.1.0"), {})
        self.assertFalse((self.folder / "ran").exists())

    def test_without_a_release_the_source_is_built_and_cached(self):
        keys = [self.released(release=name) for name in ("v0.2.0", "main", "0123abc", "")]
        self.assertEqual([set(outputs) for outputs in keys], [{"key"}] * 4)
        self.assertEqual(len({outputs["key"] for outputs in keys}), 1)
        self.assertRegex(keys[0]["key"], "^[0-9a-f]{64}$")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
