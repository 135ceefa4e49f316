import unittest

import signature


def found(**seconds):
    """Returns a round with these seconds; all signatures are equal."""
    return {(tool, name): (value, 7, 0.2) for (tool, name), value in seconds["of"].items()}


BASE = {("C pool", "random"): 1.0, ("C malloc", "random"): 1.2, ("system", "random"): 1.0, ("pool", "random"): 0.7,
        ("none", "random"): 0.1, ("C pool", "text"): 0.3, ("C malloc", "text"): 0.4, ("system", "text"): 0.3,
        ("pool", "text"): 0.2, ("none", "text"): 0.05, ("none", 1): 0.2, ("none", 2): 0.1, ("pool", 1): 0.9, ("pool", 2): 0.46,
        ("pool", "small"): 0.01, ("global", "small"): 0.1}


class Reporting(unittest.TestCase):
    def test_reached_targets(self):
        text, reached = signature.report([found(of=BASE)] * 3, 16 << 20)
        self.assertTrue(reached, text)
        self.assertIn("global takes 10.0 times pool's time", text)
        self.assertNotIn("NOT reached", text)

    def test_missed_targets(self):
        for change in ({("pool", "random"): 0.9}, {("none", 2): 0.15}, {("none", "text"): 0.25}):
            text, reached = signature.report([found(of={**BASE, **change})] * 3, 16 << 20)
            self.assertFalse(reached)
            self.assertIn("NOT reached", text)

    def test_a_different_signature_is_a_failure(self):
        wrong = {**found(of=BASE), ("none", "text"): (0.05, 8)}
        self.assertFalse(signature.report([found(of=BASE), wrong], 16 << 20)[1])


if __name__ == "__main__":
    unittest.main()
