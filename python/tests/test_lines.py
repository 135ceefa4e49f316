"""The lines that the middleware sends. Each test calls an application as servers do, without a server."""

import asyncio
import contextvars
import ctypes
import gc
import http
import inspect
import os
import socket
import statistics
import sys
import threading
import time
import types
import unittest
import unittest.mock
import uuid
import warnings

from listener import Listener, RequestLine, run, steady_folder, PYTHON

import steadyhand
from steadyhand import _follow, _routes, _reporter, _text, _versions

ENVIRON = {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": "/item/17"}


def spin(milliseconds: float) -> float:
    """Uses at least this much CPU time and returns how much, in ms. It is more if the host stops this CPU."""
    begin = now = time.thread_time()
    while now - begin < milliseconds / 1000:
        now = time.thread_time()
    return (now - begin) * 1000


def plain(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done"]


def serve(app, environ=None, parts=None):
    """Calls an application as a server does.

    With `parts` it stops reading after this many parts. Returns the response.
    """
    answered = {}

    def start_response(status, headers, exc_info=None):
        answered.update(status=status, headers=headers, exc_info=exc_info)
        return answered.setdefault("written", []).append

    result = app(dict(ENVIRON, **(environ or {})), start_response)
    try:
        iterator = iter(result)
        answered["body"] = []
        for part in iterator:
            answered["body"].append(part)
            if parts is not None and len(answered["body"]) == parts:
                break
    finally:
        if hasattr(result, "close"):
            result.close()
    return answered


def elapsed():
    """Returns the monotonic time minus this thread's wait for CPUs, in seconds (proc_pid_schedstat(5))."""
    with open("/proc/thread-self/schedstat") as file:
        return time.monotonic() - int(file.read().split()[1]) / 1e9


class ReportingTest(unittest.TestCase):
    """A test with its own listener and a unique service name."""

    def setUp(self):
        self.listener = Listener()
        self.addCleanup(self.listener.close)
        self.service = f"service {uuid.uuid4()}"

    def wsgi(self, app=plain, version="v1", **options):
        options.setdefault("rulers", False)
        return steadyhand.wsgi(app, self.service, version, socket=self.listener.path, **options)

    def flush(self):
        for reporter in _reporter._reporters.values():
            if reporter.service == self.service:
                reporter.flush()

    def let_receive(self):
        """Waits until the listener, a thread that needs the interpreter lock, has received enough that no line is lost."""
        end = time.monotonic() + 60
        while self.status()["gathered"] > _reporter.BATCH and time.monotonic() < end:
            time.sleep(0.002)
            self.flush()

    def received(self, count: int) -> "list[RequestLine]":
        """Flushes the service's lines and returns all requests that were received; fails unless there are `count`."""
        end = time.monotonic() + 60
        while True:
            # A full queue takes the lines later.
            self.flush()
            requests = self.listener.wait_for(count, 0.1)
            if len(requests) >= count or time.monotonic() > end:
                break
        self.assertEqual(len(requests), count)
        return requests

    def assert_costs(self, requests, spent, slack):
        """Asserts that each request costs what it spent and less than `slack` more; all in ms, in any order."""
        costs = [request.cpu / 1e6 for request in requests]
        self.assertEqual(len(costs), len(spent))
        for known, cost in zip(sorted(spent), sorted(costs)):
            self.assertTrue(known <= cost < known + slack, (spent, costs))

    def between(self, first, last):
        return last.process_cpu - first.process_cpu, last.requests_cpu - first.requests_cpu

    def status(self):
        return next(status for status in steadyhand.status() if status["service"] == self.service)


class Wsgi(ReportingTest):
    def test_a_request_is_reported(self):
        before = time.monotonic_ns()
        app = self.wsgi(lambda environ, start: (spin(5), plain(environ, start))[1])
        self.assertEqual(serve(app)["body"], [b"done"])
        [request] = self.received(1)
        self.assertEqual((request.service, request.pid, request.number), (self.service, os.getpid(), 1))
        self.assertEqual((request.version, request.route, request.status), ("v1", "/item/<n>", 200))
        self.assertEqual((request.assignment, request.more), ("none", {}))
        self.assertTrue(before < request.end < time.monotonic_ns())
        self.assertTrue(5e6 <= request.cpu < 50e6, request.cpu)
        self.assertGreaterEqual(request.wall, 5e6)
        self.assertLess(request.began, request.end - request.wall)

    def test_streams_are_measured_to_their_end(self):
        spent = []

        def app(environ, start_response):
            spent.append(0)
            start_response("201 Created", [])
            return Stream()

        class Stream:
            def __iter__(self):
                for _ in range(3):
                    spent[-1] += spin(4)
                    yield b"part"

            def close(self):
                spent[-1] += spin(4)

        self.assertEqual(serve(self.wsgi(app))["body"], [b"part"] * 3)
        self.assertEqual(len(serve(self.wsgi(app), parts=1)["body"]), 1)
        whole, part = self.received(2)
        self.assertTrue(spent[0] >= 16 and spent[1] >= 8, spent)
        self.assertGreaterEqual(whole.cpu, spent[0] * 1e6)
        self.assertEqual((whole.status, part.status), (201, 201))
        self.assert_costs([part], spent[1:], 8)

    def test_an_application_that_writes_or_starts_late(self):
        def app(environ, start_response):
            start_response("200 OK", [])(b"written")
            try:
                raise ValueError
            except ValueError:
                start_response("503 Busy", [], sys.exc_info())
            return ()

        def late(environ, start_response):
            start_response("204 No Content", [])
            yield b""

        answered = serve(self.wsgi(app))
        self.assertEqual((answered["written"], answered["exc_info"][0]), ([b"written"], ValueError))
        serve(self.wsgi(late))
        self.assertEqual([request.status for request in self.received(2)], [503, 204])

    def test_application_errors_reach_the_server_and_have_no_status(self):
        def broken(environ, start_response):
            raise KeyError("own")

        def later(environ, start_response):
            start_response("200 OK", [])
            yield b"part"
            raise KeyError("own")

        class AtTheEnd(list):
            def close(self):
                raise KeyError("own")

        def close(environ, start_response):
            start_response("200 OK", [])
            return AtTheEnd()

        for app in (broken, later, close):
            with self.assertRaisesRegex(KeyError, "own"):
                serve(self.wsgi(app))
        self.assertEqual([request.status for request in self.received(3)], [0, 0, 0])

    def test_lists_keep_their_length_and_files_their_type(self):
        class Wrapper:
            def __init__(self, file):
                self.file = file

        def file(environ, start_response):
            start_response("200 OK", [])
            return environ["wsgi.file_wrapper"]("file")

        self.assertEqual(len(self.wsgi()(dict(ENVIRON), lambda *_: None)), 1)
        self.assertIsInstance(self.wsgi(file)({**ENVIRON, "wsgi.file_wrapper": Wrapper}, lambda *_: None), Wrapper)
        # The list response was not closed and is not reported; the file response was.
        self.assertEqual([request.number for request in self.received(1)], [1])

    def test_a_file_wrapper_may_be_a_function_that_returns_the_file(self):
        class File:
            def read(self):
                return b""

        def app(environ, start_response):
            start_response("200 OK", [])
            return environ["wsgi.file_wrapper"](opened)

        opened = File()
        self.assertIs(self.wsgi(app)({**ENVIRON, "wsgi.file_wrapper": lambda file: file}, lambda *_: None), opened)
        self.received(1)

    def test_any_text_is_transmitted(self):
        odd = "a\tb\nc\rd\\e\"'\0 \N{SNOWMAN} \N{OLD PERSIAN SIGN A}\ud800"
        serve(self.wsgi(version=odd, route=lambda environ: odd + "/long" * 300))
        [request] = self.received(1)
        expected = odd.replace("\ud800", "?")
        self.assertEqual(request.version, expected)
        self.assertTrue((expected + "/long" * 300).startswith(request.route) and len(request.route) > 400)

    def test_a_header_contains_the_cpu_time_so_far(self):
        app = self.wsgi(lambda environ, start: (spin(3), plain(environ, start))[1], server_timing=True)
        headers = serve(app)["headers"]
        self.assertEqual(headers[0], ("Content-Type", "text/plain"))
        name, value = headers[1]
        self.assertEqual(name, "Server-Timing")
        self.assertRegex(value, r"^cpu;dur=\d+\.\d{3}$")
        self.assertTrue(3 <= float(value.split("=")[1]) < 50, value)

    def test_djangos_route_is_found_among_the_closers(self):
        class Match:
            route = "item/<int:number>/"

        class Request:
            resolver_match = Match()

            def close(self):
                pass

        class Response(list):
            def close(self):
                for close in self._resource_closers:
                    close()

        def app(closers):
            def answer(environ, start_response):
                start_response("200 OK", [])
                response = Response([b"done"])
                response._resource_closers = closers
                return response
            return answer

        file = open(os.devnull)
        for closers in ([Request().close], [file.close, Request().close], [file.close, lambda: None]):
            serve(self.wsgi(app(closers)))
        self.assertEqual([request.route for request in self.received(3)], ["/item/<int:number>/"] * 2 + ["/item/<n>"])

    def test_djangos_route_is_found_if_its_response_is_wrapped(self):
        def resolve(path):
            if not path.startswith("/item/"):
                raise LookupError
            return types.SimpleNamespace(route="item/<int:number>/")

        urls = types.ModuleType("django.urls")
        urls.resolve = resolve
        with unittest.mock.patch.dict(sys.modules, {"django.urls": urls}):
            app = self.wsgi()
            for path in ("/item/17", "/item/18", "/other/17"):
                serve(app, {"PATH_INFO": path, "SCRIPT_NAME": "/below"})
            routes = [request.route for request in self.received(3)]
        self.assertEqual(routes, ["/item/<int:number>/"] * 2 + ["/below/other/<n>"])

    def test_an_error_in_route_fails_no_request(self):
        self.assertEqual(serve(self.wsgi(route=lambda environ: environ["missing"]))["body"], [b"done"])
        self.assertEqual((self.status()["failed"], self.status()["failure"]), (1, "KeyError: 'missing'"))
        self.assertEqual(self.received(1)[0].route, "(no route)")

    def test_threads_are_measured_separately(self):
        spent = []
        app = self.wsgi(lambda environ, start: (spent.append(spin(2)), plain(environ, start))[1])
        threads = [threading.Thread(target=lambda: [serve(app) for _ in range(20)]) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        requests = self.received(160)
        self.assertEqual(sorted(request.number for request in requests), list(range(1, 161)))
        # Waiting for the interpreter lock uses no CPU time.
        rest = [cost / 1e6 - known for cost, known in zip(sorted(request.cpu for request in requests), sorted(spent))]
        self.assertGreaterEqual(min(rest), 0)
        self.assertLess(statistics.mean(rest), 2)

    def test_a_request_that_ends_in_another_thread_is_not_measured(self):
        result = self.wsgi()(dict(ENVIRON), lambda *_: None)
        thread = threading.Thread(target=result.close)
        thread.start()
        thread.join()
        self.assertEqual((self.status()["unmeasured"], self.status()["requests"]), (1, 0))

    def test_lines_do_not_gather_if_all_requests_end_in_another_thread(self):
        app = self.wsgi()
        results = [app(dict(ENVIRON), lambda *_: None) for _ in range(1000)]
        thread = threading.Thread(target=lambda: [result.close() for result in results])
        thread.start()
        thread.join()
        [reporter] = [one for one in _reporter._reporters.values() if one.service == self.service]
        self.assertLess(len(reporter.lines), 300)

    def test_a_full_queue_is_not_tried_again_by_every_request(self):
        app = self.wsgi()
        [reporter] = [one for one in _reporter._reporters.values() if one.service == self.service]
        begin = time.monotonic()
        with unittest.mock.patch.object(reporter._connection, "send", return_value=None) as send:
            for _ in range(1000):
                serve(app)
            # Also by requests that are not measured, because they end in another thread.
            results = [app(dict(ENVIRON), lambda *_: None) for _ in range(1000)]
            thread = threading.Thread(target=lambda: [result.close() for result in results])
            thread.start()
            thread.join()
        most = (time.monotonic() - begin) / 0.005 + 2
        self.assertLess(send.call_count, most)
        self.assertLessEqual(len(reporter.lines), _reporter.MOST_WAITING + _reporter.BATCH)

    def test_a_forked_child_reports_its_own_requests(self):
        app = self.wsgi()
        for _ in range(3):
            serve(app)
        child = os.fork()
        if child == 0:
            serve(app)
            _reporter._at_exit()
            os._exit(0)
        os.waitpid(child, 0)
        requests = self.received(4)
        own = [(request.number, request.began) for request in requests if request.pid == os.getpid()]
        theirs = [(request.number, request.began) for request in requests if request.pid == child]
        self.assertEqual([number for number, _ in own], [1, 2, 3])
        self.assertEqual([number for number, _ in theirs], [1])
        self.assertGreater(theirs[0][1], own[0][1])

    def test_a_child_that_is_forked_without_pythons_hooks_reports_its_own_requests(self):
        app = self.wsgi()
        child = ctypes.PyDLL(None).fork()
        if child == 0:
            # The first one may be a request of the parent, so it is not reported.
            serve(app)
            serve(app)
            _reporter._at_exit()
            os._exit(0)
        os.waitpid(child, 0)
        [request] = self.received(1)
        self.assertEqual((request.pid, request.number), (child, 1))

    def test_batched_lines_are_sent_at_exit(self):
        script = ("import steadyhand, sys\n"
                  "app = steadyhand.wsgi(lambda e, s: [s('200 OK', [])] and [b''], 'exit', 'v', rulers=False, "
                  "socket=sys.argv[1])\n"
                  "for _ in range(100): app({}, lambda *_: None).close()\n")
        done = run(sys.executable, "-c", script, self.listener.path, cwd=PYTHON)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([request.number for request in self.listener.wait_for(100)], list(range(1, 101)))
        self.assertLess(len(self.listener.datagrams), 20, "lines were not batched")


class Agent(ReportingTest):
    def test_a_missing_agent_is_counted_and_found_again(self):
        app = self.wsgi()
        serve(app)
        self.received(1)
        self.listener.die()
        for _ in range(200):
            serve(app)
        _reporter.reporter(self.service, self.listener.path, False).flush()
        status = self.status()
        self.assertEqual((status["sent"], status["dropped"]), (1, 200))
        self.assertIn(self.listener.path, status["agent"])
        os.unlink(self.listener.path)
        self.listener.listen()
        time.sleep(_reporter.RECONNECT_NS / 1e9)
        serve(app)
        self.assertEqual(self.received(2)[-1].number, 202)
        self.assertEqual(self.listener.dropped, 200)

    def test_no_line_is_lost_when_the_agent_restarts(self):
        app = self.wsgi()
        serve(app)
        self.received(1)
        self.listener.die()
        os.unlink(self.listener.path)
        self.listener.listen()
        serve(app)
        self.received(2)
        self.assertEqual((self.status()["dropped"], self.listener.dropped), (0, 0))

    def test_requests_do_not_wait_for_a_slow_agent(self):
        # Sockets have this time limit then, and would wait for it.
        self.addCleanup(socket.setdefaulttimeout, socket.getdefaulttimeout())
        socket.setdefaulttimeout(5)
        app = self.wsgi()
        self.listener.ending = True
        self.listener.thread.join()
        begin = elapsed()
        # So many that some are dropped, also if the queue is long (net.unix.max_dgram_qlen).
        for _ in range(10_000):
            serve(app)
        self.assertLess(elapsed() - begin, 4)
        status = self.status()
        self.assertEqual(status["requests"], status["sent"] + status["dropped"] + status["gathered"])
        self.assertGreater(status["dropped"], 1000)
        while True:
            try:
                self.listener.parse(self.listener.socket.recv(1 << 17))
            except OSError:
                break
        time.sleep(0.06)
        serve(app)
        self.listener.parse(self.listener.socket.recv(1 << 17))
        self.assertEqual(self.listener.dropped, status["dropped"])

    def test_nothing_is_written_to_reused_descriptors(self):
        app = self.wsgi()
        serve(app)
        self.received(1)
        child = os.fork()
        if child == 0:
            # Close the descriptors of the listener and the reporter without Python's knowledge.
            serve(app)
            _reporter._at_exit()
            os.closerange(3, 100)
            reader, writer = os.pipe()
            others = [os.dup(writer) for _ in range(60)]
            serve(app)
            _reporter._at_exit()
            os.set_blocking(reader, False)
            try:
                os._exit(len(os.read(reader, 100)))
            except BlockingIOError:
                os._exit(len(others) - 60)
        _, ended = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(ended), 0)
        self.received(3)


class Datagrams(ReportingTest):
    def test_lines_are_sent_in_batches(self):
        app = self.wsgi()
        with unittest.mock.patch.object(_reporter, "BATCH_NS", 60 * 10**9):
            for _ in range(40):
                serve(app)
                time.sleep(0.01)
        self.received(40)
        # The first request is sent immediately, which shows that the service reports.
        self.assertEqual(len(self.listener.datagrams), 2)

    def test_a_full_batch_is_sent_early_and_a_long_one_in_parts(self):
        app = self.wsgi(version="v" * 500, route=lambda environ: "/" + "r" * 499, classify=lambda environ: "c" * 500)
        for _ in range(_reporter.BATCH + 1):
            serve(app)
        requests = self.listener.wait_for(_reporter.BATCH + 1)
        self.assertEqual([request.number for request in requests], list(range(1, _reporter.BATCH + 2)))
        self.assertEqual(len(self.listener.datagrams), 3)
        self.assertEqual((self.status()["sent"], self.status()["dropped"]), (_reporter.BATCH + 1, 0))


class ProcessCpu(ReportingTest):
    """Readings of the CPU time of the process and of its requests."""

    def test_cpu_time_outside_of_requests_is_reported(self):
        app = self.wsgi(lambda environ, start: (spin(10), plain(environ, start))[1])

        def elsewhere(environ, start_response):
            # Another thread does the work of the request.
            thread = threading.Thread(target=spin, args=(30,))
            thread.start()
            thread.join()
            return plain(environ, start_response)

        for handed_on in (False, True):
            self.received(len(self.listener.requests))
            served = self.wsgi(elsewhere) if handed_on else app
            serve(app)
            received = self.received(len(self.listener.requests) + 1)
            first = self.listener.readings[-1]
            for _ in range(10):
                serve(served)
            received = self.received(len(received) + 10)
            process, requests = self.between(first, self.listener.readings[-1])
            self.assertEqual(requests, sum(request.cpu for request in received[-10:]))
            if handed_on:
                self.assertGreater(process - requests, 300e6)
            else:
                self.assertGreater(requests, 100e6)
                self.assertLess(process - requests, 0.2 * process)
            self.assertEqual(self.listener.readings[-1].more, {"version": "v1"})

    def test_the_servers_own_cpu_time_is_left_out(self):
        app = self.wsgi(lambda environ, start: (spin(5), plain(environ, start))[1])
        serve(app)
        self.received(1)
        for _ in range(20):
            # The server's own work between requests.
            spin(5)
            serve(app)
        self.received(21)
        process, requests = self.between(self.listener.readings[0], self.listener.readings[-1])
        # Other threads of the test use CPU time, too.
        self.assertTrue(requests <= process < 1.3 * requests, (process, requests))

    def test_an_unmeasured_request_does_not_count_for_the_server(self):
        app = self.wsgi()
        serve(app)
        self.received(1)
        response = self.wsgi(lambda environ, start: (spin(50), plain(environ, start))[1])(dict(ENVIRON), lambda *_: None)
        thread = threading.Thread(target=response.close)
        thread.start()
        thread.join()
        serve(app)
        self.received(2)
        process, requests = self.between(self.listener.readings[0], self.listener.readings[-1])
        self.assertEqual(self.status()["unmeasured"], 1)
        self.assertGreater(process - requests, 50e6)

    def test_readings_of_several_versions_name_no_version(self):
        app = steadyhand.split(plain, plain, self.service, ("v1", "v2"), rulers=False, socket=self.listener.path)
        serve(app)
        self.received(1)
        self.assertEqual([reading.more for reading in self.listener.readings], [{}])
        for version in ("v1", "v2"):
            serve(self.wsgi(version=version))
        self.received(3)
        self.assertEqual(self.listener.readings[-1].more, {})
        serve(self.wsgi(version="v2"))
        self.received(4)
        self.assertEqual(self.listener.readings[-1].more, {"version": "v2"})

    def test_each_slot_has_its_own_readings(self):
        app = steadyhand.switchback(lambda environ, start: (spin(4), plain(environ, start))[1], plain, self.service,
                                    ("v1", "v2"), seconds=1, rulers=False, socket=self.listener.path)
        end, count = time.monotonic() + 4.2, 0
        while time.monotonic() < end:
            serve(app)
            time.sleep(0.01)
            count += 1
        requests = self.received(count)
        slots = {}
        for before, reading in zip(self.listener.readings, self.listener.readings[1:]):
            process, explained = self.between(before, reading)
            # A reading without a slot contains no requests.
            self.assertTrue(reading.more or explained == 0, reading.more)
            if reading.more:
                slots[reading.more["slot"]] = slots.get(reading.more["slot"], 0) + explained
                # A reading takes the CPU clocks of the thread and of the process one after the other.
                self.assertGreaterEqual(process, explained - 50_000)
        expected = {}
        for request in requests[1:]:
            expected[request.more["slot"]] = expected.get(request.more["slot"], 0) + request.cpu
        for slot, cpu in slots.items():
            # The first request may be before or after the first reading.
            self.assertIn(cpu, (expected.get(slot), expected.get(slot, 0) + requests[0].cpu), slot)
        self.assertGreaterEqual(len(slots), 4)

    def test_a_reading_after_lost_lines_names_no_version(self):
        app = self.wsgi()
        serve(app)
        self.received(1)
        self.listener.die()
        serve(app)
        _reporter.reporter(self.service, self.listener.path, False).flush()
        os.unlink(self.listener.path)
        self.listener.listen()
        time.sleep(_reporter.RECONNECT_NS / 1e9)
        serve(app)
        self.received(2)
        first, last = self.listener.readings
        self.assertEqual(last.more, {})
        # It includes the CPU time of the requests whose lines were lost.
        self.assertGreater(last.requests_cpu - first.requests_cpu, self.listener.requests[-1].cpu)
        serve(app)
        self.received(3)
        self.assertEqual(self.listener.readings[-1].more, {"version": "v1"})


class Classes(ReportingTest):
    def test_the_class_is_determined_before_the_version(self):
        versions_before, chosen = [], []
        app = self.wsgi(classify=lambda environ: versions_before.append(len(chosen)) or environ["HTTP_X_TIER"])
        choose, app._fixed = app._choose, None
        app._choose = lambda: chosen.append(1) or choose()
        for tier in ("large", "odd\tname", "large"):
            serve(app, {"HTTP_X_TIER": tier})
        self.assertEqual([request.more["class"] for request in self.received(3)], ["large", "odd\\tname", "large"])
        self.assertEqual((versions_before, len(chosen)), ([0, 1, 2], 3))

    def test_the_number_of_classes_is_limited(self):
        app = self.wsgi(classify=lambda environ: environ["PATH_INFO"])
        for number in range(40):
            serve(app, {"PATH_INFO": f"{number % 20}"})
        classes = [request.more["class"] for request in self.received(40)]
        self.assertEqual(classes[:20], [str(number) for number in range(16)] + ["(other)"] * 4)
        self.assertEqual(classes[20:], classes[:20])

    def test_requests_without_a_class_or_with_an_invalid_one(self):
        names = iter([None, "", {}, "hit"])
        app = self.wsgi(classify=lambda environ: next(names))
        for _ in range(5):
            self.assertEqual(serve(app)["body"], [b"done"])
        self.assertEqual([request.more.get("class") for request in self.received(5)], [None, None, None, "hit", None])
        # An unhashable name, and the end of the iterator.
        self.assertEqual(self.status()["failed"], 2)

    def test_every_kind_of_application_has_classes(self):
        options = {"classify": lambda request: "hit", "rulers": False, "socket": self.listener.path}
        serve(steadyhand.split(plain, plain, self.service, ("a", "b"), **options))
        serve(steadyhand.switchback(plain, plain, self.service, ("a", "b"), **options))

        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message):
            pass

        for made in (steadyhand.asgi(app, self.service, "v", **options),
                     steadyhand.split_asgi(app, app, self.service, ("a", "b"), **options),
                     steadyhand.switchback_asgi(app, app, self.service, ("a", "b"), **options)):
            asyncio.run(made({"type": "http", "path": "/"}, None, send))
        self.assertEqual([request.more["class"] for request in self.received(5)], ["hit"] * 5)


class Versions(ReportingTest):
    def test_the_version_is_random_for_each_request(self):
        app = steadyhand.split(plain, lambda environ, start: [start("201 Created", [])] and [b"new"], self.service,
                               ("old", "new"), share=0.25, rulers=False, socket=self.listener.path)
        for number in range(2000):
            serve(app)
            if number % 50 == 0:
                self.let_receive()
        requests = self.received(2000)
        new = [request for request in requests if request.version == "new"]
        self.assertTrue(400 < len(new) < 600, len(new))
        self.assertTrue(all((request.status == 201) == (request.version == "new") for request in requests))
        self.assertEqual({request.assignment for request in requests}, {"random"})

    def test_children_draw_their_own_versions(self):
        choose = _versions.coin("old", "new", ("1", "2"), 0.5)
        drawn = set()
        # Some servers fork without Python's hooks.
        for fork in (os.fork, os.fork, ctypes.PyDLL(None).fork, ctypes.PyDLL(None).fork):
            reader, writer = os.pipe()
            child = fork()
            if child == 0:
                os.write(writer, "".join(choose()[1] for _ in range(64)).encode())
                os._exit(0)
            os.waitpid(child, 0)
            drawn.add(os.read(reader, 100))
            os.close(reader)
            os.close(writer)
        self.assertEqual(len(drawn), 4)

    def test_coin_flips_of_slots_are_fair_and_independent(self):
        coins = [_versions.pair_coin("host", "shop", ("v1", "v2"), 2, pair) for pair in range(4000)]
        self.assertTrue(1850 < sum(coins) < 2150, sum(coins))
        repeated = sum(first == second for first, second in zip(coins, coins[1:]))
        self.assertTrue(1850 < repeated < 2150, repeated)
        for other in (("other", "shop", ("v1", "v2"), 2), ("host", "other", ("v1", "v2"), 2),
                      ("host", "shop", ("v1", "v3"), 2), ("host", "shop", ("v1", "v2"), 3)):
            same = sum(_versions.pair_coin(*other, pair) == coin for pair, coin in enumerate(coins))
            self.assertTrue(1850 < same < 2150, same)

    def test_a_slot_has_one_version_and_reports_its_start(self):
        app = steadyhand.switchback(plain, plain, self.service, ("v1", "v2"), seconds=1, rulers=False,
                                    socket=self.listener.path)
        end, times = time.monotonic() + 3.2, []
        while time.monotonic() < end:
            times.append(time.monotonic_ns())
            serve(app)
            time.sleep(0.01)
        slots = {}
        for before, request in zip(times, self.received(len(times))):
            self.assertEqual(request.assignment, "slot")
            length, begin = map(int, request.more["slot"].split(":"))
            self.assertEqual(length, 1)
            # The slot is chosen between these times.
            self.assertTrue(before < (begin + 1) * 10**9 and begin * 10**9 <= request.end - request.wall <= request.end)
            slots.setdefault(begin, set()).add(request.version)
        self.assertTrue(all(len(versions) == 1 for versions in slots.values()), slots)
        whole = [begin for begin in slots if begin % 2 == 0 and begin + 1 in slots]
        self.assertTrue(whole)
        for begin in whole:
            self.assertEqual(slots[begin] | slots[begin + 1], {"v1", "v2"})

    def test_a_request_belongs_to_the_slot_in_which_it_begins(self):
        served = {}

        def version(name):
            def app(environ, start_response):
                served[environ["seconds"]] = name
                time.sleep(environ["seconds"])
                return plain(environ, start_response)
            return app

        app = steadyhand.switchback(version("v1"), version("v2"), self.service, ("v1", "v2"), seconds=1, rulers=False,
                                    socket=self.listener.path)
        # It lasts three slots, while this thread serves requests of the later slots.
        long_request = threading.Thread(target=serve, args=(app, {"seconds": 2.2}))
        before = time.monotonic_ns()
        long_request.start()
        count = 1
        while long_request.is_alive():
            serve(app, {"seconds": 0.05})
            count += 1
        requests = self.received(count)
        [spanning] = [request for request in requests if request.wall > 2e9]
        length, begin = map(int, spanning.more["slot"].split(":"))
        start = spanning.end - spanning.wall
        self.assertTrue(before < (begin + length) * 10**9 and begin * 10**9 <= start)
        self.assertGreater(spanning.end, (begin + 2 * length) * 10**9)
        self.assertEqual(spanning.version, served[2.2])
        self.assertGreater(len({request.more["slot"] for request in requests}), 2)

    def test_invalid_arguments_are_refused(self):
        for wrong in (lambda: steadyhand.split(plain, plain, "s", ("a", "a")),
                      lambda: steadyhand.split(plain, plain, "s", ("a", "b"), share=1),
                      lambda: steadyhand.switchback(plain, plain, "s", ("a", "b"), seconds=0.5),
                      lambda: steadyhand.wsgi(plain, "s", "v", assigned="random"),
                      lambda: steadyhand.wsgi(plain, "s", ""),
                      lambda: steadyhand.wsgi(plain, "", "v"),
                      lambda: steadyhand.wsgi(plain, 501 * "s", "v"),
                      lambda: steadyhand.wsgi(plain, "s", 251 * "ü"),
                      lambda: steadyhand.split(plain, plain, "s", "ab"),
                      lambda: steadyhand.split(plain, plain, "s", ("a",)),
                      lambda: steadyhand.asgi(plain, "", "v"),
                      lambda: steadyhand.split(plain, plain, "s", ("", "b")),
                      lambda: steadyhand.switchback(plain, plain, "s", ("a", "")),
                      lambda: steadyhand.wsgi(plain, "s", "v", rulers=("icode", "ruler"))):
            self.assertRaises(ValueError, wrong)


class Routes(unittest.TestCase):
    def test_variable_parts_of_paths_are_replaced(self):
        for path, template in (("/", "/"), ("", ""), ("/item/17/edit", "/item/<n>/edit"), ("/v2/a1", "/v2/a1"),
                               ("/u/0B5CE3F4-6f7c-4c57-a7a8-2d5f9a4ab1c2", "/u/<n>"), ("/c/deadbeef01", "/c/<n>"),
                               ("/facade/decade", "/facade/decade"), ("/2024/11/21/", "/<n>/<n>/<n>/")):
            self.assertEqual(_routes.normalised(path), template)

    def test_the_number_of_routes_is_limited(self):
        routes = _routes.Routes(None, self.fail)
        found = {routes.of_environ({"PATH_INFO": f"/{chr(97 + number % 26)}x{number}y"}) for number in range(9000)}
        self.assertEqual(len(found), _routes.MOST_TEMPLATES + 1)
        self.assertIn("(other)", found)
        self.assertLessEqual(len(routes._paths), _routes.MOST_PATHS)

    def test_paths_are_decoded_from_their_bytes(self):
        path = "/caf\N{LATIN SMALL LETTER E WITH ACUTE}".encode().decode("latin-1")
        self.assertEqual(_routes.Routes(None, self.fail).of_environ({"PATH_INFO": path}), "/café")

    def test_fields_are_cut_between_characters(self):
        self.assertEqual(len(_text.field("\N{SNOWMAN}" * 400).encode()), 498)
        self.assertEqual(_text.field("x" * 499 + "\t"), "x" * 499)
        self.assertEqual(_text.field("x" * 498 + "\\\\"), "x" * 498 + "\\\\")


    def test_routes_below_mounts_have_the_prefix_of_the_mount(self):
        def route(path, **more):
            return types.SimpleNamespace(path_format=path, **more)

        endpoints = [object(), object(), object()]
        inner, other, hidden = (route("/item/{id}", endpoint=endpoint) for endpoint in endpoints)
        mounts = [route("/a/{path}", routes=[inner], app="1"), route("/b/{path}", routes=[other], app="2")]
        leaf = route("/static/{path}", routes=[], app="files")
        wrapped = route("/c/{path}", routes=[], app="wrapped")
        router = types.SimpleNamespace(routes=[*mounts, leaf, wrapped])
        routes = _routes.Routes(None, self.fail)
        for scope, template in (({"route": inner}, "/a/item/{id}"), ({"route": other}, "/b/item/{id}"),
                                ({"route": mounts[0]}, "(no route)"), ({"route": leaf}, "/static/{path}"),
                                ({"route": hidden, "root_path": "/x/c/17", "app_root_path": "/x"}, "/c/<n>/item/{id}"),
                                ({"endpoint": "files", "path_params": {}}, "/static/{path}"),
                                ({"endpoint": endpoints[0], "path_params": {"id": 1}}, "/a/item/{id}"),
                                ({"endpoint": "1", "path_params": {}}, "(no route)")):
            self.assertEqual(routes.of_scope({"router": router, **scope}), template, scope)


class Rulers(ReportingTest):
    def setUp(self):
        super().setUp()
        if _reporter._rulers.library()[0] is None:
            self.skipTest(f"no rulers: {_reporter._rulers.library()[1]}")

    def readings(self):
        """Returns the number of rulers so far, of all kinds."""
        return sum(self.status()["rulers"]["samples"].values())

    def test_some_requests_have_a_ruler_within_the_budget(self):
        app = self.wsgi(rulers=True)
        begin, count = time.monotonic(), 0
        while time.monotonic() - begin < 30 and self.readings() <= 60:
            serve(app)
            count += 1
            if count % 50 == 0:
                self.let_receive()
        spent_ns = self.status()["rulers"]["spent_ratio"] * (time.monotonic_ns() - _reporter.reporter(
            self.service, self.listener.path, True).began)
        requests = self.received(count)
        kinds = [request.more["ruler"].split(":") for request in requests if "ruler" in request.more]
        self.assertGreater(len(kinds), 60)
        self.assertEqual({kind for kind, _ in kinds}, set(_reporter._rulers.USUAL))
        self.assertTrue(all(1_000 < int(took) < 50_000_000 for _, took in kinds), kinds)
        watched = [request for request in requests if "delay" in request.more]
        self.assertTrue(all("ruler" in request.more for request in watched))
        self.assertTrue(0 < len(watched) < len(kinds), len(watched))
        # The first rulers are planned before their cost is known, and allocate their memory.
        self.assertLess(spent_ns / count, 3 * _reporter._rulers.REQUEST_BUDGET_NS)

    def test_the_frequency_of_rulers_follows_from_their_cost(self):
        rulers = _reporter._rulers
        for rate, per_request in ((20, rulers.REQUEST_BUDGET_NS), (200, rulers.REQUEST_BUDGET_NS),
                                  (5000, rulers.CPU_BUDGET * 1e9 / 5000)):
            time_ns = [0]
            planned = rulers.Rulers(rulers.KINDS, clock=lambda: time_ns[0])
            costs = (200_000, 60_000, 30_000, 30_000)
            planned._group = [(kind, cost) for kind, cost in enumerate(costs) for _ in range(3)]
            planned._passed, time_ns[0] = rate * 10, 10_000_000_000
            planned._plan()
            # Every kind gets the same time, so cheap ones run more often.
            counts = [planned._next.count(kind) for kind in range(4)]
            spent = [count * cost for count, cost in zip(counts, costs)]
            self.assertLess(max(spent[1:]) / min(spent[1:]), 1.5, counts)
            self.assertGreaterEqual(counts[0], 1)
            mean_cost = 4 / sum(1 / cost for cost in costs)
            gaps = [planned.gap() for _ in range(20_000)]
            between = sum(gaps) / len(gaps) + 1
            self.assertLess(abs(mean_cost / between / per_request - 1), 0.05, (rate, between))

    def test_only_the_requested_kinds_run(self):
        app = self.wsgi(rulers=("syscall",))
        for _ in range(300):
            serve(app)
            time.sleep(0.0001)
        kinds = {request.more["ruler"].split(":")[0] for request in self.received(300) if "ruler" in request.more}
        self.assertEqual(kinds, {"syscall"})

    def test_requests_are_reported_without_the_library(self):
        script = ("import steadyhand, sys\n"
                  "sys.executable = ''\n"
                  "app = steadyhand.wsgi(lambda e, s: [s('200 OK', [])] and [b''], 's', 'v', socket=sys.argv[1])\n"
                  "app({}, lambda *_: None).close()\n"
                  "print(steadyhand.status()[0]['rulers']['why_none'])\n")
        done = run(sys.executable, "-c", script, self.listener.path, cwd=PYTHON, env={"PATH": "/nowhere"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("no program 'steady'", done.stdout)
        self.assertEqual(len(self.listener.wait_for(1)), 1)


class Asgi(ReportingTest):
    SCOPE = {"type": "http", "method": "GET", "path": "/item/17"}

    def setUp(self):
        super().setUp()
        # The CPU time of each request of `stepwise`, in ms.
        self.spent = []

    def asgi(self, app, **options):
        options.setdefault("rulers", False)
        return steadyhand.asgi(app, self.service, "v1", socket=self.listener.path, **options)

    def call(self, *apps, scope=SCOPE):
        sent = []

        async def send(message):
            await asyncio.sleep(0)
            sent.append(message)

        async def all_of_them():
            return await asyncio.gather(*(app(dict(scope), None, send) for app in apps), return_exceptions=True)

        return asyncio.run(all_of_them()), sent

    async def stepwise(self, scope, receive, send):
        spent = 0
        for _ in range(4):
            spent += spin(2)
            await asyncio.sleep(0.005)
        self.spent.append(spent)
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    def test_interleaved_requests_are_measured_separately(self):
        app = self.asgi(self.stepwise)
        self.call(*[app] * 10)
        requests = self.received(10)
        self.assert_costs(requests, self.spent, 8)
        for request in requests:
            self.assertEqual((request.status, request.route), (202, "/item/<n>"))
            # Each request sleeps for 20 ms.
            self.assertGreater(request.wall, request.cpu + 19e6)

    def test_errors_reach_the_server(self):
        async def broken(scope, receive, send):
            await asyncio.sleep(0)
            raise KeyError("own")

        async def ended(scope, receive, send):
            asyncio.current_task().cancel()
            await asyncio.sleep(1)

        outcomes, _ = self.call(self.asgi(broken), self.asgi(ended))
        self.assertEqual([type(outcome) for outcome in outcomes], [KeyError, asyncio.CancelledError])
        self.assertEqual([request.status for request in self.received(2)], [0, 0])

    def test_a_status_may_be_an_enum_or_anything_else(self):
        def answering(status):
            async def app(scope, receive, send):
                await send({"type": "http.response.start", "status": status, "headers": []})
                await send({"type": "http.response.body", "body": b""})
            return self.asgi(app)

        self.call(*map(answering, (http.HTTPStatus.NOT_FOUND, "201 Created", None, 200)))
        self.assertEqual(sorted(request.status for request in self.received(4)), [0, 200, 201, 404])
        self.assertEqual(self.status()["failed"], 0)

    def test_a_header_contains_the_cpu_time_so_far(self):
        _, sent = self.call(self.asgi(self.stepwise, server_timing=True))
        [(name, value)] = sent[0]["headers"]
        self.assertEqual(name, b"server-timing")
        self.assertTrue(8 <= float(value.split(b"=")[1]) < 50, value)

    def test_other_protocols_are_passed_through(self):
        async def app(scope, receive, send):
            await send({"type": "websocket.close"})

        _, sent = self.call(self.asgi(app), scope={"type": "websocket"})
        self.assertEqual((sent, self.status()["requests"]), ([{"type": "websocket.close"}], 0))

    def test_both_versions_are_started_and_served(self):
        seen, states = [], set()

        def version(name):
            async def app(scope, receive, send):
                if scope["type"] == "lifespan":
                    scope["state"]["name"] = name
                    for event in ("startup", "shutdown"):
                        seen.append((name, (await receive())["type"]))
                        await send({"type": f"lifespan.{event}.complete"})
                else:
                    states.add((name, scope["state"]["name"]))
                    scope["steadyhand.route"] = f"/of {name}"
                    await self.stepwise(scope, receive, send)
            return app

        app = steadyhand.split_asgi(version("a"), version("b"), self.service, ("a", "b"), rulers=False,
                                    socket=self.listener.path)
        events, answers = iter(["lifespan.startup", "lifespan.shutdown"]), []

        async def life():
            async def receive():
                return {"type": next(events)}

            async def send(message):
                answers.append(message["type"])

            await app({"type": "lifespan", "state": {}}, receive, send)

        asyncio.run(life())
        self.assertEqual(answers, ["lifespan.startup.complete", "lifespan.shutdown.complete"])
        self.assertEqual(sorted(seen), [(name, f"lifespan.{event}") for name in "ab" for event in ("shutdown", "startup")])
        self.call(*[app] * 40)
        routes = {(request.version, request.route) for request in self.received(40)}
        self.assertEqual(routes, {("a", "/of a"), ("b", "/of b")})
        self.assertEqual(states, {("a", "a"), ("b", "b")})


class Follow(ReportingTest):
    """The CPU time of tasks and threads that requests start."""

    def costs(self, app, count=1):
        """Serves requests one after the other on one loop and returns their CPU times in milliseconds."""
        wrapped = steadyhand.asgi(app, self.service, "v1", rulers=False, socket=self.listener.path)

        async def send(message):
            pass

        async def serve_all():
            for _ in range(count):
                # Servers run each request as a task.
                await asyncio.ensure_future(wrapped({"type": "http", "path": "/"}, None, send))

        asyncio.run(serve_all())
        return [request.cpu / 1e6 for request in self.received(count)]

    def test_tasks_and_threads_count_for_the_request(self):
        spent = []

        async def step():
            spent[-1] += spin(2)
            await asyncio.sleep(0.001)
            spent[-1] += spin(2)

        async def child():
            await asyncio.gather(step(), step())

        async def app(scope, receive, send):
            spent.append(spin(2))
            await asyncio.gather(step(), asyncio.ensure_future(child()))
            spent[-1] += await asyncio.to_thread(spin, milliseconds=6)

        rest = [cost - known for cost, known in zip(self.costs(app, 5), spent)]
        self.assertGreaterEqual(min(spent), 20)
        self.assertGreaterEqual(min(rest), 0)
        self.assertLess(statistics.median(rest), 3)

    def test_requests_in_the_context_of_an_earlier_one_are_not_counted_twice(self):
        contexts, spent = [], []

        async def app(scope, receive, send):
            contexts.append(contextvars.copy_context())
            spent.append(spin(10))

        wrapped = steadyhand.asgi(app, self.service, "v1", rulers=False, socket=self.listener.path)

        def serve():
            return asyncio.ensure_future(wrapped({"type": "http", "path": "/"}, None, None))

        async def serve_all():
            await serve()
            before = _follow._stepped
            # As asyncio does for a connection on which reading was paused and resumed by the first request.
            await contexts[0].run(serve)
            return (_follow._stepped - before) / 1e6

        counted = asyncio.run(serve_all())
        self.assertTrue(spent[1] <= counted < 1.5 * spent[1], (spent, counted))
        self.received(2)

    def test_functions_in_threads_get_all_their_arguments(self):
        async def app(scope, receive, send):
            found.append(await asyncio.to_thread(dict, cost=1, function=2))
            found.append(await asyncio.to_thread(*[dict], args=3))

        found = []
        self.costs(app, 1)
        self.assertEqual(found, [{"cost": 1, "function": 2}, {"args": 3}])

    def test_work_after_the_end_of_the_request_does_not_count(self):
        going, spent = [], []

        async def later(begin):
            await begin.wait()
            spin(20)

        async def app(scope, receive, send):
            spent.append(spin(2))
            if going:
                # The work of the first request is done during the second one.
                begin, task = going
                begin.set()
                await task
            else:
                begin = asyncio.Event()
                going.extend((begin, asyncio.ensure_future(later(begin))))

        for cost, known in zip(self.costs(app, 2), spent):
            self.assertTrue(known <= cost < known + 8, (cost, spent))

    def test_tasks_of_interleaved_requests_are_measured_separately(self):
        spent = {}

        async def step(milliseconds):
            total = 0
            for _ in range(5):
                total += spin(milliseconds / 5)
                await asyncio.sleep(0)
            return total

        async def app(scope, receive, send):
            spent[scope["number"]] = sum(await asyncio.gather(step(scope["cost"]), asyncio.to_thread(spin, scope["cost"])))

        wrapped = steadyhand.asgi(app, self.service, "v1", rulers=False, socket=self.listener.path,
                                  route=lambda scope: scope["number"])

        async def serve_all():
            await asyncio.gather(*(asyncio.ensure_future(wrapped({"type": "http", "number": str(number), "cost": cost}, None, None))
                                   for number, cost in enumerate((20, 60, 20, 60))))

        asyncio.run(serve_all())
        for request in self.received(4):
            known, cost = spent[request.route], request.cpu / 1e6
            self.assertTrue(known <= cost < known * 1.15 + 2, (request.route, known, cost))

    def test_tasks_behave_as_without_the_middleware(self):
        seen = {}

        async def fails():
            await asyncio.sleep(0)
            raise KeyError("own")

        async def waits():
            try:
                await asyncio.sleep(10)
            finally:
                seen["cleaned"] = True

        async def never():
            seen["started"] = True

        async def app(scope, receive, send):
            task = asyncio.ensure_future(fails())
            seen["name"] = task.get_coro().__qualname__
            with self.assertRaisesRegex(KeyError, "own"):
                await task
            task = asyncio.ensure_future(waits())
            await asyncio.sleep(0)
            seen["state"] = inspect.getcoroutinestate(task.get_coro())
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            # Cancelled before its first step.
            task = asyncio.ensure_future(never())
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            with self.assertRaises(ZeroDivisionError):
                await asyncio.to_thread(lambda: 1 // 0)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.costs(app)
            gc.collect()
        self.assertEqual(self.received(1)[0].status, 0)
        self.assertEqual(seen["state"], inspect.CORO_SUSPENDED)
        self.assertTrue(seen["cleaned"])
        self.assertNotIn("started", seen)
        self.assertTrue(seen["name"].endswith("fails"), seen["name"])

    def test_an_existing_task_factory_is_kept(self):
        made = []

        async def main():
            def factory(loop, coroutine, **options):
                made.append(coroutine)
                return asyncio.Task(coroutine, loop=loop, **options)

            asyncio.get_running_loop().set_task_factory(factory)
            wrapped = steadyhand.asgi(app, self.service, "v1", rulers=False, socket=self.listener.path)
            await wrapped({"type": "http", "path": "/"}, None, None)
            self.assertEqual(len(made), 1)

        async def app(scope, receive, send):
            await asyncio.ensure_future(asyncio.sleep(0))

        asyncio.run(main())
        self.received(1)

    def test_cpu_time_outside_of_requests_under_a_loop(self):
        async def later(milliseconds):
            await asyncio.sleep(0)
            spent.append(spin(milliseconds))

        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                # A task that the application starts outside of requests.
                asyncio.ensure_future(later(40))
            else:
                asyncio.ensure_future(later(20))
                spin(5)

        for follow, least, slack in ((True, 80, 20), (False, 120, 40)):
            spent, of_server = [], []
            wrapped = steadyhand.asgi(app, f"{self.service} {follow}", "v1", rulers=False, socket=self.listener.path, follow=follow)
            requests, readings = len(self.listener.requests), len(self.listener.readings)

            async def served(scope):
                await asyncio.ensure_future(wrapped(scope, None, None))
                await asyncio.sleep(0.01)

            async def server():
                await served({"type": "http", "path": "/"})
                await served({"type": "lifespan"})
                # The server's own CPU time.
                of_server.append(spin(40))
                await served({"type": "http", "path": "/"})
                await served({"type": "lifespan"})

            with unittest.mock.patch.object(_reporter, "BATCH_NS", 60 * 10**9):
                asyncio.run(server())
            self.listener.wait_for(requests + 2)
            process, of_requests = self.between(*self.listener.readings[readings:])
            unexplained = (process - of_requests) / 1e6
            # The last task runs after the last reading. A reading takes the CPU clocks one after the other.
            known = sum(spent[:3]) + (0 if follow else sum(of_server))
            self.assertTrue(least <= known < unexplained + 0.05 < known + slack, (follow, known, unexplained))

    def test_requests_of_other_services_under_a_loop_are_left_out(self):
        def app(milliseconds):
            async def app(scope, receive, send):
                await asyncio.sleep(0)
                spin(milliseconds)
            return app

        own = steadyhand.asgi(app(5), self.service, "v1", rulers=False, socket=self.listener.path)
        others = [steadyhand.asgi(app(20), f"{self.service} {number}", "v1", rulers=False, socket=self.listener.path, follow=number == 1)
                  for number in (1, 2)]

        async def server():
            for wrapped in [own, *4 * [*others, own]]:
                await asyncio.ensure_future(wrapped({"type": "http", "path": "/"}, None, None))
            _reporter.reporter(self.service, self.listener.path, False).flush()

        asyncio.run(server())
        self.listener.wait_for(5)
        first, *_, last = [reading for reading in self.listener.readings if reading.service == self.service]
        process, requests = self.between(first, last)
        self.assertTrue(0.9 * requests <= process < 1.3 * requests, (process, requests))

    def test_a_loop_sends_the_last_lines_of_a_burst(self):
        async def app(scope, receive, send):
            pass

        wrapped = steadyhand.asgi(app, self.service, "v1", rulers=False, socket=self.listener.path)

        async def burst():
            for _ in range(5):
                await wrapped({"type": "http", "path": "/"}, None, None)
            await asyncio.sleep(_reporter.BATCH_NS / 1e9 + 0.3)

        asyncio.run(burst())
        self.assertEqual(len(self.listener.wait_for(5)), 5)


folder = steady_folder()
if folder:
    os.environ["PATH"] = folder + os.pathsep + os.environ.get("PATH", "")

if __name__ == "__main__":
    unittest.main()
