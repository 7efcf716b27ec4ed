"""Benchmarks of the linear family: ``python -m benchmarks NAME`` from the repository root."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
