"""The Python middleware: its CPU time per request, in service and in a hot loop, and the cost of its rulers.

    bench/run middleware [--rates 20,100] [--seconds S] [--frameworks flask,django]

It takes five minutes and stores no results.

In service: one process serves requests at random times at the rate of a server, so its caches are as cold as in
service. At random, the application is called bare (a quarter of the requests) or wrapped. `outer` is the thread's CPU
time from the call until the response is closed; `inner` is the part that the application uses. The cost of the
middleware is outer minus inner, minus the same difference of bare requests, which is the cost of measuring.

The middleware also evicts cache lines of the application. This cost is the inner CPU time of wrapped requests minus
that of bare requests. For rulers, it is the inner CPU time of requests with a ruler minus that of requests without one.

In a hot loop: the difference between the medians of wrapped and bare requests that follow each other immediately.

Intervals are bootstrap intervals. A listener in a separate process replaces the agent.
"""

import argparse
import io
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
sys.path.insert(0, str(Path(os.environ.get("MIDDLEWARE", ROOT / "python"))))
sys.path.insert(0, str(ROOT / "python" / "tests"))

RESAMPLES = 400
BARE_SHARE = 0.25
# The CPU time that the middleware may add to a request in service, everything included, and in a hot loop.
MOST_IN_SERVICE_US = 20.0
MOST_HOT_US = 5.0
# The number of warm-up requests of each process.
WARMING = 40
ROWS = 60


def interval(statistic, samples: "list[list]", generator: random.Random) -> "tuple[float, float, float]":
    """Returns a statistic of independent samples with its 95 % bootstrap interval."""
    resampled = sorted(statistic(*(generator.choices(sample, k=len(sample)) for sample in samples)) for _ in range(RESAMPLES))
    return statistic(*samples), resampled[RESAMPLES // 40], resampled[-1 - RESAMPLES // 40]


def mean_difference(one: list, other: list) -> float:
    """Returns the difference of the means."""
    return statistics.fmean(one) - statistics.fmean(other)


def median_difference(one: list, other: list) -> float:
    """Returns the difference of the medians."""
    return statistics.median(one) - statistics.median(other)


def formatted(values: "tuple[float, float, float]") -> str:
    return "{:6.1f} us ({:.1f} to {:.1f})".format(*values)


def verdict(low: float, high: float, most: float) -> str:
    return "reached" if high <= most else "NOT reached" if low > most else "undecided"


# -- The applications: each renders a page from a template in one or two milliseconds


def flask_app():
    import flask

    app = flask.Flask("bench")
    template = "<table>{% for row in rows %}<tr><td>{{ row.name }}</td><td>{{ row.price }}</td></tr>{% endfor %}</table>"

    @app.get("/item/<int:number>")
    def item(number):
        return flask.render_template_string(template, rows=[{"name": f"n{row}", "price": number * row} for row in range(ROWS)])

    return app


def django_app():
    import django
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse
    from django.template import engines
    from django.urls import path

    text = "<table>{% for row in rows %}<tr><td>{{ row.name }}</td><td>{{ row.price }}</td></tr>{% endfor %}</table>"

    def item(request, number):
        rows = [{"name": f"n{row}", "price": number * row} for row in range(ROWS)]
        return HttpResponse(template.render({"rows": rows}, request))

    settings.configure(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("item/<int:number>", item)]}), ALLOWED_HOSTS=["*"],
                       TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}])
    django.setup()
    template = engines["django"].from_string(text)
    return get_wsgi_application()


def small_app():
    """A page without work, for the hot loop."""
    import flask

    app = flask.Flask("small")
    app.get("/item/<int:number>")(lambda number: "page")
    return app


APPS = {"flask": flask_app, "django": django_app}


class Timed:
    """Wraps an application and measures its CPU time, from the call until the response is closed."""

    __slots__ = ("app", "cpu")

    def __init__(self, app):
        self.app = app
        self.cpu = 0

    def __call__(self, environ, start_response):
        begin = time.thread_time_ns()
        response = TimedResponse(self, self.app(environ, start_response))
        self.cpu = time.thread_time_ns() - begin
        return response


class TimedResponse:
    """The response of a timed application."""

    __slots__ = ("response", "timed")

    def __init__(self, timed, response):
        self.timed = timed
        self.response = response

    def __iter__(self):
        begin = time.thread_time_ns()
        parts = list(self.response)
        self.timed.cpu += time.thread_time_ns() - begin
        return iter(parts)

    def close(self):
        begin = time.thread_time_ns()
        self.response.close()
        self.timed.cpu += time.thread_time_ns() - begin

    @property
    def _resource_closers(self):
        """Found by the middleware on responses of Django."""
        return self.response._resource_closers


def environ(number: int) -> dict:
    return {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": f"/item/{number % 100}", "SERVER_NAME": "bench",
            "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "bench", "QUERY_STRING": "", "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO()}


def call(app, number: int, clock=time.thread_time_ns) -> int:
    """Serves a request like a server does and returns its nanoseconds."""
    request = environ(number)
    begin = clock()
    result = app(request, lambda status, headers, error=None: None)
    for _ in result:
        pass
    result.close()
    return clock() - begin


# -- Measuring


