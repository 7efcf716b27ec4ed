"""Measurements of speed and tools: ``python -m benchmarks NAME`` from the repository root.

What they share with the tables of the papers is in `papers`: tables and verdicts, data and draws,
times. Only measurements belong here.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
