"""The Python middleware: CPU time that it costs a request, in service and in a hot loop, and what its rulers take.

    bench/run middleware [--rates 20,100] [--seconds S] [--frameworks flask,django]   measures (five minutes); nothing is kept

In service: one process serves requests that arrive at random moments at a server's pace, so that caches are as cold as they
are there. A coin decides for each request whether the application is called bare (a quarter) or wrapped. `Outer` is the thread's
CPU time from the call until the response is closed, `inner` that part of it which the application itself takes. The cost of
the middleware is outer minus inner, less the same difference of bare requests (the cost of measuring). What the middleware
costs the application by evicting its cache lines is the inner CPU time of wrapped less that of bare requests, and of requests
with a ruler less those without one. In a hot loop: the difference of the medians of requests that follow each other.
Intervals are from resampling. A listener in a process of its own plays the agent.
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
# CPU time that the middleware may cost a request in service, everything included, and in a hot loop.
MOST_IN_SERVICE_US = 20.0
MOST_HOT_US = 5.0
# Requests of each process that do not count.
WARMING = 40
ROWS = 60


def interval(statistic, samples: "list[list]", drawn: random.Random) -> "tuple[float, float, float]":
    """A statistic of independent samples, and the middle 95 % of what resampling makes of it."""
    made = sorted(statistic(*(drawn.choices(sample, k=len(sample)) for sample in samples)) for _ in range(RESAMPLES))
    return statistic(*samples), made[RESAMPLES // 40], made[-1 - RESAMPLES // 40]


def less(one: list, other: list) -> float:
    """The difference of the means."""
    return statistics.fmean(one) - statistics.fmean(other)


def less_usual(one: list, other: list) -> float:
    """The difference of the medians."""
    return statistics.median(one) - statistics.median(other)


def written(values: "tuple[float, float, float]") -> str:
    return "{:6.1f} us ({:.1f} to {:.1f})".format(*values)


def verdict(low: float, high: float, most: float) -> str:
    return "reached" if high <= most else "NOT reached" if low > most else "undecided"


# -- The applications: a page from a template, of a millisecond or two


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
    """A page that costs nothing, for the hot loop."""
    import flask

    app = flask.Flask("small")
    app.get("/item/<int:number>")(lambda number: "page")
    return app


APPS = {"flask": flask_app, "django": django_app}


class Timed:
    """An application whose own CPU time is added up from its call until its response is closed."""

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
        """What the middleware asks Django's responses for."""
        return self.response._resource_closers


def environ(number: int) -> dict:
    return {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": f"/item/{number % 100}", "SERVER_NAME": "bench",
            "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "bench", "QUERY_STRING": "", "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO()}


def call(app, number: int, clock=time.thread_time_ns) -> int:
    """A request as a server makes it; its nanoseconds."""
    given = environ(number)
    begin = clock()
    result = app(given, lambda status, headers, error=None: None)
    for _ in result:
        pass
    result.close()
    return clock() - begin


# -- Measuring


