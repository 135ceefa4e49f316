"""steady agent: records a second that it takes in on one core, its memory, what its rulers cost an application, rows read back.

    bench/run agent [--seconds N] [--turns N]    flood it for N seconds (10); N turns with rulers and without (60); read rows
    bench/run agent --metrics                    what a scrape costs it, and what scrapes cost those who flood it
"""

import argparse
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from statistics import median, stdev

from common.paths import ROOT, STEADY
from common.verdicts import check, table

LINES = 100
WORKERS = 8
ROUTES = 20
LEAST_PER_SECOND = 200_000
MOST_MEMORY_BYTES = 100e6
ROWS = 1_000_000
MOST_READ_SECONDS = 1.5
SCRAPES = 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run agent", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="how long to flood it (10)")
    parser.add_argument("--turns", type=int, default=60, help="turns of work beside rulers, and as many without (60)")
    parser.add_argument("--metrics", action="store_true", help="measure scrapes, and nothing else")
    options = parser.parse_args()
    if options.metrics:
        with tempfile.TemporaryDirectory(prefix="steady-bench-") as folder:
            print(metrics(Path(folder), options.turns))
        return
    with tempfile.TemporaryDirectory(prefix="steady-bench-") as folder:
        taken = ingest(Path(folder), options.seconds)
    with tempfile.TemporaryDirectory(prefix="steady-bench-") as folder:
        harm = damage(Path(folder), options.turns)
    read = rows()
    print(report(taken, harm, read))


def ingest(folder: Path, seconds: float) -> dict:
    """Floods an agent with records, none of which may be dropped: what it used for them."""
    path = folder / "s" / "agent.sock"
    words = [STEADY, "agent", "--socket", path, "--store", folder / "agent.db", "--store-limit", "1GB"]
    agent = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        sender = connect(path)
        datagrams = [datagram(worker, number) for worker in range(WORKERS) for number in range(20)]
        before, began, sent = cpu_seconds(agent.pid), time.monotonic(), 0
        while time.monotonic() - began < seconds:
            for one in datagrams:
                # Waits for the agent where it is behind, so that its own pace is seen.
                sender.send(one)
            sent += LINES * len(datagrams)
        arrived = wait_for(path, sent)
        wall = time.monotonic() - began
        used = cpu_seconds(agent.pid) - before
        status = told(path)["agent"]
        return {
            "records": sent,
            "arrived": arrived,
            "per_second": sent / wall,
            "per_cpu_second": sent / used,
            "memory_bytes": status["peak_memory_bytes"],
        }
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()


def damage(folder: Path, turns: int) -> dict:
    """What an application costs more while the agent reads its rulers: pairs of turns, which of them first by coin."""
    path = folder / "s" / "agent.sock"
    words = [STEADY, "agent", "--socket", path, "--store", folder / "agent.db"]
    agent = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        connect(path).close()
        table_of_work = list(range(200_000))
        random.Random(1).shuffle(table_of_work)
        coins, logs = random.Random(2), []
        for _ in range(turns):
            costs = {}
            for stopped in coins.sample([False, True], 2):
                agent.send_signal(signal.SIGSTOP if stopped else signal.SIGCONT)
                time.sleep(0.02)
                costs[stopped] = work(table_of_work)
            logs.append(math.log(costs[False] / costs[True]))
        agent.send_signal(signal.SIGCONT)
        return {"change": median(logs), "error": 1.25 * stdev(logs) / math.sqrt(turns)}
    finally:
        agent.send_signal(signal.SIGCONT)
        agent.send_signal(signal.SIGTERM)
        agent.wait()


