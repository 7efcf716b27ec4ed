"""Errors of a sitting."""


class SittingError(ValueError):
    """A call that cannot be done; the text is a sentence for the person who labels."""


class ChangedError(SittingError):
    """A row has changed since somebody looked at it."""
