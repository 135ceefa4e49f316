"""On a terminal, under real shells: job control, Ctrl-C, Ctrl-Z and programs that talk to the terminal, for `steady limit` and for
programs that `steady warm` starts from snapshots."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
STEADY = TARGET / "debug" / "steady"
PATIENCE_SECONDS = 30

CTRL_C, CTRL_Z, CTRL_D = b"\x03", b"\x1a", b"\x04"


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *argv: str):
        self.seen = ""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            # Nothing of the user's is touched.
            data = str(TARGET / "tmp" / "data-of-terminals")
            os.environ.update(PS1="$ ", TERM="dumb", ENV="", HISTFILE="", XDG_DATA_HOME=data)
            os.execvp(argv[0], argv)

    def type(self, text) -> None:
        os.write(self.master, text if isinstance(text, bytes) else text.encode() + b"\n")

    def expect(self, pattern: str) -> str:
        """Waits for a text on the terminal; what came up to its end is taken away."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = re.search(pattern, self.seen)
            if found:
                seen, self.seen = self.seen[:found.end()], self.seen[found.end():]
                return seen
            if time.monotonic() > end or not self._read(end):
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")

    def _read(self, end: float) -> bool:
        if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.master, 4096)
        except OSError:
            return False
        self.seen += data.decode(errors="replace").replace("\r", "")
        return bool(data)

    def close(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(self.master)
        os.waitpid(self.pid, 0)


class WithTerminals(unittest.TestCase):
    def shell(self, *argv: str) -> Terminal:
        if not shutil.which(argv[0]):
            self.skipTest(f"there is no {argv[0]}")
        terminal = Terminal(*argv)
        self.addCleanup(terminal.close)
        return terminal

    def until_stopped(self, terminal: Terminal) -> None:
        """Until the shell lists a job as stopped."""
        for number in range(100):
            terminal.type(f"jobs; echo listed$(({number} + 1000))")
            if re.search("(?i)(stopped|suspended)", terminal.expect(f"listed{number + 1000}\n")):
                return
            time.sleep(0.1)
        self.fail("it is not stopped")

    def until_a_job_has_it(self, terminal: Terminal) -> None:
        """Until the shell has handed the terminal over: some throw away what was typed before."""
        end = time.monotonic() + PATIENCE_SECONDS
        while os.tcgetpgrp(terminal.master) in (terminal.pid, 0):
            self.assertLess(time.monotonic(), end, "the shell has it still")
            time.sleep(0.02)


class Limited(WithTerminals):
    def in_shells(self):
        """A terminal with each of the shells that there are."""
        for argv in (("bash", "--norc", "--noprofile", "-i"), ("dash", "-i"), ("zsh", "-f", "-i")):
            if shutil.which(argv[0]):
                terminal = self.shell(*argv)
                terminal.type("echo up$((1))")
                terminal.expect("up1\n")
                yield terminal

    def test_ctrl_c_ends_the_command_and_the_shell_sees_the_signal(self):
        for terminal in self.in_shells():
            terminal.type(f"{STEADY} limit --cpu 20s -- sh -c 'echo run$((2)); exec sleep 7201'")
            terminal.expect("run2\n")
            terminal.type(CTRL_C)
            terminal.expect("Signal.2 ended the command")
            terminal.type("echo status:$?")
            terminal.expect("status:130")

    def test_ctrl_c_reaches_the_command_once(self):
        for terminal in self.in_shells():
            script = 'trap "echo caught; n=1\\$n; [ \\$n = 1 ] && exit 9" INT; echo run$((2)); while :; do sleep 0.05; done'
            terminal.type(f"{STEADY} limit --cpu 20s --quiet -- sh -c '{script}'")
            terminal.expect("run2\n")
            terminal.type(CTRL_C)
            terminal.expect("caught\n")
            terminal.type("echo status:$?")
            self.assertNotIn("caught\n", terminal.expect("status:9"))

    def test_ctrl_z_stops_it_for_the_shell_and_fg_goes_on(self):
        for terminal in self.in_shells():
            script = "echo run$((2)); read line; echo got $line; exit 5"
            terminal.type(f"{STEADY} limit --cpu 300ms --wall-factor 4 -- sh -c '{script}'")
            terminal.expect("run2\n")
            terminal.type(CTRL_Z)
            terminal.expect("(?i)(stopped|suspended)")
            # Longer than the wall limit: stopped, it does not count.
            time.sleep(2)
            terminal.type("jobs; echo jobs$((3))")
            terminal.expect("limit(.|\n)*jobs3")
            terminal.type("fg")
            # Some shells throw away what was typed before they have handed the terminal over.
            time.sleep(0.5)
            terminal.type("word")
            terminal.expect("got word")
            terminal.expect("status.5(.|\n)*stopped")
            terminal.type("echo status:$?")
            terminal.expect("status:5")

    def test_it_runs_in_the_background_and_is_ended_by_its_number(self):
        for terminal in self.in_shells():
            terminal.type(f"{STEADY} limit --cpu 20s --quiet -- sh -c 'sleep 7202' &")
            terminal.type("sleep 0.3; kill %1; wait %1; echo status:$?")
            terminal.expect("status:143")

    def test_one_that_reads_in_the_background_is_stopped(self):
        for terminal in self.in_shells():
            terminal.type(f"{STEADY} limit --cpu 300ms --quiet -- sh -c 'read line; echo got $line' &")
            self.until_stopped(terminal)
            terminal.type("fg")
            time.sleep(0.5)
            terminal.type("word")
            terminal.expect("got word")

    def test_a_shell_within_its_limits_has_job_control(self):
        terminal = self.shell("bash", "--norc", "--noprofile", "-i")
        terminal.type(f"{STEADY} limit --cpu 20s -- bash --norc --noprofile -i")
        terminal.type("echo inner$((4))")
        terminal.expect("inner4\n")
        terminal.type("sh -c 'echo in$((6)); exec sleep 7203'")
        terminal.expect("in6\n")
        terminal.type(CTRL_Z)
        terminal.expect("Stopped")
        # Until the shell has seen its end, it takes the job for stopped, and would not leave.
        terminal.type("kill %1; while [ -n \"$(jobs -s)\" ]; do sleep 0.1; done; echo gone$((5))")
        terminal.expect("gone5\n")
        terminal.type("exit 3")
        terminal.expect("ended by itself with status.3")
        terminal.type("echo outer:$?")
        terminal.expect("outer:3")

    def test_a_terminal_that_is_closed_ends_it(self):
        terminal = Terminal(str(STEADY), "limit", "--cpu", "20s", "--", "sh", "-c", "echo run$((2)); exec sleep 7204")
        terminal.expect("run2\n")
        os.close(terminal.master)
        end = time.monotonic() + PATIENCE_SECONDS
        while os.waitpid(terminal.pid, os.WNOHANG)[0] == 0:
            self.assertLess(time.monotonic(), end, "it still runs")
            time.sleep(0.02)
        self.assertEqual(sleepers("7204"), 0)


def removed(folder: Path) -> None:
    """Removes a folder in which somebody who is about to end may still be writing."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{folder} is still written to")


class Warm(WithTerminals):
    """A shell whose programs, and which itself, run from snapshots."""

    def warm_shell(self) -> Terminal:
        cache = tempfile.mkdtemp(prefix="warm-terminal-")
        self.addCleanup(removed, Path(cache))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "MALLOC_"))}
        environment["XDG_CACHE_HOME"] = cache
        names = ["bash", "cat", "sleep", "stty"]
        taken = subprocess.run([STEADY, "warm", "snapshot", *names], env=environment, capture_output=True, text=True)
        if "not available here" in taken.stdout + taken.stderr:
            self.skipTest(taken.stderr)
        self.assertEqual(taken.stdout.count(" is warm"), len(names), taken.stdout + taken.stderr)
        # The shell in between is started by env(1), which has the hook, so it is warm itself.
        terminal = self.shell("env", *(f"--unset={name}" for name in os.environ if name.startswith(("LD_", "MALLOC_"))),
                              f"XDG_CACHE_HOME={cache}", str(STEADY), "warm", "--", "env", "bash", "--norc", "--noprofile", "-i")
        self.cache = cache
        self.comes_from_a_snapshot(terminal, "$$")
        return terminal

    def comes_from_a_snapshot(self, terminal: Terminal, process: str) -> None:
        """Asked from outside: programs with the hook get the path of the program itself."""
        terminal.type(f"echo process:$(({process} + 0))")
        number = re.findall("process:([0-9]+)", terminal.expect("process:[0-9]+\n"))[-1]
        self.assertIn(self.cache, os.readlink(f"/proc/{number}/exe"))

    def test_ctrl_z_and_fg(self):
        terminal = self.warm_shell()
        terminal.type("cat")
        self.until_a_job_has_it(terminal)
        terminal.type("one")
        terminal.expect("one\n(.|\n)*one\n")
        terminal.type(CTRL_Z)
        terminal.expect("Stopped")
        self.comes_from_a_snapshot(terminal, "$(jobs -p %1)")
        terminal.type("fg")
        self.until_a_job_has_it(terminal)
        terminal.type("two")
        terminal.expect("two\n(.|\n)*two\n")
        terminal.type(CTRL_D)
        terminal.type("echo status:$?")
        terminal.expect("status:0")

    def test_ctrl_c_ends_all_of_a_pipeline(self):
        terminal = self.warm_shell()
        terminal.type("sleep 7206 | cat | cat")
        self.until_a_job_has_it(terminal)
        time.sleep(0.5)
        terminal.type(CTRL_C)
        terminal.type("echo status:${PIPESTATUS[*]}")
        terminal.expect("status:130 130 130")
        self.assertEqual(sleepers("7206"), 0)

    def test_the_background_is_stopped_where_it_reads_or_sets_the_terminal(self):
        for command in ("cat", "stty -echo"):
            terminal = self.warm_shell()
            terminal.type(f"{command} &")
            self.until_stopped(terminal)
            self.comes_from_a_snapshot(terminal, "$(jobs -p %1)")
            terminal.type("kill -9 %1; while [ -n \"$(jobs -s)\" ]; do sleep 0.1; done; echo gone$((5))")
            terminal.expect("gone5\n")


def sleepers(seconds: str) -> int:
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((process / "cmdline").read_bytes())
        except OSError:
            pass
    return lines.count(b"sleep\0" + seconds.encode() + b"\0")


if __name__ == "__main__":
    unittest.main()
