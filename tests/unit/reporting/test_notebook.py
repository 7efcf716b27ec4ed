"""What notebooks show: tables and figures, escaped, with a style that concerns nothing else."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import hide, two_blobs
from semisvm import AnnealedSVC, MultiLabelSVC, NewtonSVC, Trace, TransductiveSVC
from semisvm.model_selection import Choice, compare
from semisvm.reporting.figures import trace_data
from semisvm.reporting.html import DIAGRAM, VIEW, diagram_style, view_style

EVIL = "<script>alert(1)</script>"


class Balance(HTMLParser):
    """Counts tags, and notes those that are closed in another order than they were opened."""

    VOID = ("meta", "br", "hr", "input", "link", "img")

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.wrong = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.fixture(scope="module")
def blobs():
    X, y = two_blobs(120, 4)
    return X, np.array([EVIL, "ham", None], dtype=object)[hide(y, 40)]


@pytest.fixture(scope="module")
def fitted(blobs):
    return AnnealedSVC(reg=0.05).fit(*blobs)


@pytest.fixture(scope="module")
def compared(blobs):
    methods = {"svm": NewtonSVC(), EVIL: TransductiveSVC(class_prior="labels")}
    return compare(methods, *blobs, cv=2)


def own(page):
    """The part of a page that is ours."""
    return page[page.index(f'<div class="{VIEW}">') :]


def check(page):
    """Check a view; return its tags."""
    mine = own(page)
    found = Balance(mine)
    assert not found.wrong
    assert not found.open
    assert "script" not in found.seen
    assert not re.search(r"https?://|url\(|@import| on\w+=", mine)
    return found.seen


def test_a_trace(fitted):
    page = fitted.trace_._repr_html_()
    assert check(page).count("svg") == 1
    assert "annealing" in page
    assert "temperature" in page
    assert f"{len(fitted.trace_)} rounds" in page
    for note in fitted.trace_.notes:
        assert note.split(":")[0] in page


def test_an_empty_trace_and_one_without_objectives():
    assert "No rounds" in Trace()._repr_html_()
    rows = [{"phase": EVIL, "member": "a"}, {"phase": "b"}]
    page = Trace(rows, [EVIL])._repr_html_()
    assert "svg" not in check(page)
    assert page.count("&lt;script&gt;") == 2


def test_long_traces_are_cut():
    rows = [{"phase": f"p{k}", "objective": float(k), "value": np.nan} for k in range(500)]
    page = Trace(rows, [f"note {k}" for k in range(30)])._repr_html_()
    assert "480 more" in page
    assert "and 20 more" in page
    assert len(page) < 200_000


def test_a_comparison(compared):
    page = compared._repr_html_()
    assert check(page).count("svg") == 1
    assert "Did the unlabelled rows help?" in page
    assert f"{compared.methods[0].mean:.3f}" in page
    assert "&lt;script&gt;" in page


def test_a_choice(compared):
    choice = Choice("tsvm", {"reg": 0.01}, (EVIL,), methods=compared, skipped={"lds": EVIL})
    page = choice._repr_html_()
    assert "svg" in check(page)
    assert "0.01" in page
    assert page.count("&lt;script&gt;alert(1)") >= 3
    bare = Choice("svm", {}, ("there are few labels",))._repr_html_()
    assert "svg" not in check(bare)


def test_a_fitted_estimator(fitted, blobs):
    page = fitted._repr_html_()
    assert "sk-top-container" in page, "scikit-learn's diagram is there"
    tags = check(page)
    assert "svg" in tags
    assert "details" in tags
    assert "&lt;script&gt;" in own(page), "the name of a class"
    assert "±" in page
    assert fitted._repr_mimebundle_()["text/html"].count(VIEW) == page.count(VIEW)
    unfitted = AnnealedSVC()._repr_html_()
    assert "sk-top-container" in unfitted
    assert VIEW not in unfitted


def test_the_diagram_is_dark_on_a_dark_page(fitted):
    for page in (fitted._repr_html_(), AnnealedSVC()._repr_html_()):
        # what holds the diagram, with rules for it alone
        assert page.startswith(f'<div class="{DIAGRAM}"><style>')
        rules = page[: page.index("</style>")].split("<style>")[1].splitlines()
        for rule in rules:
            themes = re.match(r":is\((.*)\)", rule).group(1).split(",")
            assert all(f".{DIAGRAM} .sk-global" in each for each in themes)
            assert any('data-jp-theme-light="false"' in each for each in themes)
    # all colours that scikit-learn has, so that none stays light
    page = AnnealedSVC()._repr_html_()
    theirs = set(re.findall(r"(--sklearn-color-[a-z0-9-]+):", page.split("</style>", 1)[1]))
    if "sk-global" in page.split("</style>", 1)[1]:  # since scikit-learn 1.9
        assert theirs <= set(re.findall(r"(--sklearn-color-[a-z0-9-]+):", diagram_style()))


def test_settings_of_scikit_learn_hold(fitted):
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert "text/html" not in fitted._repr_mimebundle_()


def test_several_labels(blobs):
    X, y = two_blobs(80, 4)
    model = MultiLabelSVC().fit(X, np.column_stack([hide(y, 30), hide(1 - y, 20)]))
    assert "label" in own(model._repr_html_())
    check(model._repr_html_())


def test_in_a_pipeline(blobs):
    X, y = blobs
    page = make_pipeline(StandardScaler(), TransductiveSVC()).fit(X, y)._repr_html_()
    assert "TransductiveSVC" in page
    assert VIEW not in page, "the diagram of a pipeline is scikit-learn's"


def test_the_style_concerns_the_view_only():
    style = view_style()
    names = re.findall(r"([^{}]+)\{", style)
    selectors = [one.strip() for name in names for one in name.split(",") if "@media" not in name]
    assert all(f".{VIEW}" in one for one in selectors)
    assert style.count("{") == style.count("}")
    assert "prefers-color-scheme: dark" in style


def test_rounds_are_thinned_with_the_ends_of_phases():
    rows = [{"phase": "ab"[k > 77], "objective": 1.0, "value": 2.0} for k in range(1000)]
    found = trace_data(Trace(rows), 20)
    assert len(found["round"]) <= 22
    assert {0, 77, 78, 999} <= set(found["round"].tolist())
    assert trace_data(None, 20) is None
