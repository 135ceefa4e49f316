import gzip
import json
import random
import tempfile
import unittest
from pathlib import Path

import release
import release_mixed
import release_processes
from common import compact


class Windows(unittest.TestCase):
    def test_windows_of_one_length_do_not_overlap_and_lie_within_the_recording(self):
        about = {"design": "random", "begin": 1000.0, "end": 1600.0, "segments": [[1000.0, "v1"]]}
        found = release.windows(about, 120)
        self.assertEqual(len(found), 4)
        self.assertTrue(all(begin >= 1010 and end <= 1600 and end - begin == 120 for begin, end, _, _ in found))
        self.assertTrue(all(one[1] <= other[0] for one, other in zip(found, found[1:])))

    def test_windows_of_design_one_span_each_change_of_version(self):
        about = {"design": "one", "begin": 0.0, "end": 600.0,
                 "segments": [[0.0, "v1"], [150.0, "v2"], [300.5, "v1"], [452.0, "v2"]]}
        found = release.windows(about, 300)
        self.assertEqual([(old, new) for _, _, old, new in found], [("v1", "v2"), ("v2", "v1"), ("v1", "v2")])
        self.assertEqual(found[0][:2], (1, 300))

    def test_a_short_last_side_is_no_window(self):
        about = {"design": "one", "begin": 0.0, "end": 200.0, "segments": [[0.0, "v1"], [150.0, "v2"]]}
        self.assertEqual(release.windows(about, 300), [])


class Processes(unittest.TestCase):
    def test_differences_between_processes_are_those_within_a_minute(self):
        costs = random.Random(1)
        # The second process needs 4 % more, and the second minute half as much again.
        made = [(0, minute, "A", process, 1e6 * (1 + 0.5 * minute) * (1 + 0.04 * process) * costs.lognormvariate(0, 0.01))
                for minute in (0, 1) for process in (0, 1) for _ in range(200)]
        by_start = release_processes.differences(made)
        (first, error), (second, _) = by_start[0]
        self.assertAlmostEqual(second - first, 3.92, delta=0.5)
        self.assertTrue(0 < error < 0.1, error)
        deviation, by_number = release_processes.deviations(by_start)
        self.assertAlmostEqual(deviation, (second - first) / 2**0.5, places=6)
        self.assertTrue(0 < by_number < 0.2, by_number)


class Lines(unittest.TestCase):
    def test_lines_are_read_and_warm_up_requests_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = "steady/1\tshop\t7\t1\n" + "".join(
                f"r\t{second}000000000\t{number}\tv{1 + second % 2}\t/page\t200\t{2000 + second}\t9000\trandom\n"
                for second, number in ((1, 150), (2, 151), (3, 152), (4, 153), (5, 154)))
            with gzip.open(Path(folder) / "lines.gz", "wt") as file:
                file.write(lines + "\n")
            requests = release.read_lines(Path(folder), 100.0)
        self.assertEqual(requests[0], (102.0, "v1", 2002, 9000))
        self.assertEqual(len(requests), 4)
        answers = release.plain(requests, (100, 110, "v1", "v2"))
        self.assertAlmostEqual(answers["cpu"].change, 2004 / 2003 - 1)
        self.assertEqual(answers["wall"].p, 1.0)
        self.assertEqual(release.plain(requests, (100, 103, "v1", "v2")), {})


class Mixed(unittest.TestCase):
    def test_the_truth_is_that_of_the_total(self):
        costs = {"v1": {"common": 1.0, "expensive": 16.0}, "v2": {"common": 0.96, "expensive": 20.48}}
        self.assertAlmostEqual(release_mixed.change_of(costs), (9 * 0.96 + 20.48) / 25 - 1)

    def test_an_interval_that_misses_the_truth_is_marked(self):
        total = {"change": -0.013, "low": -0.025, "high": 0.0, "verdict": "faster"}
        about = {"classes": False}
        cells = release_mixed.row(about, 0.165, 40, {"report": {"total": total}, "failed": False})
        self.assertEqual(cells[5:], ["faster", "NO", "passes"])
        total.update(change=0.16, low=0.1, high=0.22, verdict="slower")
        cells = release_mixed.row(about, 0.165, 40, {"report": {"total": total}, "failed": True})
        self.assertEqual(cells[5:], ["slower", "yes", "fails"])


class Small(unittest.TestCase):
    def test_the_small_files_contain_the_reported_requests(self):
        lines = ("steady/1\tshop\t7\t1\n"
                 "r\t1500000000\t3\tv1\t/page\t200\t2000400\t2500400\tnone\truler=icode:29310\n\n"
                 "steady/1\tshop\t9\t5\n"
                 "r\t1200000000\t1\tv1\t/cache\t200\t900000\t900000\tnone\n")
        about = {"extra": 0, "begin": 100.9, "end": 103.0, "offset": 100.0, "segments": [[100.9, "v1"], [101.4, "v2"]],
                 "phases": [[100.95, "idle"], [105.0, "stream"]]}
        kept = [["busy", "101", "0.5"], ["alu", "101", "2", "18.0", "162.02"]]
        of_store = compact._of_store
        compact._of_store = lambda _: kept
        try:
            with tempfile.TemporaryDirectory() as folder:
                with gzip.open(Path(folder) / "lines.gz", "wt") as file:
                    file.write(lines)
                (Path(folder) / "about.json").write_text(json.dumps(about))
                compact.compact(Path(folder), Path(folder) / "small")
                files = {name: gzip.open(Path(folder) / "small" / f"{name}.tsv.gz", "rt").read().splitlines()
                        for name in ("requests", "processes", "hosts", "phases")}
        finally:
            compact._of_store = of_store
        self.assertEqual(files["requests"], ["0A12000 900", "1B3000 2000 50i2931"])
        self.assertEqual(files["processes"], ["0 1", "1 3"])
        self.assertEqual(files["hosts"], ["-", "500 a 2 90000 1000", "-"])
        self.assertEqual(files["phases"], ["950 idle"])


class Rows(unittest.TestCase):
    def test_wrong_answers_are_counted_and_errors_printed(self):
        routes = {"/page": (0.5, 0.04, 0.03, 0.05), "/cache": (0.5, 0.06, 0.05, 0.07)}
        answers = iter([{"design": "random-per-request", "refused": False, "routes": routes, "verdict": "slower",
                         "change": 0.05, "low": 0.03, "high": 0.07, "raw_change": 0.1},
                        {"design": "random-per-request", "refused": False, "routes": routes, "verdict": "faster",
                         "change": -0.05, "low": -0.07, "high": -0.03, "raw_change": 0.1},
                        {"error": "no such store"}])
        about = {"design": "random", "begin": 0.0, "end": 60.0, "offset": 0.0, "segments": [[0.0, "v1"]]}
        compared, read_lines = release.compared, release.read_lines
        release.compared, release.read_lines = lambda *_: next(answers), lambda *_: []
        try:
            cells = release.row("random", 1, {"/page": 0.04, "/cache": 0.06}, 15, [(Path("somewhere"), about)])
        finally:
            release.compared, release.read_lines = compared, read_lines
        self.assertEqual((cells[2], cells[5]), ("5.00 %", "0 of 2"))
        self.assertTrue(cells[6].startswith("1/2") and cells[7].startswith("1/2"), cells)


if __name__ == "__main__":
    unittest.main()
