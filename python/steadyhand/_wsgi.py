"""Middleware for WSGI (PEP 3333)."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable, Iterable, Iterator

from . import _versions
from ._classes import Classes
from ._routes import NONE, Routes, rule_of_closers
from ._speaker import TOGETHER, Speaker, speaker

_cpu = time.thread_time_ns
_now = time.monotonic_ns
_thread = threading.get_ident
# The exception under way; asked in the old way, it costs more.
_error = getattr(sys, "exception", None) or (lambda: sys.exc_info()[1])


def wsgi(app: Any, service: str, version: str, assigned: str = "none", route: Callable[[dict[str, Any]], str] | None = None,
         classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
         server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """The application, telling the agent what each of its requests costs.

    `assigned` is "canary" where some processes run one version while others run another, and that is meant. `route` gets
    the environ of a request that has been answered, and returns the template of its route. `classify` gets the environ of
    a request before it is served, and returns the name of its class, such as "cached" or "large", or None. `socket` is the
    agent's, where it is not the usual one. With `server_timing` each response has a header with its CPU time so far.
    """
    return WsgiApp(_versions.fixed(app, version, assigned), speaker(service, socket, rulers), route, classify, server_timing)


def split(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], share: float = 0.5,
          route: Callable[[dict[str, Any]], str] | None = None,
          classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
          server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """Two versions in one process: a coin for each request decides, and falls on the new one with probability `share`."""
    choose = _versions.coin(old_app, new_app, versions, share)
    return WsgiApp(choose, speaker(service, socket, rulers), route, classify, server_timing)


def switchback(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], seconds: int = 2,
               route: Callable[[dict[str, Any]], str] | None = None,
               classify: Callable[[dict[str, Any]], str | None] | None = None, rulers: bool | Iterable[str] = True,
               server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """Two versions by turns: of each two slots of so many seconds, a coin decides which has the new one, in all processes."""
    own = speaker(service, socket, rulers)
    choose = _versions.slots(old_app, new_app, service, versions, seconds, own.slot_changes)
    return WsgiApp(choose, own, route, classify, server_timing)


class WsgiApp:
    """An application that reports what its requests cost."""

    __slots__ = ("_asks_route", "_choose", "_classes", "_fixed", "_plain", "_routes", "_speaker", "_timing", "__weakref__")

    def __init__(self, choose: _versions.Choice | Callable[[], _versions.Choice], speaker: Speaker,
                 route: Callable[[dict[str, Any]], Any] | None, classify: Callable[[dict[str, Any]], Any] | None,
                 timing: bool) -> None:
        # Where there is one version, nothing is asked.
        self._fixed = None if callable(choose) else choose
        self._choose = choose if callable(choose) else lambda: choose
        self._speaker = speaker
        self._routes = Routes(route, speaker.fail)
        self._asks_route = route is not None
        self._classes = None if classify is None else Classes(classify, speaker.fail)
        self._timing = timing
        self._plain: Any = None

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer = Answer()
        # A class comes before the version, so that it cannot depend on it.
        answer.more = "" if self._classes is None else self._classes.field_of(environ)
        answer.choice = choice = self._fixed or self._choose()
        answer.of = self
        answer.environ = environ
        answer.start_response = start_response
        answer.status = 0
        answer.rule = answer.result = answer.delay = None
        answer.thread = _thread()
        speaker = self._speaker
        speaker.skip -= 1
        if speaker.skip < 0:
            answer.begin, said, answer.delay = speaker.ruler()
            answer.more += said
        else:
            answer.begin = _now()
        answer.cpu = _cpu()
        try:
            result = choice[0](environ, answer.start_timed if self._timing else answer.start)
        except BaseException:
            answer.close()
            raise
        kind = type(result)
        if kind is self._plain:
            # What most of its responses are.
            pass
        elif kind is list or kind is tuple:
            answer.__class__ = ListAnswer
        elif kind is environ.get("wsgi.file_wrapper"):
            # Servers send such files in their own way, which they do only if they see that it is one.
            answer.close()
            return result  # type: ignore[no-any-return]
        else:
            self._plain = kind
        answer.result = result
        return answer


class Answer:
    """A request from its beginning to its end, and its response as the server sees it.

    At a few requests a second every cache line that is touched costs more than many instructions do. So there is one object
    for a request, nothing is looked up twice, and whatever can wait is done when lines are sent.
    """

    __slots__ = ("begin", "choice", "cpu", "delay", "environ", "more", "of", "result", "rule", "start_response", "status",
                 "thread")

    of: WsgiApp | None
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
        """The `start_response` that the application gets."""
        self.status = status
        request = self.environ.get("werkzeug.request")
        if request is not None:
            # Flask forgets it once it has answered. With Werkzeug alone there is no rule.
            try:
                self.rule = request.url_rule or NONE
            except AttributeError:
                pass
        if exc_info is None:
            return self.start_response(status, headers)
        return self.start_response(status, headers, exc_info)

    def start_timed(self, status: str, headers: Any, exc_info: Any = None) -> Any:
        """The same, with a header that tells the CPU time so far."""
        said = f"cpu;dur={(_cpu() - self.cpu) / 1e6:.3f}"
        return self.start(status, [*headers, ("Server-Timing", said)], exc_info)

    def __iter__(self) -> Iterator[bytes]:
        # Nothing of ours between the parts. That they ended too early is seen when it is closed.
        return iter(self.result)

    def close(self) -> None:
        """What the server calls once it has all of the response, or will not have the rest. Reports the request, once."""
        failure = None
        if _error() is not None:
            self.status = 0
        result = self.result
        close = getattr(result, "close", None)
        if close is not None:
            if self.rule is None:
                # Django's responses, until they are closed.
                closers = getattr(result, "_resource_closers", None)
                if closers:
                    try:
                        # The first one is the request, unless the response streams files.
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
        of = self.of
        if of is not None:
            self.of = None
            speaker = of._speaker
            if self.thread != _thread() or cpu < 0:
                # Another thread's clock, or that of a forked child.
                speaker.not_measured(self.thread)
            else:
                try:
                    if self.delay is not None:
                        self.more += speaker.rulers.delay_since(self.delay)
                    rule = self.rule
                    if rule is None or of._asks_route:
                        rule = of._routes.of_environ(self.environ)
                    lines = speaker.lines
                    lines.append((now, self.choice, rule, self.status, cpu, now - self.begin, self.more, self.thread, self.cpu))
                    if now >= speaker.due or len(lines) >= TOGETHER:
                        speaker.send(now)
                except Exception as error:
                    speaker.fail(error)
        if failure is not None:
            raise failure


class ListAnswer(Answer):
    """The same of a response that is there already: of one part, servers know the length without being told."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self.result)
