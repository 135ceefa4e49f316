"""Middleware for ASGI.

The CPU time of a request is the sum over all steps of its coroutine, its tasks, and those worker threads that `_follow`
measures.
"""

from __future__ import annotations

import time
from asyncio import get_running_loop
from typing import Any, Callable, Iterable

from . import _versions
from ._classes import Classes
from ._follow import OUTSIDE, Cost, current, follow, steps
from ._routes import Routes
from ._reporter import BATCH_NS, BATCH, Reporter, reporter

_now = time.monotonic_ns


def asgi(app: Any, service: str, version: str, assigned: str = "none", route: Callable[[dict[str, Any]], str] | None = None,
         classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
         server_timing: bool = False, socket: str | None = None, follow: bool = True) -> AsgiApp:
    """Wraps an application as `wsgi` does.

    `route` and `classify` get the scope. Protocols other than HTTP are passed through. With `follow`, the CPU time of
    tasks and worker threads that a request starts counts for the request.
    """
    choice = _versions.fixed(app, version, assigned)
    return AsgiApp(app, lambda: choice, reporter(service, socket, rulers), route, classify, server_timing, follow)


def split_asgi(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], share: float = 0.5,
               route: Callable[[dict[str, Any]], str] | None = None,
               classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
               server_timing: bool = False, socket: str | None = None, follow: bool = True) -> AsgiApp:
    """Wraps two versions as `split` does.

    Protocols other than HTTP go to the old version. Lifespan events go to both.
    """
    app = _BothApps(old_app, new_app)
    choose = _versions.coin(app.old, app.new, versions, share)
    return AsgiApp(app, choose, reporter(service, socket, rulers), route, classify, server_timing, follow)


def switchback_asgi(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], seconds: int = 2,
                    route: Callable[[dict[str, Any]], str] | None = None,
                    classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
                    server_timing: bool = False, socket: str | None = None, follow: bool = True) -> AsgiApp:
    """Wraps two versions as `switchback` does; for protocols other than HTTP, see `split_asgi`."""
    own = reporter(service, socket, rulers)
    app = _BothApps(old_app, new_app)
    choose = _versions.slots(app.old, app.new, service, versions, seconds, own.slot_changes)
    return AsgiApp(app, choose, own, route, classify, server_timing, follow)


class AsgiApp:
    """An application that reports what its requests cost."""

    def __init__(self, other: Any, choose: Callable[[], _versions.Choice], reporter: Reporter,
                 route: Callable[[dict[str, Any]], Any] | None, classify: Callable[[dict[str, Any]], Any] | None,
                 timing: bool, follows: bool) -> None:
        self._other = other
        self._choose = choose
        self._reporter = reporter
        self._routes = Routes(route, reporter.fail)
        self._classes = None if classify is None else Classes(classify, reporter.fail)
        self._timing = timing
        self._follows = follows
        # The loop that will send the lines, if any.
        self._timer: Any = None
        reporter.follows = reporter.follows or follows

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            self._loop(OUTSIDE)
            try:
                await steps(self._other, scope, receive, send, Cost())
            finally:
                # A server that ends by a signal does not run the functions of `atexit`.
                self._reporter.flush()
            return
        cost = Cost()
        loop = self._loop(cost)
        # The class is determined before the version, so that it cannot depend on the version.
        more = "" if self._classes is None else self._classes.field_of(scope)
        choice = self._choose()
        sender = Sender(send, cost, self._timing)
        reporter = self._reporter
        began, delay = reporter.began, None
        reporter.skip -= 1
        if reporter.skip < 0:
            begin, ruler_field, delay = reporter.ruler()
            more += ruler_field
        else:
            begin = _now()
        try:
            await steps(choice[0], scope, receive, sender.send, cost)
        except BaseException:
            sender.status = 0
            raise
        finally:
            now = _now()
            cost.is_over = True
            try:
                if began != reporter.began:
                    reporter.unmeasured += 1
                else:
                    if delay is not None:
                        more += reporter.rulers.delay_since(delay)
                    route = self._routes.of_scope(scope)
                    cpu = cost.cpu + sum(cost.threads) if cost.threads else cost.cpu
                    reporter.loop_cpu += cpu
                    lines = reporter.lines
                    lines.append((now, choice, route, sender.status, cpu, now - begin, more, None, 0))
                    if now >= reporter.due or len(lines) >= BATCH:
                        reporter.send(now)
                    elif self._timer is not loop and loop is not None:
                        # Otherwise the last lines of a burst would wait for the next request.
                        self._timer = loop
                        loop.call_later(BATCH_NS / 1e9, self._flush)
            except Exception as error:
                reporter.fail(error)

    def _flush(self) -> None:
        self._timer = None
        self._reporter.flush()

    def _loop(self, cost: Cost) -> Any:
        """Returns the running asyncio loop, or None, and makes `cost` the current request."""
        try:
            loop = get_running_loop()
            if self._follows:
                follow(loop)
                current.set(cost)
            return loop
        except RuntimeError:
            return None
        except Exception as error:
            self._reporter.fail(error)
            return None


class Sender:
    """Wraps the server's `send` and records the response status."""

    __slots__ = ("_cost", "_send", "_timing", "status")

    def __init__(self, send: Any, cost: Cost, timing: bool) -> None:
        self._send = send
        self._cost = cost
        self._timing = timing
        self.status = 0

    def send(self, message: dict[str, Any]) -> Any:
        """Passes a message on to the server."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self._timing:
                value = f"cpu;dur={self._cost.so_far() / 1e6:.3f}"
                message = {**message, "headers": [*message.get("headers", ()), (b"server-timing", value.encode())]}
        return self._send(message)


class WithState:
    """An application with a lifespan state of its own, so that versions do not get each other's objects."""

    __slots__ = ("app", "state")

    def __init__(self, app: Any) -> None:
        self.app = app
        self.state: dict[str, Any] = {}

    def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        """Calls the application with its state."""
        if self.state:
            # Not in a copy of the scope: the route is read from the scope afterwards.
            scope["state"] = {**scope.get("state", {}), **self.state}
        return self.app(scope, receive, send)


class _BothApps:
    """Passes lifespan events to both applications, and protocols other than HTTP to the old one."""

    def __init__(self, old_app: Any, new_app: Any) -> None:
        self.old = WithState(old_app)
        self.new = self.old if old_app is new_app else WithState(new_app)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            from ._lifespan import both
            await both(self.old, self.new, scope, receive, send)
        else:
            await self.old(scope, receive, send)
