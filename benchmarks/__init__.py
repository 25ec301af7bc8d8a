"""Measurements: run ``python -m benchmarks.solver`` from the root of the repository."""
