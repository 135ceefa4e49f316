"""Middleware for ASGI.

The CPU time of a request is that of all steps of its coroutine. Tasks and threads that it starts are not seen.
"""

from __future__ import annotations

import random
import time
from typing import Any, Callable, Iterable

from . import _versions
from ._routes import Routes
from ._speaker import Speaker, speaker

_cpu = time.thread_time_ns
_now = time.monotonic_ns
_coin = random.random


def asgi(app: Any, service: str, version: str, assigned: str = "none", route: Callable[[dict[str, Any]], str] | None = None,
         rulers: bool | Iterable[str] = True, server_timing: bool = False, socket: str | None = None) -> AsgiApp:
    """As `wsgi` is for applications of WSGI; `route` gets the scope. What is not HTTP is passed on."""
    choice = _versions.fixed(app, version, assigned)
    return AsgiApp(app, lambda: choice, speaker(service, socket, rulers), route, server_timing)


def split_asgi(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], share: float = 0.5,
               route: Callable[[dict[str, Any]], str] | None = None, rulers: bool | Iterable[str] = True,
               server_timing: bool = False, socket: str | None = None) -> AsgiApp:
    """As `split` is for applications of WSGI. What is not HTTP is the old version's, but both start up and shut down."""
    choose = _versions.coin(old_app, new_app, versions, share)
    app = _Both(old_app, new_app)
    return AsgiApp(app, choose, speaker(service, socket, rulers), route, server_timing)


def switchback_asgi(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], seconds: int = 2,
                    route: Callable[[dict[str, Any]], str] | None = None, rulers: bool | Iterable[str] = True,
                    server_timing: bool = False, socket: str | None = None) -> AsgiApp:
    """As `switchback` is for applications of WSGI; for what is not HTTP see `split_asgi`."""
    choose = _versions.slots(old_app, new_app, service, versions, seconds)
    app = _Both(old_app, new_app)
    return AsgiApp(app, choose, speaker(service, socket, rulers), route, server_timing)


class AsgiApp:
    """An application that tells what its requests cost."""

    def __init__(self, other: Any, choose: Callable[[], _versions.Choice], speaker: Speaker,
                 route: Callable[[dict[str, Any]], Any] | None, timing: bool) -> None:
        self._other = other
        self._choose = choose
        self._speaker = speaker
        self._routes = Routes(route, speaker.fail)
        self._timing = timing

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            try:
                await self._other(scope, receive, send)
            finally:
                # Servers may end by the signal that told them to, and what happens at the end of a program does not then.
                self._speaker.flush()
            return
        choice = self._choose()
        app, more = choice[0], ""
        steps = Steps(send, self._timing)
        speaker = self._speaker
        pid, delay = speaker.began, None
        if _coin() < speaker.rulers.chance:
            begin, more, delay = speaker.rulers.run(speaker.answered)
        else:
            begin = _now()
        try:
            await steps.of(app, scope, receive)
        except BaseException:
            steps.status = 0
            raise
        finally:
            now = _now()
            try:
                if pid != speaker.began:
                    speaker.unmeasured += 1
                else:
                    if delay is not None:
                        more += speaker.rulers.delay_since(delay)
                    route = self._routes.of_scope(scope)
                    speaker.say(now, choice, route, steps.status, steps.cpu, now - begin, more)
            except Exception as error:
                speaker.fail(error)


class Steps:
    """Drives a coroutine by hand, from one wait to the next, and adds up the CPU time of each step."""

    __slots__ = ("begin", "coroutine", "cpu", "send_on", "status", "timing")

    def __init__(self, send: Any, timing: bool) -> None:
        self.send_on = send
        self.timing = timing
        self.cpu = self.begin = self.status = 0
        self.coroutine: Any = None

    def of(self, app: Any, scope: dict[str, Any], receive: Any) -> Steps:
        """The call of the application, to be awaited."""
        begin = self.begin = _cpu()
        try:
            called = app(scope, receive, self.sending)
            self.coroutine = called if hasattr(called, "send") else called.__await__()
        finally:
            self.cpu = _cpu() - begin
        return self

    def sending(self, message: dict[str, Any]) -> Any:
        """The `send` that the application gets."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.timing:
                said = f"cpu;dur={(self.cpu + _cpu() - self.begin) / 1e6:.3f}"
                message = {**message, "headers": [*message.get("headers", ()), (b"server-timing", said.encode())]}
        return self.send_on(message)

    def __await__(self) -> Steps:
        return self

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> Any:
        begin = self.begin = _cpu()
        try:
            return next(self.coroutine) if not hasattr(self.coroutine, "send") else self.coroutine.send(None)
        finally:
            self.cpu += _cpu() - begin

    def send(self, value: Any) -> Any:
        """Goes on with what was waited for."""
        if value is None:
            return self.__next__()
        begin = self.begin = _cpu()
        try:
            return self.coroutine.send(value)
        finally:
            self.cpu += _cpu() - begin

    def throw(self, *error: Any) -> Any:
        """Goes on with what went wrong, or with the end that was asked for."""
        throw = getattr(self.coroutine, "throw", None)
        if throw is None:
            raise error[1] if len(error) > 1 and error[1] is not None else error[0]
        begin = self.begin = _cpu()
        try:
            return throw(*error)
        finally:
            self.cpu += _cpu() - begin

    def close(self) -> None:
        """Ends it."""
        close = getattr(self.coroutine, "close", None)
        if close is not None:
            close()


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
