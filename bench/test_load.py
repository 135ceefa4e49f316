import contextlib
import io
import unittest

import load


def row(procs, over, own, steal=0.0):
    return {"procs": procs, "cpu_seconds": 1.0, "own_cpu_seconds": own, "activity": {"steal_ratio": steal},
            "runs": [{"overshoot_seconds": seconds} for seconds in over]}


def printed(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        function(*arguments)
    return text.getvalue()


class Reporting(unittest.TestCase):
    def test_own_cpu_time_is_relative_to_the_cpu_time_of_the_processes(self):
        rows = [row(1, [0.0], 0.001), row(4, [0.0] * 4, 0.004)]
        self.assertAlmostEqual(load.own_share(rows), 0.001)
        self.assertIn("in total: reached", printed(load.print_own_cost, [{"rows": rows}]))
        expensive = printed(load.print_own_cost, [{"rows": [*rows, row(1, [0.0], 0.006)]}])
        self.assertIn("in total: reached", expensive)
        self.assertIn("0.600 % in the worst of 3 rows (1 process)", expensive)
        self.assertIn("in every row: NOT reached", expensive)

    def test_processes_of_all_rounds_are_pooled(self):
        reports = [{"rows": [row(2, [0.001, 0.002], 0.001)]}, {"rows": [row(2, [0.003, 0.009], 0.001)]}]
        line = printed(load.print_overshoot, "exact", reports).splitlines()[2].split()
        self.assertEqual(line[:3], ["2", "2.5000", "9.000"])

    def test_unknown_steal_is_not_zero(self):
        self.assertEqual(load.mean_ratio([None, None]), "not available")
        self.assertEqual(load.mean_ratio([0.0, 0.01, None]), "0.50 %")


if __name__ == "__main__":
    unittest.main()
