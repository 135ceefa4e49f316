"""The middleware under real servers: gunicorn with Flask and Django, uvicorn with Starlette."""

import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import unittest

from listener import HERE, PYTHON, Listener, run, steady_folder, web_environment

from steadyhand import _reporter

# Seconds within which a server on a busy machine starts, answers a request, or ends.
PATIENCE = 60


def free_port() -> int:
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A server process. Leaving the `with` block terminates it and waits for its end."""

    def __init__(self, programs, listener, words, app):
        self.programs, self.words = programs, [*words, app]
        self.log = tempfile.TemporaryFile()
        folder = steady_folder()
        self.environment = {**os.environ, "STEADY_SOCKET": listener.path, "PYTHONPATH": f"{PYTHON}:{HERE}",
                            "PATH": f"{folder}:{os.environ['PATH']}" if folder else os.environ["PATH"]}

    def __enter__(self):
        for _ in range(5):
            self.port = free_port()
            words = [word.format(programs=self.programs, port=self.port) for word in self.words]
            self.process = subprocess.Popen(words, env=self.environment, cwd=HERE, stdin=subprocess.DEVNULL,
                                            stdout=self.log, stderr=subprocess.STDOUT)
            if self.is_ready():
                return self
            if self.process.poll() is None:
                break
            # It may have ended because its port was taken. Use another one.
        why = f"status {self.process.poll()}: {self.output()}"
        self.__exit__()
        raise RuntimeError(why)

    def is_ready(self) -> bool:
        """Waits until the server listens; returns whether it does."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return True
            time.sleep(0.025)
        return False

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def output(self) -> str:
        self.log.seek(0)
        return self.log.read().decode()

    def get(self, path: str) -> "tuple[int, bytes]":
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()


GUNICORN = ["{programs}/gunicorn", "--bind", "127.0.0.1:{port}", "--log-level", "error"]
UVICORN = ["{programs}/uvicorn", "--port", "{port}", "--log-level", "error", "--factory"]


