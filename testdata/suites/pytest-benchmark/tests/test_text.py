"""Benchmarks of texts."""

import hashlib
import json
import re

import pytest

LINE = "the quick brown fox jumps over the lazy dog, " * 20


@pytest.fixture
def document():
    return {"name": "fox", "sizes": list(range(50)), "is": {"quick": True, "text": LINE}}


def test_split(benchmark):
    benchmark(LINE.split)


def test_join(benchmark):
    benchmark("-".join, LINE.split())


def test_replace(benchmark):
    assert "weasel" in benchmark(LINE.replace, "fox", "weasel")


@pytest.mark.parametrize("name", ["sha256", "blake2b"])
def test_hash(benchmark, name):
    benchmark(lambda: hashlib.new(name, LINE.encode()).hexdigest())


def test_regex(benchmark):
    assert len(benchmark(re.compile(r"\b\wo\w\b").findall, LINE)) == 40


def test_write_json(benchmark, document):
    benchmark(json.dumps, document)


def test_parse_json(benchmark, document):
    benchmark(json.loads, json.dumps(document))