def metrics(folder: Path, turns: int) -> str:
    """What scrapes cost, by routes and format; and how much slower a flood gets in seconds with a scrape."""
    measured, most_memory = [], 0
    # The last are as many as are told apart.
    for routes in [50, 200, 5_000]:
        listening = Listening(folder / str(routes))
        try:
            sender = connect(listening.socket)
            for worker in range(WORKERS):
                for number in range(min(routes, 200)):
                    sender.send(datagram(worker, number, routes))
            wait_for(listening.socket, WORKERS * min(routes, 200) * LINES)
            time.sleep(1.1)
            for name, headers in FORMATS.items():
                size, cpu = listening.scrapes(headers)
                measured.append([f"{routes:,} routes, 2 versions, {name}", f"{cpu * 1e3:.1f}", f"{size / 1e3:,.0f}"])
            if routes == 200:
                slower, error, longest = listening.flooded(sender, turns)
            most_memory = max(most_memory, told(listening.socket)["agent"]["peak_memory_bytes"])
        finally:
            listening.end()
    slower = [
        ["records a second, seconds with a scrape beside those without, %", f"{slower * 100:+.2f} ±{error * 200:.2f}"],
        ["the longest wait of a service for room, ms", f"{longest * 1e3:.1f}"],
        ["memory at most, MB", f"{most_memory / 1e6:.0f}"],
    ]
    checks = [check(f"at most {MOST_MEMORY_BYTES / 1e6:.0f} MB", most_memory <= MOST_MEMORY_BYTES)]
    scrapes = table(["a scrape", "CPU time, ms", "kB sent"], measured)
    return "\n".join([scrapes, "", table(["what", "measured"], slower), "", *checks])


FORMATS = {
    "classic": {},
    "OpenMetrics": {"Accept": "application/openmetrics-text; version=1.0.0"},
    "classic, gzip": {"Accept-Encoding": "gzip"},
}


class Listening:
    """An agent that shows metrics, and runs no rulers, so that all of its CPU time is what it is asked for."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.socket = folder / "s" / "agent.sock"
        words = [STEADY, "agent", "--no-rulers", "--routes", "10000", "--listen", "127.0.0.1:0"]
        words += ["--socket", self.socket, "--store", folder / "agent.db", "--store-limit", "1GB"]
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        connect(self.socket).close()
        # It tells of itself once it runs, a moment after the socket is there.
        while (agent := told(self.socket)["agent"]) is None:
            time.sleep(0.05)
        self.url = agent["metrics"]["url"]

    def scrapes(self, headers: dict) -> tuple[int, float]:
        """The bytes of a page, and the CPU time that it took."""
        size = self.scrape(headers)
        before = self.cpu_seconds()
        for _ in range(SCRAPES):
            self.scrape(headers)
        return size, (self.cpu_seconds() - before) / SCRAPES

    def scrape(self, headers: dict) -> int:
        with urllib.request.urlopen(urllib.request.Request(self.url, headers=headers), timeout=30) as page:
            return len(page.read())

    def cpu_seconds(self) -> float:
        """CPU time of all its threads, those that have ended among them, by the kernel's ticks."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def flooded(self, sender: socket.socket, turns: int) -> tuple[float, float, float]:
        """How much more is taken in within a second with a scrape than without; which of a pair comes first by coin."""
        coins, logs, longest = random.Random(3), [], 0.0
        for _ in range(turns):
            sent = {}
            for scraped in coins.sample([False, True], 2):
                scrape = threading.Thread(target=self.scrape_by_another, args=[scraped])
                scrape.start()
                sent[scraped], waited = flood(sender)
                longest = max(longest, waited)
                scrape.join()
            logs.append(math.log(sent[True] / sent[False]))
        return median(logs), 1.25 * stdev(logs) / math.sqrt(turns), longest

    def scrape_by_another(self, scraped: bool) -> None:
        """One scrape, or as long a wait, by another process: this one sends."""
        words = ["curl", "-sS", "-o", "/dev/null", self.url] if scraped else ["true"]
        time.sleep(0.3)
        subprocess.run(words, check=True)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def flood(sender: socket.socket) -> tuple[float, float]:
    """Sends for a second: records a second, and the longest wait for room."""
    datagrams = [datagram(worker, number, 200) for worker in range(WORKERS) for number in range(20)]
    began, sent, longest = time.monotonic(), 0, 0.0
    before = began
    while before - began < 1.0:
        for one in datagrams:
            sender.send(one)
            now = time.monotonic()
            longest, before = max(longest, now - before), now
        sent += LINES * len(datagrams)
    return sent / (before - began), longest


