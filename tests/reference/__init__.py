"""Slow, exact, pure-Python definitions that the tests hold the fast kernels against."""
