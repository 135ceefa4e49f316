"""The files of examples/fleet: rules and dashboard are what Prometheus takes, and rest on what an agent really shows."""

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

from stores import free_port, prometheus

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
STEADY = TARGET / "debug" / "steady"
EXAMPLES = ROOT / "examples" / "fleet"
# What stands for the dashboard's variables, for windows as short as the test.
VARIABLES = {"$service": "shop", "$old": "v1", "$new": "v2", "$instance": ".*", "$__rate_interval": "6s", "$window": "6s"}


def panels():
    """Title and expression of all that the dashboard asks for."""
    dashboard = json.loads((EXAMPLES / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            yield panel["title"], expression


class Agent:
    """An agent that shows its metrics, and a service of two versions that tells it of requests."""

    def __init__(self, folder):
        self.port, self.going = free_port(), True
        words = ["agent", "--socket", f"{folder}/agent.sock", "--store", f"{folder}/agent.db", "--listen", str(self.port)]
        self.process = subprocess.Popen([STEADY, *words], stderr=subprocess.PIPE)
        # It listens once it says so.
        self.process.stderr.readline()
        self.inlet = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.inlet.connect(f"{folder}/agent.sock")
        self.service = threading.Thread(target=self.serve)
        self.service.start()

    def serve(self):
        coin, began, number = random.Random(1), time.monotonic_ns(), 200
        while self.going:
            number += 1
            version, cpu = coin.choice([("v1", 1_000_000), ("v2", 1_100_000)])
            told = f"r\t{time.monotonic_ns()}\t{number}\t{version}\t/\t200\t{cpu}\t{2 * cpu}\trandom\tdelay=9000\truler=syscall:30000"
            self.inlet.send(f"steady/1\tshop\t7\t{began}\n{told}\n".encode())
            time.sleep(0.005)

    def page(self):
        """What it shows now."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def end(self):
        self.going = False
        self.service.join()
        self.inlet.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stderr.close()


class Examples(unittest.TestCase):
    def promtool(self, *words):
        """Runs it in a folder with the examples."""
        if shutil.which("promtool") is None:
            self.skipTest("there is no promtool here")
        with tempfile.TemporaryDirectory(prefix="steady-examples-") as folder:
            for file in [*EXAMPLES.iterdir(), ROOT / "tests" / "fleet" / "alerts_test.yml"]:
                shutil.copy(file, folder)
            rules = [{"record": f"panel:{place}", "expr": expression} for place, (_, expression) in enumerate(panels())]
            (Path(folder) / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
            done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_files_are_what_prometheus_takes(self):
        self.promtool("check", "config", "prometheus.yml")
        self.promtool("check", "rules", "alerts.yml", "panels.yml")

    def test_each_alert_fires_where_it_should_and_there_alone(self):
        self.promtool("test", "rules", "alerts_test.yml")

    def test_panels_stand_beside_each_other(self):
        places = set()
        for panel in json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]:
            at = panel["gridPos"]
            own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(own & places, panel["title"])
            self.assertTrue(all(x < 24 for x, _ in own), panel["title"])
            places |= own

    def test_all_that_is_asked_for_is_shown(self):
        with tempfile.TemporaryDirectory(prefix="steady-examples-") as folder:
            agent = Agent(folder)
            try:
                page = self.awaited(agent)
                asked = {name for text in [(EXAMPLES / "alerts.yml").read_text(), *(expr for _, expr in panels())]
                         for name in re.findall(r"\bsteady_\w+", text)}
                shown = set(re.findall(r"^(steady_\w+)[{ ]", page, re.MULTILINE))
                self.assertGreater(len(asked), 10)
                self.assertEqual(asked - shown, set())
                if shutil.which("prometheus") is None:
                    self.skipTest("there is no prometheus here: no panel was drawn")
                with prometheus({"a": agent.port}, folder) as address:
                    self.draw(address)
            finally:
                agent.end()

    def awaited(self, agent):
        """What it shows once it has read its rulers and its host."""
        for _ in range(100):
            page = agent.page()
            if all(name in page for name in ("steady_agent_ruler_log_total{", "steady_host_busy_seconds_total ", 'version="v2"')):
                return page
            time.sleep(0.1)
        self.fail(page)

    def draw(self, address):
        """Each panel has something to show within a while, and the change is what it is."""
        left, told = dict(enumerate(panels())), {}
        for _ in range(60):
            for place, (_, expression) in list(left.items()):
                query = urllib.parse.urlencode({"query": expression})
                try:
                    with urllib.request.urlopen(f"{address}/api/v1/query?{query}", timeout=10) as answer:
                        found = json.load(answer)["data"]["result"]
                except urllib.error.HTTPError as error:
                    # On a busy machine it is not ready yet, or took too long.
                    self.assertEqual(error.code, 503)
                    continue
                values = [float(series["value"][1]) for series in found]
                if values and all(value == value for value in values):
                    told[place] = values
                    del left[place]
            if not left:
                break
            time.sleep(0.5)
        self.assertEqual(left, {})
        # By a tenth, of the same route on the same host.
        self.assertAlmostEqual(told[0][0], 0.1, delta=0.005)


if __name__ == "__main__":
    unittest.main()
