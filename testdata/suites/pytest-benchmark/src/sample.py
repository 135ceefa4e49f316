"""The functions that the benchmarks measure."""

import os


def mixed(count):
    """Returns the last of a sequence of pseudo-random numbers."""
    state = 123456789
    for _ in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
    return state


def changed():
    return mixed(int(os.environ.get("SAMPLE_WORK", "1000")))


def numbers(count):
    return [i * 7919 % 10007 for i in range(count)]


def sieve(limit):
    composite = bytearray(limit)
    for number in range(2, int(limit**0.5) + 1):
        if not composite[number]:
            for multiple in range(number * number, limit, number):
                composite[multiple] = 1
    return composite.count(0)


def multiply(one, other):
    columns = list(zip(*other))
    return [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in one]


def count(keys):
    counts = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return counts


class Node:
    def __init__(self, depth):
        self.left = Node(depth - 1) if depth else None
        self.right = Node(depth - 1) if depth else None
