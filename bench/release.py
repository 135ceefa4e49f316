"""steady release on a real server: two versions under changing load, recorded, and evaluated window by window.

    bench/run release record [--design D] [--extra N] [--minutes M]
        Makes one recording.
    bench/run release --report
        Evaluates the windows of all recordings.
    bench/run release compact FOLDER... [--to FOLDER] [--skip S] [--seconds S]
        Converts recordings to small files, for release_replay.

A recording has a Flask application under gunicorn with the middleware, the agent, an open-loop client with a changing
rate and mix of pages, and neighbours that come and go (bench/releases). The designs are random, switchback, canary (8
workers per version), and one (one version at a time: the server restarts with the other version every 150 seconds). OLD
makes 80 inner calls per request, and NEW makes --extra more. The true change of each page is estimated from all
recordings with random assignment together.
"""

import argparse
import gzip
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from random import Random, SystemRandom

from common.compact import compact
from common.loads import LIFETIME_SECONDS
from common.paths import ROOT, STEADY, TARGET, WORK
from common.stats import median_or_nan, share, welch
from common.verdicts import is_wrong, percent, table, with_interval

HERE = ROOT / "bench" / "releases"
RECORDINGS = TARGET / "bench-release"
DESIGNS = ("random", "switchback", "canary", "one")
NEEDS = ["django==4.2.24", "flask==3.1.3", "gunicorn==27.0.1"]
SIDE_SECONDS = 150
# The lengths of the evaluated windows in seconds, by design.
WINDOWS = {"random": (15, 40, 120), "switchback": (120, 300), "canary": (300,), "one": (2 * SIDE_SECONDS,)}
WORKERS = {"random": 2, "switchback": 2, "canary": 16, "one": 2}
# Requests per second. The client loads the machine, too.
RATES = (50, 160)
# The loads that alternate during a recording.
NEIGHBOURS = {
    "idle": (),
    "spinner": (("burst", "spin", "{seed}", 300, 2500, 300, 2500),),
    "spinners": (("burst", "spin", "{seed}", 300, 2500, 300, 2500),) * 2,
    "stream": (("burst", "stream", "{seed}", 300, 2500, 300, 2500),),
}
RESOLUTION = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run release", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["record", "compact"],
                        help="make a recording, or convert recordings to small files")
    parser.add_argument("folders", nargs="*", type=Path, help="recordings to convert to small files")
    parser.add_argument("--to", type=Path, default=None,
                        help="the folder for the small files (the folder \"compact\" in that of each recording)")
    parser.add_argument("--skip", type=float, default=0.0, help="seconds to leave out at the start of a recording (0)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="seconds of a recording to use (all)")
    parser.add_argument("--design", choices=DESIGNS, default="random", help="how versions are assigned (random)")
    parser.add_argument("--extra", type=int, default=0, help="additional inner calls of NEW; 0: the same code (0)")
    parser.add_argument("--minutes", type=float, default=10.0, help="length of the recording (10)")
    parser.add_argument("--seed", type=int, default=None, help="seed of load and neighbours")
    parser.add_argument("--report", action="store_true", help="evaluate all recordings")
    options = parser.parse_args()
    if options.report or not options.what:
        print(report(sorted(path for path in RECORDINGS.glob("*/about.json"))))
        return
    if options.what == "compact":
        for folder in options.folders:
            compact(folder, options.to or folder / "compact", options.skip, options.seconds)
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, frame: sys.exit(128 + signum))
    seed = options.seed if options.seed is not None else SystemRandom().getrandbits(32)
    Recording(options.design, options.extra, options.minutes * 60, Random(seed), seed).run()


# -- Recording


