"""What the middleware tells, without a server: each test calls an application as servers do."""

import asyncio
import gc
import inspect
import os
import statistics
import sys
import threading
import time
import unittest
import uuid
import warnings

from listener import Listener, Told, run, steady_folder, PYTHON

import steadyhand
from steadyhand import _routes, _reporter, _text, _versions

ENVIRON = {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": "/item/17"}


def spin(milliseconds: float):
    """So much CPU time."""
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass


def plain(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done"]


def serve(app, environ=None, parts=None):
    """Calls an application as a server does: all its parts, or so many of them; what it answered."""
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
    """The time in seconds, less what this thread waited for a CPU (proc_pid_schedstat(5))."""
    with open("/proc/thread-self/schedstat") as file:
        return time.monotonic() - int(file.read().split()[1]) / 1e9


class Telling(unittest.TestCase):
    """A listener of the test's own, and a service of a name that no other test has."""

    def setUp(self):
        self.listener = Listener()
        self.addCleanup(self.listener.close)
        self.service = f"service {uuid.uuid4()}"

    def wsgi(self, app=plain, version="v1", **options):
        options.setdefault("rulers", False)
        return steadyhand.wsgi(app, self.service, version, socket=self.listener.path, **options)

    def told(self, count: int) -> "list[Told]":
        for reporter in _reporter._reporters.values():
            if reporter.service == self.service:
                reporter.flush()
        requests = self.listener.wait_for(count)
        self.assertEqual(len(requests), count)
        return requests

    def between(self, first, last):
        return last.process_cpu - first.process_cpu, last.requests_cpu - first.requests_cpu

    def status(self):
        return next(status for status in steadyhand.status() if status["service"] == self.service)


class Wsgi(Telling):
    def test_a_request_is_told(self):
        before = time.monotonic_ns()
        app = self.wsgi(lambda environ, start: (spin(5), plain(environ, start))[1])
        self.assertEqual(serve(app)["body"], [b"done"])
        [told] = self.told(1)
        self.assertEqual((told.service, told.pid, told.number), (self.service, os.getpid(), 1))
        self.assertEqual((told.version, told.route, told.status), ("v1", "/item/<n>", 200))
        self.assertEqual((told.assignment, told.more), ("none", {}))
        self.assertTrue(before < told.end < time.monotonic_ns())
        self.assertTrue(5e6 <= told.cpu < 50e6, told.cpu)
        self.assertGreaterEqual(told.wall, 5e6)
        self.assertLess(told.began, told.end - told.wall)

    def test_streams_are_measured_to_their_end(self):
        def app(environ, start_response):
            start_response("201 Created", [])
            return Stream()

        class Stream:
            def __iter__(self):
                for _ in range(3):
                    spin(4)
                    yield b"part"

            def close(self):
                spin(4)

        self.assertEqual(serve(self.wsgi(app))["body"], [b"part"] * 3)
        self.assertEqual(len(serve(self.wsgi(app), parts=1)["body"]), 1)
        whole, part = self.told(2)
        self.assertGreaterEqual(whole.cpu, 16e6)
        self.assertEqual((whole.status, part.status), (201, 201))
        self.assertTrue(8e6 <= part.cpu < 16e6, part.cpu)

    def test_an_application_that_writes_and_starts_late(self):
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
        self.assertEqual([told.status for told in self.told(2)], [503, 204])

    def test_what_goes_wrong_in_the_application_reaches_the_server_and_has_no_status(self):
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
        self.assertEqual([told.status for told in self.told(3)], [0, 0, 0])

    def test_servers_see_what_they_would(self):
        class Wrapper:
            def __init__(self, file):
                self.file = file

        def file(environ, start_response):
            start_response("200 OK", [])
            return environ["wsgi.file_wrapper"]("file")

        self.assertEqual(len(self.wsgi()(dict(ENVIRON), lambda *_: None)), 1)
        self.assertIsInstance(self.wsgi(file)({**ENVIRON, "wsgi.file_wrapper": Wrapper}, lambda *_: None), Wrapper)
        # What is not closed has not ended; such a file has.
        self.assertEqual([told.number for told in self.told(1)], [1])

    def test_any_text_arrives(self):
        odd = "a\tb\nc\rd\\e\"'\0 \N{SNOWMAN} \N{OLD PERSIAN SIGN A}\ud800"
        serve(self.wsgi(version=odd, route=lambda environ: odd + "/long" * 300))
        [told] = self.told(1)
        expected = odd.replace("\ud800", "?")
        self.assertEqual(told.version, expected)
        self.assertTrue((expected + "/long" * 300).startswith(told.route) and len(told.route) > 400)

    def test_a_header_tells_the_time_so_far(self):
        app = self.wsgi(lambda environ, start: (spin(3), plain(environ, start))[1], server_timing=True)
        headers = serve(app)["headers"]
        self.assertEqual(headers[0], ("Content-Type", "text/plain"))
        name, value = headers[1]
        self.assertEqual(name, "Server-Timing")
        self.assertRegex(value, r"^cpu;dur=\d+\.\d{3}$")
        self.assertTrue(3 <= float(value.split("=")[1]) < 50, value)

    def test_djangos_requests_are_found_among_what_is_closed(self):
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
        self.assertEqual([told.route for told in self.told(3)], ["/item/<int:number>/"] * 2 + ["/item/<n>"])

    def test_a_route_that_cannot_be_told_fails_no_request(self):
        self.assertEqual(serve(self.wsgi(route=lambda environ: environ["missing"]))["body"], [b"done"])
        self.assertEqual((self.status()["failed"], self.status()["failure"]), (1, "KeyError: 'missing'"))
        self.assertEqual(self.told(1)[0].route, "(no route)")

    def test_threads_are_told_apart(self):
        app = self.wsgi(lambda environ, start: (spin(2), plain(environ, start))[1])
        threads = [threading.Thread(target=lambda: [serve(app) for _ in range(20)]) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        requests = self.told(160)
        self.assertEqual(sorted(told.number for told in requests), list(range(1, 161)))
        # Threads that share an interpreter wait for each other, which is no CPU time of theirs.
        self.assertTrue(all(2e6 <= told.cpu < 20e6 for told in requests), max(told.cpu for told in requests))

    def test_what_ends_in_another_thread_is_not_measured(self):
        result = self.wsgi()(dict(ENVIRON), lambda *_: None)
        thread = threading.Thread(target=result.close)
        thread.start()
        thread.join()
        self.assertEqual((self.status()["unmeasured"], self.status()["requests"]), (1, 0))

    def test_a_forked_child_speaks_for_itself(self):
        app = self.wsgi()
        for _ in range(3):
            serve(app)
        child = os.fork()
        if child == 0:
            serve(app)
            _reporter._at_exit()
            os._exit(0)
        os.waitpid(child, 0)
        requests = self.told(4)
        own = [(told.number, told.began) for told in requests if told.pid == os.getpid()]
        theirs = [(told.number, told.began) for told in requests if told.pid == child]
        self.assertEqual([number for number, _ in own], [1, 2, 3])
        self.assertEqual([number for number, _ in theirs], [1])
        self.assertGreater(theirs[0][1], own[0][1])

    def test_what_was_gathered_goes_out_at_the_end(self):
        script = ("import steadyhand, sys\n"
                  "app = steadyhand.wsgi(lambda e, s: [s('200 OK', [])] and [b''], 'exit', 'v', rulers=False, "
                  "socket=sys.argv[1])\n"
                  "for _ in range(100): app({}, lambda *_: None).close()\n")
        done = run(sys.executable, "-c", script, self.listener.path, cwd=PYTHON)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([told.number for told in self.listener.wait_for(100)], list(range(1, 101)))
        self.assertLess(len(self.listener.datagrams), 20, "they were sent together")


class Agent(Telling):
    def test_a_missing_agent_is_counted_and_found_again(self):
        app = self.wsgi()
        serve(app)
        self.told(1)
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
        self.assertEqual(self.told(2)[-1].number, 202)
        self.assertEqual(self.listener.dropped, 200)

    def test_an_agent_that_was_started_anew_misses_nothing(self):
        app = self.wsgi()
        serve(app)
        self.told(1)
        self.listener.die()
        os.unlink(self.listener.path)
        self.listener.listen()
        serve(app)
        self.told(2)
        self.assertEqual((self.status()["dropped"], self.listener.dropped), (0, 0))

    def test_an_agent_that_does_not_keep_up_is_not_waited_for(self):
        app = self.wsgi()
        self.listener.ending = True
        self.listener.thread.join()
        begin = elapsed()
        for _ in range(2000):
            serve(app)
        self.assertLess(elapsed() - begin, 2)
        status = self.status()
        self.assertEqual(status["requests"], status["sent"] + status["dropped"] + status["gathered"])
        self.assertGreater(status["dropped"], 1000)
        while True:
            try:
                self.listener.take(self.listener.socket.recv(1 << 17))
            except OSError:
                break
        time.sleep(0.06)
        serve(app)
        self.listener.take(self.listener.socket.recv(1 << 17))
        self.assertEqual(self.listener.dropped, status["dropped"])

    def test_a_program_that_closes_everything_gets_nothing_of_ours(self):
        app = self.wsgi()
        serve(app)
        self.told(1)
        child = os.fork()
        if child == 0:
            # The listener's own socket is to be closed without Python's knowing, as the reporter's is.
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
        self.told(3)


class Datagrams(Telling):
    def test_the_lines_of_a_while_share_one(self):
        app = self.wsgi()
        for _ in range(40):
            serve(app)
            time.sleep(0.01)
        self.told(40)
        # The first request is reported at once, so that it is seen that a service reports.
        self.assertEqual(len(self.listener.datagrams), 2)

    def test_many_lines_are_sent_before_their_time_and_long_ones_in_parts(self):
        app = self.wsgi(version="v" * 500, route=lambda environ: "/" + "r" * 499, classify=lambda environ: "c" * 500)
        for _ in range(_reporter.BATCH + 1):
            serve(app)
        requests = self.listener.wait_for(_reporter.BATCH + 1)
        self.assertEqual([told.number for told in requests], list(range(1, _reporter.BATCH + 2)))
        self.assertEqual(len(self.listener.datagrams), 3)
        self.assertEqual((self.status()["sent"], self.status()["dropped"]), (_reporter.BATCH + 1, 0))


class ProcessCpu(Telling):
    """Readings of the CPU time of the process next to that of its requests."""

    def test_what_requests_do_not_explain_is_seen(self):
        app = self.wsgi(lambda environ, start: (spin(10), plain(environ, start))[1])

        def elsewhere(environ, start_response):
            # A request has others do its work.
            thread = threading.Thread(target=spin, args=(30,))
            thread.start()
            thread.join()
            return plain(environ, start_response)

        for handed_on in (False, True):
            self.told(len(self.listener.requests))
            served = self.wsgi(elsewhere) if handed_on else app
            serve(app)
            told = self.told(len(self.listener.requests) + 1)
            first = self.listener.readings[-1]
            for _ in range(10):
                serve(served)
            told = self.told(len(told) + 10)
            process, requests = self.between(first, self.listener.readings[-1])
            self.assertEqual(requests, sum(one.cpu for one in told[-10:]))
            if handed_on:
                self.assertGreater(process - requests, 300e6)
            else:
                self.assertGreater(requests, 100e6)
                self.assertLess(process - requests, 0.2 * process)
            self.assertEqual(self.listener.readings[-1].more, {"version": "v1"})

    def test_what_the_server_does_is_no_part_of_it(self):
        app = self.wsgi(lambda environ, start: (spin(5), plain(environ, start))[1])
        serve(app)
        self.told(1)
        for _ in range(20):
            # As a server does before and after each request.
            spin(5)
            serve(app)
        self.told(21)
        process, requests = self.between(self.listener.readings[0], self.listener.readings[-1])
        # The test has threads of its own.
        self.assertTrue(requests <= process < 1.3 * requests, (process, requests))

    def test_a_request_that_is_not_measured_is_not_the_servers(self):
        app = self.wsgi()
        serve(app)
        self.told(1)
        response = self.wsgi(lambda environ, start: (spin(50), plain(environ, start))[1])(dict(ENVIRON), lambda *_: None)
        thread = threading.Thread(target=response.close)
        thread.start()
        thread.join()
        serve(app)
        self.told(2)
        process, requests = self.between(self.listener.readings[0], self.listener.readings[-1])
        self.assertEqual(self.status()["unmeasured"], 1)
        self.assertGreater(process - requests, 50e6)

    def test_readings_of_several_versions_name_none(self):
        app = steadyhand.split(plain, plain, self.service, ("v1", "v2"), rulers=False, socket=self.listener.path)
        serve(app)
        self.told(1)
        self.assertEqual([reading.more for reading in self.listener.readings], [{}])
        for version in ("v1", "v2"):
            serve(self.wsgi(version=version))
        self.told(3)
        self.assertEqual(self.listener.readings[-1].more, {})
        serve(self.wsgi(version="v2"))
        self.told(4)
        self.assertEqual(self.listener.readings[-1].more, {"version": "v2"})

    def test_each_slot_has_its_own(self):
        app = steadyhand.switchback(lambda environ, start: (spin(4), plain(environ, start))[1], plain, self.service,
                                    ("v1", "v2"), seconds=1, rulers=False, socket=self.listener.path)
        end, count = time.monotonic() + 4.2, 0
        while time.monotonic() < end:
            serve(app)
            time.sleep(0.01)
            count += 1
        requests = self.told(count)
        slots = {}
        for before, reading in zip(self.listener.readings, self.listener.readings[1:]):
            process, explained = self.between(before, reading)
            # Where a reading is of no one slot, nothing was served.
            self.assertTrue(reading.more or explained == 0, reading.more)
            if reading.more:
                slots[reading.more["slot"]] = slots.get(reading.more["slot"], 0) + explained
                self.assertGreaterEqual(process, explained)
        expected = {}
        for told in requests[1:]:
            expected[told.more["slot"]] = expected.get(told.more["slot"], 0) + told.cpu
        for slot, cpu in slots.items():
            # The first reading has the first request before it.
            self.assertIn(cpu, (expected.get(slot), expected.get(slot, 0) + requests[0].cpu), slot)
        self.assertGreaterEqual(len(slots), 4)

    def test_a_reading_after_lost_ones_names_no_version(self):
        app = self.wsgi()
        serve(app)
        self.told(1)
        self.listener.die()
        serve(app)
        _reporter.reporter(self.service, self.listener.path, False).flush()
        os.unlink(self.listener.path)
        self.listener.listen()
        time.sleep(_reporter.RECONNECT_NS / 1e9)
        serve(app)
        self.told(2)
        first, last = self.listener.readings
        self.assertEqual(last.more, {})
        # The CPU time of requests whose lines were lost is in it.
        self.assertGreater(last.requests_cpu - first.requests_cpu, self.listener.requests[-1].cpu)
        serve(app)
        self.told(3)
        self.assertEqual(self.listener.readings[-1].more, {"version": "v1"})


class Classes(Telling):
    def test_a_class_comes_before_the_version(self):
        asked, chosen = [], []
        app = self.wsgi(classify=lambda environ: asked.append(len(chosen)) or environ["HTTP_X_TIER"])
        choose, app._fixed = app._choose, None
        app._choose = lambda: chosen.append(1) or choose()
        for tier in ("large", "odd\tname", "large"):
            serve(app, {"HTTP_X_TIER": tier})
        self.assertEqual([told.more["class"] for told in self.told(3)], ["large", "odd\\tname", "large"])
        self.assertEqual((asked, len(chosen)), ([0, 1, 2], 3))

    def test_no_more_classes_than_so_many(self):
        app = self.wsgi(classify=lambda environ: environ["PATH_INFO"])
        for number in range(40):
            serve(app, {"PATH_INFO": f"{number % 20}"})
        classes = [told.more["class"] for told in self.told(40)]
        self.assertEqual(classes[:20], [str(number) for number in range(16)] + ["(other)"] * 4)
        self.assertEqual(classes[20:], classes[:20])

    def test_without_a_class_a_request_has_none_and_nothing_fails(self):
        names = iter([None, "", {}, "hit"])
        app = self.wsgi(classify=lambda environ: next(names))
        for _ in range(5):
            self.assertEqual(serve(app)["body"], [b"done"])
        self.assertEqual([told.more.get("class") for told in self.told(5)], [None, None, None, "hit", None])
        # An unhashable name and the end of the names.
        self.assertEqual(self.status()["failed"], 2)

    def test_every_kind_of_application_has_them(self):
        options = {"classify": lambda asked: "hit", "rulers": False, "socket": self.listener.path}
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
        self.assertEqual([told.more["class"] for told in self.told(5)], ["hit"] * 5)


class Versions(Telling):
    def test_a_coin_for_each_request(self):
        app = steadyhand.split(plain, lambda environ, start: [start("201 Created", [])] and [b"new"], self.service,
                               ("old", "new"), share=0.25, rulers=False, socket=self.listener.path)
        for number in range(2000):
            serve(app)
            if number % 50 == 0:
                # The listener is a thread of this very process.
                time.sleep(0.002)
        requests = self.told(2000)
        new = [told for told in requests if told.version == "new"]
        self.assertTrue(400 < len(new) < 600, len(new))
        self.assertTrue(all((told.status == 201) == (told.version == "new") for told in requests))
        self.assertEqual({told.assignment for told in requests}, {"random"})

    def test_children_throw_coins_of_their_own(self):
        choose = _versions.coin("old", "new", ("1", "2"), 0.5)
        thrown = set()
        for _ in range(4):
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(writer, "".join(choose()[1] for _ in range(64)).encode())
                os._exit(0)
            os.waitpid(child, 0)
            thrown.add(os.read(reader, 100))
            os.close(reader)
            os.close(writer)
        self.assertEqual(len(thrown), 4)

    def test_slots_are_the_same_everywhere_and_fair(self):
        coins = [_versions.pair_coin("host", "shop", ("v1", "v2"), 2, pair) for pair in range(4000)]
        self.assertTrue(1850 < sum(coins) < 2150, sum(coins))
        repeated = sum(first == second for first, second in zip(coins, coins[1:]))
        self.assertTrue(1850 < repeated < 2150, repeated)
        for other in (("other", "shop", ("v1", "v2"), 2), ("host", "other", ("v1", "v2"), 2),
                      ("host", "shop", ("v1", "v3"), 2), ("host", "shop", ("v1", "v2"), 3)):
            same = sum(_versions.pair_coin(*other, pair) == coin for pair, coin in enumerate(coins))
            self.assertTrue(1850 < same < 2150, same)

    def test_a_slot_is_of_one_version_and_says_when_it_began(self):
        app = steadyhand.switchback(plain, plain, self.service, ("v1", "v2"), seconds=1, rulers=False,
                                    socket=self.listener.path)
        end, count = time.monotonic() + 3.2, 0
        while time.monotonic() < end:
            serve(app)
            time.sleep(0.01)
            count += 1
        slots = {}
        for told in self.told(count):
            self.assertEqual(told.assignment, "slot")
            length, begin = map(int, told.more["slot"].split(":"))
            self.assertEqual(length, 1)
            self.assertTrue(begin * 10**9 <= told.end - told.wall <= told.end and told.end - told.wall < (begin + 1) * 10**9
                            + 10**7)
            slots.setdefault(begin, set()).add(told.version)
        self.assertTrue(all(len(versions) == 1 for versions in slots.values()), slots)
        whole = [begin for begin in slots if begin % 2 == 0 and begin + 1 in slots]
        self.assertTrue(whole)
        for begin in whole:
            self.assertEqual(slots[begin] | slots[begin + 1], {"v1", "v2"})

    def test_a_request_belongs_to_the_slot_in_which_it_begins(self):
        served = []

        def version(name):
            def app(environ, start_response):
                served.append(name)
                time.sleep(environ["seconds"])
                return plain(environ, start_response)
            return app

        app = steadyhand.switchback(version("v1"), version("v2"), self.service, ("v1", "v2"), seconds=1, rulers=False,
                                    socket=self.listener.path)
        # Three slots long, while another thread serves requests of the slots that follow.
        long_one = threading.Thread(target=serve, args=(app, {"seconds": 2.2}))
        long_one.start()
        count = 1
        while long_one.is_alive():
            serve(app, {"seconds": 0.05})
            count += 1
        requests = self.told(count)
        [spanning] = [told for told in requests if told.wall > 2e9]
        length, begin = map(int, spanning.more["slot"].split(":"))
        start = spanning.end - spanning.wall
        self.assertTrue(begin * 10**9 <= start < (begin + length) * 10**9 + 10**7)
        self.assertGreater(spanning.end, (begin + 2 * length) * 10**9)
        self.assertEqual(spanning.version, served[0])
        self.assertGreater(len({told.more["slot"] for told in requests}), 2)

    def test_what_makes_no_sense_is_refused(self):
        for wrong in (lambda: steadyhand.split(plain, plain, "s", ("a", "a")),
                      lambda: steadyhand.split(plain, plain, "s", ("a", "b"), share=1),
                      lambda: steadyhand.switchback(plain, plain, "s", ("a", "b"), seconds=0.5),
                      lambda: steadyhand.wsgi(plain, "s", "v", assigned="random"),
                      lambda: steadyhand.wsgi(plain, "s", "v", rulers=("icode", "ruler"))):
            self.assertRaises(ValueError, wrong)


class Routes(unittest.TestCase):
    def test_paths_lose_what_is_not_of_the_route(self):
        for path, template in (("/", "/"), ("", ""), ("/item/17/edit", "/item/<n>/edit"), ("/v2/a1", "/v2/a1"),
                               ("/u/0B5CE3F4-6f7c-4c57-a7a8-2d5f9a4ab1c2", "/u/<n>"), ("/c/deadbeef01", "/c/<n>"),
                               ("/facade/decade", "/facade/decade"), ("/2024/11/21/", "/<n>/<n>/<n>/")):
            self.assertEqual(_routes.normalised(path), template)

    def test_no_more_routes_than_so_many(self):
        routes = _routes.Routes(None, self.fail)
        found = {routes.of_environ({"PATH_INFO": f"/{chr(97 + number % 26)}x{number}y"}) for number in range(9000)}
        self.assertEqual(len(found), _routes.MOST_TEMPLATES + 1)
        self.assertIn("(other)", found)
        self.assertLessEqual(len(routes._paths), _routes.MOST_PATHS)

    def test_paths_are_the_text_that_their_bytes_are(self):
        path = "/caf\N{LATIN SMALL LETTER E WITH ACUTE}".encode().decode("latin-1")
        self.assertEqual(_routes.Routes(None, self.fail).of_environ({"PATH_INFO": path}), "/café")

    def test_fields_are_cut_between_letters(self):
        self.assertEqual(len(_text.field("\N{SNOWMAN}" * 400).encode()), 498)
        self.assertEqual(_text.field("x" * 499 + "\t"), "x" * 499)
        self.assertEqual(_text.field("x" * 498 + "\\\\"), "x" * 498 + "\\\\")


class Rulers(Telling):
    def setUp(self):
        super().setUp()
        if _reporter._rulers.library()[0] is None:
            self.skipTest(f"no rulers: {_reporter._rulers.library()[1]}")

    def readings(self):
        """How many there were so far, of all kinds."""
        return sum(self.status()["rulers"]["samples"].values())

    def test_some_requests_have_one_and_few_of_all(self):
        app = self.wsgi(rulers=True)
        begin, count = time.monotonic(), 0
        while time.monotonic() - begin < 30 and self.readings() <= 60:
            serve(app)
            count += 1
            if count % 50 == 0:
                # The listener is a thread of this very process.
                time.sleep(0.002)
        spent_ns = self.status()["rulers"]["spent_ratio"] * (time.monotonic_ns() - _reporter.reporter(
            self.service, self.listener.path, True).began)
        requests = self.told(count)
        kinds = [told.more["ruler"].split(":") for told in requests if "ruler" in told.more]
        self.assertGreater(len(kinds), 60)
        self.assertEqual({kind for kind, _ in kinds}, set(_reporter._rulers.USUAL))
        self.assertTrue(all(1_000 < int(took) < 50_000_000 for _, took in kinds), kinds)
        watched = [told for told in requests if "delay" in told.more]
        self.assertTrue(all("ruler" in told.more for told in watched))
        self.assertTrue(0 < len(watched) < len(kinds), len(watched))
        # The first ones are planned before their cost is known, and get the memory that they use.
        self.assertLess(spent_ns / count, 3 * _reporter._rulers.REQUEST_BUDGET_NS)

    def test_rulers_are_as_frequent_as_their_cost_allows(self):
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

    def test_the_kinds_that_were_asked_for(self):
        app = self.wsgi(rulers=("syscall",))
        for _ in range(300):
            serve(app)
            time.sleep(0.0001)
        kinds = {told.more["ruler"].split(":")[0] for told in self.told(300) if "ruler" in told.more}
        self.assertEqual(kinds, {"syscall"})

    def test_without_a_library_requests_are_told_all_the_same(self):
        script = ("import steadyhand, sys\n"
                  "app = steadyhand.wsgi(lambda e, s: [s('200 OK', [])] and [b''], 's', 'v', socket=sys.argv[1])\n"
                  "app({}, lambda *_: None).close()\n"
                  "print(steadyhand.status()[0]['rulers']['why_none'])\n")
        done = run(sys.executable, "-c", script, self.listener.path, cwd=PYTHON, env={"PATH": "/nowhere"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("no program 'steady'", done.stdout)
        self.assertEqual(len(self.listener.wait_for(1)), 1)


class Asgi(Telling):
    SCOPE = {"type": "http", "method": "GET", "path": "/item/17"}

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

    @staticmethod
    async def stepwise(scope, receive, send):
        for _ in range(4):
            spin(2)
            await asyncio.sleep(0.005)
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    def test_the_steps_of_requests_that_take_turns_are_their_own(self):
        app = self.asgi(self.stepwise)
        self.call(*[app] * 10)
        for told in self.told(10):
            self.assertEqual((told.status, told.route), (202, "/item/<n>"))
            self.assertTrue(8e6 <= told.cpu < 16e6, told.cpu)
            self.assertGreater(told.wall, 2 * told.cpu)

    def test_what_goes_wrong_reaches_the_server(self):
        async def broken(scope, receive, send):
            await asyncio.sleep(0)
            raise KeyError("own")

        async def ended(scope, receive, send):
            asyncio.current_task().cancel()
            await asyncio.sleep(1)

        outcomes, _ = self.call(self.asgi(broken), self.asgi(ended))
        self.assertEqual([type(outcome) for outcome in outcomes], [KeyError, asyncio.CancelledError])
        self.assertEqual([told.status for told in self.told(2)], [0, 0])

    def test_a_header_tells_the_time_so_far(self):
        _, sent = self.call(self.asgi(self.stepwise, server_timing=True))
        [(name, value)] = sent[0]["headers"]
        self.assertEqual(name, b"server-timing")
        self.assertTrue(8 <= float(value.split(b"=")[1]) < 50, value)

    def test_other_protocols_pass(self):
        async def app(scope, receive, send):
            await send({"type": "websocket.close"})

        _, sent = self.call(self.asgi(app), scope={"type": "websocket"})
        self.assertEqual((sent, self.status()["requests"]), ([{"type": "websocket.close"}], 0))

    def test_both_versions_are_started_and_served(self):
        seen = []

        def version(name):
            async def app(scope, receive, send):
                if scope["type"] == "lifespan":
                    for asked in ("startup", "shutdown"):
                        seen.append((name, (await receive())["type"]))
                        await send({"type": f"lifespan.{asked}.complete"})
                else:
                    await self.stepwise(scope, receive, send)
            return app

        app = steadyhand.split_asgi(version("a"), version("b"), self.service, ("a", "b"), rulers=False,
                                    socket=self.listener.path)
        asked, said = iter(["lifespan.startup", "lifespan.shutdown"]), []

        async def life():
            async def receive():
                return {"type": next(asked)}

            async def send(message):
                said.append(message["type"])

            await app({"type": "lifespan"}, receive, send)

        asyncio.run(life())
        self.assertEqual(said, ["lifespan.startup.complete", "lifespan.shutdown.complete"])
        self.assertEqual(sorted(seen), [(name, f"lifespan.{asked}") for name in "ab" for asked in ("shutdown", "startup")])
        self.call(*[app] * 40)
        self.assertEqual({told.version for told in self.told(40)}, {"a", "b"})


class Follow(Telling):
    """Work that a request has others do."""

    def costs(self, app, count=1):
        """The CPU time of requests that are served one after the other on one loop, in milliseconds."""
        wrapped = steadyhand.asgi(app, self.service, "v1", rulers=False, socket=self.listener.path)

        async def send(message):
            pass

        async def serve_all():
            for _ in range(count):
                # As servers do: each request is a task.
                await asyncio.ensure_future(wrapped({"type": "http", "path": "/"}, None, send))

        asyncio.run(serve_all())
        return [told.cpu / 1e6 for told in self.told(count)]

    def test_tasks_and_threads_are_the_requests(self):
        async def step():
            spin(2)
            await asyncio.sleep(0.001)
            spin(2)

        async def child():
            await asyncio.gather(step(), step())

        async def app(scope, receive, send):
            spin(2)
            await asyncio.gather(step(), asyncio.ensure_future(child()))
            await asyncio.to_thread(spin, milliseconds=6)

        costs = self.costs(app, 5)
        self.assertGreaterEqual(min(costs), 20)
        self.assertLess(statistics.median(costs), 23)

    def test_what_goes_on_after_the_request_is_not(self):
        going = []

        async def later():
            await asyncio.sleep(0.01)
            spin(20)

        async def app(scope, receive, send):
            going.append(asyncio.ensure_future(later()))
            spin(2)

        async def last(scope, receive, send):
            await app(scope, receive, send)
            await asyncio.gather(*going[:-1])

        costs = self.costs(app, 2)
        self.assertTrue(all(2 <= cost < 10 for cost in costs), costs)

    def test_requests_that_take_turns_have_their_own_tasks(self):
        async def step(milliseconds):
            for _ in range(5):
                spin(milliseconds / 5)
                await asyncio.sleep(0)

        async def app(scope, receive, send):
            await asyncio.gather(step(scope["cost"]), asyncio.to_thread(spin, scope["cost"]))

        wrapped = steadyhand.asgi(app, self.service, "v1", rulers=False, socket=self.listener.path,
                                  route=lambda scope: str(scope["cost"]))

        async def serve_all():
            await asyncio.gather(*(asyncio.ensure_future(wrapped({"type": "http", "cost": cost}, None, None))
                                   for cost in (20, 60, 20, 60)))

        asyncio.run(serve_all())
        for told in self.told(4):
            cost = int(told.route)
            self.assertTrue(2 * cost <= told.cpu / 1e6 < 2 * cost * 1.15 + 2, (cost, told.cpu))

    def test_tasks_are_what_they_were(self):
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
        self.assertEqual(self.told(1)[0].status, 0)
        self.assertEqual(seen["state"], inspect.CORO_SUSPENDED)
        self.assertTrue(seen["cleaned"])
        self.assertNotIn("started", seen)
        self.assertTrue(seen["name"].endswith("fails"), seen["name"])

    def test_a_task_factory_of_others_stays(self):
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
        self.told(1)

    def test_what_no_request_explains_under_a_loop(self):
        async def later(milliseconds):
            await asyncio.sleep(0)
            spin(milliseconds)

        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                # A task that the application starts outside of requests.
                asyncio.ensure_future(later(40))
            else:
                asyncio.ensure_future(later(20))
                spin(5)

        for follow, least, most in ((True, 80, 100), (False, 120, 160)):
            wrapped = steadyhand.asgi(app, f"{self.service} {follow}", "v1", rulers=False, socket=self.listener.path, follow=follow)
            readings = len(self.listener.readings)

            async def served(scope):
                await asyncio.ensure_future(wrapped(scope, None, None))
                await asyncio.sleep(0.01)

            async def server():
                await served({"type": "http", "path": "/"})
                await served({"type": "lifespan"})
                # The server's own.
                spin(40)
                await served({"type": "http", "path": "/"})
                await served({"type": "lifespan"})

            asyncio.run(server())
            self.listener.wait_for(len(self.listener.requests) + 1, 0.5)
            process, requests = self.between(*self.listener.readings[readings:])
            unexplained = (process - requests) / 1e6
            self.assertTrue(least <= unexplained < most, (follow, unexplained))

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
