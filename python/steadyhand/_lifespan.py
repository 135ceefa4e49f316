"""The lifespan protocol of ASGI for two applications behind one server (asyncio)."""

from __future__ import annotations

import asyncio
from typing import Any


class _One:
    """An application as it starts up and shuts down."""

    def __init__(self, app: Any, scope: dict[str, Any]) -> None:
        self.asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task = asyncio.ensure_future(self._live(app, scope))

    async def _live(self, app: Any, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self.asked.get, self.said.put)
        except Exception as error:
            # Servers take that for one which has no lifespan, if it said nothing; so does `answer`.
            await self.said.put({"type": "none", "message": str(error)})
        else:
            await self.said.put({"type": "none"})

    async def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        await self.asked.put(message)
        return await self.said.get()


async def both(old: Any, new: Any, scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Passes start and end on to both; what one of them says is wrong is said to the server."""
    if old is new:
        await old(scope, receive, send)
        return
    ones = [_One(app, scope) for app in (old, new)]
    try:
        while True:
            message = await receive()
            answers = await asyncio.gather(*(one.answer(message) for one in ones if not one.task.done()))
            failed = [answer for answer in answers if answer["type"].endswith(".failed")]
            await send(failed[0] if failed else {"type": message["type"] + ".complete"})
            if failed or message["type"] == "lifespan.shutdown":
                return
    finally:
        for one in ones:
            one.task.cancel()
        await asyncio.gather(*(one.task for one in ones), return_exceptions=True)
