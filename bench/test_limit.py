import unittest

import limit
from common.results import Results


class Reports(unittest.TestCase):
    def setUp(self):
        self.results = Results(limit.RESULTS / "no-such-file.jsonl")

    def test_a_report_without_results(self):
        self.assertEqual(limit.report(self.results), "Nothing measured yet.")

    def test_wrong_outcomes_are_counted_by_job_size(self):
        answers = [{"size": 0.9, "outcome": "ok"}, {"size": 0.9, "outcome": "cpu-limit"},
                   {"size": 1.1, "outcome": "cpu-limit"}, {"size": 1.1, "outcome": "ok"}, {"size": 1.1, "outcome": "ok"}]
        record = {"kind": "judged", "load": "idle", "judge": "steady limit", "budget": 0.3, "answers": answers}
        self.assertEqual((limit.wrong(record, 0.9).count, limit.wrong(record, 1.1).count), (1, 2))
        self.assertIn("NOT reached", limit.judged_report([record]))
        self.assertIn("| steady limit | idle | 1/2 | 2/3 |", limit.judged_report([record]))

    def test_one_bad_median_is_not_reached(self):
        record = {"kind": "overshoot", "at_once": 1, "budget": 0.2, "steal": 0.01, "sources": ["proc"],
                  "overshoots": [0.001, 0.004, 0.1]}
        self.assertIn("| 1 | 3 | 4.00 | 100.00 | 1.0% | proc |\n\n- the median is at most 5 ms for each: reached",
                      limit.overshoot_report([record]))
        worse = {**record, "at_once": 2, "overshoots": [0.006, 0.006, 0.001]}
        self.assertIn("NOT reached", limit.overshoot_report([record, worse]))

    def test_every_cost_must_be_within_the_limit(self):
        record = {"kind": "cost", "load": "idle", "budget": 5.0, "shares": [0.001, 0.002, 0.006]}
        self.assertIn("NOT reached", limit.cost_report([record]))
        self.assertIn("at most 0.5%: reached", limit.cost_report([{**record, "shares": [0.005, 0.001, 0.001]}]))


if __name__ == "__main__":
    unittest.main()
