"""Benchmarks of numbers and containers."""

import pytest
import sample


def test_changed(benchmark):
    benchmark(sample.changed)


def test_mixed_is_deterministic():
    assert sample.mixed(10) == sample.mixed(10)


@pytest.mark.parametrize("size", [100, 1000])
def test_sort(benchmark, size):
    values = sample.numbers(size)
    assert len(benchmark(sorted, values)) == size


def test_sort_by_key(benchmark):
    benchmark(sorted, sample.numbers(500), key=lambda value: -value)


def test_sieve(benchmark):
    assert benchmark(sample.sieve, 2000) == 305


def test_matrix(
    benchmark,
):
    benchmark(sample.multiply, [[1.5] * 12] * 12, [[0.5] * 12] * 12)


@pytest.mark.benchmark(group="containers")
class TestContainers:
    def test_count(self, benchmark):
        benchmark(sample.count, sample.numbers(500))

    def test_set(self, benchmark):
        values = sample.numbers(500)

        @benchmark
        def unique():
            return set(values)

    def test_allocate(self, benchmark):
        benchmark(sample.Node, 6)


@pytest.mark.parametrize("base", [2, pytest.param(10, id="a b [1.5](x)+|$^::/y")])
def test_power(benchmark, base):
    benchmark(pow, base, 300, 1009)


def test_pedantic(benchmark):
    benchmark.pedantic(sample.mixed, args=(500,), iterations=10, rounds=20)
