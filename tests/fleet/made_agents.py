"""Simulated agents with the metrics of docs/metrics.md. v2 uses FACTOR times the CPU time of v1."""

import math
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FACTOR = 1.05
ROUTES = {"/item/<n>": 2e6, "/search": 5e6}
RULERS = {"icode": 9e4, "syscall": 3e4}
# Half of the requests for /search belong to this class, at the same cost.
CLASS = "member"
# The CPU time of a request is split at this multiple of the typical cost.
BOUND = 2


def clipped(log):
    return max(-0.6, min(0.6, log))


def request_metrics(cost, usual, before, ruler, failed):
    """Returns what a request adds to each request metric.

    `cost` is its CPU time in nanoseconds, `usual` the typical cost of its route and class. `before` and `ruler` are the
    logarithmic deviations of recent requests and of the last ruler from their typical values.
    """
    seconds, log, shifted = cost / 1e9, math.log(cost), before + 16
    base = min(seconds, BOUND * usual / 1e9)
    excess = seconds - base
    recent, ruler = usual / 1e9 * clipped(before), usual / 1e9 * clipped(ruler)
    levels = {
        "_exceeding_total": float(excess > 0),
        "_excess_cpu_seconds_total": excess,
        "_excess_cpu_seconds_squared_total": excess**2,
        "_excess_product_total": base * excess,
        "_recent_seconds": recent,
        "_recent_seconds_squared_total": recent**2,
        "_recent_product": recent * base,
        "_recent_excess_product": recent * excess,
        "_ruler_seconds": ruler,
        "_ruler_seconds_squared_total": ruler**2,
        "_ruler_product": ruler * base,
        "_ruler_excess_product": ruler * excess,
        "_recent_ruler_product": recent * ruler,
    }
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
    sums = {f"{name}_total": value for name, value in sums.items()} | levels
    return {f"steady_requests{name}": value for name, value in sums.items()}


class Agent:
    """An agent whose sums grow every second, and start again at zero when it restarts."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.unavailable = False
        self.restart()

    def restart(self):
        with self.lock:
            self.sums = {}
            self.began = time.time()

    def add(self, name, labels, value):
        key = (name, tuple(sorted(labels.items())))
        self.sums[key] = self.sums.get(key, 0.0) + value

    def second(self):
        """Adds the requests of a second, under a changing load, each with a random version."""
        with self.lock:
            load = 1 + 0.3 * math.sin(time.time() / 7)
            for route, usual in ROUTES.items():
                for _ in range(40):
                    version = self.random.choice(["v1", "v2"])
                    self.request(version, route, usual, load)
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

    def request(self, version, route, usual, load):
        of_version = {"service": "shop", "version": version}
        labels = {**of_version, "route": route, "assigned": "random"}
        if route == "/search" and self.random.random() < 0.5:
            labels["class"] = CLASS
        before, ruler = self.random.gauss(0, 0.1), math.log(load) + self.random.gauss(0, 0.05)
        cost = usual * load * (FACTOR if version == "v2" else 1) * math.exp(self.random.gauss(0, 0.15) + 0.3 * before)
        for name, value in request_metrics(cost, usual, before, ruler, self.random.random() < 0.01).items():
            self.add(name, labels, value)
        # Versions are drawn per request, so the process's CPU time belongs to no single version.
        self.add("steady_process_cpu_seconds_total", {"service": "shop"}, 1.1 * cost / 1e9)
        self.add("steady_process_requests_cpu_seconds_total", {"service": "shop"}, cost / 1e9)
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
    """Serves the agent's metrics on a loopback port, or status 503 while it is unavailable. Returns the server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = agent.page().encode()
            self.send_response(503 if agent.unavailable else 200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def grow(agents):
    """Adds a second of requests to all agents every second, in a daemon thread."""

    def run():
        while True:
            for agent in agents:
                agent.second()
            time.sleep(1 - time.time() % 1)

    threading.Thread(target=run, daemon=True).start()
