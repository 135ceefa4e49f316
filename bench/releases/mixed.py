"""A Django application with one route of unequal requests, which the bench `release_mixed` serves under gunicorn.

Every tenth response (whose number ends in 0) costs sixteen times as much. The new version makes those 28 % more
expensive and the others 4 % cheaper. With MIXED_CLASSES=1 the application names the class of a request before it runs.

    mixed.py CALLS     measures both versions directly, in random order; prints CPU seconds by version and kind as JSON
"""

import json
import os
import random
import sys
import time
from pathlib import Path

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

VERSIONS = ("v1", "v2")
# Units of work by version: of a common request and of an expensive one.
WORK = {"v1": (400, 6400), "v2": (384, 8192)}


def is_expensive(number: int) -> bool:
    """Returns whether the request with this number costs sixteen times as much."""
    return number % 10 == 0


def work(units: int) -> int:
    """Runs some microseconds of interpreted code for each unit."""
    total = 0
    for unit in range(units):
        total += len("".join(sorted(f"{(unit * step) % 997:03d}" for step in range(8))))
    return total


def view(version: str):
    """Returns the only view of a version."""
    common, expensive = WORK[version]

    def mixed(request, number):
        return HttpResponse(str(work(expensive if is_expensive(number) else common)))

    return mixed


def application():
    """Returns both versions of the site. They share Django's global state and differ in their view."""
    urls = [path(f"{version}/mixed/<int:number>", view(version)) for version in VERSIONS]
    settings.configure(ROOT_URLCONF=type("urls", (), {"urlpatterns": urls}), ALLOWED_HOSTS=["*"])
    django.setup()
    site = get_wsgi_application()

    def version(name):
        def app(environ, start_response):
            environ["PATH_INFO"] = f"/{name}{environ['PATH_INFO']}"
            return site(environ, start_response)
        return app

    return [version(name) for name in VERSIONS]


def classify(environ) -> str:
    """Returns the class of a request before it runs."""
    return "expensive" if is_expensive(int(environ["PATH_INFO"].rpartition("/")[2])) else "common"


def served():
    """Returns the application that gunicorn serves."""
    import steadyhand

    return steadyhand.split(*application(), service="shop", versions=VERSIONS, route=lambda environ: "/mixed/<int:number>",
                            classify=classify if os.environ.get("MIXED_CLASSES") else None)


def measured(calls: int) -> dict:
    """Measures the mean CPU time by version and kind, in random order.

    Pauses between the calls keep caches as cold as in service. Without them, the work that both versions have in common
    would cost less.
    """
    import io

    apps = dict(zip(VERSIONS, application()))
    kinds = [(version, number) for version in VERSIONS for number in (0, 1)]
    spent = {kind: [] for kind in kinds}
    for turn in range(calls + 20):
        random.shuffle(kinds)
        for version, number in kinds:
            environ = {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": f"/mixed/{number}", "SERVER_NAME": "mixed",
                       "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "QUERY_STRING": "", "wsgi.url_scheme": "http",
                       "wsgi.input": io.BytesIO()}
            time.sleep(random.uniform(0.002, 0.01))
            begin = time.thread_time()
            response = apps[version](environ, lambda status, headers: None)
            b"".join(response)
            response.close()
            if turn >= 20:
                spent[version, number].append(time.thread_time() - begin)
    return {version: {"expensive": sum(spent[version, 0]) / calls, "common": sum(spent[version, 1]) / calls} for version in VERSIONS}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    print(json.dumps(measured(int(sys.argv[1]))))
elif os.environ.get("RELEASE_DESIGN"):
    app = served()
