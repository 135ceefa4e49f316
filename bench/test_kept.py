import math
import os
import sqlite3
import subprocess
import tempfile
import time
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from statistics import NormalDist

import history
import log


class Log(unittest.TestCase):
    def test_a_median_has_an_interval_from_six_values_on(self):
        self.assertEqual(log.median_interval([5, 1, 4, 2, 3]), (-math.inf, math.inf))
        self.assertEqual(log.median_interval([5, 1, 4, 2, 3, 6]), (1, 6))

    def test_the_interval_has_its_nominal_coverage(self):
        random = Random(1)
        trials = [log.median_interval([random.gauss(0, 1) for _ in range(40)]) for _ in range(2000)]
        missed = sum(not low <= 0 <= high for low, high in trials) / len(trials)
        self.assertLess(missed, 0.05 + 3 * (0.05 * 0.95 / len(trials)) ** 0.5)
        self.assertGreater(missed, 0.01)
        self.assertLess(trials[0][1] - trials[0][0], 2 * NormalDist().stdev)

    def test_a_wide_interval_is_undecided(self):
        self.assertEqual(log.reached([5.0] * 10), "reached")
        self.assertEqual(log.reached([50.0] * 10), "NOT reached")
        self.assertIn("undecided", log.reached([-100.0, 100.0] * 5))

    def test_added_costs_are_differences_within_rounds(self):
        done = {"bare": log.Comparison(2.0), "logged": log.Comparison(2.003), "kept": log.Comparison(2.01)}
        with redirect_stdout(StringIO()) as printed:
            log.report([done] * 6, 1000, 1.5)
        self.assertIn("log and progress in steady add:   3.0 us", printed.getvalue())
        self.assertIn("both together:                    4.5 us", printed.getvalue())
        self.assertIn("the import at the end adds:       7.0 us", printed.getvalue())

    def test_the_cpu_clock_of_an_ended_process_is_readable(self):
        with subprocess.Popen(["python3", "-c", "sum(range(3_000_000))"]) as child:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            self.assertGreater(time.clock_gettime(log.cpu_clock_of(child.pid)), 0.01)


class History(unittest.TestCase):
    def test_the_run_is_copied(self):
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder) / "history.db"
            with sqlite3.connect(database) as connection:
                connection.executescript("""
                    CREATE TABLE runs (id INTEGER PRIMARY KEY, log TEXT UNIQUE, pairs INTEGER);
                    CREATE TABLE records (run INTEGER PRIMARY KEY, json BLOB);
                    INSERT INTO runs VALUES (1, 'a', 30);
                    INSERT INTO records VALUES (1, 'record');""")
            history.multiply(database, 5)
            runs = connection.execute("SELECT id, pairs FROM runs").fetchall()
            records = connection.execute("SELECT run, json FROM records").fetchall()
            connection.close()
        self.assertEqual(runs, [(number, 30) for number in range(1, 6)])
        self.assertEqual(records, [(number, "record") for number in range(1, 6)])


if __name__ == "__main__":
    unittest.main()