def python() -> Path:
    """Returns the Python interpreter of an environment with the server's packages, which is created if necessary."""
    environment = TARGET / "bench-tools" / "release-venv"
    program = environment / "bin" / "python"
    stamp = environment / "made"
    if not stamp.exists() or stamp.read_text() != " ".join(NEEDS):
        venv.create(environment, with_pip=True, clear=True)
        subprocess.run([program, "-m", "pip", "install", "--quiet", *NEEDS], check=True)
        stamp.write_text(" ".join(NEEDS))
    return program


class Recording:
    """Records a server, with its agent, client and neighbours."""

    # The application, the lowest and the highest request rate, and the client's routes (empty: its defaults).
    app = "app:app"
    rates = RATES
    routes: list = []
    recordings = RECORDINGS

    def __init__(self, design: str, extra: int, seconds: float, random: Random, seed: int):
        self.design, self.extra, self.seconds, self.random, self.seed = design, extra, seconds, random, seed
        self.python = python()
        self.folder = self.recordings / time.strftime(f"%Y%m%d-%H%M%S-{design}-{extra}")
        self.running: dict = {}
        self.phases: list = []
        self.segments: list = []

    def run(self) -> None:
        """Makes the recording, and ends all processes even if it fails."""
        self.folder.mkdir(parents=True)
        self.sockets = Path(tempfile.mkdtemp(prefix="steady-release-"))
        try:
            self._start("agent", [STEADY, "agent", "--socket", self.sockets / "agent.sock", "--store", self.folder / "store.db",
                                  "--store-limit", "1024M"])
            self._until((self.sockets / "agent.sock").exists, "the agent's socket")
            self._start("tap", [self.python, HERE / "tap.py", self.sockets / "tap.sock", self.sockets / "agent.sock",
                                self.folder / "lines.gz"])
            self._until((self.sockets / "tap.sock").exists, "the tap's socket")
            self._record()
        finally:
            for name in ("client", "server", "tap", "agent", *list(self.running)):
                self._end(name)
            shutil.rmtree(self.sockets, ignore_errors=True)
        print(self.folder, flush=True)

    def _record(self) -> None:
        self.port = _free_port()
        self._serve(0)
        begin, end = time.time(), time.time() + self.seconds
        self._start("client", [self.python, HERE / "client.py", f"127.0.0.1:{self.port}", self.seconds + 1,
                               self.random.getrandbits(32), *self.rates, *self.routes], stdout=open(self.folder / "client.txt", "w"))
        change, switch = begin, begin + SIDE_SECONDS
        self.segments.append([begin, self._version(0)])
        while time.time() < end:
            now = time.time()
            if now >= change:
                change = now + self.random.uniform(15, 60)
                self._neighbours(self.random.choice(sorted(NEIGHBOURS)))
            if self.design == "one" and now >= switch:
                switch = now + SIDE_SECONDS
                self._end("server")
                self._serve(len(self.segments))
                self.segments.append([time.time(), self._version(len(self.segments))])
            time.sleep(0.05)
        self._neighbours("idle")
        self._until(lambda: self.running["client"].poll() is not None, "the client's end", but="client")
        offset = time.time() - time.monotonic()
        about = {"design": self.design, "extra": self.extra, "seed": self.seed, "begin": begin, "end": end, "offset": offset,
                 "segments": self.segments, "phases": self.phases}
        (self.folder / "about.json").write_text(json.dumps(about))

    def _version(self, segment: int) -> str:
        return "v2" if segment % 2 and self.design == "one" else "v1"

    def _serve(self, segment: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "STEADY_SOCKET": str(self.sockets / "tap.sock"),
                       "RELEASE_DESIGN": self.design, "RELEASE_EXTRA": str(self.extra), "RELEASE_VERSIONS": "v1,v2",
                       "PATH": f"{STEADY.parent}:{os.environ['PATH']}"}
        if self.design == "one":
            environment["RELEASE_VERSION"] = self._version(segment)
        self._start("server", [self.python, "-m", "gunicorn", "--bind", f"127.0.0.1:{self.port}", "--workers",
                               WORKERS[self.design], "--config", HERE / "gunicorn_conf.py", "--chdir", HERE, self.app],
                    env=environment)
        self._until(lambda: _answers(self.port, (self.routes or ["page"])[0]), "the server")

    def _neighbours(self, phase: str) -> None:
        for name in [name for name in self.running if name.startswith("neighbour")]:
            self._end(name)
        for place, words in enumerate(NEIGHBOURS[phase]):
            seeded = [str(word).format(seed=self.random.getrandbits(32)) for word in words]
            self._start(f"neighbour{place}", [WORK, *seeded, LIFETIME_SECONDS])
        self.phases.append([time.time(), phase])
        print(f"{time.strftime('%H:%M:%S')} {phase}", flush=True)

    def _start(self, name: str, words: list, **more) -> None:
        self.running[name] = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                              start_new_session=True, **more)

    def _end(self, name: str) -> None:
        process = self.running.pop(name, None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def _until(self, condition, what: str, but: str = "") -> None:
        for _ in range(300):
            dead = [name for name, process in self.running.items() if name != but and process.poll() is not None]
            if dead:
                sys.exit(f"{dead[0]} ended before {what} was ready")
            if condition():
                return
            time.sleep(0.1)
        sys.exit(f"timeout: {what}")


def _free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def _answers(port: int, route: str) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.sendall(f"GET /{route}/1 HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n".encode())
            return connection.recv(12) == b"HTTP/1.1 200"
    except OSError:
        return False


# -- Evaluation


def windows(about: dict, seconds: int) -> list:
    """Returns (from, to, old, new) of each window of a recording. Windows of the same length do not overlap."""
    begin, end = about["begin"] + 10, about["end"]
    if about["design"] != "one":
        found = []
        while begin + seconds <= end:
            found.append((int(begin), int(begin) + seconds, "v1", "v2"))
            begin += seconds + 1
        return found
    edges = [*(at for at, _ in about["segments"]), end]
    spans = [(edges[place], edges[place + 2], about["segments"][place][1], about["segments"][place + 1][1])
             for place in range(len(edges) - 2)]
    return [(int(begin) + 1, int(end), old, new) for begin, end, old, new in spans if end - begin >= seconds - 5]


def compared(folder: Path, window: tuple) -> dict:
    """Runs `steady release compare` on a window and returns its result, or the error."""
    begin, end, old, new = window
    words = [STEADY, "release", "compare", old, new, "--service", "shop", "--store", folder / "store.db", "--from", begin,
             "--to", end, "--by", "route", "--format", "json", "--resolution", "1%"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return {"error": done.stderr.strip()}
    document = json.loads(done.stdout)
    total = document["total"]
    shares = {route["route"]: (route["cpu_ratio"], route["change"], route["low"], route["high"]) for route in document["routes"]}
    return {"design": document["design"], "refused": bool(document["refused"]), "routes": shares,
            **{field: total[field] for field in ("verdict", "change", "low", "high", "raw_change")}}


def plain(requests: list, window: tuple) -> dict:
    """Applies Welch's test to the wall time and CPU time of a window. `requests`: see `read_lines`."""
    begin, end, old, new = window
    sides = {version: [each for each in requests if begin <= each[0] < end and each[1] == version] for version in (old, new)}
    if min(len(side) for side in sides.values()) < 2:
        return {}
    return {name: welch(*([each[place] for each in sides[version]] for version in (old, new)))
            for name, place in (("wall", 3), ("cpu", 2))}


def read_lines(folder: Path, offset: float) -> list:
    """Returns (end since 1970, version, CPU time, wall time) of each reported request, without those of the warm-up."""
    requests = []
    with gzip.open(folder / "lines.gz", "rt", errors="replace") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "r" and int(fields[2]) > 150:
                requests.append((int(fields[1]) / 1e9 + offset, fields[3], int(fields[6]), int(fields[7])))
    return requests


def report(abouts: list) -> str:
    """Returns a table by design, effect and window length. The truth is estimated from all random recordings."""
    known = [(path.parent, json.loads(path.read_text())) for path in abouts]
    if not known:
        return "No recordings yet."
    effects = {extra: effects_of(known, extra) for extra in sorted({about["extra"] for _, about in known})}
    rows = []
    for design in DESIGNS:
        for extra, truths in effects.items():
            those = [(folder, about) for folder, about in known if (about["design"], about["extra"]) == (design, extra)]
            rows += [row(design, extra, truths, seconds, those) for seconds in WINDOWS[design] if those]
    heads = ["design", "extra", "truth", "seconds", "windows", "refused", "found", "wrong", "covers the truth", "half-width",
             "means of wall time: false or found, |change|", "of CPU time"]
    return table(heads, [[str(cell) for cell in cells] for cells in rows])


def effects_of(known: list, extra: int) -> dict:
    """Returns the change of each route according to all random recordings with this effect; empty if there are none."""
    answers = [compared(folder, (int(about["begin"]) + 5, int(about["end"]), "v1", "v2")) for folder, about in known
            if (about["design"], about["extra"]) == ("random", extra)]
    estimates: dict = {}
    for answer in answers:
        for route, (_, change, low, high) in answer.get("routes", {}).items():
            if low is not None:
                estimates.setdefault(route, []).append((change, (high - low) ** -2))
    return {route: sum(change * weight for change, weight in weighted) / sum(weight for _, weight in weighted)
            for route, weighted in estimates.items()}


def truth_in(answer: dict, extra: int, effects: dict):
    """Returns the true change of a window: the routes' changes, weighted by the window's mix; 0 for equal code."""
    if extra == 0:
        return 0.0
    if not effects or set(answer["routes"]) - set(effects):
        return None
    return sum(share * effects[route] for route, (share, *_) in answer["routes"].items())


def row(design: str, extra: int, effects: dict, seconds: int, those: list) -> list:
    """Returns one row of the table."""
    answers, means = [], {"wall": [], "cpu": []}
    for folder, about in those:
        requests = read_lines(folder, about["offset"])
        for window in windows(about, seconds):
            answers.append(compared(folder, window))
            for name, answer in plain(requests, window).items():
                means[name].append(answer)
    for answer in [answer for answer in answers if "error" in answer][:3]:
        print(f"{design} {extra}: {answer['error']}", file=sys.stderr)
    valid = [answer for answer in answers if "error" not in answer]
    evaluated = [(answer, truth_in(answer, extra, effects)) for answer in valid
              if not answer["refused"] and answer["change"] is not None]
    if any(truth is None for _, truth in evaluated):
        return [design, extra, "unknown", seconds, len(answers), *["-"] * 7]
    found = "-" if extra == 0 else with_interval(share(_right(answer, truth) for answer, truth in evaluated))
    half_width = median_or_nan((answer["high"] - answer["low"]) / 2 for answer, _ in evaluated)
    return [design, extra, percent(median_or_nan(truth for _, truth in evaluated), 2), seconds, len(answers),
            f"{sum(answer['refused'] for answer in valid)} of {len(valid)}", found,
            with_interval(share(is_wrong(answer["verdict"], truth, RESOLUTION) for answer, truth in evaluated)),
            with_interval(share(answer["low"] <= truth <= answer["high"] for answer, truth in evaluated)), percent(half_width, 2),
            *(_of_means(means[name]) for name in ("wall", "cpu"))]


def _right(answer: dict, truth: float) -> bool:
    return answer["verdict"] == ("slower" if truth > 0 else "faster")


def _of_means(answers: list) -> str:
    significant = with_interval(share(answer.p < 0.05 for answer in answers))
    return f"{significant}, {percent(median_or_nan(abs(answer.change) for answer in answers))}"


if __name__ == "__main__":
    main()
