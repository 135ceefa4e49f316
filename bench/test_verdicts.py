import unittest

from common import truth_report
from common.cells import REACH, TRUTH
from common.loads import LOADS
from common.verdicts import holds, is_wrong, tally
from common.works import WORKS


def answer(verdict, low, high, **fields):
    ends = {"low": low, "high": high, "verdict_low": low, "verdict_high": high}
    half_width = None if low is None else (high - low) / 2
    return {"verdict": verdict, **ends, "half_width": half_width, "process_seconds": 1.0, **fields}


def trial(truth, steady, hyperfine=None, cell="cell"):
    record = {"cell": cell, "truth": truth, "truth_wall": truth, "truth_error": 0.0001, "truth_drift": 0.0,
              "resolution": 0.005, "steady": steady}
    return {**record, "hyperfine": hyperfine} if hyperfine else record


class Verdicts(unittest.TestCase):
    def test_a_wrong_verdict_contradicts_the_truth(self):
        self.assertTrue(is_wrong("slower", 0.0, 0.005))
        self.assertTrue(is_wrong("faster", 0.0, 0.005))
        self.assertTrue(is_wrong("faster", 0.01, 0.005))
        self.assertTrue(is_wrong("same", 0.01, 0.005))
        for verdict, truth in (("slower", 0.001), ("same", 0.001), ("same", 0.0), ("undecided", 0.01)):
            self.assertFalse(is_wrong(verdict, truth, 0.005), (verdict, truth))

    def test_a_missing_end_is_infinite(self):
        self.assertTrue(holds(None, None, 0.3))
        self.assertTrue(holds(0.1, 0.1, 0.1))
        self.assertFalse(holds(None, 0.2, 0.3))

    def test_a_tally_counts_each_thing_once(self):
        found = trial(0.01, answer("slower", 0.005, 0.015))
        missed = trial(0.01, answer("undecided", None, None))
        wrong = trial(0.0, answer("faster", -0.02, -0.01))
        failed = trial(0.0, {"error": "no"})
        counted = tally([found, missed, wrong, failed], "steady")
        self.assertEqual(counted.wrong, (1, 3))
        self.assertEqual(counted.found, (1, 2))
        self.assertEqual(counted.covered, (2, 3))
        self.assertEqual(counted.failures, 1)

    def test_each_tool_is_compared_with_the_truth_of_its_metric(self):
        record = trial(0.01, answer("slower", 0.009, 0.011), answer("slower", 0.009, 0.011))
        record["truth_wall"] = 0.02
        self.assertEqual(tally([record], "steady").covered.count, 1)
        self.assertEqual(tally([record], "hyperfine").covered.count, 0)


class Reports(unittest.TestCase):
    def records(self, wrong):
        good, bad = answer("same", -0.004, 0.004), answer("slower", 0.001, 0.004)
        return [trial(0.0, bad if i < wrong else good, bad) for i in range(100)]

    def test_promised_rates_reached(self):
        self.assertNotIn("NOT reached", truth_report.truth(self.records(wrong=3)))

    def test_promised_rates_not_reached(self):
        self.assertEqual(truth_report.truth(self.records(wrong=20)).count("NOT reached"), 4)

    def test_one_bad_cell_in_a_good_average_is_reported(self):
        good = [dict(record, cell="other") for record in self.records(wrong=0) * 3]
        text = truth_report.truth(self.records(wrong=15) + good)
        self.assertEqual(text.count("NOT reached"), 2)

    def test_targets_count_failures_as_misses(self):
        name = next(iter(REACH)).name
        hit, failed = trial(0.01, answer("slower", 0.005, 0.015), cell=name), trial(0.01, {"error": "no"}, cell=name)
        self.assertIn("9/10 (target 9/10; slowest 1.00 s): reached", truth_report.reach([hit] * 9 + [failed]))
        self.assertIn("NOT reached", truth_report.reach([hit] * 8 + [failed] * 2))


class Cells(unittest.TestCase):
    def test_every_cell_is_valid(self):
        for cell in [*TRUTH, *REACH]:
            self.assertIn(cell.work, WORKS)
            self.assertIn(cell.load, LOADS)
            self.assertTrue(cell.effect == 0 or abs(cell.effect) > 1.5 * cell.resolution, cell.name)
        self.assertEqual(len({cell.name for cell in TRUTH}), 18)
        self.assertEqual(sum(cell.modes is not None for cell in TRUTH), 6)
        self.assertGreaterEqual(sum(cell.effect == 0 for cell in TRUTH), 5)
        self.assertEqual({cell.load for cell in TRUTH}, set(LOADS))


if __name__ == "__main__":
    unittest.main()
