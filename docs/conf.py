"""Settings of Sphinx: ``make docs`` calls it with warnings as errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from semisvm import __version__

project = "semisvm"
author = "The semisvm developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_nb",
    "numpydoc",
    "links",
    "method_table",
]
exclude_patterns = ["_ext", "_static"]
nitpicky = True
# single backticks name parameters and attributes as well as objects: only names that look
# like classes must lead somewhere
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", r"[a-z_0-9.]+|X|GridSearchCV")]

autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator",
    # made by scikit-learn, with links into its own guide
    "exclude-members": "set_fit_request, set_score_request, set_predict_request, "
    "set_transform_request, set_output, get_metadata_routing",
}
# docstrings give types with shapes, which annotations cannot
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False

myst_heading_anchors = 3
# the pages of notebooks/ are executed at every build
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
# a first fit says on stderr that it compiles
nb_output_stderr = "remove"
highlight_language = "none"

html_theme = "furo"
html_title = f"semisvm {release}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["notebooks.css"]
