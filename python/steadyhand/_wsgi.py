"""Middleware for WSGI (PEP 3333)."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable, Iterable, Iterator

from . import _versions
from ._classes import Classes
from ._routes import NONE, Routes, rule_of_closers
from ._reporter import BATCH, Reporter, reporter

_cpu = time.thread_time_ns
_now = time.monotonic_ns
_thread = threading.get_ident
# The exception being handled. `sys.exception` is faster where it exists (Python 3.11).
_error = getattr(sys, "exception", None) or (lambda: sys.exc_info()[1])


def wsgi(app: Any, service: str, version: str, assigned: str = "none", route: Callable[[dict[str, Any]], str] | None = None,
         classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
         server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """Wraps an application so that it reports the cost of each request to the agent.

    `assigned` is "canary" if some processes run one version and others another one, on purpose. `route` gets the
    environ of an answered request and returns its route template. `classify` gets the environ of a request before it is
    served and returns the name of its class, such as "cached" or "large", or None. `rulers` switches rulers on or off,
    or names their kinds. With `server_timing` each response has a `Server-Timing` header with the CPU time so far.
    `socket` is the path of the agent's socket if it is not the default one.
    """
    return WsgiApp(_versions.fixed(app, version, assigned), reporter(service, socket, rulers), route, classify, server_timing)


def split(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], share: float = 0.5,
          route: Callable[[dict[str, Any]], str] | None = None,
          classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
          server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """Wraps two versions in one process: each request gets the new one with a probability of `share`."""
    choose = _versions.coin(old_app, new_app, versions, share)
    return WsgiApp(choose, reporter(service, socket, rulers), route, classify, server_timing)


def switchback(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], seconds: int = 2,
               route: Callable[[dict[str, Any]], str] | None = None,
               classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
               server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """Wraps two versions that take turns in slots of `seconds`.

    Of each two slots, a coin flip gives one to the new version. All processes of a host compute the same flips.
    """
    own = reporter(service, socket, rulers)
    choose = _versions.slots(old_app, new_app, service, versions, seconds, own.slot_changes)
    return WsgiApp(choose, own, route, classify, server_timing)


class WsgiApp:
    """An application that reports what its requests cost."""

    __slots__ = ("_has_route_function", "_choose", "_classes", "_fixed", "_plain", "_routes", "_reporter", "_timing", "__weakref__")

    def __init__(self, choose: _versions.Choice | Callable[[], _versions.Choice], reporter: Reporter,
                 route: Callable[[dict[str, Any]], Any] | None, classify: Callable[[dict[str, Any]], Any] | None,
                 timing: bool) -> None:
        # A single version needs no call per request.
        self._fixed = None if callable(choose) else choose
        self._choose = choose if callable(choose) else lambda: choose
        self._reporter = reporter
        self._routes = Routes(route, reporter.fail)
        self._has_route_function = route is not None
        self._classes = None if classify is None else Classes(classify, reporter.fail)
        self._timing = timing
        self._plain: Any = None

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        exchange = Exchange()
        # The class is determined before the version, so that it cannot depend on the version.
        exchange.more = "" if self._classes is None else self._classes.field_of(environ)
        exchange.choice = choice = self._fixed or self._choose()
        exchange.app = self
        exchange.environ = environ
        exchange.start_response = start_response
        exchange.status = 0
        exchange.rule = exchange.result = exchange.delay = None
        exchange.thread = _thread()
        reporter = self._reporter
        reporter.skip -= 1
        if reporter.skip < 0:
            exchange.begin, ruler_field, exchange.delay = reporter.ruler()
            exchange.more += ruler_field
        else:
            exchange.begin = _now()
        exchange.cpu = _cpu()
        try:
            result = choice[0](environ, exchange.start_timed if self._timing else exchange.start)
        except BaseException:
            exchange.close()
            raise
        kind = type(result)
        if kind is self._plain:
            # Most responses of an application have the same type.
            pass
        elif kind is list or kind is tuple:
            exchange.__class__ = ListExchange
        elif _is_wrapped_file(result, environ.get("wsgi.file_wrapper")):
            # Servers optimise this response, and recognise it by its class or identity only.
            exchange.close()
            return result  # type: ignore[no-any-return]
        else:
            self._plain = kind
        exchange.result = result
        return exchange


def _is_wrapped_file(result: Any, wrapper: Any) -> bool:
    """Returns whether a response may be the result of a server's `wsgi.file_wrapper`. That of uWSGI returns the file."""
    if wrapper is None or isinstance(wrapper, type):
        return type(result) is wrapper
    return hasattr(result, "read")


