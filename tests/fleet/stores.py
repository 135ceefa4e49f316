"""Starts real stores, Prometheus and VictoriaMetrics, on the loopback interface."""

import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path


def missing():
    """Returns the names of the stores' programs that are not installed."""
    return [name for name in ["prometheus", "victoria-metrics"] if shutil.which(name) is None]


def free_port():
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
def running(command, url, log):
    """Runs a store during the block. Yields its URL once it is ready."""
    with open(log, "w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            for _ in range(100):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{url}/-/healthy", timeout=1).close()
                    break
                time.sleep(0.1)
            else:
                raise RuntimeError(f"{command[0]} does not start: {Path(log).read_text()[-2000:]}")
            yield url
        finally:
            process.terminate()


def prometheus(targets, folder):
    """Runs a Prometheus that scrapes the targets."""
    port = free_port()
    command = ["prometheus", f"--config.file={scrape_config(targets, folder)}", f"--storage.tsdb.path={folder}/prometheus"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    return running(command, f"http://127.0.0.1:{port}", f"{folder}/prometheus.log")


def victoria_metrics(targets, folder, *options):
    """Runs a VictoriaMetrics that scrapes the targets. By default, its answers lack the newest half minute."""
    port = free_port()
    command = ["victoria-metrics", f"-promscrape.config={scrape_config(targets, folder)}", f"-storageDataPath={folder}/victoria"]
    command += [f"-httpListenAddr=127.0.0.1:{port}", "-loggerLevel=ERROR", *options]
    return running(command, f"http://127.0.0.1:{port}", f"{folder}/victoria.log")
