"""Starts real stores, Prometheus and VictoriaMetrics, on the loopback interface."""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path


def missing():
    """Returns the names of the stores' programs that are not installed."""
    return [name for name in ["prometheus", "victoria-metrics"] if shutil.which(name) is None]


def port_of_metrics(notices):
    """Returns the port of an agent that chooses it itself, from the notices that it prints when it starts."""
    printed = []
    for notice in notices:
        printed.append(notice)
        if found := re.search(r"publishes metrics at http://127\.0\.0\.1:(\d+)/", notice):
            return int(found[1])
    raise RuntimeError(f"the agent does not start: {''.join(printed)}")


def free_port():
    """Returns a port that is free now. Another process may take it at any time."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def scrape_config(targets, folder):
    """Writes the scrape configuration of both stores and returns its path. `targets` has each host's port."""
    static = [{"targets": [f"127.0.0.1:{port}"], "labels": {"host": host}} for host, port in targets.items()]
    job = {"job_name": "steady", "honor_labels": True, "static_configs": static}
    config = {"global": {"scrape_interval": "1s", "scrape_timeout": "900ms"}, "scrape_configs": [job]}
    # JSON is valid YAML.
    path = Path(folder) / "scrape.yml"
    path.write_text(json.dumps(config))
    return path


@contextlib.contextmanager
def running(command, address, log):
    """Runs a store during the block. Yields its URL once it is ready. `address` is the option for its address."""
    for _ in range(5):
        here = f"127.0.0.1:{free_port()}"
        url = f"http://{here}"
        with open(log, "w") as output, subprocess.Popen([*command, f"{address}={here}"], stdout=output, stderr=output) as process:
            try:
                if is_ready(url, process):
                    yield url
                    return
            finally:
                process.terminate()
        # It may have ended because its port was taken. Use another one.
    raise RuntimeError(f"{command[0]} does not start: {Path(log).read_text()[-2000:]}")


def is_ready(url, process):
    """Waits until a store answers, at most a minute; returns whether it does."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/-/healthy", timeout=1).close()
            return True
        time.sleep(0.1)
    return False


def prometheus(targets, folder):
    """Runs a Prometheus that scrapes the targets."""
    command = ["prometheus", f"--config.file={scrape_config(targets, folder)}", f"--storage.tsdb.path={folder}/prometheus"]
    return running([*command, "--log.level=error"], "--web.listen-address", f"{folder}/prometheus.log")


def victoria_metrics(targets, folder, *options):
    """Runs a VictoriaMetrics that scrapes the targets. By default, its answers lack the newest half minute."""
    command = ["victoria-metrics", f"-promscrape.config={scrape_config(targets, folder)}", f"-storageDataPath={folder}/victoria"]
    return running([*command, "-loggerLevel=ERROR", *options], "-httpListenAddr", f"{folder}/victoria.log")
