"""Slow and simple definitions, most of them in exact fractions, with which the tests compare the fast kernels."""
