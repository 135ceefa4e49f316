"""steady agent: records per second on one core, memory, the effect of its rulers, and the time to read rows.

    bench/run agent [--seconds N] [--turns N]
        Floods the agent with records for N seconds (10). Runs N turns of work with its rulers, and N without (60). Reads
        rows back from a store.
    bench/run agent --metrics
        Measures the cost of a scrape, and its effect on senders that flood the agent.
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
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds for which to flood the agent (10)")
    parser.add_argument("--turns", type=int, default=60, help="turns of work with rulers, and as many without (60)")
    parser.add_argument("--metrics", action="store_true", help="measure only scrapes")
    options = parser.parse_args()
    if options.metrics:
        with tempfile.TemporaryDirectory(prefix="steady-bench-") as folder:
            print(metrics(Path(folder), options.turns))
        return
    with tempfile.TemporaryDirectory(prefix="steady-bench-") as folder:
        ingested = ingest(Path(folder), options.seconds)
    with tempfile.TemporaryDirectory(prefix="steady-bench-") as folder:
        slowdown = ruler_slowdown(Path(folder), options.turns)
    read = rows()
    print(report(ingested, slowdown, read))


def ingest(folder: Path, seconds: float) -> dict:
    """Floods an agent with records. None may be dropped. Returns the rates and the agent's peak memory."""
    path = folder / "s" / "agent.sock"
    words = [STEADY, "agent", "--socket", path, "--store", folder / "agent.db", "--store-limit", "1GB"]
    agent = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        sender = connect(path)
        datagrams = [datagram(worker, number) for worker in range(WORKERS) for number in range(20)]
        before, began, sent = cpu_seconds(agent.pid), time.monotonic(), 0
        while time.monotonic() - began < seconds:
            for one in datagrams:
                # Blocks if the agent is behind, so the agent's own rate is measured.
                sender.send(one)
            sent += LINES * len(datagrams)
        arrived = wait_for(path, sent)
        wall = time.monotonic() - began
        used = cpu_seconds(agent.pid) - before
        status = agent_status(path)["agent"]
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


def ruler_slowdown(folder: Path, turns: int) -> dict:
    """Measures how much the agent's rulers slow an application, in pairs of turns with and without them."""
    path = folder / "s" / "agent.sock"
    words = [STEADY, "agent", "--socket", path, "--store", folder / "agent.db"]
    agent = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        connect(path).close()
        table_of_work = list(range(200_000))
        random.Random(1).shuffle(table_of_work)
        order, logs = random.Random(2), []
        for _ in range(turns):
            costs = {}
            for stopped in order.sample([False, True], 2):
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
    """Measures the cost of scrapes by number of routes and format, and the effect of a scrape on senders."""
    measured, most_memory = [], 0
    # The largest number is the most that the agent distinguishes.
    for routes in [50, 200, 5_000]:
        listening = ScrapedAgent(folder / str(routes))
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
            most_memory = max(most_memory, agent_status(listening.socket)["agent"]["peak_memory_bytes"])
        finally:
            listening.end()
    slower = [
        ["records per second with a scrape, compared with seconds without, %", f"{slower * 100:+.2f} ±{error * 200:.2f}"],
        ["longest time that a service waited to send, ms", f"{longest * 1e3:.1f}"],
        ["peak memory, MB", f"{most_memory / 1e6:.0f}"],
    ]
    checks = [check(f"at most {MOST_MEMORY_BYTES / 1e6:.0f} MB", most_memory <= MOST_MEMORY_BYTES)]
    scrapes = table(["a scrape", "CPU time, ms", "kB sent"], measured)
    return "\n".join([scrapes, "", table(["what", "measured"], slower), "", *checks])


FORMATS = {
    "classic": {},
    "OpenMetrics": {"Accept": "application/openmetrics-text; version=1.0.0"},
    "classic, gzip": {"Accept-Encoding": "gzip"},
}


