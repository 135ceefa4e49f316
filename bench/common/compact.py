"""Converts a recording of a service (release.py) to small files, from which tests rebuild windows.

testdata/releases/README.md describes the files.
Times are relative to the whole second in which the recording begins. Requests are sorted by their end.
"""

import gzip
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Optional

from common.paths import ROOT

ROUTES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Request(NamedTuple):
    """A request that the service reported. CPU and wall time are in nanoseconds, `end` in seconds."""

    process: tuple
    number: int
    end: float
    route: str
    cpu: int
    wall: int
    ruler: Optional[tuple]


def compact(folder: Path, to: Path, skip: float = 0.0, seconds: float = math.inf) -> None:
    """Writes `seconds` of the recording in `folder`, from second `skip` on, as small files into the folder `to`."""
    about = json.loads((folder / "about.json").read_text())
    if about["extra"]:
        sys.exit(f"{folder}: the labels of requests can be changed only if both versions run the same code")
    begin = math.floor(about["begin"]) + skip
    end = min(begin + seconds, about["end"])
    requests = [request for request in reported(folder, about["offset"]) if begin <= request.end < end]
    requests.sort(key=lambda request: request.end)
    switches = [at for at, _ in about["segments"]]
    phases = [(at, name) for at, name in about["phases"] if begin <= at < end]
    to.mkdir(parents=True, exist_ok=True)
    _write(to / "requests.tsv.gz", _requests(requests, begin))
    _write(to / "processes.tsv.gz", _processes(requests, switches))
    _write(to / "hosts.tsv.gz", _hosts(_of_store(folder / "store.db"), int(begin), math.ceil(end)))
    _write(to / "phases.tsv.gz", [f"{1000 * (at - begin):.0f} {name}" for at, name in phases])


def reported(folder: Path, offset: float):
    """Yields all requests that the service reported, in the order of arrival."""
    process = None
    with gzip.open(folder / "lines.gz", "rt", errors="replace") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "steady/1":
                process = (fields[2], fields[3])
            elif fields[0] == "r":
                named = dict(field.split("=", 1) for field in fields[9:])
                kind, _, time = named.get("ruler", "").partition(":")
                yield Request(process, int(fields[2]), int(fields[1]) / 1e9 + offset, fields[4], int(fields[6]),
                              int(fields[7]), (kind, int(time)) if kind else None)


def _requests(requests: list, begin: float) -> list:
    numbers, routes, last, lines = {}, sorted({request.route for request in requests}), 0, []
    for request in requests:
        process = numbers.setdefault(request.process, len(numbers))
        at = round((request.end - begin) * 1e4)
        line = f"{process}{ROUTES[routes.index(request.route)]}{at - last} {round(request.cpu / 1e3)}"
        more = round(request.wall / 1e4) - round(request.cpu / 1e4)
        line += f" {more}" if more > 0 else ""
        line += f"{request.ruler[0][0]}{round(request.ruler[1] / 10)}" if request.ruler else ""
        lines.append(line)
        last = at
    return lines


def _processes(requests: list, switches: list) -> list:
    """Formats, for each process, the number of server restarts before it and the number of its first request."""
    processes: dict = {}
    for request in requests:
        first, _ = processes.get(request.process, (request.number, None))
        processes[request.process] = (first, request.end)
    return [f"{max(0, sum(switch <= last for switch in switches) - 1)} {first}" for first, last in processes.values()]


def _of_store(store: Path) -> list:
    """Returns the agent's data about the host, as words of each line that the agent's example `hosts` prints."""
    argv = ["cargo", "run", "--quiet", "--release", "--package", "steady-agent", "--example", "hosts", "--", store, "shop"]
    done = subprocess.run([str(word) for word in argv], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [line.split() for line in done.stdout.splitlines()]


def _hosts(kept: list, begin: int, end: int) -> list:
    """Formats a line per second: the share of busy CPUs, and for each ruler its readings, mean and spread."""
    seconds: dict = {}
    for name, second, *values in kept:
        seconds.setdefault(int(second), {})[name] = [float(value) for value in values]
    return [_host(seconds.get(second, {})) for second in range(begin, end)]


def _host(values: dict) -> str:
    words = [f"{1000 * values['busy'][0]:.0f}" if "busy" in values else "-"]
    for name in sorted(set(values) - {"busy"}):
        readings, log, squared = values[name]
        spread = math.sqrt(max(0.0, squared / readings - (log / readings) ** 2))
        words.append(f"{name[0]} {readings:.0f} {1e4 * log / readings:.0f} {1e4 * spread:.0f}")
    return " ".join(words)


def _write(path: Path, lines: list) -> None:
    with gzip.GzipFile(path, "wb", compresslevel=9, mtime=0) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
