"""The Perl middleware of examples/perl, called as a PSGI server calls it."""

import os
import shutil
import unittest

from listener import HERE, PYTHON, Listener, run

from steadyhand import _versions

PERL = "/usr/bin/perl" if os.path.exists("/usr/bin/perl") else shutil.which("perl")
MODULES = PYTHON.parent / "examples" / "perl"


@unittest.skipUnless(PERL, "no perl")
class Perl(unittest.TestCase):
    def setUp(self):
        self.listener = Listener()
        self.addCleanup(self.listener.close)

    def scenario(self, name, count=0):
        """Runs a scenario of perl_service.pl. Returns what it printed, and the requests that the agent received."""
        environment = {"STEADY_SOCKET": self.listener.path, "PATH": "/usr/bin:/bin"}
        done = run(PERL, f"-I{MODULES}", HERE / "perl_service.pl", name, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        requests = self.listener.wait_for(count)
        if count:
            self.assertEqual(len(requests), count)
        return done.stdout, requests

    def test_every_form_of_a_response(self):
        printed, requests = self.scenario("forms", 5)
        self.assertEqual(printed, "own\nx|\n")
        self.assertEqual([request.status for request in requests], [200, 201, 202, 203, 0])
        self.assertEqual([request.number for request in requests], [1, 2, 3, 4, 5])
        self.assertEqual([request.route for request in requests], ["/item/<n>", "/u/<n>"] + ["/item/<n>"] * 3)
        for request, least in zip(requests, (2e6, 9e6, 2e6, 2e6, 0)):
            self.assertTrue(least <= request.cpu < least + 20e6 and request.wall >= least, request.cpu)
        self.assertEqual({(request.service, request.version, request.assignment) for request in requests}, {("perl shop", "v1", "none")})

    def test_any_text_is_transmitted(self):
        _, [request] = self.scenario("text", 1)
        odd = "a\tb\nc\rd\\e\"'\N{SNOWMAN}"
        self.assertEqual(request.version, odd)
        self.assertTrue((odd + "/long" * 300).startswith(request.route) and len(request.route) > 400)

    def test_children_report_and_draw_versions_on_their_own(self):
        _, requests = self.scenario("fork", 120)
        workers = {(request.pid, request.began) for request in requests}
        self.assertEqual(len(workers), 3)
        drawn = set()
        for worker in workers:
            own = [request for request in requests if (request.pid, request.began) == worker]
            self.assertEqual([request.number for request in own], list(range(1, 41)))
            drawn.add("".join(request.version for request in own))
        self.assertEqual(len(drawn), 3)
        self.assertEqual({request.assignment for request in requests}, {"random"})

    def test_slots_are_the_same_as_in_python(self):
        printed, _ = self.scenario("slots")
        requests = self.listener.wait_for(int(printed))
        self.assertTrue(20 < len(requests) == int(printed), (len(requests), printed))
        for request in requests:
            seconds, begin = map(int, request.more["slot"].split(":"))
            slot = begin // seconds
            coin = _versions.pair_coin(_versions.boot(), "perl shop", ("v1", "v2"), seconds, slot // 2)
            self.assertEqual(request.version, ("v1", "v2")[slot % 2 ^ coin])
            self.assertTrue(begin * 10**9 <= request.end - request.wall + 10**6)

    def test_some_requests_have_a_ruler(self):
        printed, _ = self.scenario("rulers")
        rulers, count = map(int, printed.split())
        requests = self.listener.wait_for(count)
        kinds = [request.more["ruler"].split(":") for request in requests if "ruler" in request.more]
        self.assertEqual((len(kinds), len(requests)), (rulers, count))
        self.assertGreaterEqual(rulers, 40)
        self.assertTrue(all(kind == "syscall" and 1_000 < int(took) < 50_000_000 for kind, took in kinds), kinds)
        watched = [request for request in requests if "delay" in request.more]
        self.assertTrue(watched and all("ruler" in request.more for request in watched))

    def test_a_missing_agent_fails_no_request(self):
        self.listener.die()
        printed, _ = self.scenario("missing")
        number, dropped, sent, why = printed.split(" ", 3)
        self.assertEqual((number, sent), ("50", "0"))
        self.assertGreater(int(dropped), 0)
        self.assertIn("refused", why)

    def test_empty_and_long_names_are_refused(self):
        printed, _ = self.scenario("empty")
        options = [line.split("'")[1] for line in printed.splitlines()]
        self.assertEqual(options, ["version", "service", "versions", "versions"], printed)
        printed, _ = self.scenario("long")
        sizes = [line.split(" has ")[1] for line in printed.splitlines()]
        self.assertEqual(sizes, [f"{size} bytes; at most 500 are possible" for size in (501, 501, 502)], printed)

    def test_plack(self):
        if run(PERL, "-MPlack::Test", "-e", "1").returncode:
            self.skipTest("no Plack (Debian: libplack-perl)")
        printed, [request] = self.scenario("plack", 1)
        self.assertEqual((printed, request.route, request.status), ("done\n", "/item/<n>", 200))


if __name__ == "__main__":
    unittest.main()
