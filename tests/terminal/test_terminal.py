"""`steady limit`, programs from snapshots of `steady warm`, and progress, on a terminal under real shells.

The tests cover job control, Ctrl-C, Ctrl-Z, and reading from the terminal.
"""

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
TIMEOUT_SECONDS = 120

CTRL_C, CTRL_Z, CTRL_D = b"\x03", b"\x1a", b"\x04"


class Terminal:
    """A program on its own pseudo-terminal."""

    def __init__(self, *argv: str):
        self.seen = ""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            # Keep the user's files untouched.
            data = str(TARGET / "tmp" / "data-of-terminals")
            os.environ.update(PS1="$ ", TERM="dumb", ENV="", HISTFILE="", XDG_DATA_HOME=data)
            os.execvp(argv[0], argv)

    def type(self, text) -> None:
        os.write(self.master, text if isinstance(text, bytes) else text.encode() + b"\n")

    def expect(self, pattern: str) -> str:
        """Waits for output that matches `pattern`. Removes and returns the output up to the end of the match."""
        end = time.monotonic() + TIMEOUT_SECONDS
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
            self.skipTest(f"{argv[0]} is not installed")
        terminal = Terminal(*argv)
        self.addCleanup(terminal.close)
        return terminal

    def until_stopped(self, terminal: Terminal) -> None:
        """Waits until the shell lists a job as stopped."""
        for number in range(100):
            terminal.type(f"jobs; echo listed$(({number} + 1000))")
            if re.search("(?i)(stopped|suspended)", terminal.expect(f"listed{number + 1000}\n")):
                return
            time.sleep(0.1)
        self.fail("the job is not stopped")

    def until_foreground_job(self, terminal: Terminal) -> None:
        """Waits until a job owns the terminal, because some shells discard earlier input."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while os.tcgetpgrp(terminal.master) in (terminal.pid, 0):
            self.assertLess(time.monotonic(), end, "the shell still owns the terminal")
            time.sleep(0.02)


class Progress(WithTerminals):
    def test_a_narrow_line_shows_the_whole_change(self):
        """The bar has 16 columns only if the text leaves them. On a busy machine, the line may be updated late."""
        compare = f"{STEADY} compare --min-runs 5000 --no-history 'sleep 0.02' 'sleep 0.03'"
        terminal = self.shell("sh", "-c", f"stty rows 24 cols 50; TERM=xterm exec {compare}")
        terminal.expect(r"pairs  elapsed \+[\d.]+ % \([\d.]+ to [\d.]+\)")


class Limited(WithTerminals):
    def in_shells(self):
        """Yields a terminal with each installed shell."""
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

    def test_ctrl_z_stops_the_job_and_fg_continues_it(self):
        for terminal in self.in_shells():
            script = "echo run$((2)); read line; echo got $line; exit 5"
            terminal.type(f"{STEADY} limit --cpu 300ms --wall-factor 10 -- sh -c '{script}'")
            terminal.expect("run2\n")
            terminal.type(CTRL_Z)
            terminal.expect("(?i)(stopped|suspended)")
            # Longer than the wall limit, which does not count while the job is stopped.
            time.sleep(3.5)
            terminal.type("jobs; echo jobs$((3))")
            terminal.expect("limit(.|\n)*jobs3")
            terminal.type("fg")
            self.until_foreground_job(terminal)
            terminal.type("word")
            terminal.expect("got word")
            terminal.expect("status.5(.|\n)*stopped")
            terminal.type("echo status:$?")
            terminal.expect("status:5")

    def test_a_background_job_is_ended_by_its_number(self):
        for terminal in self.in_shells():
            terminal.type(f"{STEADY} limit --cpu 20s --quiet -- sh -c 'sleep 7202' &")
            end = time.monotonic() + TIMEOUT_SECONDS
            while sleepers("7202") == 0:
                self.assertLess(time.monotonic(), end, "the command does not start")
                time.sleep(0.02)
            terminal.type("kill %1; wait %1; echo status:$?")
            terminal.expect("status:143")

    def test_a_background_job_that_reads_is_stopped(self):
        for terminal in self.in_shells():
            terminal.type(f"{STEADY} limit --cpu 300ms --quiet -- sh -c 'read line; echo got $line' &")
            self.until_stopped(terminal)
            terminal.type("fg")
            self.until_foreground_job(terminal)
            terminal.type("word")
            terminal.expect("got word")

    def test_a_limited_shell_has_job_control(self):
        terminal = self.shell("bash", "--norc", "--noprofile", "-i")
        terminal.type(f"{STEADY} limit --cpu 20s -- bash --norc --noprofile -i")
        terminal.type("echo inner$((4))")
        terminal.expect("inner4\n")
        terminal.type("sh -c 'echo in$((6)); exec sleep 7203'")
        terminal.expect("in6\n")
        terminal.type(CTRL_Z)
        terminal.expect("Stopped")
        # Wait until the shell has noticed the job's end. It refuses to exit while it has stopped jobs.
        terminal.type("kill %1; while [ -n \"$(jobs -s)\" ]; do sleep 0.1; done; echo gone$((5))")
        terminal.expect("gone5\n")
        terminal.type("exit 3")
        terminal.expect("ended by itself with status.3")
        terminal.type("echo outer:$?")
        terminal.expect("outer:3")

    def test_closing_the_terminal_ends_the_job(self):
        terminal = Terminal(str(STEADY), "limit", "--cpu", "20s", "--", "sh", "-c", "echo run$((2)); exec sleep 7204")
        terminal.expect("run2\n")
        os.close(terminal.master)
        end = time.monotonic() + TIMEOUT_SECONDS
        while os.waitpid(terminal.pid, os.WNOHANG)[0] == 0:
            self.assertLess(time.monotonic(), end, "steady still runs")
            time.sleep(0.02)
        self.assertEqual(sleepers("7204"), 0)


def remove_folder(folder: Path) -> None:
    """Removes a folder in which an ending process may still be writing. Raises AssertionError after 10 seconds."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{folder} is still written to")