class ScrapedAgent:
    """An agent with metrics and without rulers, so that all its CPU time is due to requests and scrapes."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.socket = folder / "s" / "agent.sock"
        words = [STEADY, "agent", "--no-rulers", "--routes", "10000", "--listen", "127.0.0.1:0"]
        words += ["--socket", self.socket, "--store", folder / "agent.db", "--store-limit", "1GB"]
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        connect(self.socket).close()
        # The agent reports its status shortly after its socket exists.
        while (agent := agent_status(self.socket)["agent"]) is None:
            time.sleep(0.05)
        self.url = agent["metrics"]["url"]

    def scrapes(self, headers: dict) -> tuple[int, float]:
        """Scrapes repeatedly. Returns the bytes and the agent's CPU seconds per scrape."""
        size = self.scrape(headers)
        before = self.cpu_seconds()
        for _ in range(SCRAPES):
            self.scrape(headers)
        return size, (self.cpu_seconds() - before) / SCRAPES

    def scrape(self, headers: dict) -> int:
        with urllib.request.urlopen(urllib.request.Request(self.url, headers=headers), timeout=30) as page:
            return len(page.read())

    def cpu_seconds(self) -> float:
        """Returns the CPU time of all threads, including ended ones, from the kernel's ticks."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def flooded(self, sender: socket.socket, turns: int) -> tuple[float, float, float]:
        """Returns the change of records per second due to a scrape, its error, and the sender's longest wait in s."""
        order, logs, longest = random.Random(3), [], 0.0
        for _ in range(turns):
            sent = {}
            for scraped in order.sample([False, True], 2):
                scrape = threading.Thread(target=self.scrape_in_subprocess, args=[scraped])
                scrape.start()
                sent[scraped], waited = flood(sender)
                longest = max(longest, waited)
                scrape.join()
            logs.append(math.log(sent[True] / sent[False]))
        return median(logs), 1.25 * stdev(logs) / math.sqrt(turns), longest

    def scrape_in_subprocess(self, scraped: bool) -> None:
        """Scrapes, or runs a command that does nothing. A subprocess does it because this process is sending."""
        words = ["curl", "-sS", "-o", "/dev/null", self.url] if scraped else ["true"]
        time.sleep(0.3)
        subprocess.run(words, check=True)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def flood(sender: socket.socket) -> tuple[float, float]:
    """Sends for a second. Returns the records per second and the longest wait for the agent, in seconds."""
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
    """Follows a random path through a list larger than the caches, and returns the CPU time in seconds."""
    began, position = time.thread_time(), 0
    for _ in range(1_500_000):
        position = numbers[position]
    return time.thread_time() - began


def datagram(worker: int, number: int, routes: int = ROUTES) -> bytes:
    """Returns a datagram of a worker: requests that end now, of random versions, some with rulers."""
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
    sys.exit(f"the agent does not listen on {path} after 10 s")


def agent_status(path: Path) -> dict:
    words = [STEADY, "agent", "status", "--socket", path, "--format", "json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def wait_for(path: Path, sent: int) -> int:
    """Waits until everything has arrived and is written. Returns the number of records that arrived."""
    for _ in range(200):
        status = agent_status(path)["agent"]
        arrived = status["arrived"]["requests"]
        if arrived >= sent and status["writing"]["waiting"] <= 1:
            return arrived
        time.sleep(0.1)
    return arrived


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time of all threads of a process in seconds, from the scheduler's nanoseconds."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def rows() -> dict:
    """Writes a million rows to a store and reads them back, in a separate process."""
    build = ["cargo", "run", "--quiet", "--release", "--package", "steady-agent", "--example", "rows"]
    words = [*build, "--", str(ROWS)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT)
    return json.loads(done.stdout)


def report(ingested: dict, slowdown: dict, read: dict) -> str:
    measured = [
        ["records sent", f"{ingested['records']:,}"],
        ["records per second", f"{ingested['per_second']:,.0f}"],
        ["records per second of the agent's CPU time", f"{ingested['per_cpu_second']:,.0f}"],
        ["peak memory, MB", f"{ingested['memory_bytes'] / 1e6:.0f}"],
        ["CPU time of an application while rulers run, %", f"{slowdown['change'] * 100:+.2f} ±{slowdown['error'] * 200:.2f}"],
        ["rows read back", f"{read['rows']:,}"],
        ["CPU time to read them, s", f"{read['read_seconds']:.2f}"],
        ["bytes per row in the store", f"{read['bytes'] / read['rows']:.0f}"],
    ]
    checks = [
        check("every record arrived", ingested["arrived"] == ingested["records"]),
        check(f"{LEAST_PER_SECOND:,} records per second of the agent's CPU time", ingested["per_cpu_second"] >= LEAST_PER_SECOND),
        check(f"at most {MOST_MEMORY_BYTES / 1e6:.0f} MB", ingested["memory_bytes"] <= MOST_MEMORY_BYTES),
        check(f"{ROWS:,} rows within {MOST_READ_SECONDS} s", read["rows"] == ROWS and read["read_seconds"] <= MOST_READ_SECONDS),
    ]
    return "\n".join([table(["what", "measured"], measured), "", *checks])


if __name__ == "__main__":
    main()
