import unittest

import warm_store


def pairs(*ratios: float) -> list:
    return [{"normal": 1.0, "warm": ratio, "launches": 60} for ratio in ratios]


class Report(unittest.TestCase):
    def test_the_median_of_each_load_is_compared_with_the_target(self):
        text, reached = warm_store.report({0: pairs(0.8, 0.9, 2.0), 12: pairs(1.04, 1.0, 1.2)}, [2, 2, 3])
        self.assertTrue(reached)
        self.assertIn("with 12 busy processes: 1.040 of normal, at most 1.05: reached", text)
        text, reached = warm_store.report({4: pairs(1.06, 1.07, 0.9)}, [2, 2, 3])
        self.assertFalse(reached)
        self.assertIn("with 4 busy processes: 1.060 of normal, at most 1.05: NOT reached", text)

    def test_most_sessions_must_use_a_snapshot(self):
        self.assertFalse(warm_store.report({0: pairs(1.0)}, [2, None, None])[1])
        self.assertFalse(warm_store.report({0: pairs(1.0)}, [3, 3, 2])[1])
        self.assertTrue(warm_store.report({0: pairs(1.0)}, [2, None, 2])[1])


if __name__ == "__main__":
    unittest.main()
