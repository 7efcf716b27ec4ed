"""Fits that survive the process that makes them."""

from semisvm.checkpoints.callback import Checkpoint
from semisvm.checkpoints.errors import CheckpointError

__all__ = ["Checkpoint", "CheckpointError"]
