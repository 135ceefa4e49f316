"""The middleware in Perl of examples/perl, called by Debian's perl as a PSGI server calls it."""

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

    def deed(self, name, count=0):
        """What a deed of perl_service.pl printed, and the requests that the agent was told of."""
        environment = {"STEADY_SOCKET": self.listener.path, "PATH": "/usr/bin:/bin"}
        done = run(PERL, f"-I{MODULES}", HERE / "perl_service.pl", name, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        requests = self.listener.wait_for(count)
        if count:
            self.assertEqual(len(requests), count)
        return done.stdout, requests

    def test_every_form_of_a_response(self):
        printed, requests = self.deed("forms", 5)
        self.assertEqual(printed, "own\nx|\n")
        self.assertEqual([told.status for told in requests], [200, 201, 202, 203, 0])
        self.assertEqual([told.number for told in requests], [1, 2, 3, 4, 5])
        self.assertEqual([told.route for told in requests], ["/item/<n>", "/u/<n>"] + ["/item/<n>"] * 3)
        for told, least in zip(requests, (2e6, 9e6, 2e6, 2e6, 0)):
            self.assertTrue(least <= told.cpu < least + 20e6 and told.wall >= least, told.cpu)
        self.assertEqual({(told.service, told.version, told.assignment) for told in requests}, {("perl shop", "v1", "none")})

    def test_any_text_arrives(self):
        _, [told] = self.deed("text", 1)
        odd = "a\tb\nc\rd\\e\"'\N{SNOWMAN}"
        self.assertEqual(told.version, odd)
        self.assertTrue((odd + "/long" * 300).startswith(told.route) and len(told.route) > 400)

    def test_children_speak_and_throw_coins_for_themselves(self):
        _, requests = self.deed("fork", 120)
        workers = {(told.pid, told.began) for told in requests}
        self.assertEqual(len(workers), 3)
        thrown = set()
        for worker in workers:
            own = [told for told in requests if (told.pid, told.began) == worker]
            self.assertEqual([told.number for told in own], list(range(1, 41)))
            thrown.add("".join(told.version for told in own))
        self.assertEqual(len(thrown), 3)
        self.assertEqual({told.assignment for told in requests}, {"random"})

    def test_slots_are_those_of_python(self):
        _, requests = self.deed("slots")
        self.assertGreater(len(requests), 20)
        for told in requests:
            seconds, begin = map(int, told.more["slot"].split(":"))
            slot = begin // seconds
            coin = _versions.pair_coin(_versions.boot(), "perl shop", ("v1", "v2"), seconds, slot // 2)
            self.assertEqual(told.version, ("v1", "v2")[slot % 2 ^ coin])
            self.assertTrue(begin * 10**9 <= told.end - told.wall + 10**6)

    def test_some_requests_have_a_ruler(self):
        printed, requests = self.deed("rulers", 100)
        kinds = [told.more["ruler"].split(":") for told in requests if "ruler" in told.more]
        self.assertEqual(printed, f"{len(kinds)}\n")
        self.assertTrue(5 < len(kinds) <= 100, len(kinds))
        self.assertTrue(all(kind == "syscall" and 1_000 < int(took) < 50_000_000 for kind, took in kinds), kinds)
        watched = [told for told in requests if "delay" in told.more]
        self.assertTrue(watched and all("ruler" in told.more for told in watched))

    def test_a_missing_agent_fails_nothing(self):
        self.listener.die()
        printed, _ = self.deed("missing")
        number, dropped, sent, why = printed.split(" ", 3)
        self.assertEqual((number, sent), ("50", "0"))
        self.assertGreater(int(dropped), 0)
        self.assertIn("refused", why)

    def test_plack(self):
        if run(PERL, "-MPlack::Test", "-e", "1").returncode:
            self.skipTest("no Plack (Debian: libplack-perl)")
        printed, [told] = self.deed("plack", 1)
        self.assertEqual((printed, told.route, told.status), ("done\n", "/item/<n>", 200))


if __name__ == "__main__":
    unittest.main()
