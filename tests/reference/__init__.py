"""Slow, exact definitions in pure Python, with which the tests compare the fast kernels."""
