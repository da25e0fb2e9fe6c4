"""Experiments: compare methods over datasets, and say what the numbers mean."""
