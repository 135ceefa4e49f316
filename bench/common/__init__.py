"""What the benches share: works of known cost, loads, the tools under test, statistics, results."""
