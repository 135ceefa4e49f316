import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Prints its arguments instead of measuring. Readings of the host fail.
STEADY = '#!/bin/sh\necho "report: $*"\n[ "$1" != host ] || exit 3\n'


def run(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        steady = Path(folder, "steady")
        steady.write_text(STEADY)
        steady.chmod(0o755)
        done = subprocess.run([ROOT / "bench/run", "published", *arguments], env={**os.environ, "STEADY": str(steady)},
                              capture_output=True, text=True, check=True)
    return done.stdout


def tables(text):
    return [line for line in text.splitlines() if line.startswith("|")]


class Published(unittest.TestCase):
    def test_all_prints_every_figure_of_the_page_after_the_command_that_measures_it(self):
        page = (ROOT / "docs/published.md").read_text()
        printed = run("--all")
        self.assertEqual(tables(printed), tables(page))
        headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]
        self.assertEqual(len(headings), 5)
        places = []
        for heading, command in zip(headings, ["load --cpu-time", "costs", "signature", "warm", "host"]):
            recorded = f"### Published and recorded: {heading}".lower()
            places += [printed.index(f"report: {command}"), printed.lower().index(recorded)]
        self.assertEqual(places, sorted(places))
        self.assertIn("Recorded 20", printed)

    def test_effects_of_settings_are_measured_as_root_or_have_a_reason(self):
        printed = run("--all")
        if os.geteuid() == 0:
            self.assertIn("report: host status --effects", printed)
        else:
            self.assertIn("not measured, because only root", printed)
        self.assertIn("Not measured: the command failed with status 3", printed)

    def test_without_all_only_the_published_tables_are_printed(self):
        printed = run()
        for table in ["hash8", "smt-2c4t", "smt-4c8t", "nosmt-2c"]:
            self.assertIn(f"report: load --published {table} ", printed)
        self.assertNotIn("Published and recorded", printed)


if __name__ == "__main__":
    unittest.main()
