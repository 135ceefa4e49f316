import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import gates
from common import loads, tools
from common.calibrate import Calibration
from common.results import Results


def gate(effect, status, verdict):
    answer = {"verdict": verdict, "status": status, "process_seconds": 2.0}
    return {"effect": effect, "steady": answer}


class Reporting(unittest.TestCase):
    def test_one_failure_in_100_is_allowed_and_two_are_not(self):
        good, bad = gate(0.0, 0, "same"), gate(0.0, 1, "slower")
        for bad_ones, total, answer in ((0, 100, "reached"), (1, 100, "reached"), (2, 100, "NOT reached"),
                                        (2, 200, "reached"), (0, 99, "too few yet")):
            report = gates.gates_report([bad] * bad_ones + [good] * (total - bad_ones))
            self.assertIn(f"at most 1 fails ({bad_ones}/{total}): {answer}", report)

    def test_gates_that_miss_a_change_are_reported(self):
        caught, missed = gate(0.05, 1, "slower"), gate(0.05, 0, "undecided")
        self.assertIn("at least 18 fail (18/20): reached", gates.gates_report([caught] * 18 + [missed] * 2))
        self.assertIn("at least 18 fail (17/20): NOT reached", gates.gates_report([caught] * 17 + [missed] * 3))
        self.assertIn("at least 18 fail (-): too few yet", gates.gates_report([gate(0.0, 0, "same")]))

    def test_an_error_is_neither_a_pass_nor_a_failure(self):
        report = gates.gates_report([gate(0.0, 0, "same"), {"effect": 0.0, "steady": {"error": "no"}}])
        self.assertIn("| A = A | 2 | 0/1 | 1 | 0 | 0 | 0 | 1 | 2.0 | 2.0 |", report)

    def test_times_to_a_verdict_by_resolution_and_work(self):
        fields = {"work": "alu5", "resolution": 0.01}
        trials = [{**fields, **gate(0.0, 0, "same")}, {**fields, **gate(0.0, 0, "undecided")}]
        self.assertIn("| 1.0% | 2.0 (2.0; 1/2) | - | - |", gates.budgets_report(trials))


class Measuring(unittest.TestCase):
    def test_a_session_continues_where_it_stopped(self):
        known = mock.Mock()
        known.return_value.of.side_effect = lambda work: Calibration(work, 1000, 0.03, 1.0, 0.0, 1.0, 0.0)
        calls = []

        def steady(old, new, seed, budget, resolution, metric, fail_if):
            calls.append((budget, fail_if, old == new))
            return {"verdict": "same", "change": 0.0, "process_seconds": 1.0, "status": 0}

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(gates, "Calibrations", known), \
                mock.patch.object(tools, "steady", steady), mock.patch.object(loads, "SETTLE_SECONDS", 0), \
                mock.patch.dict(loads.LOADS, {load: lambda random, halfway: [] for load in gates.MOVING}), \
                contextlib.redirect_stdout(io.StringIO()):
            path = Path(folder) / "gates.jsonl"
            gates._measure("gates", Results(path), gates.gate_cells(5))
            gates._measure("gates", Results(path), gates.gate_cells(10))
        self.assertEqual(sorted(calls), [(10.0, "slower>2%", False)] * 2 + [(10.0, "slower>2%", True)] * 10)


if __name__ == "__main__":
    unittest.main()
