"""Middleware for WSGI (PEP 3333)."""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any, Callable, Iterable, Iterator

from . import _versions
from ._routes import NONE, Routes, rule_of_response
from ._speaker import TOGETHER, Speaker, speaker

_cpu = time.thread_time_ns
_now = time.monotonic_ns
_thread = threading.get_ident
_coin = random.random
# The exception under way; asked in the old way, it costs more.
_error = getattr(sys, "exception", None) or (lambda: sys.exc_info()[1])


# The numbers of status lines, as they were seen.
_statuses: dict[str, int] = {}


def _number(status: str) -> int:
    """What is no status is the server's to refuse."""
    said = status[:3]
    number = int(said) if said.isdecimal() else 0
    if len(_statuses) < 100:
        _statuses[status] = number
    return number


def wsgi(app: Any, service: str, version: str, assigned: str = "none", route: Callable[[dict[str, Any]], str] | None = None,
         rulers: bool | Iterable[str] = True, server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """The application, telling the agent what each of its requests costs.

    `assigned` is "canary" where some processes run one version while others run another, and that is meant. `route` gets
    the environ of a request that has been answered, and returns the template of its route. `socket` is the agent's,
    where it is not the usual one. With `server_timing` each response has a header with its CPU time so far.
    """
    return WsgiApp(_versions.fixed(app, version, assigned), speaker(service, socket, rulers), route, server_timing)


def split(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], share: float = 0.5,
          route: Callable[[dict[str, Any]], str] | None = None, rulers: bool | Iterable[str] = True,
          server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """Two versions in one process: a coin for each request decides, and falls on the new one with probability `share`."""
    choose = _versions.coin(old_app, new_app, versions, share)
    return WsgiApp(choose, speaker(service, socket, rulers), route, server_timing)


def switchback(old_app: Any, new_app: Any, service: str, versions: tuple[str, str], seconds: int = 2,
               route: Callable[[dict[str, Any]], str] | None = None, rulers: bool | Iterable[str] = True,
               server_timing: bool = False, socket: str | None = None) -> WsgiApp:
    """Two versions by turns: of each two slots of so many seconds, a coin decides which has the new one, in all processes."""
    choose = _versions.slots(old_app, new_app, service, versions, seconds)
    return WsgiApp(choose, speaker(service, socket, rulers), route, server_timing)


class WsgiApp:
    """An application that tells what its requests cost."""

    def __init__(self, choose: _versions.Choice | Callable[[], _versions.Choice], speaker: Speaker,
                 route: Callable[[dict[str, Any]], Any] | None, timing: bool) -> None:
        # Where there is one version, nothing is asked.
        self._fixed = None if callable(choose) else choose
        self._choose = choose if callable(choose) else lambda: choose
        self._speaker = speaker
        self._rulers = speaker.rulers
        self._routes = routes = Routes(route, speaker.fail)
        self._known: dict[str | None, str] = routes.of_rules
        self._timing = timing
        self._plain: Any = None

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer = Answer()
        answer.choice = choice = self._fixed or self._choose()
        answer.of = self
        answer.environ = environ
        answer.start_response = start_response
        answer.thread = _thread()
        if _coin() < self._rulers.chance:
            answer.begin, answer.ruler, answer.delay = self._rulers.run(self._speaker.answered)
        else:
            answer.begin = _now()
        answer.cpu = _cpu()
        try:
            result = choice[0](environ, answer.start_timed if self._timing else answer.start)
        except BaseException:
            answer.close()
            raise
        kind = result.__class__
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
    """A request from its beginning to its end, and its response as the server sees it."""

    # What only some requests have, stands here for the others.
    status = 0
    delay: int | None = None
    ruler = ""
    rule: str | None = None
    result: Any = None
    is_over = False

    of: WsgiApp
    choice: tuple[Any, str, str]
    environ: dict[str, Any]
    start_response: Callable[..., Any]
    thread: int
    begin: int
    cpu: int

    def start(self, status: str, headers: Any, exc_info: Any = None) -> Any:
        """The `start_response` that the application gets."""
        try:
            self.status = _statuses.get(status) or _number(status)
            request = self.environ.get("werkzeug.request")
            if request is not None:
                # Flask forgets it once it has answered.
                rule = request.url_rule
                self.rule = NONE if rule is None else rule.rule
        except AttributeError:
            # Werkzeug without Flask.
            pass
        except Exception as error:
            self.of._speaker.fail(error)
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
        """What the server calls once it has all of the response, or will not have the rest; tells of the request, once."""
        failure = None
        if _error() is not None:
            self.status = 0
        close = getattr(self.result, "close", None)
        if close is not None:
            if self.rule is None:
                self.rule = rule_of_response(self.result)
            try:
                close()
            except BaseException as error:
                self.status = 0
                failure = error
        cpu = _cpu() - self.cpu
        now = _now()
        if not self.is_over:
            self.tell(now, cpu)
        if failure is not None:
            raise failure

    def tell(self, now: int, cpu: int) -> None:
        """Says what is known of it."""
        self.is_over = True
        of = self.of
        speaker = of._speaker
        if self.thread != _thread() or cpu < 0:
            # Another thread's clock, or that of a forked child.
            speaker.unmeasured += 1
            return
        try:
            more = self.ruler
            if self.delay is not None:
                more += speaker.rulers.delay_since(self.delay)
            # What most requests have: a route that is known.
            route = of._known.get(self.rule)
            if route is None:
                route = of._routes.of_environ(self.environ, self.rule)
            lines = speaker.lines
            lines.append((now, self.choice, route, self.status, cpu, now - self.begin, more))
            if now >= speaker.due or len(lines) >= TOGETHER:
                speaker.send(now)
        except Exception as error:
            speaker.fail(error)


class ListAnswer(Answer):
    """The same of a response that is there already: of one part, servers know the length without being told."""

    def __len__(self) -> int:
        return len(self.result)
