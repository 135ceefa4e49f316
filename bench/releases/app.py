"""A Flask application with three pages in two versions, which the bench `release` serves under gunicorn.

The environment configures it:

- RELEASE_DESIGN: random, switchback, canary or one;
- RELEASE_VERSIONS: OLD,NEW;
- RELEASE_EXTRA: the number of inner calls that NEW makes in addition to the 80 of OLD;
- RELEASE_VERSION: the version of the process, if it has only one.
"""

import hashlib
import os

import flask
import steadyhand

OLD, NEW = os.environ.get("RELEASE_VERSIONS", "v1,v2").split(",")
DESIGN = os.environ.get("RELEASE_DESIGN", "random")
EXTRA = int(os.environ.get("RELEASE_EXTRA", "0"))
INNER_CALLS = 80

TEMPLATE = """<!doctype html><title>{{ title }}</title><table>
{% for row in rows %}<tr><td>{{ row.name }}</td><td>{{ row.price }}</td><td>{{ row.text|title }}</td></tr>
{% endfor %}</table>"""


def _sort_words(number: int) -> int:
    words = [f"{(number * step) % 997:03d}" for step in range(30)]
    return len("".join(sorted(words)))


def _walk_cache(memory: list, number: int) -> int:
    place = number % len(memory)
    for _ in range(100):
        place = memory[place]
    return place


def _call_the_kernel() -> int:
    total = 0
    for _ in range(3):
        total += os.stat("/etc/passwd").st_size
        with open("/etc/hostname", "rb") as file:
            total += len(file.read())
    return total


def _cycle(length: int) -> list:
    """Returns a list that is one cycle through all its places, with a large step from each place to the next."""
    step = 12_347
    return [(place + step) % length for place in range(length)]


def create_app(extra: int) -> flask.Flask:
    """Returns the application whose pages make `extra` more inner calls than OLD's."""
    app = flask.Flask(__name__)
    calls = INNER_CALLS + extra
    memory = _cycle(1 << 16)

    @app.get("/page/<int:number>")
    def page(number):
        total = sum(_sort_words(number + call) for call in range(calls))
        rows = [{"name": f"n{place}", "price": place * number % 89, "text": "a text of some words"} for place in range(20)]
        return flask.render_template_string(TEMPLATE, title=total, rows=rows)

    @app.get("/cache/<int:number>")
    def cache(number):
        return str(sum(_walk_cache(memory, number + 7 * call) for call in range(calls)))

    @app.get("/mixed/<int:number>")
    def mixed(number):
        total = sum(_call_the_kernel() for _ in range(calls // 2))
        data = str(number).encode() * 50
        for _ in range(calls):
            data = hashlib.sha256(data).digest() * 10
        return f"{total} {data[:4].hex()}"

    return app


def application():
    """Returns the WSGI application of this worker."""
    if DESIGN in ("random", "switchback"):
        old, new = create_app(0), create_app(EXTRA)
        both = steadyhand.split if DESIGN == "random" else steadyhand.switchback
        return both(old, new, service="shop", versions=(OLD, NEW))
    version = os.environ.get("RELEASE_VERSION") or (OLD, NEW)[int(os.environ["RELEASE_WORKER"]) % 2]
    assigned = "canary" if DESIGN == "canary" else "none"
    return steadyhand.wsgi(create_app(EXTRA if version == NEW else 0), service="shop", version=version, assigned=assigned)


class LazyApp:
    """Creates the application in the worker, because a canary's version depends on the worker's number."""

    def __init__(self):
        self.app = None

    def __call__(self, environ, start_response):
        if self.app is None:
            self.app = application()
        return self.app(environ, start_response)


app = LazyApp()
