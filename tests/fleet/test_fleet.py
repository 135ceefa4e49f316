"""A realistic fleet: agents with services under a changing load, scraped by a real Prometheus and VictoriaMetrics.

The results from these stores must agree with the results from the agents' own stores for the same seconds.
"""

import collections
import contextlib
import itertools
import json
import math
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

import blobs
from stores import missing, port_of_metrics, prometheus, victoria_metrics

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
STEADY = TARGET / "debug" / "steady"
HERE = Path(__file__).resolve().parent
HOSTS = 4


class Proxy:
    """A TCP proxy between the stores and an agent that can cut the connection."""

    def __init__(self):
        self.target, self.cut = None, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            visitor, _ = self.listener.accept()
            threading.Thread(target=self.pass_on, args=(visitor,), daemon=True).start()

    def pass_on(self, visitor):
        with visitor, contextlib.suppress(OSError):
            if self.cut:
                return
            with socket.create_connection(("127.0.0.1", self.target)) as agent:
                back = threading.Thread(target=self.copy, args=(agent, visitor), daemon=True)
                back.start()
                self.copy(visitor, agent)
                back.join()

    def copy(self, source, target):
        with contextlib.suppress(OSError):
            while (piece := source.recv(1 << 16)) and not self.cut:
                target.sendall(piece)
            for end in (source, target):
                end.shutdown(socket.SHUT_RDWR)


