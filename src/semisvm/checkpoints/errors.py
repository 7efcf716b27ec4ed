"""What is wrong with a checkpoint."""

from semisvm.io.errors import DataError


class CheckpointError(DataError):
    """A checkpoint that is damaged, or of another fit than the one that is to go on from it."""