class Exchange:
    """A request from start to end, and its response as the server sees it.

    Every additional cache line costs more than many instructions if there are few requests per second. Therefore a
    request has one object, nothing is looked up twice, and all work that can wait is done when lines are sent.
    """

    __slots__ = ("app", "begin", "choice", "cpu", "delay", "environ", "more", "result", "rule", "start_response", "status",
                 "thread")

    app: WsgiApp | None
    choice: tuple[Any, str, str]
    environ: dict[str, Any]
    start_response: Callable[..., Any]
    thread: int
    begin: int
    cpu: int
    status: Any
    rule: Any
    result: Any
    more: str
    delay: int | None

    def start(self, status: str, headers: Any, exc_info: Any = None) -> Any:
        """Calls the server's `start_response` and records the status and the framework's rule."""
        self.status = status
        request = self.environ.get("werkzeug.request")
        if request is not None:
            # Flask drops the request once it is answered. Werkzeug without Flask has no rule.
            try:
                self.rule = request.url_rule or NONE
            except AttributeError:
                pass
        if exc_info is None:
            return self.start_response(status, headers)
        return self.start_response(status, headers, exc_info)

    def start_timed(self, status: str, headers: Any, exc_info: Any = None) -> Any:
        """Does the same as `start`, with a `Server-Timing` header for the CPU time so far."""
        value = f"cpu;dur={(_cpu() - self.cpu) / 1e6:.3f}"
        return self.start(status, [*headers, ("Server-Timing", value)], exc_info)

    def __iter__(self) -> Iterator[bytes]:
        # Returns the iterator of the application: no code of this class runs between the parts. `close` detects a
        # broken-off response.
        return iter(self.result)

    def close(self) -> None:
        """Closes the response and reports the request, once.

        Servers call it at the end, also if the client disconnects.
        """
        failure = None
        if _error() is not None:
            self.status = 0
        result = self.result
        close = getattr(result, "close", None)
        if close is not None:
            if self.rule is None:
                # Responses of Django, which drop their closers when they are closed.
                closers = getattr(result, "_resource_closers", None)
                if closers:
                    try:
                        # The first closer is the request's, unless the response streams files.
                        self.rule = closers[0].__self__.resolver_match
                    except (AttributeError, LookupError, TypeError):
                        self.rule = rule_of_closers(closers)
            try:
                close()
            except BaseException as error:
                self.status = 0
                failure = error
        cpu = _cpu() - self.cpu
        now = _now()
        app = self.app
        if app is not None:
            self.app = None
            reporter = app._reporter
            if self.thread != _thread() or cpu < 0:
                # Measured by the clock of another thread, or of a forked child.
                reporter.not_measured(self.thread)
            else:
                try:
                    if self.delay is not None:
                        self.more += reporter.rulers.delay_since(self.delay)
                    rule = self.rule
                    if rule is None or app._has_route_function:
                        rule = app._routes.of_environ(self.environ)
                    lines = reporter.lines
                    lines.append((now, self.choice, rule, self.status, cpu, now - self.begin, self.more, self.thread, self.cpu))
                    if now >= reporter.due or len(lines) >= BATCH:
                        reporter.send(now)
                except Exception as error:
                    reporter.fail(error)
        if failure is not None:
            raise failure


class ListExchange(Exchange):
    """A response that is a list or tuple. It has a length, from which servers see that it has a single part."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self.result)
