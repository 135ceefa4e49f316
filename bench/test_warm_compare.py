import math
import unittest

import warm_compare


def document(change, low, high, **more) -> dict:
    verdict = {"primary": True, "verdict": "slower", "change": change, "low": low, "high": high, "pairs": 30}
    return {"verdicts": [verdict], "commands": [{"cpu_seconds": 200e-6, "startup_seconds": 500e-6}], "pairs": 900,
            "plan": {"warm": True}, "warm": {"draws": 30}, **more}


def answer(verdict: str, low, high) -> dict:
    return {"verdict": verdict, "low": low, "high": high, "seconds": 1e-4, "units": 30, "pairs": 900, "start_up": None}


class Reading(unittest.TestCase):
    def test_a_change_becomes_a_difference_in_seconds(self):
        read = warm_compare.read(document(0.05, 0.04, 0.06))
        self.assertAlmostEqual(read["low"], 8e-6)
        self.assertAlmostEqual(warm_compare.half_width(read), 2e-6)

    def test_an_interval_without_an_end_is_infinitely_wide(self):
        self.assertEqual(warm_compare.half_width(warm_compare.read(document(None, None, None))), math.inf)

    def test_a_comparison_without_snapshots_ends_the_bench(self):
        with self.assertRaises(SystemExit):
            warm_compare.read(document(0.05, 0.04, 0.06, warm=None, warm_absent="it is static"))


class Report(unittest.TestCase):
    CELLS = {"loop": (("a", "b"), 5e-6)}

    def test_found_and_covered_are_counted(self):
        found = {("loop", "usual"): [answer("undecided", -1e-6, 6e-6)],
                 ("loop", "warm"): [answer("slower", 4e-6, 6e-6), answer("slower", 6e-6, 7e-6)]}
        text, reached = warm_compare.report(self.CELLS, found, {})
        self.assertTrue(reached)
        self.assertIn("| loop, usual | 100.00 us | 3.50 us | 0/1 | 1/1 | 30 |", text)
        self.assertIn("| loop, warm | 100.00 us | 0.75 us | 2/2 | 1/2 | 30 |", text)

    def test_equal_commands_may_be_called_different_as_often_as_promised(self):
        answers = [answer("slower", 0, 1)] * 3 + [answer("same", -1, 1)] * 57
        text, reached = warm_compare.report({}, {}, {"two copies": answers})
        self.assertTrue(reached, text)
        text, reached = warm_compare.report({}, {}, {"two copies": answers * 1 + [answer("faster", -1, 0)] * 10})
        self.assertFalse(reached, text)


if __name__ == "__main__":
    unittest.main()
