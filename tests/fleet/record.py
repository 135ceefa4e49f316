#!/usr/bin/env python3
"""Records the answers of real stores to `steady release compare` in testdata/fleet: record.py STEADY FOLDER.

A Prometheus and a VictoriaMetrics scrape three simulated agents for 34 seconds. One agent restarts, another is
unavailable for a while. The queries of `steady` pass through a proxy that records queries and answers.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from made_agents import Agent, grow, serve
from stores import prometheus, victoria_metrics

SECONDS = 34


def proxy(target, kept):
    """Starts a server that forwards queries to `target` and appends them to `kept` with their answers.

    Returns its URL.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = urllib.request.Request(target + self.path, data=body)
            try:
                with urllib.request.urlopen(request) as response:
                    status, answer = response.status, response.read()
            except urllib.error.HTTPError as error:
                status, answer = error.code, error.read()
            form = dict(urllib.parse.parse_qsl(body.decode()))
            form.pop("timeout", None)
            kept.append({"path": self.path, "form": form, "status": status, "answer": answer.decode()})
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def main():
    steady, folder = sys.argv[1], Path(sys.argv[2])
    agents = [Agent(seed) for seed in range(3)]
    ports = [serve(agent, 0).server_address[1] for agent in agents]
    grow(agents)
    targets = {f"web-{number}": port for number, port in enumerate(ports, 1)}
    with tempfile.TemporaryDirectory() as home, prometheus(targets, home) as one, victoria_metrics(targets, home) as other:
        time.sleep(3)
        begin = int(time.time())
        time.sleep(SECONDS * 0.3)
        agents[1].restart()
        time.sleep(SECONDS * 0.2)
        agents[2].unavailable = True
        time.sleep(SECONDS * 0.2)
        agents[2].unavailable = False
        time.sleep(SECONDS * 0.3)
        end = int(time.time())
        # VictoriaMetrics does not return the newest half minute.
        time.sleep(35)
        for name, store in [("prometheus", one), ("victoria-metrics", other)]:
            kept = []
            words = ["release", "compare", "v1", "v2", "--no-history", "--from", str(begin), "--to", str(end)]
            words += ["--host-label", "host", "--by", "route", "--prometheus", proxy(store, kept)]
            subprocess.run([steady, *words], check=False)
            # Rust tests read the key "asked".
            kept = {"from": begin, "to": end, "asked": kept}
            (folder / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
