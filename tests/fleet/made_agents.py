"""Agents that answer as docs/metrics.md says, of made-up requests whose costs are known: v2 needs FACTOR of v1's CPU time."""

import math
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FACTOR = 1.05
ROUTES = {"/item/<n>": 2e6, "/search": 5e6}
RULERS = {"icode": 9e4, "syscall": 3e4}


def added(cost, before, failed):
    """What a request adds to each metric of requests: it took so many nanoseconds of CPU time, and those before it lay so far from what is
    usual, as a logarithm."""
    seconds, log, shifted = cost / 1e9, math.log(cost), before + 16
    sums = {
        "": 1.0,
        "_warming": 0.0,
        "_failed": float(failed),
        "_cpu_seconds": seconds,
        "_cpu_seconds_squared": seconds**2,
        "_cpu_log": log,
        "_cpu_log_squared": log * log,
        "_before_log": shifted,
        "_before_log_squared": shifted**2,
        "_before_product": shifted * log,
        "_wall_seconds": 3 * seconds,
        "_watched": 1.0,
        "_watched_cpu_seconds": seconds,
        "_watched_wall_seconds": 3 * seconds,
        "_watched_waiting_seconds": seconds / 2,
    }
    return {f"steady_requests{name}_total": value for name, value in sums.items()}


class Agent:
    """One agent: its sums grow with the seconds that pass, and begin anew when it is restarted."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.away = False
        self.restart()

    def restart(self):
        with self.lock:
            self.sums = {}
            self.began = time.time()

    def add(self, name, labels, value):
        key = (name, tuple(sorted(labels.items())))
        self.sums[key] = self.sums.get(key, 0.0) + value

    def second(self):
        """What a second brings: requests under a load that moves, by a coin on either version."""
        with self.lock:
            load = 1 + 0.3 * math.sin(time.time() / 7)
            for route, usual in ROUTES.items():
                for _ in range(40):
                    version = self.random.choice(["v1", "v2"])
                    self.request(version, route, usual * load * (FACTOR if version == "v2" else 1))
            for ruler, usual in RULERS.items():
                for _ in range(10):
                    self.reading("steady_agent_ruler", {"ruler": ruler}, usual * load)
            for kind, share in [("busy", 0.4 * load), ("steal", 0.01), ("pressure", 0.1)]:
                self.add(f"steady_host_{kind}_seconds_total", {}, share)
                self.add(f"steady_host_{kind}_observed_seconds_total", {}, 1)
            self.add("steady_requests_lost_total", {"service": "shop"}, 0)
            self.add("steady_requests_folded_total", {"service": "shop"}, 0)

    def reading(self, name, labels, usual):
        log = math.log(usual) + self.random.gauss(0, 0.05)
        self.add(f"{name}_readings_total", labels, 1)
        self.add(f"{name}_log_total", labels, log)
        self.add(f"{name}_log_squared_total", labels, log * log)

    def request(self, version, route, usual):
        before = self.random.gauss(0, 0.1)
        log = math.log(usual) + self.random.gauss(0, 0.15) + 0.3 * before
        of_version = {"service": "shop", "version": version}
        labels = {**of_version, "route": route, "assigned": "random"}
        for name, value in added(math.exp(log), before, self.random.random() < 0.01).items():
            self.add(name, labels, value)
        if self.random.random() < 0.3:
            for ruler, ruler_usual in RULERS.items():
                self.reading("steady_ruler", {**of_version, "ruler": ruler}, ruler_usual)

    def page(self):
        with self.lock:
            lines = ["steady_host_cpus 2", f"steady_agent_start_time_seconds {self.began:.3f}"]
            for (name, labels), value in self.sums.items():
                shown = ",".join(f'{label}="{text}"' for label, text in labels)
                lines.append(f"{name}{{{shown}}} {value!r}" if shown else f"{name} {value!r}")
        return "\n".join(lines) + "\n"


def serve(agent, port):
    """Answers on a port of the loopback, 503 while the agent is away; the server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = agent.page().encode()
            self.send_response(503 if agent.away else 200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def grow(agents):
    """Lets all of them grow, a second at a time, until the process ends."""

    def run():
        while True:
            for agent in agents:
                agent.second()
            time.sleep(1 - time.time() % 1)

    threading.Thread(target=run, daemon=True).start()
