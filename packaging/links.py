"""Make the links of the package's index page from the address of the repository.

The address is set once, in ``[tool.hatch.metadata.hooks.custom]`` of ``pyproject.toml``. When a
package is built, the project's links follow from it, and relative links and pictures of the
README lead to the files of that version. Without an address both stay as they are.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)(?P<text>\[[^]]*\])\((?!https?:|#)(?P<target>[^)]+)\)")
PICTURE = re.compile(r'src="(?!https?:)([^"]+)"')


def absolute(text: str, address: str, version: str) -> str:
    """Replace relative links of a Markdown text by those to a version's files."""
    if not address:
        return text
    files, raw = f"{address}/blob/v{version}/", f"{address}/raw/v{version}/"
    text = LINK.sub(
        lambda m: f"{m['picture']}{m['text']}({raw if m['picture'] else files}{m['target']})", text
    )
    return PICTURE.sub(rf'src="{raw}\1"', text)


def urls(address: str, version: str) -> dict[str, str]:
    """Return the links of the project."""
    if not address:
        return {}
    return {
        "Homepage": address,
        "Documentation": f"{address}/blob/v{version}/docs/index.md",
        "Changelog": f"{address}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }


class Links(MetadataHookInterface):
    """Set readme and links of the package."""

    def update(self, metadata: dict) -> None:
        """Add them to the metadata."""
        address, version = self.config["address"].rstrip("/"), metadata["version"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, address, version),
        }
        metadata["urls"] = urls(address, version)
