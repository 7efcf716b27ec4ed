"""Files that are read, or refused."""

import pytest

from semisvm.tables import DataError, read


def refused(path, **options):
    """Return the error of a file that is not read."""
    with pytest.raises(DataError) as caught:
        read(path, **options)
    return caught.value
