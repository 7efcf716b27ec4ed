"""Benchmarks of the linear family: ``python -m benchmarks NAME`` from the repository root."""