def work(numbers: list) -> float:
    """CPU time of going through a list that caches hold in part only."""
    began, place = time.thread_time(), 0
    for _ in range(1_500_000):
        place = numbers[place]
    return time.thread_time() - began


def datagram(worker: int, number: int, routes: int = ROUTES) -> bytes:
    """Lines of one worker whose requests end about now: versions drawn by coin, some with rulers."""
    now = time.monotonic_ns()
    lines = [f"steady/1\tshop\t{worker + 1}\t1\n"]
    for line in range(LINES):
        seed = number * LINES + line + worker * 7919
        cpu = 800_000 + seed * 7_919 % 400_000
        ruler = f"\truler=syscall:{30_000 + seed % 999}" if line % 10 == 0 else ""
        lines.append(
            f"r\t{now}\t{151 + line}\tv{seed * 31 // 7 % 2 + 1}\t/route/{seed % routes}\t200\t{cpu}\t{cpu * 2}"
            f"\trandom\tdelay={seed % 5000}{ruler}\n"
        )
    return "".join(lines).encode()


def connect(path: Path) -> socket.socket:
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for _ in range(200):
        try:
            sender.connect(str(path))
            return sender
        except OSError:
            time.sleep(0.05)
    sys.exit("the agent does not listen")


def told(path: Path) -> dict:
    words = [STEADY, "agent", "status", "--socket", path, "--format", "json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def wait_for(path: Path, sent: int) -> int:
    """Waits until all has arrived and nothing waits to be written; how many records that are."""
    for _ in range(200):
        status = told(path)["agent"]
        arrived = status["arrived"]["requests"]
        if arrived >= sent and status["writing"]["waiting"] <= 1:
            return arrived
        time.sleep(0.1)
    return arrived


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process, to the nanosecond as the scheduler has it."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def rows() -> dict:
    """Writes a million rows to a store and reads them back, in a process of its own."""
    build = ["cargo", "run", "--quiet", "--release", "--package", "steady-agent", "--example", "rows"]
    words = [*build, "--", str(ROWS)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT)
    return json.loads(done.stdout)


def report(taken: dict, harm: dict, read: dict) -> str:
    measured = [
        ["records sent", f"{taken['records']:,}"],
        ["records a second", f"{taken['per_second']:,.0f}"],
        ["records a second of its CPU time", f"{taken['per_cpu_second']:,.0f}"],
        ["memory at most, MB", f"{taken['memory_bytes'] / 1e6:.0f}"],
        ["CPU time of an application beside its rulers, %", f"{harm['change'] * 100:+.2f} ±{harm['error'] * 200:.2f}"],
        ["rows read back", f"{read['rows']:,}"],
        ["CPU time of reading them, s", f"{read['read_seconds']:.2f}"],
        ["bytes a row in the store", f"{read['bytes'] / read['rows']:.0f}"],
    ]
    checks = [
        check("every record arrived", taken["arrived"] == taken["records"]),
        check(f"{LEAST_PER_SECOND:,} records a second of its CPU time", taken["per_cpu_second"] >= LEAST_PER_SECOND),
        check(f"at most {MOST_MEMORY_BYTES / 1e6:.0f} MB", taken["memory_bytes"] <= MOST_MEMORY_BYTES),
        check(f"{ROWS:,} rows within {MOST_READ_SECONDS} s", read["rows"] == ROWS and read["read_seconds"] <= MOST_READ_SECONDS),
    ]
    return "\n".join([table(["what", "measured"], measured), "", *checks])


if __name__ == "__main__":
    main()
