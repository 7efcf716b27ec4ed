"""Links of the README, in a clone and on the page of a released package."""

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import semisvm

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


def test_versions_are_the_same_everywhere():
    version = re.escape(semisvm.__version__)
    for name, pattern in {
        "CITATION.cff": rf"^version: {version}$",
        "packaging/conda/recipe.yaml": rf'^  version: "{version}"$',
        "CHANGELOG.md": rf"^## \[{version}\]",
    }.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(pattern, text, re.MULTILINE), name


def test_the_conda_recipe_needs_what_the_package_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    needed = [*project["dependencies"], *project["optional-dependencies"]["cli"]]
    listed = re.findall(r"^    - ([\w-]+) (>=[\w.]+)$", recipe.partition("  run:")[2], re.MULTILINE)
    found = {name + bound for name, bound in listed if name != "python"}
    assert found == {*needed}


def test_lowest_versions_are_those_of_the_project():
    spec = spec_from_file_location("oldest", ROOT / "packaging" / "oldest.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.constraints(
        {
            "dependencies": ["numpy>=2.0", "dask[array,dataframe]>=2026.8"],
            "optional-dependencies": {"a": ["pandas>=2.2.2"], "all": ["semisvm[a]"]},
        }
    )
    assert found == ["dask==2026.8", "numpy==2.0", "pandas==2.2.2"]
    with pytest.raises(AssertionError, match="a lowest version is missing"):
        module.constraints({"dependencies": ["numpy"], "optional-dependencies": {}})


@pytest.mark.parametrize("name", ["tests", "release"])
def test_workflows_are_valid(name):
    yaml = pytest.importorskip("yaml")
    path = ROOT / ".github" / "workflows" / f"{name}.yml"
    if not path.exists():
        pytest.skip("an archive of the sources has no workflows")
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert all(job["runs-on"] and job["steps"] for job in workflow["jobs"].values())
    # permissions are given where they are needed only
    assert workflow["permissions"] == {"contents": "read"}