class Host:
    """An agent, and a service that reports its requests to it."""

    def __init__(self, folder, number):
        self.name = f"web-{number}"
        self.socket, self.store = folder / f"{number}.sock", folder / f"{number}.db"
        self.proxy = Proxy()
        # The last block of each agent that has ended.
        self.last_blocks = []
        self.start()

    def start(self):
        # The agent chooses its port: a free port that it should use could be taken before it starts.
        words = ["agent", "--socket", self.socket, "--store", self.store, "--listen", "127.0.0.1:0"]
        self.agent = subprocess.Popen([STEADY, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.proxy.target = port_of_metrics(self.agent.stderr)

    def serve(self):
        environment = {**os.environ, "STEADY_SOCKET": str(self.socket), "PYTHONPATH": str(ROOT / "python"),
                       "PATH": f"{STEADY.parent}:{os.environ['PATH']}"}
        words = [sys.executable, HERE / "service.py"]
        self.service = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE)

    def stop_serving(self):
        self.service.stdin.close()
        self.service.wait()

    def stop(self):
        self.agent.send_signal(signal.SIGTERM)
        _, notices = self.agent.communicate()
        if self.agent.returncode != 0:
            raise AssertionError(f"the agent of {self.name} ended with status {self.agent.returncode}: {notices}")
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            self.last_blocks += store.execute("SELECT MAX(id) FROM blocks").fetchone()


def compare(words, window):
    """Runs `steady release compare` and returns its JSON report."""
    words = ["release", "compare", "v1", "v2", *words, "--from", str(window[0]), "--to", str(window[1])]
    done = subprocess.run([STEADY, *words, "--no-history", "--format", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def follow(url):
    """Starts `steady release compare --watch`, which follows the release until it is decided."""
    words = ["release", "compare", "v1", "v2", "--service", "shop", "--watch", "--window", "2m", "--prometheus", url]
    words += ["--host-label", "host", "--no-history", "--format", "json", "--quiet"]
    return subprocess.Popen([STEADY, *words], stdout=subprocess.PIPE, text=True)


def scrapes(url, window):
    """Returns the scrapes of each host, those that `steady` sees once a second.

    They have the second, the place of the agent among the agents of its host, and the requests that it had counted.
    """

    def values(metric):
        query = {"query": f"{metric}[{window[1] - window[0]}s]", "time": window[1], "nocache": 1}
        with urllib.request.urlopen(f"{url}/api/v1/query?{urllib.parse.urlencode(query)}") as answer:
            series = json.load(answer)["data"]["result"]
        # VictoriaMetrics returns NaN for a failed scrape.
        return [(one["metric"]["host"], at, float(value)) for one in series for at, value in one["values"] if value != "NaN"]

    counted = collections.Counter()
    for host, at, value in values('steady_requests_total{service="shop"}'):
        counted[host, at] += value
    seen, starts = collections.defaultdict(dict), collections.defaultdict(list)
    for host, at, began in sorted(values("steady_agent_start_time_seconds")):
        # VictoriaMetrics sometimes rounds the last digits.
        if not starts[host] or began - starts[host][-1] > 0.1:
            starts[host].append(began)
        seen[host][math.ceil(at)] = (len(starts[host]) - 1, counted[host, at])
    return {host: [(second, *scrape) for second, scrape in sorted(of.items())] for host, of in seen.items()}


def as_scraped(host, seen, path):
    """Copies the host's store, and gives its requests the second of the scrape before them.

    A store that scrapes the agent has the same requests in the same seconds. Requests that are not between two successive
    scrapes of the same agent get second 0, which is not compared. Returns the number of gaps between such scrapes, and the number of requests in them.
    """
    with contextlib.closing(sqlite3.connect(host.store)) as store, contextlib.closing(sqlite3.connect(path)) as copy:
        store.backup(copy)
        blocks = store.execute("SELECT id, service, rows FROM blocks ORDER BY id").fetchall()
        # An agent adds rows to its metrics in the order in which it writes them, so each scrape is between two blocks.
        ids = [number for number, _, _ in blocks]
        totals = list(itertools.accumulate(blobs.requests(rows) if service else 0 for _, service, rows in blocks))
        begins = [0, *(totals[ids.index(last)] for last in host.last_blocks)]
        edges = [(second, agent, begins[agent] + counted) for second, agent, counted in seen]
        if wrong := [edge for edge in edges if edge[2] not in {0, *totals}]:
            raise AssertionError(f"{host.name}: the numbers of requests in the store do not add up to these: {wrong}")
        gaps, missed = 0, edges[0][2]
        copy.execute("UPDATE blocks SET second = 0")
        for (second, agent, low), (later, next_agent, high) in itertools.pairwise(edges):
            if agent == next_agent and later - second <= 2:
                inside = [(second, number) for number, total in zip(ids, totals) if low < total <= high]
                copy.executemany("UPDATE blocks SET second = ? WHERE id = ?", inside)
            else:
                gaps, missed = gaps + 1, missed + high - low
        copy.commit()
    return gaps, missed


@unittest.skipIf(missing(), f"not installed: {', '.join(missing())}")
class Fleet(unittest.TestCase):
    def test_a_fleets_store_agrees_with_the_agents_stores(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            hosts = [Host(folder, number) for number in range(HOSTS)]
            targets = {host.name: host.proxy.port for host in hosts}
            with prometheus(targets, folder) as one, victoria_metrics(targets, folder, "-search.latencyOffset=1s") as other:
                window, watched = self.play(hosts, one)
                for host in hosts:
                    host.stop()
                report = json.loads(watched.communicate()[0])
                self.assertEqual((watched.returncode, report["total"]["verdict"]), (0, "slower"))
                self.assertTrue(report["looks"])
                for name, url in [("prometheus", one), ("victoria-metrics", other)]:
                    with self.subTest(name):
                        self.check_agreement(hosts, url, window, folder / f"copies-{name}")

    def play(self, hosts, url):
        """Runs the scenario. Returns its time window and the process that follows the release."""
        time.sleep(3)
        begin = int(time.time())
        time.sleep(2)
        for host in hosts:
            host.serve()
        time.sleep(6)
        watched = follow(url)
        time.sleep(4)
        hosts[1].stop()
        hosts[1].start()
        hosts[2].proxy.cut = True
        time.sleep(10)
        hosts[2].proxy.cut = False
        time.sleep(8)
        for host in hosts:
            host.stop_serving()
        time.sleep(3)
        end = int(time.time())
        time.sleep(4)
        return (begin, end), watched

    def check_agreement(self, hosts, url, window, folder):
        """Compares the result from a store with that from the agents' stores for the same seconds."""
        folder.mkdir()
        seen = scrapes(url, window)
        copies = [folder / host.store.name for host in hosts]
        gaps, missed = zip(*(as_scraped(host, seen[host.name], copy) for host, copy in zip(hosts, copies)))
        fleet = compare(["--prometheus", url, "--host-label", "host"], window)
        stores = compare([word for copy in copies for word in ("--store", copy)], window)
        changes = [report["total"]["change"] for report in (fleet, stores)]
        requests = [sum(side["requests"] for side in report["sides"]) for report in (fleet, stores)]
        half_width = (stores["total"]["high"] - stores["total"]["low"]) / 2
        print(f"{url}: {changes[0]:+.4%} and {changes[1]:+.4%} +- {half_width:.4%}, requests {requests}, missed {missed}", file=sys.stderr)
        self.assertGreater(gaps[1], 0, "an agent restarted")
        self.assertGreater(gaps[2], 0, "an agent was not reachable")
        self.assertEqual([report["sides"][0]["hosts"] for report in (fleet, stores)], [HOSTS, HOSTS])
        missing_scrapes = [warning for warning in fleet["warnings"] if warning["kind"] == "missing-scrapes"]
        # On a busy machine, other hosts may have missing scrapes too.
        self.assertEqual([2 <= warning["hosts"] <= HOSTS for warning in missing_scrapes], [True])
        self.assertEqual(requests[0], requests[1])
        for name in ("requests", "cpu_mean_seconds", "wall_mean_seconds"):
            self.assertEqual(*([side[name] for side in report["sides"]] for report in (fleet, stores)), name)
        for name in ("raw_change", "change", "low", "high"):
            self.assertAlmostEqual(*(report["total"][name] for report in (fleet, stores)), delta=1e-9, msg=name)


if __name__ == "__main__":
    unittest.main()
