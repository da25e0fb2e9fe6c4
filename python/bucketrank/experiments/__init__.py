"""Experiments: compare methods over data sets, and say what the numbers mean."""
