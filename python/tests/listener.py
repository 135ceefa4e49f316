"""A listener in place of the agent, and helpers that run programs and build environments."""

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", PYTHON.parent / "target")).absolute()
sys.path.insert(0, str(PYTHON))

# Pip prints this if no index can be reached. If only the package is missing, it lists versions instead.
UNREACHABLE = "(from versions: none)"
ESCAPES = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


def run(*words, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **options)


def environment(folder: Path) -> Path:
    """Creates a Python environment and returns the folder of its programs."""
    if not importlib.util.find_spec("ensurepip"):
        raise unittest.SkipTest("cannot create an environment: python3 has no ensurepip (Debian: python3-venv)")
    made = run(sys.executable, "-m", "venv", folder)
    if made.returncode:
        raise RuntimeError(made.stdout + made.stderr)
    return folder / "bin"


def web_environment() -> Path:
    """Returns the folder of the servers' programs. They are downloaded once into cargo's target directory."""
    wanted = (HERE / "requirements.txt").read_text()
    folder = TARGET / "python-tools" / "web-{}.{}".format(*sys.version_info)
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        programs = environment(folder)
        got = run(programs / "python", "-m", "pip", "install", "--retries", "1", "--timeout", "20", "--requirement",
                  HERE / "requirements.txt")
        if UNREACHABLE in got.stderr:
            raise unittest.SkipTest("cannot download the servers: no package index can be reached")
        if got.returncode:
            raise RuntimeError(got.stderr)
        stamp.write_text(wanted)
    return folder / "bin"


def steady_folder() -> "str | None":
    """Returns the folder of the `steady` that was built last, which has the library of the rulers, or None."""
    built = [folder for folder in (TARGET / "debug", TARGET / "release") if (folder / "steady").exists()]
    return str(max(built, key=lambda folder: (folder / "steady").stat().st_mtime)) if built else None


def unescaped(text: str) -> str:
    result, rest = "", text
    while "\\" in rest:
        before, _, rest = rest.partition("\\")
        result += before + ESCAPES["\\" + rest[0]]
        rest = rest[1:]
    return result + rest


class RequestLine:
    """A parsed `r` line: a request."""

    def __init__(self, service: str, pid: int, began: int, line: str):
        self.service, self.pid, self.began = service, pid, began
        fields = line.split("\t")
        assert fields[0] == "r", line
        self.end, self.number = int(fields[1]), int(fields[2])
        self.version, self.route = unescaped(fields[3]), unescaped(fields[4])
        self.status, self.cpu, self.wall = (int(number) for number in fields[5:8])
        self.assignment = fields[8]
        self.more = dict(pair.split("=", 1) for pair in fields[9:])
        assert all(len(text.encode()) <= 500 for text in [*fields[:9], *self.more.values()]), line


class Reading:
    """A parsed `c` line: the CPU time of a process and of its requests, in nanoseconds."""

    def __init__(self, service: str, pid: int, began: int, line: str):
        self.service, self.pid, self.began = service, pid, began
        fields = line.split("\t")
        self.time, self.process_cpu, self.requests_cpu = (int(number) for number in fields[1:4])
        self.more = dict(pair.split("=", 1) for pair in fields[4:])


class Listener:
    """Listens on a socket like the agent and parses every datagram."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "agent.sock")
        self.requests: "list[RequestLine]" = []
        self.readings: "list[Reading]" = []
        self.dropped = 0
        self.datagrams: "list[bytes]" = []
        self.listen()

    def listen(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(0.05)
        self.ending = False
        self.thread = threading.Thread(target=self._receive, daemon=True)
        self.thread.start()

    def _receive(self):
        while not self.ending:
            try:
                datagram = self.socket.recv(1 << 17)
            except socket.timeout:
                continue
            self.parse(datagram)

    def parse(self, datagram: bytes):
        assert 0 < len(datagram) <= 65_000, len(datagram)
        head, *lines = datagram.decode("utf-8").removesuffix("\n").split("\n")
        protocol, service, pid, began = head.split("\t")
        assert protocol == "steady/1", head
        requests, readings, dropped = [], [], 0
        for line in lines:
            if line.startswith("l\t"):
                dropped += int(line[2:])
            elif line.startswith("c\t"):
                readings.append(Reading(unescaped(service), int(pid), int(began), line))
            else:
                requests.append(RequestLine(unescaped(service), int(pid), int(began), line))
        self.readings += readings
        self.dropped += dropped
        self.datagrams.append(datagram)
        # Last, because tests wait for the requests and then use the rest.
        self.requests += requests

    def die(self):
        """Stops like an agent that was killed: the socket's file stays."""
        self.ending = True
        self.thread.join()
        self.socket.close()

    def close(self):
        if not self.ending:
            self.die()
        self.socket.close()
        self.folder.cleanup()

    def wait_for(self, count: int, seconds: float = 60.0) -> "list[RequestLine]":
        """Waits for `count` requests, at most `seconds`. Returns all that were received."""
        end = time.monotonic() + seconds
        while len(self.requests) < count and time.monotonic() < end:
            time.sleep(0.01)
        return list(self.requests)
