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


def free_port() -> int:
    with contextlib.closing(socket.socket()) as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


class Server:
    """A server as a process; the `with` ends it as its keeper would, and waits for it."""

    def __init__(self, programs, listener, words, app):
        self.port = free_port()
        self.log = tempfile.TemporaryFile()
        folder = steady_folder()
        environment = {**os.environ, "STEADY_SOCKET": listener.path, "PYTHONPATH": f"{PYTHON}:{HERE}",
                       "PATH": f"{folder}:{os.environ['PATH']}" if folder else os.environ["PATH"]}
        words = [word.format(programs=programs, port=self.port) for word in words]
        self.process = subprocess.Popen([*words, app], env=environment, cwd=HERE, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT)

    def __enter__(self):
        for _ in range(400):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            time.sleep(0.025)
        raise RuntimeError(self.said())

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read().decode()

    def get(self, path: str) -> "tuple[int, bytes]":
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
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
            # Told test by test: a class that is skipped as a whole counts as no test at all.
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
            statuses = [server.get(path)[0] for path in ("/item/5", "/stream", "/file", "/broken", "/nowhere/5")]
            self.assertEqual(statuses, [200, 200, 200, 500, 404])
            status = json.loads(server.get("/status")[1])[0]
        self.assertEqual((status["requests"], status["failed"], status["unmeasured"]), (5, 0, 0))
        requests = self.listener.wait_for(6)
        self.assertEqual([(told.route, told.status) for told in requests],
                         [("/item/<int:number>", 200), ("/stream", 200), ("/file", 200), ("/broken", 500),
                          ("(no route)", 404), ("/status", 200)])
        self.assertEqual([told.number for told in requests], list(range(1, 7)))
        self.assertTrue(3e6 <= requests[0].cpu < 20e6 and 10e6 <= requests[1].cpu < 40e6)
        self.assertEqual({told.assignment for told in requests}, {"canary"})

    def test_threads_of_gunicorn(self):
        words = [*GUNICORN, "--workers", "1", "--worker-class", "gthread", "--threads", "4"]
        with self.server(words, "service:flask_service()") as server:
            clients = [threading.Thread(target=lambda: [server.get("/item/5") for _ in range(15)]) for _ in range(6)]
            [client.start() for client in clients]
            [client.join() for client in clients]
        requests = self.listener.wait_for(90)
        self.assertEqual(sorted(told.number for told in requests), list(range(1, 91)))
        self.assertTrue(all(3e6 <= told.cpu < 20e6 for told in requests), max(told.cpu for told in requests))
        self.assertEqual({told.route for told in requests}, {"/item/<int:number>"})
        if steady_folder():
            self.assertTrue(any("ruler" in told.more for told in requests))

    def test_workers_that_were_forked_after_the_import(self):
        with self.server([*GUNICORN, "--workers", "3", "--preload"], "service:flask_service()") as server:
            for _ in range(60):
                server.get("/item/5")
        requests = self.listener.wait_for(60)
        self.assertEqual(len(requests), 60)
        workers = {(told.pid, told.began) for told in requests}
        self.assertEqual(len(workers), len({pid for pid, _ in workers}))
        self.assertNotIn(server.process.pid, {pid for pid, _ in workers})
        for worker in workers:
            numbers = [told.number for told in requests if (told.pid, told.began) == worker]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_a_worker_that_dies_in_a_request_takes_only_that_along(self):
        with self.server([*GUNICORN, "--workers", "1"], "service:flask_service()") as server:
            for _ in range(4):
                server.get("/item/5")
            # The next one is late enough that all lines go out with its own.
            time.sleep(_reporter.BATCH_NS / 1e9 + 0.1)
            server.get("/item/5")
            with self.assertRaises(OSError):
                server.get("/die")
            self.assertEqual(server.get("/item/6")[0], 200)
        requests = self.listener.wait_for(6)
        self.assertEqual([told.number for told in requests], [1, 2, 3, 4, 5, 1])

    def test_an_agent_that_is_killed_or_was_never_there_is_not_missed(self):
        self.listener.die()
        with self.server([*GUNICORN, "--workers", "1"], "service:flask_service()") as server:
            self.assertEqual({server.get("/item/5")[0] for _ in range(20)}, {200})
            status = json.loads(server.get("/status")[1])[0]
        self.assertEqual((status["sent"], status["failed"]), (0, 0))
        self.assertEqual(status["requests"], status["dropped"] + status["gathered"])
        self.assertIn("refused", status["agent"])

    def test_django_tells_its_routes(self):
        with self.server([*GUNICORN, "--workers", "1"], "service:django_service()") as server:
            self.assertEqual(server.get("/item/5/"), (200, b"5"))
            self.assertEqual(server.get("/nowhere")[0], 404)
        requests = self.listener.wait_for(2)
        self.assertEqual([(told.route, told.status) for told in requests], [("/item/<int:number>/", 200), ("/nowhere", 404)])

    def test_the_agent_itself_keeps_what_it_is_told(self):
        folder = steady_folder()
        if folder is None:
            self.skipTest("steady was not built")
        self.listener.die()
        os.unlink(self.listener.path)
        place = os.path.dirname(self.listener.path)
        words = [f"{folder}/steady", "agent", "--socket", self.listener.path, "--store", f"{place}/store.db"]
        agent = subprocess.Popen([*words, "--no-rulers"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with self.server([*GUNICORN, "--workers", "2"], "service:flask_service()") as server:
                for _ in range(40):
                    server.get("/item/5")
                # A line of each worker may still be gathered: at its end it sends that.
        finally:
            agent.terminate()
            self.assertEqual(agent.wait(10), 0)
        status = run(*words[:2], "status", "--socket", self.listener.path, "--store", f"{place}/store.db", "--format", "json")
        [service] = json.loads(status.stdout)["store"]["services"]
        self.assertEqual((service["name"], service["versions"], service["requests"]), ("shop", ["v1"], 40))

    def test_starlette_under_uvicorn(self):
        with self.server(UVICORN, "service:starlette_service") as server:
            statuses = [server.get(path)[0] for path in ("/item/5", "/broken", "/below/stream/a", "/nowhere")]
            self.assertEqual(statuses, [200, 500, 200, 404])
        requests = self.listener.wait_for(4)
        self.assertEqual([told.route for told in requests],
                         ["/item/{number}", "/broken", "/below/stream/{name}", "(no route)"])
        # Starlette answers with 500 and hands the exception on to the server.
        self.assertEqual([told.status for told in requests], [200, 0, 200, 404])
        self.assertTrue(3e6 <= requests[0].cpu < 20e6, requests[0].cpu)

    def test_what_fastapi_does_elsewhere_is_the_requests(self):
        for service in ("fastapi_service", "fastapi_service_with_middleware"):
            before, readings = len(self.listener.requests), len(self.listener.readings)
            paths = ["/cheap"] * 5 + ["/thread", "/loop", "/background"] * 10
            with self.server(UVICORN, f"service:{service}") as server:
                for path in paths:
                    self.assertEqual(server.get(path)[0], 200)
            requests = self.listener.wait_for(before + len(paths))[before:]
            # Background work ends after the client has its answer, and may be overtaken by the next request.
            self.assertEqual(sorted(told.route for told in requests), sorted(paths))
            cheap = min(told.cpu for told in requests)
            for path in ("/thread", "/loop", "/background"):
                costs = [told.cpu - cheap for told in requests if told.route == path]
                # Within 15 % of what each took.
                self.assertTrue(20e6 * 0.85 < statistics.median(costs) < 20e6 * 1.15, (service, path, costs))
            first, last = self.listener.readings[readings], self.listener.readings[-1]
            process = last.process_cpu - first.process_cpu
            explained = last.requests_cpu - first.requests_cpu
            # The server's own is in neither; what is left is what hands work on to threads.
            self.assertTrue(0.9 * process < explained < 1.02 * process, (service, explained, process))

    def test_what_runs_in_a_pool_of_its_own_is_not_explained(self):
        with self.server(UVICORN, "service:fastapi_service") as server:
            for path in ["/cheap"] * 3 + ["/pool"] * 10:
                self.assertEqual(server.get(path)[0], 200)
        requests = self.listener.wait_for(13)
        self.assertLess(statistics.median(told.cpu for told in requests[3:]), 10e6)
        first, last = self.listener.readings[0], self.listener.readings[-1]
        unexplained = (last.process_cpu - first.process_cpu) - (last.requests_cpu - first.requests_cpu)
        self.assertGreater(unexplained, 10 * 20e6)

    def test_a_version_of_endpoints_in_threads_that_costs_more(self):
        with self.server(UVICORN, "service:fastapi_split") as server:
            for _ in range(80):
                self.assertEqual(server.get("/work")[0], 200)
        requests = self.listener.wait_for(80)[5:]
        old, new = (statistics.median(told.cpu for told in requests if told.version == version) for version in ("v1", "v2"))
        self.assertTrue(1.2 < new / old < 1.35, (old, new))


if __name__ == "__main__":
    unittest.main()
