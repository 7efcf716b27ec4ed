"""Errors of a sitting."""


class SittingError(ValueError):
    """A call that cannot be done; the text is a sentence for the person who labels."""
