import unittest
import unittest.mock

import warm

EVEN = {"50ms": {"wall": (3, False), "cpu": (31, True), "creation": 7.4e-3},
        None: {"wall": (14, False), "cpu": (None, False), "creation": 7.4e-3}}


def a_round(ratio: float) -> dict:
    found = {name: {"normal": 500e-6, "warm": 500e-6 * ratio} for name in warm.TARGETS}
    return {**found, warm.BASELINES["nothing"]: {"normal": 100e-6}}


class Arithmetic(unittest.TestCase):
    def test_ratios_are_computed_within_a_round(self):
        slow = {name: {way: 3 * time for way, time in ways.items()} for name, ways in a_round(0.39).items()}
        self.assertAlmostEqual(warm.ratios([slow, a_round(0.39)], warm.SPAWN_TRUE)[0], 0.39)
        self.assertAlmostEqual(warm.ratios([slow, a_round(0.39)], warm.SPAWN_TRUE)[1], 0.39)
        self.assertEqual(warm.ratios([slow], warm.BASELINES["nothing"]), [])

    def test_the_median_of_the_rounds_is_compared_with_the_target(self):
        text, reached = warm.report([a_round(0.37), a_round(0.37), a_round(2.0)], EVEN)
        self.assertTrue(reached)
        self.assertIn("spawn of true: 0.370 of normal, at most 0.40: reached", text)
        self.assertNotIn("NOT reached", text)
        text, reached = warm.report([a_round(0.39)] * 3, EVEN)
        self.assertFalse(reached)
        self.assertIn("spawn of cat /dev/null: 0.390 of normal, at most 0.38: NOT reached", text)
        self.assertEqual(text.count("NOT reached"), 1)

    def test_missing_measurements_are_reported(self):
        text, _ = warm.report([a_round(0.3)], EVEN)
        self.assertIn(f"- {warm.BASELINES['busybox']}: skipped", text)
        self.assertIn("| spawn of a static program that only exits | 100 us |", text)

    def test_the_break_even_counts_with_time_between_launches(self):
        text, reached = warm.report([a_round(0.3)], {**EVEN, "50ms": {**EVEN["50ms"], "wall": (4, False)}})
        self.assertFalse(reached)
        self.assertIn("the snapshot pays for itself after 4 by wall time, about 31 by CPU time", text)
        self.assertIn("without a pause: the snapshot pays for itself after 14 by wall time, more launches than measured by CPU time", text)
        never = {**EVEN, "50ms": {**EVEN["50ms"], "wall": (None, False)}}
        self.assertFalse(warm.report([a_round(0.3)], never)[1])

    def test_the_report_of_steady_is_read(self):
        even = {"wall": {"launches": 3, "extrapolated": False}, "cpu": {"launches": None, "extrapolated": False,
                                                                      "capture_seconds": 7e-3}}
        modes = [{"mode": "normal", "break_even": None}, {"mode": "on-demand", "break_even": even}]
        self.assertEqual(warm.read({"programs": [{"modes": modes}]}),
                         {"wall": (3, False), "cpu": (None, False), "creation": 7e-3})

    def test_a_missing_break_even_is_not_reached(self):
        missing = warm.read({"programs": [{"modes": [{"mode": "on-demand", "break_even": None,
                                                     "break_even_absent": "no launch was from a snapshot"}]}]})
        text, reached = warm.report([a_round(0.3)], {**EVEN, "50ms": missing})
        self.assertFalse(reached)
        self.assertIn("creating it takes ? ms", text)

    def test_the_time_of_a_turn_excludes_the_start(self):
        with unittest.mock.patch.object(warm, "wall", lambda argv: 0.05 + argv * 1e-3):
            self.assertAlmostEqual(warm.per_turn(lambda count: count), 1e-3)


if __name__ == "__main__":
    unittest.main()
