"""Files that tests of readers make."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Write text or bytes to a file of a name, and return its path."""

    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make
