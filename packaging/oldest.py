"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?>=(?P<version>[\w.]+)")


def constraints(project: dict) -> list[str]:
    """Return ``name==version`` for what the package and its extras need."""
    needed = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        needed += extra
    found = [REQUIREMENT.fullmatch(entry) for entry in needed if not entry.startswith("semisvm[")]
    assert all(found), f"a lowest version is missing among {needed}"
    return sorted({f"{match['name']}=={match['version']}" for match in found if match})


if __name__ == "__main__":
    file = Path(__file__).parents[1] / "pyproject.toml"
    print("\n".join(constraints(tomllib.loads(file.read_text())["project"])))
