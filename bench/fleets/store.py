"""How long `steady release compare` takes on a store with the scrapes of many simulated hosts.

Every route of every host has requests of both versions in each interval. NEW costs 2 % more, and the result must show
it.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from multiprocessing import Process
from pathlib import Path
from random import Random

from common.paths import ROOT, STEADY
from common.stats import median_or_nan
from common.verdicts import table

sys.path.insert(0, str(ROOT / "tests" / "fleet"))
import made_agents  # noqa: E402
import stores  # noqa: E402

ROUTES = 50
VERSIONS = ("v1", "v2")
SCRAPES = 20
INTERVAL_SECONDS = 15
CHANGE = 0.02
METRICS = list(made_agents.request_metrics(1.0, 1.0, 0.0, 0.0, False))
PER_HOST = len(METRICS) * ROUTES * len(VERSIONS)


def series_of(host: int, random: Random) -> dict:
    """Returns the sums of one host's requests at each scrape, by metric and labels."""
    load = [1 + 0.3 * math.sin((scrape + 7 * host) / 3) for scrape in range(SCRAPES)]
    found = {}
    for route in range(ROUTES):
        usual = 1e6 * (1 + route)
        for version in VERSIONS:
            labels = f'instance="web-{host}:9464",service="shop",version="{version}",route="/r/{route}",assigned="random"'
            sums = {metric: [0.0] for metric in METRICS}
            for scrape in range(1, SCRAPES):
                # Two requests of medium cost stand for all of the interval, because only the time to answer is
                # measured.
                for _ in range(2):
                    before = random.gauss(0, 0.1)
                    factor = 1 + CHANGE if version == "v2" else 1
                    log = math.log(usual * load[scrape] * factor) + random.gauss(0, 0.1) + 0.3 * before
                    for metric, value in made_agents.request_metrics(math.exp(log), usual, before, math.log(load[scrape]), False).items():
                        values = sums[metric]
                        if len(values) == scrape:
                            values.append(values[-1])
                        values[scrape] += value
            found.update({(metric, labels): values for metric, values in sums.items()})
    return found


def write(path: Path, hosts: int, begin: int) -> None:
    """Writes all samples with timestamps as OpenMetrics, which both stores read."""
    random = Random(hosts)
    # All samples of a metric must be contiguous, and there are too many for memory. Hence a file per metric.
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        parts = {metric: open(Path(folder) / metric, "w") for metric in METRICS}
        for host in range(hosts):
            for (metric, labels), values in series_of(host, random).items():
                lines = (f"{metric}{{{labels}}} {value!r} {begin + INTERVAL_SECONDS * scrape}\n" for scrape, value in enumerate(values))
                parts[metric].writelines(lines)
        with open(path, "w") as whole:
            for metric, part in parts.items():
                part.close()
                kind = "counter" if metric.endswith("_total") else "gauge"
                whole.write(f"# TYPE {metric.removesuffix('_total')} {kind}\n")
                with open(part.name) as lines:
                    shutil.copyfileobj(lines, whole)
            whole.write("# TYPE steady_agent_start_time_seconds gauge\n")
            for host in range(hosts):
                for scrape in range(SCRAPES):
                    at = begin + INTERVAL_SECONDS * scrape
                    whole.write(f'steady_agent_start_time_seconds{{instance="web-{host}:9464"}} {begin - 100} {at}\n')
            whole.write("# EOF\n")


def in_subprocess(work, *arguments) -> None:
    """Runs `work` in a separate process, so that the peak memory of later children does not include its memory."""
    process = Process(target=work, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(process.exitcode)


def import_into_victoria(url: str, path: Path) -> None:
    """Sends all samples, with timestamps in milliseconds as VictoriaMetrics expects."""
    def lines():
        with open(path) as file:
            for line in file:
                if not line.startswith("#"):
                    series, value, at = line.rsplit(" ", 2)
                    yield f"{series} {value} {int(at) * 1000}\n".encode()
    request = urllib.request.Request(f"{url}/api/v1/import/prometheus", data=lines(), method="POST")
    request.add_header("Transfer-Encoding", "chunked")
    urllib.request.urlopen(request, timeout=600).close()


def compare(url: str, begin: int) -> dict:
    """Runs one comparison and returns its wall time, CPU time, memory and result."""
    end = begin + INTERVAL_SECONDS * (SCRAPES - 1) + 1
    words = [STEADY, "release", "compare", *VERSIONS, "--service", "shop", "--prometheus", url, "--from", begin, "--to", end,
             "--timeout", "5m", "--format", "json", "--no-history"]
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        process = subprocess.Popen([str(word) for word in words], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        if process.returncode:
            sys.exit(f"steady release compare ended with status {process.returncode}")
        output.seek(0)
        total = json.load(output)["total"]
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "mib": usage.ru_maxrss / 1024,
            **{name: total[name] for name in ("change", "low", "high", "requests")}}


def measured(name: str, url: str, hosts: int, begin: int, times: int) -> list:
    """Measures one store and returns its row of the table."""
    answers = [compare(url, begin) for _ in range(times)]
    last = answers[-1]
    if abs(last["change"] - CHANGE) > 0.005:
        sys.exit(f"{name}: steady reports {last['change']:+.4f}, but the true change is {CHANGE:+.4f}")
    middle = {field: median_or_nan(answer[field] for answer in answers) for field in ("seconds", "cpu", "mib")}
    return [name, f"{hosts:,}", f"{hosts * PER_HOST:,}", f"{middle['seconds']:.2f} s", f"{middle['cpu']:.2f} s",
            f"{middle['mib']:.0f} MiB", f"{100 * last['change']:+.2f} % ({100 * last['low']:+.2f} to {100 * last['high']:+.2f})"]


def run(hosts: list, times: int) -> None:
    """Prints how long comparisons on each store take."""
    if stores.missing():
        sys.exit(f"not installed: {', '.join(stores.missing())} (apt-get install --no-install-recommends)")
    rows = []
    for count in hosts:
        with tempfile.TemporaryDirectory(prefix="steady-fleet-") as folder:
            begin = (int(time.time()) - 7200) // 60 * 60
            path = Path(folder) / "samples.txt"
            in_subprocess(write, path, count, begin)
            (Path(folder) / "prometheus").mkdir()
            subprocess.run(["promtool", "tsdb", "create-blocks-from", "--quiet", "openmetrics", path, Path(folder) / "prometheus"],
                           check=True, stdout=subprocess.DEVNULL)
            with stores.prometheus({}, folder) as url:
                rows.append(measured("Prometheus", url, count, begin, times))
            with stores.victoria_metrics({}, folder) as url:
                in_subprocess(import_into_victoria, url, path)
                # New samples become visible after a few seconds.
                time.sleep(10)
                rows.append(measured("VictoriaMetrics", url, count, begin, times))
    print(f"{SCRAPES} scrapes, {ROUTES} routes, {len(VERSIONS)} versions, {len(METRICS)} metrics; medians of {times} comparisons; the store and "
          "steady run on the same CPUs")
    print(table(["store", "hosts", "series", "wall time", "steady's CPU time", "steady's memory", "change (true: 2 %)"], rows))
