"""The services that test_servers.py runs under real servers."""

import os
import time

import steadyhand


def spin(milliseconds: float):
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass


def flask_app():
    import flask

    app = flask.Flask(__name__)

    @app.get("/item/<int:number>")
    def item(number):
        spin(3)
        return str(number)

    @app.get("/stream")
    def stream():
        def parts():
            for _ in range(5):
                spin(2)
                yield "part"
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
        spin(3)
        return PlainTextResponse(request.path_params["number"])

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
