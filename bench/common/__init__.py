"""Shared by the benches: commands of known cost, background loads, the tools under test, statistics, results files."""
