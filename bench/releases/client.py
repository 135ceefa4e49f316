"""An open-loop client: requests start on schedule, whether or not earlier ones were answered.

    client.py ADDRESS SECONDS SEED LOWEST HIGHEST [ROUTE...]

The rate varies between LOWEST and HIGHEST requests per second, and the mix of routes varies too. Prints the outcomes.
"""

import asyncio
import sys
import time
from random import Random

ROUTES = ("page", "cache", "mixed")
# The maximum number of concurrent requests. Further ones are not sent, because so many indicate an overloaded server.
MOST_CONCURRENT = 200
TIMEOUT_SECONDS = 20


async def one(host: str, port: int, route: str, number: int, counts: dict) -> None:
    """Sends one request on its own connection and counts its outcome."""
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), TIMEOUT_SECONDS)
        writer.write(f"GET /{route}/{number} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n".encode())
        answer = await asyncio.wait_for(reader.read(), TIMEOUT_SECONDS)
        counts["answered" if answer.startswith(b"HTTP/1.1 200") else "failed"] += 1
        writer.close()
    except (OSError, asyncio.TimeoutError):
        counts["failed"] += 1


async def main(address: str, seconds: float, seed: int, lowest: float, highest: float, routes: list) -> None:
    """Sends requests at random times. Rate and mix change at random every few seconds."""
    host, port = address.rsplit(":", 1)
    random, counts, running = Random(seed), {"answered": 0, "failed": 0, "given-up": 0}, set()
    begin = due = time.monotonic()
    changes = due
    rate, weights = lowest, [1.0] * len(routes)
    while due < begin + seconds:
        if due >= changes:
            changes = due + random.uniform(0.5, 4.0)
            rate = random.uniform(lowest, highest)
            weights = [random.uniform(0.5, 2.0) for _ in routes]
        due += random.expovariate(rate)
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if len(running) >= MOST_CONCURRENT:
            counts["given-up"] += 1
            continue
        task = asyncio.create_task(one(host, int(port), random.choices(routes, weights)[0], random.randrange(1000), counts))
        running.add(task)
        task.add_done_callback(running.discard)
    if running:
        await asyncio.wait(running)
    print(" ".join(f"{name} {count}" for name, count in counts.items()), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]),
                     sys.argv[6:] or list(ROUTES)))
