"""A service under a changing load.

Its requests go through the middleware to a random version, until its standard input is closed.
"""

import math
import random
import sys
import threading
import time

import steadyhand

# v2 does a fourteenth more work than v1.
WORK = {"v1": 1400, "v2": 1500}
PATHS = {"/item": 1, "/search": 2}


def application(work):
    def answer(environ, start_response):
        total = 0
        for number in range(work * PATHS[environ["PATH_INFO"]]):
            total += number * number
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(total).encode()]

    return answer


def main():
    versions = tuple(WORK)
    service = steadyhand.split(*(application(WORK[version]) for version in versions), service="shop", versions=versions)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    begun, phase = time.monotonic(), random.uniform(0, 2 * math.pi)
    while not ended.is_set():
        path = random.choice(list(PATHS))
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "steadyhand.route": path}
        answer = service(environ, lambda *_: None)
        list(answer)
        getattr(answer, "close", lambda: None)()
        rate = 400 * (1 + 0.6 * math.sin((time.monotonic() - begun) / 3 + phase))
        time.sleep(random.expovariate(rate))


if __name__ == "__main__":
    main()
