import unittest

import costs

ROUND = {"steady": {"process_switch": 1e-6, "calls": 0.8e-6, "system_call": 100e-9, "spawn_static": 40e-6,
                    "spawn_dynamic": 400e-6}, "pipe": 2.8e-6, "syscall": 110e-9, "static": 40e-6}


class Arithmetic(unittest.TestCase):
    def test_a_pipe_operation_is_two_switches_and_four_calls(self):
        self.assertAlmostEqual(costs.ratios([ROUND], "pipe")[0], 1.0)
        self.assertIn("2 x 1,000 ns (switch) + 800.0 ns (2 reads and 2 writes) = 2,800 ns", costs.report([ROUND]))
        self.assertIn("within 10%: reached", costs.report([ROUND]))

    def test_the_median_of_the_rounds_counts(self):
        slow = {**ROUND, "pipe": 4e-6}
        self.assertLessEqual(costs.deviation([ROUND, slow, ROUND], "pipe"), costs.MOST_DEVIATION)
        self.assertIn("NOT reached", costs.report([ROUND, slow, slow]))

    def test_missing_tools_and_costs_are_left_out(self):
        text = costs.report([ROUND])
        self.assertIn("perf bench syscall basic", text)
        self.assertNotIn("vfork, exec, wait: true", text)
        without = {**ROUND, "steady": {**ROUND["steady"], "spawn_static": None}}
        self.assertEqual(costs.ratios([without], "syscall"), [])

    def test_the_empty_loop_is_read_from_the_samples(self):
        samples = [{"empty": {"cpu_seconds": cpu, "loops": 10}} for cpu in (1e-6, 2e-6, 9e-6)]
        probes = [{"name": "process_switch", "median_seconds": 1e-6, "samples": samples},
                  {"name": "system_call", "median_seconds": None}]
        self.assertEqual(costs.read({"probes": probes}), {"process_switch": 1e-6, "system_call": None, "calls": 2e-7})


if __name__ == "__main__":
    unittest.main()
