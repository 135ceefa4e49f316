"""Measures the CPU time of requests under an event loop: of the request's coroutine, its tasks and its worker threads.

Tasks and threads inherit the context of the request that starts them, and the context names the request. Tasks are
timed through the event loop's task factory (asyncio, uvloop). Threads are timed through `asyncio.to_thread` and through
`anyio.to_thread.run_sync`, by which Starlette and FastAPI run `def` endpoints. Work that continues after the end of the
request counts neither for the request nor for the server.
"""

from __future__ import annotations

import asyncio
import collections.abc
import functools
import sys
import threading
import time
from contextvars import ContextVar
from typing import Any

_cpu = time.thread_time_ns


class Cost:
    """The CPU time of a request so far, in nanoseconds."""

    __slots__ = ("before", "begin", "cpu", "is_over", "threads")

    def __init__(self) -> None:
        # CPU time of its coroutine and tasks.
        self.cpu = 0
        # The thread's CPU time at the start of the current step; 0 between steps.
        self.begin = 0
        # The CPU time of all steps before the current one.
        self.before = 0
        # CPU times in other threads. Appending is safe from any thread.
        self.threads: list[int] = []
        self.is_over = False

    def so_far(self) -> int:
        """Returns the CPU time so far, including the current step."""
        step = _cpu() - self.begin if self.begin else 0
        return self.cpu + step + sum(self.threads)

    def begin_step(self) -> None:
        """Begins to time a step."""
        self.before = _stepped
        self.begin = _cpu()

    def end_step(self) -> None:
        """Adds the CPU time of the current step."""
        global _stepped
        took = _cpu() - self.begin
        self.begin = 0
        # Steps of other requests within this one are part of it: a connection may keep the context of an earlier request.
        _stepped = self.before + took
        if not self.is_over:
            self.cpu += took


# The request that the current code runs for.
current: ContextVar[Cost | None] = ContextVar("steadyhand_request", default=None)

_loop: Any = None
# The thread of the loop; 0 before there is one, or if there are several.
_thread = 0
# CPU time of all application steps on the loop.
_stepped = 0


def server_cpu(thread_cpu: int) -> int:
    """Returns the part of this thread's CPU time `thread_cpu` that no application used; 0 if unknown."""
    return thread_cpu - _stepped if _thread and threading.get_ident() == _thread else 0


# The cost of everything that applications start outside of requests.
OUTSIDE = Cost()
OUTSIDE.is_over = True


def follow(loop: Any) -> None:
    """Starts to time everything that applications start on this loop."""
    global _loop, _thread
    if loop is _loop:
        return
    _thread = threading.get_ident() if _loop is None or _thread == threading.get_ident() else 0
    _loop = loop
    before = loop.get_task_factory()
    if not isinstance(before, _Factory):
        loop.set_task_factory(_Factory(before))
    _wrap(asyncio, "to_thread")
    if "anyio.to_thread" in sys.modules:
        _wrap(sys.modules["anyio.to_thread"], "run_sync")


class _Factory:
    """A task factory that times coroutines and passes them to the previous factory."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, loop: Any, coroutine: Any, **options: Any) -> Any:
        context = options.get("context")
        cost = current.get() if context is None else context.get(current)
        if cost is not None:
            coroutine = Timed(coroutine, cost)
        if self._before is not None:
            return self._before(loop, coroutine, **options)
        return asyncio.Task(coroutine, loop=loop, **options)


class Timed(collections.abc.Coroutine):  # type: ignore[type-arg]
    """A coroutine that adds the CPU time of its steps to a request.

    All other attributes, such as its state and name, are those of the wrapped coroutine.
    """

    __slots__ = ("_coroutine", "_cost", "__weakref__")

    def __init__(self, coroutine: Any, cost: Cost) -> None:
        self._coroutine = coroutine
        self._cost = cost

    def send(self, value: Any) -> Any:
        """Resumes the coroutine with a value, and times the step."""
        cost = self._cost
        # A step within a step (an eager task) is already timed.
        if cost.begin:
            return self._coroutine.send(value)
        cost.begin_step()
        try:
            return self._coroutine.send(value)
        finally:
            cost.end_step()

    def throw(self, *error: Any) -> Any:
        """Resumes the coroutine with an exception, and times the step."""
        cost = self._cost
        if cost.begin:
            return self._coroutine.throw(*error)
        cost.begin_step()
        try:
            return self._coroutine.throw(*error)
        finally:
            cost.end_step()

    def close(self) -> None:
        """Closes the coroutine."""
        self._coroutine.close()

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        # `send(None)` without its calls, because nearly all steps come here.
        global _stepped
        cost = self._cost
        if cost.begin:
            return self._coroutine.send(None)
        before = _stepped
        begin = cost.begin = _cpu()
        try:
            return self._coroutine.send(None)
        finally:
            took = _cpu() - begin
            cost.begin = 0
            # See `Cost.end_step`.
            _stepped = before + took
            if not cost.is_over:
                cost.cpu += took

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)


def steps(app: Any, scope: dict[str, Any], receive: Any, send: Any, cost: Cost) -> Timed:
    """Calls an application and returns an awaitable. The call and all steps are timed."""
    cost.begin_step()
    try:
        called = app(scope, receive, send)
        return Timed(called if hasattr(called, "send") else _Awaited(called.__await__()), cost)
    finally:
        cost.end_step()


class _Awaited:
    """Gives a plain awaitable the methods of a coroutine."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def send(self, value: Any) -> Any:
        if value is None or not hasattr(self._iterator, "send"):
            return next(self._iterator)
        return self._iterator.send(value)

    def throw(self, *error: Any) -> Any:
        throw = getattr(self._iterator, "throw", None)
        if throw is None:
            raise error[1] if len(error) > 1 and error[1] is not None else error[0]
        return throw(*error)

    def close(self) -> None:
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()


def _timed(cost: Cost, function: Any, /, *args: Any, **named: Any) -> Any:
    begin = _cpu()
    try:
        return function(*args, **named)
    finally:
        cost.threads.append(_cpu() - begin)


def _wrap(module: Any, name: str) -> None:
    """Replaces a module's function that runs another function in a worker thread.

    The replacement adds the CPU time of the worker thread to the request.
    """
    original = getattr(module, name)
    if hasattr(original, "steadyhand_wraps"):
        return

    @functools.wraps(original)
    async def in_thread(*args: Any, **named: Any) -> Any:
        cost = current.get()
        # A function that is given by its name is not measured.
        if cost is None or cost.is_over or not args:
            return await original(*args, **named)
        return await original(functools.partial(_timed, cost, args[0]), *args[1:], **named)

    in_thread.steadyhand_wraps = original  # type: ignore[attr-defined]
    setattr(module, name, in_thread)
