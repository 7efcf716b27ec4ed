"""Links of the README, in a clone and on the page of a released package."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "packaging").is_dir():
    pytest.skip("the files of a release are not beside the tests", allow_module_level=True)
ADDRESS = "https://example.org/semisvm"
TARGETS = re.compile(r'\]\(([^)]+)\)|src="([^"]+)"')


@pytest.fixture
def links():
    pytest.importorskip("hatchling")
    spec = spec_from_file_location("links", ROOT / "packaging" / "links.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def targets(text):
    return [link or picture for link, picture in TARGETS.findall(text)]


def test_readme_links_to_files_that_exist():
    found = targets((ROOT / "README.md").read_text(encoding="utf-8"))
    relative = [link.partition("#")[0] for link in found if not link.startswith(("http", "#"))]
    assert len(relative) > 5
    assert [link for link in relative if not (ROOT / link).exists()] == []


def test_links_of_a_released_readme_are_absolute(links):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = links.absolute(readme, ADDRESS, "1.2.3")
    assert [link for link in targets(made) if not link.startswith(("https://", "#"))] == []
    assert f"{ADDRESS}/raw/v1.2.3/docs/images/" in made
    assert f"]({ADDRESS}/blob/v1.2.3/docs/" in made
    assert len(targets(made)) == len(targets(readme))


def test_links_of_the_project_follow_from_its_address(links):
    assert all(url.startswith(ADDRESS) for url in links.urls(ADDRESS, "1.2.3").values())
    assert links.urls("", "1.2.3") == {}
    assert links.absolute("[a](b.md)", "", "1.2.3") == "[a](b.md)"
