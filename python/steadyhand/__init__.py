"""Steadyhand: performance verdicts that hold on a Linux machine that cannot be kept quiet.

The package carries the program `steady`, and middleware that tells its agent what each request cost:

    app = steadyhand.wsgi(app, service="shop", version="v2")

Nothing that a service says is waited for, and nothing that goes wrong here fails a request: `status()` tells of it.
"""

from ._asgi import AsgiApp, asgi, split_asgi, switchback_asgi
from ._speaker import status
from ._wsgi import WsgiApp, split, switchback, wsgi

__all__ = [
    "AsgiApp", "WsgiApp", "asgi", "split", "split_asgi", "status", "switchback", "switchback_asgi", "wsgi",
]
