"""The ASGI lifespan protocol for two applications behind one server (asyncio)."""

from __future__ import annotations

import asyncio
from typing import Any

from ._asgi import WithState


class _Lifespan:
    """The lifespan task of one application."""

    def __init__(self, app: WithState, scope: dict[str, Any]) -> None:
        self.requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        if "state" in scope:
            app.state = {}
            scope = {**scope, "state": app.state}
        self.task = asyncio.ensure_future(self._live(app.app, scope))

    async def _live(self, app: Any, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self.requests.get, self.answers.put)
        except Exception as error:
            # Like servers, `answer` takes this for an application without a lifespan.
            await self.answers.put({"type": "none", "message": str(error)})
        else:
            await self.answers.put({"type": "none"})

    async def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        await self.requests.put(message)
        return await self.answers.get()


async def both(old: WithState, new: WithState, scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Passes startup and shutdown to both applications, and the first failure of either to the server."""
    if old is new:
        await old.app(scope, receive, send)
        return
    lifespans = [_Lifespan(app, scope) for app in (old, new)]
    try:
        while True:
            message = await receive()
            answers = await asyncio.gather(*(lifespan.answer(message) for lifespan in lifespans if not lifespan.task.done()))
            failed = [answer for answer in answers if answer["type"].endswith(".failed")]
            await send(failed[0] if failed else {"type": message["type"] + ".complete"})
            if failed or message["type"] == "lifespan.shutdown":
                return
    finally:
        for lifespan in lifespans:
            lifespan.task.cancel()
        await asyncio.gather(*(lifespan.task for lifespan in lifespans), return_exceptions=True)
