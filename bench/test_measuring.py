import io
import json
import math
import os
import stat
import subprocess
import tempfile
import time
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from random import Random
from unittest import mock

import copies
from common import loads, tools, trial
from common.calibrate import Calibration, Line, Pair, fit, run_once
from common.loads import background_load
from common.results import Results
from common.trial import Cell, Session


class Calibrating(unittest.TestCase):
    def test_a_line_is_recovered(self):
        line = fit([0, 0.5, 1, 1.5], [0.5, 3, 5.5, 8])
        self.assertAlmostEqual(line.start, 0.5)
        self.assertAlmostEqual(line.slope, 5)
        self.assertAlmostEqual(line.growing_share(1), 5 / 5.5)

    def test_a_pair_has_the_requested_effect(self):
        line = Line(0.001, 1e-8)
        share = line.growing_share(400_000)
        known = Calibration("alu5", 400_000, 0.005, share, 0.001, share, 0.0)
        pair = known.pair(0.01, loaded_share=share / 2)
        old, new = (line.start + line.slope * int(argv[-1]) for argv in (pair.old, pair.new))
        self.assertAlmostEqual(new / old - 1, pair.truth)
        self.assertAlmostEqual(pair.truth, 0.01, places=5)
        self.assertAlmostEqual(pair.truth_error, 0.01 * 0.001 / share, places=7)
        self.assertAlmostEqual(pair.truth_drift, -0.005, places=5)
        self.assertEqual(known.pair(0).old, known.pair(0).new)

    def test_a_run_has_costs_and_a_failed_one_is_an_error(self):
        cost = run_once(["python3", "-c", "sum(range(1000000))"])
        self.assertTrue(0 < cost.cpu < 10 and 0 < cost.wall < 60, cost)
        with self.assertRaisesRegex(RuntimeError, "status 3"):
            run_once(["sh", "-c", "exit 3"])


class Loads(unittest.TestCase):
    def run_with_load(self, argv, body, settle_seconds=0.2):
        with mock.patch.dict(loads.LOADS, {"test": lambda random, halfway: [argv]}), \
                mock.patch.object(loads, "SETTLE_SECONDS", settle_seconds), background_load("test", Random(1), 1.0):
            return body()

    def test_the_process_group_is_killed_after_an_exception(self):
        mark = f"610.{os.getpid()}"

        def body():
            wait_until(lambda: running(mark))
            self.assertTrue(running(mark))
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.run_with_load(["sh", "-c", f"sleep {mark} & wait"], body)
        wait_until(lambda: not running(mark))
        self.assertFalse(running(mark))

    def test_a_neighbour_that_ends_early_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "ended immediately"):
            self.run_with_load(["true"], lambda: self.fail("measured without the load"), settle_seconds=30)


def wait_until(condition):
    """Waits until `condition` is true, at most a minute."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def running(word):
    """Returns whether a `sleep` with this argument is running."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{word}\0".encode():
                return True
        except OSError:
            pass
    return False


class Keeping(unittest.TestCase):
    def test_a_truncated_line_is_ignored_and_not_continued(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "new" / "results.jsonl"
            Results(path).add({"cell": "a"})
            with open(path, "a") as file:
                file.write('{"cell": "cut')
            again = Results(path)
            self.assertEqual(len(again.of(cell="a")), 1)
            again.add({"cell": "b"})
            self.assertEqual([record["cell"] for record in Results(path).records], ["a", "b"])


class Tools(unittest.TestCase):
    def script(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "tool"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_the_primary_verdict_is_read(self):
        verdicts = [{"metric": "wall", "primary": False},
                    {"metric": "cpu", "primary": True, "verdict": "slower", "change": 0.01, "low": 0.008, "high": 0.012,
                     "verdict_low": 0.0079, "verdict_high": None, "pairs": 40}]
        report = {"verdicts": verdicts, "layouts": {"turns": {"pairs": 40}}, "elapsed_seconds": 0.5}
        path = self.script(f"cat <<'end'\n{json.dumps(report)}\nend\n")
        with mock.patch.object(tools, "STEADY", path):
            answer = tools.steady(["a"], ["b c"], 1, 1.0, 0.005)
        self.assertEqual((answer["verdict"], answer["layouts"]), ("slower", {"turns": 40}))
        self.assertAlmostEqual(answer["half_width"], 0.002)
        self.assertIsNone(answer["verdict_high"])

    def test_exported_times_are_tested(self):
        results = {"results": [{"times": [1.0, 1.1, 0.9, 1.0]}, {"times": [2.0, 2.1, 1.9, 2.0]}]}
        write = f"while [ $# -gt 3 ]; do shift; done\ncat >\"$1\" <<'end'\n{json.dumps(results)}\nend\n"
        with mock.patch.object(tools, "HYPERFINE", self.script(write)):
            answer = tools.hyperfine(["a"], ["b"])
        self.assertEqual(answer["verdict"], "slower")
        self.assertAlmostEqual(answer["change"], 1.0)

    def test_a_failure_contains_the_tools_message(self):
        with mock.patch.object(tools, "STEADY", self.script("echo no such thing >&2; exit 2\n")):
            with self.assertRaisesRegex(tools.ToolFailed, "status 2: no such thing"):
                tools.steady(["a"], ["b"], 1, 1.0, 0.005)


class Sessions(unittest.TestCase):
    def run_trials(self, failing):
        """Returns how many trials a session runs and records, given which of them fail."""
        good, bad = {"verdict": "same", "process_seconds": 1}, tools.ToolFailed("no")
        answers = [bad if fails else good for fails in failing]
        cell = Cell("cell", "alu5", 0.0, "idle")
        pair = Pair(["true"], ["true"], 0.0, 0.0, 0.0, 0.0)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(loads, "SETTLE_SECONDS", 0), \
                mock.patch.object(tools, "steady", side_effect=answers), redirect_stderr(io.StringIO()):
            results = Results(Path(folder) / "results.jsonl")
            session = Session("test", results, ("steady",))
            try:
                for _ in failing:
                    session.run(cell, pair)
            except SystemExit:
                pass
            return len(Results(results.path).of(kind="test", cell="cell", load="idle"))

    def test_failures_are_recorded_and_many_in_a_row_end_the_session(self):
        self.assertEqual(self.run_trials([True, False] * 8), 16)
        self.assertEqual(self.run_trials([False] + [True] * 8), 1 + trial.FAILURES_ALLOWED)


class Copies(unittest.TestCase):
    def test_a_lasting_difference_is_separated_from_noise(self):
        random = Random(5)
        offsets = [random.gauss(0, 3) for _ in range(400)]
        lasting = [[offset + random.gauss(0, 1) for _ in range(4)] for offset in offsets]
        noise = [[random.gauss(0, 1) for _ in range(4)] for _ in offsets]
        self.assertAlmostEqual(copies.lasting_spread(lasting), 3, delta=0.4)
        self.assertLess(copies.lasting_spread(noise), 0.3)
        self.assertTrue(math.isnan(copies.lasting_spread([[1.0, 2.0]])))


class Runner(unittest.TestCase):
    def test_the_benches_are_listed_and_others_refused(self):
        run = Path(__file__).with_name("run")
        listed = subprocess.run([run], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertRegex(listed, r"(?m)^truth +Truth table")
        self.assertNotIn("test_", listed)
        refused = subprocess.run([run, "nothing"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no such bench", refused.stderr)


if __name__ == "__main__":
    unittest.main()
