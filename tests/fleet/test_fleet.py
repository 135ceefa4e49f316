"""A realistic fleet: agents with services under a changing load, scraped by a real Prometheus and VictoriaMetrics.

The results from these stores must agree with the results from the agents' own stores for the same seconds.
"""

import contextlib
import json
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

from stores import missing, port_of_metrics, prometheus, victoria_metrics

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
STEADY = TARGET / "debug" / "steady"
HERE = Path(__file__).resolve().parent
HOSTS = 4
# Requests, means and the raw change must be equal. The adjusted change compares requests of the same second, or of the
# same scrape. These are not the same groups, so the two estimates may differ by a quarter of the half-width, and by 0.1
# percentage points if that is more.
CLOSE = 0.001


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


@contextlib.contextmanager
def quiet(*hosts):
    """Pauses the services of these hosts while the block runs, so that each request is certainly before or after it.

    Services first send their batches. The waits cover the agents' delay of a second and the scrape interval.
    """
    for host in hosts:
        host.service.send_signal(signal.SIGUSR1)
    time.sleep(3.2)
    yield
    time.sleep(3.2)
    for host in hosts:
        host.service.send_signal(signal.SIGCONT)


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


def scrapes(url, end):
    """Returns, for each host, the times of its scrapes and the agent's start time in each of them, in order of time."""
    query = urllib.parse.urlencode({"query": "steady_agent_start_time_seconds[2m]", "time": end, "nocache": 1})
    with urllib.request.urlopen(f"{url}/api/v1/query?{query}") as answer:
        series = json.load(answer)["data"]["result"]
    # VictoriaMetrics returns NaN for a failed scrape.
    return {one["metric"]["host"]: [scrape for scrape in one["values"] if scrape[1] != "NaN"] for one in series}


def without_gaps(host, seen, path):
    """Copies the host's store without the seconds that are not between two scrapes of the same agent.

    Returns the number of gaps, and whether one begins or ends near requests. An agent adds a second to its store and
    metrics once the second is over. It may be up to a second late, and then a scrape has one second less.
    """
    with contextlib.closing(sqlite3.connect(host.store)) as store, contextlib.closing(sqlite3.connect(path)) as copy:
        store.backup(copy)
        gaps, among_requests = 0, False
        for (one, began), (other, begun) in zip(seen, seen[1:]):
            # VictoriaMetrics sometimes rounds the last digits.
            if abs(float(began) - float(begun)) > 0.1 or other - one > 2.5:
                gaps += 1
                for edge in (one, other):
                    near = "SELECT COUNT(*) FROM blocks WHERE service != 0 AND second > ? AND second < ?"
                    among_requests |= copy.execute(near, (edge - 2, edge - 1)).fetchone()[0] > 0
                copy.execute("DELETE FROM blocks WHERE second > ? AND second <= ?", (one - 1, other - 1))
        copy.commit()
    return gaps, among_requests


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
        with quiet(hosts[1], hosts[2]):
            hosts[1].stop()
            hosts[1].start()
            hosts[2].proxy.cut = True
        time.sleep(4)
        with quiet(hosts[2]):
            hosts[2].proxy.cut = False
        time.sleep(4)
        for host in hosts:
            host.stop_serving()
        time.sleep(3)
        end = int(time.time())
        time.sleep(4)
        return (begin, end), watched

    def check_agreement(self, hosts, url, window, folder):
        """Compares the result from a store with that from the agents' stores for the same seconds."""
        folder.mkdir()
        seen = scrapes(url, window[1])
        copies = [folder / host.store.name for host in hosts]
        gaps, among_requests = zip(*(without_gaps(host, seen[host.name], copy) for host, copy in zip(hosts, copies)))
        fleet = compare(["--prometheus", url, "--host-label", "host"], window)
        stores = compare([word for copy in copies for word in ("--store", copy)], window)
        changes = [report["total"]["change"] for report in (fleet, stores)]
        requests = [sum(side["requests"] for side in report["sides"]) for report in (fleet, stores)]
        half_width = (stores["total"]["high"] - stores["total"]["low"]) / 2
        print(f"{url}: {changes[0]:+.4%} and {changes[1]:+.4%} +- {half_width:.4%}, requests {requests}", file=sys.stderr)
        self.assertGreater(gaps[1], 0, "an agent restarted")
        self.assertGreater(gaps[2], 0, "an agent was not reachable")
        if any(among_requests):
            self.skipTest(f"this machine was too busy to scrape once a second: gaps of the hosts: {gaps}")
        self.assertEqual([report["sides"][0]["hosts"] for report in (fleet, stores)], [HOSTS, HOSTS])
        missing_scrapes = [warning for warning in fleet["warnings"] if warning["kind"] == "missing-scrapes"]
        if [warning["hosts"] > 2 for warning in missing_scrapes] == [True]:
            self.skipTest(f"this machine was too busy to scrape the other hosts once a second: {missing_scrapes}")
        self.assertEqual([warning["hosts"] for warning in missing_scrapes], [2])
        self.assertEqual(requests[0], requests[1])
        for name in ("requests", "cpu_mean_seconds", "wall_mean_seconds"):
            self.assertEqual(*([side[name] for side in report["sides"]] for report in (fleet, stores)), name)
        self.assertAlmostEqual(*(report["total"]["raw_change"] for report in (fleet, stores)), delta=1e-9)
        self.assertLess(abs(changes[0] - changes[1]), max(CLOSE, half_width / 4))


if __name__ == "__main__":
    unittest.main()
