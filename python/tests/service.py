"""The services that test_servers.py runs in real servers."""

import collections
import functools
import os
import time
from concurrent.futures import ThreadPoolExecutor

import steadyhand


def spin(milliseconds: float) -> float:
    """Uses at least this much CPU time and returns how much, in ms. It is more if the host stops this CPU."""
    begin = now = time.thread_time()
    while now - begin < milliseconds / 1000:
        now = time.thread_time()
    return (now - begin) * 1000


def flask_app():
    import flask

    app = flask.Flask(__name__)

    # Both return the CPU time that they used, in ms.
    @app.get("/item/<int:number>")
    def item(number):
        return str(spin(3))

    @app.get("/stream")
    def stream():
        def parts():
            for _ in range(5):
                yield f"{spin(2)} "
        return flask.Response(parts())

    @app.get("/file")
    def file():
        return flask.send_file(__file__)

    @app.get("/broken")
    def broken():
        raise KeyError("own")

    @app.get("/die")
    def die():
        os.kill(os.getpid(), 9)

    @app.get("/status")
    def status():
        return steadyhand.status()

    return app


def flask_service():
    return steadyhand.wsgi(flask_app(), service="shop", version="v1", assigned="canary")


def django_service():
    import django
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse
    from django.urls import path

    settings.configure(ROOT_URLCONF=type("urls", (), {"urlpatterns": [
        path("item/<int:number>/", lambda request, number: HttpResponse(str(number)))]}), ALLOWED_HOSTS=["*"])
    django.setup()
    return steadyhand.wsgi(get_wsgi_application(), service="django", version="v1")


def starlette_service():
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse, StreamingResponse
    from starlette.routing import Mount, Route

    async def item(request):
        return PlainTextResponse(str(spin(3)))

    async def broken(request):
        raise KeyError("own")

    async def stream(request):
        async def parts():
            for _ in range(3):
                yield "part"
        return StreamingResponse(parts())

    app = Starlette(routes=[Route("/item/{number}", item), Route("/broken", broken),
                            Mount("/below", routes=[Route("/stream/{name}", stream)])])
    return steadyhand.asgi(app, service="async", version="v1")


def fastapi_app(with_middleware):
    import asyncio

    from fastapi import BackgroundTasks, FastAPI

    app = FastAPI()
    pool = ThreadPoolExecutor(2)
    spent = collections.defaultdict(list)

    def spend(path, milliseconds):
        spent[path].append(spin(milliseconds) / 1000)

    @app.get("/thread")
    def thread():
        spend("/thread", 20)

    @app.get("/loop")
    async def loop():
        spend("/loop", 10)
        await asyncio.sleep(0.001)
        spend("/loop", 10)

    @app.get("/background")
    def background(tasks: BackgroundTasks):
        tasks.add_task(spend, "/background", 20)

    @app.get("/spent")
    async def seconds():
        return spent

    @app.get("/pool")
    def own_pool():
        pool.submit(spin, 20).result()

    @app.get("/cheap")
    async def cheap():
        pass

    if with_middleware:
        # With Starlette's BaseHTTPMiddleware, everything below it runs in a separate task.
        @app.middleware("http")
        async def passes_on(request, call_next):
            return await call_next(request)

    return app


def fastapi_service():
    return steadyhand.asgi(fastapi_app(False), service="fast", version="v1")


def fastapi_service_with_middleware():
    return steadyhand.asgi(fastapi_app(True), service="fast", version="v1")


def fastapi_split():
    """Returns two versions. The new one uses 30 % more CPU time."""
    import fastapi

    apps = []
    for milliseconds in (10, 13):
        app = fastapi.FastAPI()
        app.get("/work")(functools.partial(spin, milliseconds))
        apps.append(app)
    return steadyhand.split_asgi(*apps, service="fast", versions=("v1", "v2"))
