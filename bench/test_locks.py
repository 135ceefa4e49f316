import unittest

import locks


def found(watched, contended):
    ways = {("bare", 1.0), ("watched", watched)}
    ways_contended = {("bare", 1.0), ("watched", contended)}
    return {**{(name, way): (10 * times, 10.0, 0.0) for name in ("uncontended", "alone") for way, times in ways},
            **{(name, way): (100 * times, 50 * times, 0.25) for name in ("contended", "contended longer")
               for way, times in ways_contended}}


class Arithmetic(unittest.TestCase):
    def test_ratios_are_within_a_round(self):
        self.assertEqual(locks.ratios([found(1.2, 1.0), found(1.4, 1.0)], "uncontended", "watched", 0), [1.2, 1.4])
        self.assertEqual(locks.ratios([found(1.2, 1.0)], "contended", "watched", 1), [1.0])

    def test_the_median_decides(self):
        self.assertTrue(locks.is_reached([found(1.2, 1.0), found(1.4, 1.0), found(9, 1.0)], "uncontended"))
        self.assertFalse(locks.is_reached([found(1.2, 1.2), found(1.4, 1.1), found(9, 1.0)], "contended"))

    def test_missing_tools_are_left_out(self):
        text = locks.report([found(1.2, 1.3)])
        self.assertIn("1.5 x bare, by CPU time: reached", text)
        self.assertIn("1.05 x bare, by CPU time: NOT reached", text)
        self.assertEqual(text.count("1.05 x bare"), 2)
        self.assertIn("25.0%", text)
        self.assertNotIn("DRD", text)


if __name__ == "__main__":
    unittest.main()
