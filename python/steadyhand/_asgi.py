"""Middleware for ASGI.

The CPU time of a request is that of all steps of its coroutine, of the tasks that it starts, and of its worker threads as far as
`_follow` sees them.
"""

from __future__ import annotations

import time
from asyncio import get_running_loop
from typing import Any, Callable, Iterable

from . import _versions
from ._classes import Classes
from ._follow import OUTSIDE, Cost, current, follow, steps
from ._routes import Routes
from ._speaker import GATHER_NS, TOGETHER, Speaker, speaker

_now = time.monotonic_ns


def asgi(app: Any, service: str, version: str, assigned: str = "none", route: Callable[[dict[str, Any]], str] | None = None,
         classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
         server_timing: bool = False, socket: str | None = None, follow: bool = True) -> AsgiApp:
    """As `wsgi` is for applications of WSGI; `route` and `classify` get the scope. What is not HTTP is passed on.

    With `follow` the CPU time of tasks and worker threads that a request starts is part of the request's.
    """
    choice = _versions.fixed(app, version, assigned)
    return AsgiApp(app, lambda: choice, speaker(service, socket, rulers), route, classify, server_timing, follow)


def split_asgi(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], share: float = 0.5,
               route: Callable[[dict[str, Any]], str] | None = None,
               classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
               server_timing: bool = False, socket: str | None = None, follow: bool = True) -> AsgiApp:
    """As `split` is for applications of WSGI. What is not HTTP is the old version's, but both start up and shut down."""
    choose = _versions.coin(old_app, new_app, versions, share)
    app = _Both(old_app, new_app)
    return AsgiApp(app, choose, speaker(service, socket, rulers), route, classify, server_timing, follow)


def switchback_asgi(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], seconds: int = 2,
                    route: Callable[[dict[str, Any]], str] | None = None,
                    classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
                    server_timing: bool = False, socket: str | None = None, follow: bool = True) -> AsgiApp:
    """As `switchback` is for applications of WSGI; for what is not HTTP see `split_asgi`."""
    own = speaker(service, socket, rulers)
    choose = _versions.slots(old_app, new_app, service, versions, seconds, own.slot_changes)
    app = _Both(old_app, new_app)
    return AsgiApp(app, choose, own, route, classify, server_timing, follow)


class AsgiApp:
    """An application that reports what its requests cost."""

    def __init__(self, other: Any, choose: Callable[[], _versions.Choice], speaker: Speaker,
                 route: Callable[[dict[str, Any]], Any] | None, classify: Callable[[dict[str, Any]], Any] | None,
                 timing: bool, follows: bool) -> None:
        self._other = other
        self._choose = choose
        self._speaker = speaker
        self._routes = Routes(route, speaker.fail)
        self._classes = None if classify is None else Classes(classify, speaker.fail)
        self._timing = timing
        self._follows = follows
        speaker.follows = speaker.follows or follows

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            self._loop(OUTSIDE)
            try:
                await steps(self._other, scope, receive, send, Cost())
            finally:
                # Servers may end by the signal that told them to, and what happens at the end of a program does not then.
                self._speaker.flush()
            return
        cost = Cost()
        loop = self._loop(cost)
        # A class comes before the version, so that it cannot depend on it.
        more = "" if self._classes is None else self._classes.field_of(scope)
        choice = self._choose()
        sender = Sender(send, cost, self._timing)
        speaker = self._speaker
        began, delay = speaker.began, None
        speaker.skip -= 1
        if speaker.skip < 0:
            begin, said, delay = speaker.ruler()
            more += said
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
                if began != speaker.began:
                    speaker.unmeasured += 1
                else:
                    if delay is not None:
                        more += speaker.rulers.delay_since(delay)
                    route = self._routes.of_scope(scope)
                    cpu = cost.cpu + sum(cost.threads) if cost.threads else cost.cpu
                    lines = speaker.lines
                    lines.append((now, choice, route, sender.status, cpu, now - begin, more, None, 0))
                    if now >= speaker.due or len(lines) >= TOGETHER:
                        speaker.send(now)
                    elif len(lines) == 1 and loop is not None:
                        # Else the last lines of a burst would wait for the next one.
                        loop.call_later(GATHER_NS / 1e9, speaker.flush)
            except Exception as error:
                speaker.fail(error)

    def _loop(self, cost: Cost) -> Any:
        """The loop of asyncio, if there is one, with the request as what it serves."""
        try:
            loop = get_running_loop()
            if self._follows:
                follow(loop)
                current.set(cost)
            return loop
        except RuntimeError:
            return None
        except Exception as error:
            self._speaker.fail(error)
            return None


class Sender:
    """The `send` that the application gets."""

    __slots__ = ("_cost", "_send", "_timing", "status")

    def __init__(self, send: Any, cost: Cost, timing: bool) -> None:
        self._send = send
        self._cost = cost
        self._timing = timing
        self.status = 0

    def send(self, message: dict[str, Any]) -> Any:
        """Passes a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self._timing:
                said = f"cpu;dur={self._cost.so_far() / 1e6:.3f}"
                message = {**message, "headers": [*message.get("headers", ()), (b"server-timing", said.encode())]}
        return self._send(message)


class _Both:
    """What is not HTTP, for two applications: the start and the end of the server are told to both."""

    def __init__(self, old_app: Any, new_app: Any) -> None:
        self._old = old_app
        self._new = new_app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            from ._lifespan import both
            await both(self._old, self._new, scope, receive, send)
        else:
            await self._old(scope, receive, send)
