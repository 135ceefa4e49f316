"""The Python middleware: what it costs a request, and what its rulers cost a CPU, against the bare application.

    bench/run middleware [--requests N]   measures (a minute); nothing is kept

Requests of a Flask application are called in one process as a server calls them, bare or wrapped as a coin has it, with a
listener of its own process playing the agent. What the middleware costs is the difference of the medians; its interval is
from resampling. Rulers are measured in requests that come at a server's pace: their share of the time that passed.
"""

import argparse
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "python" / "tests"))

RESAMPLES = 300
PACED_SECONDS = 10.0
MOST_US = 5.0


def interval(first: list, second: list, drawn: random.Random) -> "tuple[float, float, float]":
    """The difference of the medians, second less first, and the middle 95 % of what resampling makes of it."""
    def difference(one, other):
        return statistics.median(other) - statistics.median(one)

    made = sorted(difference(drawn.choices(first, k=len(first)), drawn.choices(second, k=len(second)))
                  for _ in range(RESAMPLES))
    return difference(first, second), made[RESAMPLES // 40], made[-1 - RESAMPLES // 40]


def flask_app():
    import flask

    app = flask.Flask("bench")

    @app.get("/item/<int:number>")
    def item(number):
        return f"item {number}"

    return app


def call(app) -> int:
    """A request as a server makes it; its nanoseconds on the wall."""
    environ = {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": "/item/5", "SERVER_NAME": "bench", "SERVER_PORT": "80",
               "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "bench", "QUERY_STRING": "", "wsgi.url_scheme": "http"}
    begin = time.perf_counter_ns()
    result = app(environ, lambda status, headers, error=None: None)
    for _ in result:
        pass
    result.close()
    return time.perf_counter_ns() - begin


def one_after_the_other(bare, wrapped, requests: int) -> str:
    """What a request costs more where they follow each other at once."""
    drawn = random.Random()
    times = {False: [], True: []}
    for number in range(requests):
        is_wrapped = drawn.random() < 0.5
        took = call(wrapped if is_wrapped else bare)
        # What is called for the first time costs more.
        if number >= requests // 20:
            times[is_wrapped].append(took)
    more, low, high = (value / 1e3 for value in interval(times[False], times[True], drawn))
    base = statistics.median(times[False]) / 1e3
    verdict = "reached" if high <= MOST_US else "NOT reached" if low > MOST_US else "undecided"
    return (f"A request: bare {base:.1f} us, with the middleware {more:.2f} us more (95 % interval {low:.2f} to {high:.2f}), "
            f"medians of {requests} requests.\nAt most {MOST_US:.0f} us: {verdict}.")


def paced(wrapped, status) -> str:
    """What the rulers take where requests come as they come to a server."""
    end, drawn = time.monotonic() + PACED_SECONDS, random.Random()
    while time.monotonic() < end:
        time.sleep(drawn.expovariate(150))
        call(wrapped)
    told = next(one for one in status() if one["service"] == "paced")
    rulers = told["rulers"]
    if rulers["why_none"]:
        return f"Rulers: none ({rulers['why_none']})."
    a_second = {kind: count / PACED_SECONDS for kind, count in rulers["samples"].items()}
    said = ", ".join(f"{kind} {rate:.0f}" for kind, rate in a_second.items())
    return (f"Rulers at {told['requests'] / PACED_SECONDS:.0f} requests a second: {100 * rulers['spent_ratio']:.2f} % of a CPU; "
            f"{said} a second.")


def inside(requests: int) -> None:
    """In the environment that has Flask."""
    import steadyhand

    bare = flask_app()
    print(one_after_the_other(bare, steadyhand.wsgi(bare, service="plain", version="v1", rulers=False), requests))
    print(paced(steadyhand.wsgi(bare, service="paced", version="v1"), steadyhand.status))
    for told in steadyhand.status():
        print(f"Lines of '{told['service']}': {told['sent']} sent, {told['dropped']} dropped.")


def listen(path: str) -> None:
    """Plays the agent until it is ended."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(path)
    while True:
        listener.recv(1 << 17)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--requests", type=int, default=40_000)
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--listen", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.listen:
        listen(given.listen)
    elif given.inside:
        inside(given.requests)
    else:
        beside_a_listener(given.requests)


def beside_a_listener(requests: int) -> None:
    """Runs this again in the environment that has Flask, with somebody to tell."""
    from listener import web_environment

    programs = web_environment()
    steady = Path(os.environ.get("STEADY", ROOT / "target" / "release" / "steady")).absolute()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/agent.sock"
        listener = subprocess.Popen([sys.executable, __file__, "--listen", path])
        try:
            while not os.path.exists(path):
                time.sleep(0.01)
            environment = {**os.environ, "STEADY_SOCKET": path, "PATH": f"{steady.parent}:{os.environ['PATH']}"}
            subprocess.run([programs / "python", __file__, "--inside", "--requests", str(requests)], env=environment, check=True)
        finally:
            listener.kill()
            listener.wait()


if __name__ == "__main__":
    main()
