"""Steadyhand: performance verdicts that hold on a Linux machine that cannot be kept quiet.

The package contains the program `steady`, and middleware that reports the cost of each request to its agent:

    app = steadyhand.wsgi(app, service="shop", version="v2")

The middleware never waits for the agent, and an error in it fails no request: `status()` reports such errors.
"""

from ._asgi import AsgiApp, asgi, split_asgi, switchback_asgi
from ._reporter import status
from ._wsgi import WsgiApp, split, switchback, wsgi

__all__ = [
    "AsgiApp", "WsgiApp", "asgi", "split", "split_asgi", "status", "switchback", "switchback_asgi", "wsgi",
]
