import unittest
from random import Random

import replay


def recording(blocks: int) -> dict:
    runs = [{"command": 0, "wall_seconds": 1.0}, {"command": 1, "wall_seconds": 2.0}]
    return {"seed": "7", "samples": {"looks": [], "blocks": [{"layout": "turns", "runs": runs}] * blocks}}


class Replay(unittest.TestCase):
    def test_only_labels_are_swapped_in_about_half_of_the_blocks(self):
        old = recording(400)
        new = replay.relabelled(old, Random(1))
        swapped = [block["runs"][0]["command"] for block in new["samples"]["blocks"]]
        self.assertTrue(150 < sum(swapped) < 250, sum(swapped))
        for block in new["samples"]["blocks"]:
            self.assertEqual(sorted(run["command"] for run in block["runs"]), [0, 1])
            self.assertEqual([run["wall_seconds"] for run in block["runs"]], [1.0, 2.0])
        self.assertEqual(old, recording(400), "the recording was changed")
        self.assertEqual(replay.relabelled(old, Random(1)), new)


if __name__ == "__main__":
    unittest.main()