class Servers(unittest.TestCase):
    missing = None

    @classmethod
    def setUpClass(cls):
        try:
            cls.programs = web_environment()
        except unittest.SkipTest as skip:
            # Each test reports the skip: a class that is skipped as a whole is not counted.
            cls.missing = str(skip)

    def setUp(self):
        if self.missing:
            self.skipTest(self.missing)
        self.listener = Listener()
        self.addCleanup(self.listener.close)

    def server(self, words, app):
        return Server(self.programs, self.listener, words, app)

    def test_flask_under_gunicorn(self):
        with self.server([*GUNICORN, "--workers", "1"], "service:flask_service()") as server:
            answers = [server.get(path) for path in ("/item/5", "/stream", "/file", "/broken", "/nowhere/5")]
            self.assertEqual([status for status, _ in answers], [200, 200, 200, 500, 404])
            status = json.loads(server.get("/status")[1])[0]
        self.assertEqual((status["requests"], status["failed"], status["unmeasured"]), (5, 0, 0))
        requests = self.listener.wait_for(6)
        self.assertEqual([(request.route, request.status) for request in requests],
                         [("/item/<int:number>", 200), ("/stream", 200), ("/file", 200), ("/broken", 500),
                          ("(no route)", 404), ("/status", 200)])
        self.assertEqual([request.number for request in requests], list(range(1, 7)))
        for request, (_, body), least, slack in zip(requests, answers, (3, 10), (17, 30)):
            spent, cost = sum(map(float, body.split())), request.cpu / 1e6
            self.assertTrue(least <= spent <= cost < spent + slack, (request.route, spent, cost))
        self.assertEqual({request.assignment for request in requests}, {"canary"})

    def test_threads_of_gunicorn(self):
        words = [*GUNICORN, "--workers", "1", "--worker-class", "gthread", "--threads", "4"]
        spent = []
        with self.server(words, "service:flask_service()") as server:
            def client():
                for _ in range(15):
                    spent.append(float(server.get("/item/5")[1]))

            clients = [threading.Thread(target=client) for _ in range(6)]
            [client.start() for client in clients]
            [client.join() for client in clients]
        requests = self.listener.wait_for(90)
        self.assertEqual(sorted(request.number for request in requests), list(range(1, 91)))
        rest = [cost / 1e6 - known for cost, known in zip(sorted(request.cpu for request in requests), sorted(spent))]
        self.assertTrue(len(spent) == 90 and min(spent) >= 3 and min(rest) >= 0, (spent, rest))
        self.assertLess(statistics.mean(rest), 3)
        self.assertEqual({request.route for request in requests}, {"/item/<int:number>"})
        if steady_folder():
            self.assertTrue(any("ruler" in request.more for request in requests))

    def test_workers_forked_after_the_import(self):
        with self.server([*GUNICORN, "--workers", "3", "--preload"], "service:flask_service()") as server:
            for _ in range(60):
                server.get("/item/5")
        requests = self.listener.wait_for(60)
        self.assertEqual(len(requests), 60)
        workers = {(request.pid, request.began) for request in requests}
        self.assertEqual(len(workers), len({pid for pid, _ in workers}))
        self.assertNotIn(server.process.pid, {pid for pid, _ in workers})
        for worker in workers:
            numbers = [request.number for request in requests if (request.pid, request.began) == worker]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_only_the_request_of_a_killed_worker_is_lost(self):
        with self.server([*GUNICORN, "--workers", "1"], "service:flask_service()") as server:
            for _ in range(4):
                server.get("/item/5")
            # The batch is due by then, so the next request sends all lines.
            time.sleep(_reporter.BATCH_NS / 1e9 + 0.1)
            server.get("/item/5")
            with self.assertRaises(OSError):
                server.get("/die")
            self.assertEqual(server.get("/item/6")[0], 200)
        requests = self.listener.wait_for(6)
        self.assertEqual([request.number for request in requests], [1, 2, 3, 4, 5, 1])

    def test_a_missing_agent_fails_no_request(self):
        self.listener.die()
        with self.server([*GUNICORN, "--workers", "1"], "service:flask_service()") as server:
            self.assertEqual({server.get("/item/5")[0] for _ in range(20)}, {200})
            status = json.loads(server.get("/status")[1])[0]
        self.assertEqual((status["sent"], status["failed"]), (0, 0))
        self.assertEqual(status["requests"], status["dropped"] + status["gathered"])
        self.assertIn("refused", status["agent"])

    def test_django_routes(self):
        with self.server([*GUNICORN, "--workers", "1"], "service:django_service()") as server:
            self.assertEqual(server.get("/item/5/"), (200, b"5"))
            self.assertEqual(server.get("/nowhere")[0], 404)
        requests = self.listener.wait_for(2)
        self.assertEqual([(request.route, request.status) for request in requests], [("/item/<int:number>/", 200), ("/nowhere", 404)])

    def test_the_real_agent_stores_all_requests(self):
        folder = steady_folder()
        if folder is None:
            self.skipTest("steady was not built")
        self.listener.die()
        os.unlink(self.listener.path)
        folder_of_agent = os.path.dirname(self.listener.path)
        words = [f"{folder}/steady", "agent", "--socket", self.listener.path, "--store", f"{folder_of_agent}/store.db"]
        agent = subprocess.Popen([*words, "--no-rulers"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + PATIENCE
            while not os.path.exists(self.listener.path):
                self.assertTrue(agent.poll() is None and time.monotonic() < until, "the agent does not start")
                time.sleep(0.025)
            with self.server([*GUNICORN, "--workers", "2"], "service:flask_service()") as server:
                for _ in range(40):
                    server.get("/item/5")
                # Each worker may still hold a batch, which it sends at its end.
        finally:
            agent.terminate()
            self.assertEqual(agent.wait(PATIENCE), 0)
        status = run(*words[:2], "status", "--socket", self.listener.path, "--store", f"{folder_of_agent}/store.db", "--format", "json")
        [service] = json.loads(status.stdout)["store"]["services"]
        self.assertEqual((service["name"], service["versions"], service["requests"]), ("shop", ["v1"], 40))

    def test_starlette_under_uvicorn(self):
        with self.server(UVICORN, "service:starlette_service") as server:
            answers = [server.get(path) for path in ("/item/5", "/broken", "/below/stream/a", "/nowhere")]
            self.assertEqual([status for status, _ in answers], [200, 500, 200, 404])
        requests = self.listener.wait_for(4)
        self.assertEqual([request.route for request in requests],
                         ["/item/{number}", "/broken", "/below/stream/{name}", "(no route)"])
        # Starlette answers with 500 and passes the exception on to the server.
        self.assertEqual([request.status for request in requests], [200, 0, 200, 404])
        spent, cost = float(answers[0][1]), requests[0].cpu / 1e6
        self.assertTrue(3 <= spent <= cost < spent + 17, (spent, cost))

    def test_fastapis_threads_and_tasks_count_for_the_request(self):
        for service in ("fastapi_service", "fastapi_service_with_middleware"):
            before, readings = len(self.listener.requests), len(self.listener.readings)
            paths = ["/cheap"] * 5 + ["/thread", "/loop", "/background"] * 10
            with self.server(UVICORN, f"service:{service}") as server:
                for path in paths:
                    self.assertEqual(server.get(path)[0], 200)
                requests = self.listener.wait_for(before + len(paths))[before:]
                # Background work ends after the response, so the next request may overtake it.
                self.assertEqual(sorted(request.route for request in requests), sorted(paths))
                spent = json.loads(server.get("/spent")[1])
            self.listener.wait_for(before + len(paths) + 1)
            cheap = min(request.cpu for request in requests)
            for path in ("/thread", "/loop", "/background"):
                costs = [request.cpu - cheap for request in requests if request.route == path]
                # Requests to /loop work twice.
                works = len(spent[path]) // 10
                known = [sum(spent[path][at:at + works]) for at in range(0, len(spent[path]), works)]
                self.assertTrue(len(known) == 10 and min(known) >= 0.020, (service, path, spent))
                # Within 15 % of what the service measured itself. The first request also loads modules.
                ratio = statistics.median(costs) / 1e9 / statistics.median(known)
                self.assertTrue(0.85 < ratio < 1.15, (service, path, costs, spent))
            first, last = self.listener.readings[readings], self.listener.readings[-1]
            process = last.process_cpu - first.process_cpu
            explained = last.requests_cpu - first.requests_cpu
            # Neither includes the server's own CPU time. The rest is the overhead of passing work to threads.
            self.assertTrue(0.9 * process < explained < 1.02 * process, (service, explained, process))

    def test_work_in_an_own_thread_pool_does_not_count_for_the_request(self):
        with self.server(UVICORN, "service:fastapi_service") as server:
            for path in ["/cheap"] * 3 + ["/pool"] * 10:
                self.assertEqual(server.get(path)[0], 200)
        requests = self.listener.wait_for(13)
        self.assertLess(statistics.median(request.cpu for request in requests[3:]), 10e6)
        first, last = self.listener.readings[0], self.listener.readings[-1]
        unexplained = (last.process_cpu - first.process_cpu) - (last.requests_cpu - first.requests_cpu)
        self.assertGreater(unexplained, 10 * 20e6)

    def test_a_more_expensive_version_with_endpoints_in_threads(self):
        with self.server(UVICORN, "service:fastapi_split") as server:
            for _ in range(80):
                self.assertEqual(server.get("/work")[0], 200)
        requests = self.listener.wait_for(80)[5:]
        old, new = (statistics.median(request.cpu for request in requests if request.version == version)
                    for version in ("v1", "v2"))
        self.assertTrue(1.2 < new / old < 1.35, (old, new))


if __name__ == "__main__":
    unittest.main()
