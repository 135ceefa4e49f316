"""The files in examples/fleet: Prometheus accepts rules and dashboard, and they use metrics that an agent exports."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from stores import port_of_metrics, prometheus

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
STEADY = TARGET / "debug" / "steady"
EXAMPLES = ROOT / "examples" / "fleet"
# Within this time, an agent exports all metrics and Prometheus has data for all panels, also on a busy machine.
PATIENCE_SECONDS = 180
# Values of the dashboard's variables, with windows as short as the test.
VARIABLES = {"$service": "shop", "$old": "v1", "$new": "v2", "$instance": ".*", "$__rate_interval": "6s", "$window": "6s"}


def panels():
    """Yields the title and the expression of each query of the dashboard."""
    dashboard = json.loads((EXAMPLES / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            yield panel["title"], expression


class Agent:
    """An agent that exports its metrics, and a service of two versions that reports requests to it."""

    def __init__(self, folder):
        self.running = True
        words = ["agent", "--socket", f"{folder}/agent.sock", "--store", f"{folder}/agent.db", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen([STEADY, *words], stderr=subprocess.PIPE, text=True)
        self.port = port_of_metrics(self.process.stderr)
        self.inlet = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.inlet.connect(f"{folder}/agent.sock")
        self.service = threading.Thread(target=self.serve)
        self.service.start()

    def serve(self):
        generator, began, number = random.Random(1), time.monotonic_ns(), 200
        while self.running:
            number += 1
            version, cpu = generator.choice([("v1", 1_000_000), ("v2", 1_100_000)])
            line = f"r\t{time.monotonic_ns()}\t{number}\t{version}\t/\t200\t{cpu}\t{2 * cpu}\trandom\tdelay=9000\truler=syscall:30000"
            self.inlet.send(f"steady/1\tshop\t7\t{began}\n{line}\n".encode())
            time.sleep(0.005)

    def page(self):
        """Returns the current page of metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as answer:
            return answer.read().decode()

    def end(self):
        self.running = False
        self.service.join()
        self.inlet.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stderr.close()


class Examples(unittest.TestCase):
    def promtool(self, *words):
        """Runs promtool in a folder with copies of the examples."""
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed (Debian: prometheus)")
        with tempfile.TemporaryDirectory(prefix="steady-examples-") as folder:
            for file in [*EXAMPLES.iterdir(), ROOT / "tests" / "fleet" / "alerts_test.yml"]:
                shutil.copy(file, folder)
            rules = [{"record": f"panel:{place}", "expr": expression} for place, (_, expression) in enumerate(panels())]
            (Path(folder) / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
            done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_prometheus_accepts_the_files(self):
        self.promtool("check", "config", "prometheus.yml")
        self.promtool("check", "rules", "alerts.yml", "panels.yml")

    def test_each_alert_fires_only_when_it_should(self):
        self.promtool("test", "rules", "alerts_test.yml")

    def test_panels_do_not_overlap(self):
        occupied = set()
        for panel in json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]:
            at = panel["gridPos"]
            own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(own & occupied, panel["title"])
            self.assertTrue(all(x < 24 for x, _ in own), panel["title"])
            occupied |= own

    def test_the_agent_exports_all_metrics_of_the_examples(self):
        with tempfile.TemporaryDirectory(prefix="steady-examples-") as folder:
            agent = Agent(folder)
            try:
                page = self.awaited(agent)
                used = {name for text in [(EXAMPLES / "alerts.yml").read_text(), *(expr for _, expr in panels())]
                         for name in re.findall(r"\bsteady_\w+", text)}
                shown = set(re.findall(r"^(steady_\w+)[{ ]", page, re.MULTILINE))
                self.assertGreater(len(used), 10)
                self.assertEqual(used - shown, set())
                if shutil.which("prometheus") is None:
                    self.skipTest("prometheus is not installed: no panel was queried")
                with prometheus({"a": agent.port}, folder) as address:
                    self.query_panels(address)
            finally:
                agent.end()

    def awaited(self, agent):
        """Waits until the agent exports rulers, host and requests, and returns the page."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            page = agent.page()
            if all(name in page for name in ("steady_agent_ruler_log_total{", "steady_host_busy_seconds_total ", 'version="v2"')):
                return page
            time.sleep(0.1)
        self.fail(page)

    def query_panels(self, address):
        """Queries each panel until it has data, and checks the change that the first one shows."""
        left, shown = dict(enumerate(panels())), {}
        end = time.monotonic() + PATIENCE_SECONDS
        while left and time.monotonic() < end:
            for place, (_, expression) in list(left.items()):
                query = urllib.parse.urlencode({"query": expression})
                try:
                    with urllib.request.urlopen(f"{address}/api/v1/query?{query}", timeout=60) as answer:
                        found = json.load(answer)["data"]["result"]
                except urllib.error.HTTPError as error:
                    # On a busy machine, Prometheus is not ready yet or the query has timed out.
                    self.assertEqual(error.code, 503)
                    continue
                values = [float(series["value"][1]) for series in found]
                if values and all(value == value for value in values):
                    shown[place] = values
                    del left[place]
            if left:
                time.sleep(0.5)
        self.assertEqual(left, {})
        # The true change is a tenth.
        self.assertAlmostEqual(shown[0][0], 0.1, delta=0.005)


if __name__ == "__main__":
    unittest.main()