def in_service(framework: str, rate: float, seconds: float, rulers: bool) -> None:
    """Measures with requests at a server's rate, `rate` wrapped ones per second, and prints the results."""
    import steadyhand

    timed = Timed(APPS[framework]())
    service = f"{framework}-{rate}-{rulers}"
    wrapped = steadyhand.wsgi(timed, service=service, version="v1", rulers=rulers)

    def status() -> dict:
        return next(one for one in steadyhand.status() if one["service"] == service)

    def ran() -> int:
        return sum(status()["rulers"]["samples"].values())

    generator = random.Random()
    # (overhead, inner) in microseconds.
    bare, with_ruler, without = [], [], []
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        time.sleep(generator.expovariate(rate / (1 - BARE_SHARE)))
        number += 1
        is_bare = generator.random() < BARE_SHARE
        before = ran()
        outer = call(timed if is_bare else wrapped, number) / 1e3
        inner = timed.cpu / 1e3
        if number > WARMING:
            (bare if is_bare else with_ruler if ran() > before else without).append((outer - inner, inner))
    final = status()
    kinds = ", ".join(f"{kind} {count / seconds:.2f}" for kind, count in final["rulers"]["samples"].items())
    every = with_ruler + without
    overhead = interval(mean_difference, [[row[0] for row in every], [row[0] for row in bare]], generator)
    print(f"{framework}, {rate:g} requests/s, rulers {'on' if rulers else 'off'}: inner {statistics.fmean(row[1] for row in bare):.0f} us; "
          f"{len(bare)} bare, {len(every)} wrapped, {len(with_ruler)} of them with a ruler ({kinds} per second)")
    print(f"  outer minus inner             {formatted(overhead)}")
    usual = interval(median_difference, [[row[0] for row in without], [row[0] for row in bare]], generator)
    print(f"    of the median request       {formatted(usual)}")
    if with_ruler and without:
        share = len(with_ruler) / len(every)
        direct = interval(mean_difference, [[row[0] for row in without], [row[0] for row in bare]], generator)
        print(f"    of requests without a ruler {formatted(direct)}")
        of_ruler = interval(mean_difference, [[row[0] for row in with_ruler], [row[0] for row in without]], generator)
        print(f"    a ruler                     {formatted(of_ruler)}")
        evicted = interval(mean_difference, [[row[1] for row in with_ruler], [row[1] for row in without]], generator)
        print(f"    application after a ruler   {formatted(evicted)}")
        total = tuple(value + share * more for value, more in zip(overhead, evicted))
    else:
        total = overhead
    slowed = interval(mean_difference, [[row[1] for row in every], [row[1] for row in bare]], generator)
    print(f"  application, wrapped minus bare {formatted(slowed)}")
    print(f"  in total, with evictions by rulers {formatted(total)}; at most {MOST_IN_SERVICE_US:.0f} us: "
          f"{verdict(total[1], total[2], MOST_IN_SERVICE_US)}", flush=True)


def hot(requests: int) -> None:
    """Measures the additional CPU time of requests that follow each other immediately."""
    import steadyhand

    bare = small_app()
    wrapped = steadyhand.wsgi(bare, service="hot", version="v1", rulers=False)
    generator = random.Random()
    times = {False: [], True: []}
    for number in range(requests):
        is_wrapped = generator.random() < 0.5
        took = call(wrapped if is_wrapped else bare, number) / 1e3
        if number >= requests // 20:
            times[is_wrapped].append(took)
    more = interval(median_difference, [times[True], times[False]], generator)
    print(f"hot loop, rulers off: {formatted(more)} on {statistics.median(times[False]):.0f} us; at most {MOST_HOT_US:.0f} us: "
          f"{verdict(more[1], more[2], MOST_HOT_US)}", flush=True)


# -- Processes


def listen(path: str) -> None:
    """Receives datagrams in place of the agent until the process is killed."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(path)
    while True:
        listener.recv(1 << 17)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="20", help="wrapped requests per second, separated by commas (20)")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of each measurement (60)")
    parser.add_argument("--frameworks", default="flask,django", help="frameworks, separated by commas (flask,django)")
    parser.add_argument("--requests", type=int, default=40_000, help="requests in the hot loop; 0 skips it (40000)")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--listen", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.listen:
        listen(options.listen)
    elif options.inside == "hot":
        hot(options.requests)
    elif options.inside:
        framework, rate, rulers = options.inside.split(",")
        in_service(framework, float(rate), options.seconds, rulers == "on")
    else:
        with_a_listener(options)


def with_a_listener(options: argparse.Namespace) -> None:
    """Runs each measurement in its own process, in the environment that has the frameworks."""
    from listener import web_environment

    programs = web_environment()
    steady = Path(os.environ.get("STEADY", ROOT / "target" / "release" / "steady")).absolute()
    inside = [f"{framework},{rate},{rulers}" for framework in options.frameworks.split(",") for rate in options.rates.split(",")
              for rulers in ("on", "off")]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/agent.sock"
        listener = subprocess.Popen([sys.executable, __file__, "--listen", path])
        try:
            while not os.path.exists(path):
                time.sleep(0.01)
            environment = {**os.environ, "STEADY_SOCKET": path, "PATH": f"{steady.parent}:{os.environ['PATH']}"}
            for words in [*inside, *(["hot"] if options.requests else [])]:
                subprocess.run([programs / "python", __file__, "--inside", words, "--seconds", str(options.seconds), "--requests",
                                str(options.requests)], env=environment, check=True)
        finally:
            listener.kill()
            listener.wait()


if __name__ == "__main__":
    main()