class Warm(WithTerminals):
    """A shell that runs from a snapshot, with programs that do."""

    def warm_shell(self) -> Terminal:
        cache = tempfile.mkdtemp(prefix="warm-terminal-")
        self.addCleanup(remove_folder, Path(cache))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "MALLOC_"))}
        environment["XDG_CACHE_HOME"] = cache
        names = ["bash", "cat", "sleep", "stty"]
        created = subprocess.run([STEADY, "warm", "snapshot", *names], env=environment, capture_output=True, text=True)
        if "not available here" in created.stdout + created.stderr:
            self.skipTest(created.stderr)
        self.assertEqual(created.stdout.count(" is warm"), len(names), created.stdout + created.stderr)
        # env(1) has the hook and starts the shell, so the shell is warm.
        terminal = self.shell("env", *(f"--unset={name}" for name in os.environ if name.startswith(("LD_", "MALLOC_"))),
                              f"XDG_CACHE_HOME={cache}", str(STEADY), "warm", "--", "env", "bash", "--norc", "--noprofile", "-i")
        self.cache = cache
        self.comes_from_a_snapshot(terminal, "$$")
        return terminal

    def comes_from_a_snapshot(self, terminal: Terminal, process: str) -> None:
        """Asserts that a process runs from a snapshot.

        It reads /proc itself, because the hook hides this from programs.
        """
        terminal.type(f"echo process:$(({process} + 0))")
        number = re.findall("process:([0-9]+)", terminal.expect("process:[0-9]+\n"))[-1]
        self.assertIn(self.cache, os.readlink(f"/proc/{number}/exe"))

    def test_ctrl_z_and_fg(self):
        terminal = self.warm_shell()
        terminal.type("cat")
        self.until_foreground_job(terminal)
        terminal.type("one")
        terminal.expect("one\n(.|\n)*one\n")
        terminal.type(CTRL_Z)
        terminal.expect("Stopped")
        self.comes_from_a_snapshot(terminal, "$(jobs -p %1)")
        terminal.type("fg")
        self.until_foreground_job(terminal)
        terminal.type("two")
        terminal.expect("two\n(.|\n)*two\n")
        terminal.type(CTRL_D)
        terminal.type("echo status:$?")
        terminal.expect("status:0")

    def test_ctrl_c_ends_a_whole_pipeline(self):
        terminal = self.warm_shell()
        terminal.type("sleep 7206 | cat | cat")
        # Until all programs run: before, the processes are copies of the shell, which handle the signal as it does.
        end = time.monotonic() + TIMEOUT_SECONDS
        while foreground_programs(terminal) != ["cat", "cat", "sleep"]:
            self.assertLess(time.monotonic(), end, "the pipeline does not start")
            time.sleep(0.02)
        terminal.type(CTRL_C)
        terminal.type("echo status:${PIPESTATUS[*]}")
        terminal.expect("status:130 130 130")
        self.assertEqual(sleepers("7206"), 0)

    def test_background_jobs_that_read_or_set_the_terminal_are_stopped(self):
        for command in ("cat", "stty -echo"):
            terminal = self.warm_shell()
            terminal.type(f"{command} &")
            self.until_stopped(terminal)
            self.comes_from_a_snapshot(terminal, "$(jobs -p %1)")
            terminal.type("kill -9 %1; while [ -n \"$(jobs -s)\" ]; do sleep 0.1; done; echo gone$((5))")
            terminal.expect("gone5\n")


def foreground_programs(terminal: Terminal) -> "list[str]":
    """Returns the names of the programs in the terminal's foreground process group."""
    group, names = os.tcgetpgrp(terminal.master), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(process.name)) == group:
                names.append((process / "cmdline").read_bytes().split(b"\0")[0].decode())
        except OSError:
            pass
    return sorted(names)


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
