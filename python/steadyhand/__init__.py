"""Steadyhand: performance verdicts that hold on a Linux machine that cannot be kept quiet.

The package carries the program `steady`; it has no modules of its own yet.
"""
