"""Measurements of speed and tools: ``python -m benchmarks NAME`` from the repository root.

The same command runs the tables of the papers, which live in `papers`, and so does what
both share: tables and verdicts, data and draws, times. Only measurements belong here.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