def in_service(framework: str, rate: float, seconds: float, rulers: bool) -> None:
    """Requests at a server's pace, `rate` wrapped ones a second."""
    import steadyhand

    timed = Timed(APPS[framework]())
    service = f"{framework}-{rate}-{rulers}"
    wrapped = steadyhand.wsgi(timed, service=service, version="v1", rulers=rulers)

    def status() -> dict:
        return next(one for one in steadyhand.status() if one["service"] == service)

    def ran() -> int:
        return sum(status()["rulers"]["samples"].values())

    drawn = random.Random()
    # (overhead, inner) in microseconds.
    bare, with_ruler, without = [], [], []
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        time.sleep(drawn.expovariate(rate / (1 - BARE_SHARE)))
        number += 1
        is_bare = drawn.random() < BARE_SHARE
        before = ran()
        outer = call(timed if is_bare else wrapped, number) / 1e3
        inner = timed.cpu / 1e3
        if number > WARMING:
            (bare if is_bare else with_ruler if ran() > before else without).append((outer - inner, inner))
    told = status()
    kinds = ", ".join(f"{kind} {count / seconds:.2f}" for kind, count in told["rulers"]["samples"].items())
    every = with_ruler + without
    overhead = interval(less, [[row[0] for row in every], [row[0] for row in bare]], drawn)
    print(f"{framework}, {rate:g} requests/s, rulers {'on' if rulers else 'off'}: inner {statistics.fmean(row[1] for row in bare):.0f} us; "
          f"{len(bare)} bare, {len(every)} wrapped, {len(with_ruler)} of them with a ruler ({kinds} a second)")
    print(f"  outer less inner              {written(overhead)}")
    usual = interval(less_usual, [[row[0] for row in without], [row[0] for row in bare]], drawn)
    print(f"    of the median request       {written(usual)}")
    if with_ruler and without:
        share = len(with_ruler) / len(every)
        direct = interval(less, [[row[0] for row in without], [row[0] for row in bare]], drawn)
        print(f"    of requests without a ruler {written(direct)}")
        of_ruler = interval(less, [[row[0] for row in with_ruler], [row[0] for row in without]], drawn)
        print(f"    a ruler                     {written(of_ruler)}")
        evicted = interval(less, [[row[1] for row in with_ruler], [row[1] for row in without]], drawn)
        print(f"    application after a ruler   {written(evicted)}")
        total = tuple(value + share * more for value, more in zip(overhead, evicted))
    else:
        total = overhead
    slowed = interval(less, [[row[1] for row in every], [row[1] for row in bare]], drawn)
    print(f"  application, wrapped less bare {written(slowed)}")
    print(f"  in all, with evictions by rulers {written(total)}; at most {MOST_IN_SERVICE_US:.0f} us: "
          f"{verdict(total[1], total[2], MOST_IN_SERVICE_US)}", flush=True)


def hot(requests: int) -> None:
    """What a request costs more where they follow each other at once."""
    import steadyhand

    bare = small_app()
    wrapped = steadyhand.wsgi(bare, service="hot", version="v1", rulers=False)
    drawn = random.Random()
    times = {False: [], True: []}
    for number in range(requests):
        is_wrapped = drawn.random() < 0.5
        took = call(wrapped if is_wrapped else bare, number) / 1e3
        if number >= requests // 20:
            times[is_wrapped].append(took)
    more = interval(less_usual, [times[True], times[False]], drawn)
    print(f"hot loop, rulers off: {written(more)} on {statistics.median(times[False]):.0f} us; at most {MOST_HOT_US:.0f} us: "
          f"{verdict(more[1], more[2], MOST_HOT_US)}", flush=True)


# -- Processes


def listen(path: str) -> None:
    """Plays the agent until it is ended."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(path)
    while True:
        listener.recv(1 << 17)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rates", default="20", help="wrapped requests a second, separated by commas (20)")
    options.add_argument("--seconds", type=float, default=60.0, help="of each measurement (60)")
    options.add_argument("--frameworks", default="flask,django")
    options.add_argument("--requests", type=int, default=40_000, help="of the hot loop (40000; 0: none)")
    options.add_argument("--inside", help=argparse.SUPPRESS)
    options.add_argument("--listen", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.listen:
        listen(given.listen)
    elif given.inside == "hot":
        hot(given.requests)
    elif given.inside:
        framework, rate, rulers = given.inside.split(",")
        in_service(framework, float(rate), given.seconds, rulers == "on")
    else:
        with_a_listener(given)


def with_a_listener(given: argparse.Namespace) -> None:
    """Runs each measurement in a process of its own, in the environment that has the frameworks."""
    from listener import web_environment

    programs = web_environment()
    steady = Path(os.environ.get("STEADY", ROOT / "target" / "release" / "steady")).absolute()
    inside = [f"{framework},{rate},{rulers}" for framework in given.frameworks.split(",") for rate in given.rates.split(",")
              for rulers in ("on", "off")]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/agent.sock"
        listener = subprocess.Popen([sys.executable, __file__, "--listen", path])
        try:
            while not os.path.exists(path):
                time.sleep(0.01)
            environment = {**os.environ, "STEADY_SOCKET": path, "PATH": f"{steady.parent}:{os.environ['PATH']}"}
            for words in [*inside, *(["hot"] if given.requests else [])]:
                subprocess.run([programs / "python", __file__, "--inside", words, "--seconds", str(given.seconds), "--requests",
                                str(given.requests)], env=environment, check=True)
        finally:
            listener.kill()
            listener.wait()


if __name__ == "__main__":
    main()
