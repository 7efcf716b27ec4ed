"""Reports: their content, that they are safe, and that a browser shows them."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import semisvm
from problems import hide, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, SemiSupervisedCommittee, TransductiveSVC
from semisvm.estimators.registry import get
from semisvm.model_selection import Comparison
from semisvm.model_selection.comparison_result import FoldScore
from semisvm.reporting import render, report_data, write_report
from semisvm.reporting.data import ROUNDS
from semisvm.reporting.figures import Scale
from semisvm.reporting.html import Markup, escape, tag
from semisvm.tables import ColumnFeatures, DataError, Table

EVIL = '<script>document.title="broken"</script>'
EVIL_WORD = "x<img/src=x/onerror=alert(1)>"


def comparison(gap=0.1, names=("svm", "tsvm"), n_labeled=30):
    base = [0.70, 0.72, 0.68, 0.71, 0.69]
    folds = {
        name: [
            FoldScore(name, k, v + gap * (i > 0) + 1e-3 * k * i, 0.1) for k, v in enumerate(base)
        ]
        for i, name in enumerate(names)
    }
    return Comparison.of(
        folds,
        baseline=names[0],
        scoring="accuracy",
        confidence=0.95,
        test_share=0.25,
        n_labeled=n_labeled,
        n_unlabeled=90,
    )


@pytest.fixture(scope="module")
def evil():
    """A model whose class, column and words are attacks."""
    words = (["win", "cash", "prize"], ["lunch", "notes", "plan"])
    rng = np.random.default_rng(0)
    column = f'"{EVIL}'
    texts = [" ".join(rng.choice(words[i % 2], 4)) for i in range(60)]
    labels = [[EVIL, "ham & 'eggs'"][i % 2] if i < 12 else None for i in range(60)]
    kinds = [[EVIL_WORD, "plain"][i % 2] for i in range(60)]
    table = Table({column: texts, "kind": kinds}, np.array(labels, dtype=object))
    features = ColumnFeatures(text=[column], categorical=["kind"])
    return semisvm.train(
        table, "da", features=features, settings={"label": EVIL, "unlabeled": None}
    )


@pytest.fixture(scope="module")
def blobs():
    X, y = two_blobs()
    partly = hide(y, 10)
    return X, partly, TransductiveSVC(class_prior=[0.4, 0.6]).fit(X, partly)


class Reader(HTMLParser):
    """Collect elements and visible text of a page."""

    def __init__(self):
        super().__init__()
        self.names, self.links, self.words, self.open = [], [], [], []

    def handle_starttag(self, name, attributes):
        self.names.append(name)
        self.links += [v for k, v in attributes if k in ("src", "href", "onerror", "onload")]
        if name != "meta":
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_data_of_a_model(evil):
    data = report_data(evil, top=3, notes=["one more"])
    assert data["data"]["rows"] == 60
    assert (data["data"]["labelled"], data["data"]["unlabelled"]) == (12, 48)
    assert [entry["labels"] for entry in data["classes"]] == [6, 6]
    assert sum(entry["found"] for entry in data["classes"]) == 48
    assert sum(entry["found_share"] for entry in data["classes"]) == pytest.approx(1.0)
    assert data["prior"] == "estimated from the labels and the unlabelled rows"
    assert sum(data["scores"]["counts"]) == 48
    assert data["method"]["name"] == "da"
    assert len(data["top"][0]["features"]) == 3
    assert data["notes"][-1] == "one more"
    assert "unlabeled" not in data["settings"]
    assert data["comparison"] is None


def test_data_are_json_and_render_the_same_after_it(evil):
    data = report_data(evil, comparison())
    again = json.loads(json.dumps(data, allow_nan=False))
    assert again == data
    assert render(again) == render(data)


def test_words_of_one_text_column_lose_its_name(evil):
    words = {f["name"] for entry in report_data(evil)["top"] for f in entry["features"]}
    assert {"win", "lunch"} <= words
    assert any(word.endswith(EVIL_WORD) for word in words)


def test_data_of_an_estimator(blobs):
    X, partly, model = blobs
    alone = report_data(model)
    assert alone["data"]["rows"] is None
    assert alone["scores"] is None
    assert "holds no scores" in render(alone)
    data = report_data(model, X=X, y=partly)
    assert (data["data"]["rows"], data["data"]["labelled"]) == (120, 10)
    assert data["prior"] == "given"
    assert [entry["prior"] for entry in data["classes"]] == [0.4, 0.6]
    assert data["classes"][1]["found"] == int(np.sum(model.predict(X[partly == -1]) == 1))
    changed = [p["name"] for p in data["parameters"] if p["value"] != p["default"]]
    assert changed == ["class_prior"]


def test_no_report_of_what_is_not_fitted():
    with pytest.raises(ValueError, match="fitted linear estimator"):
        report_data(TransductiveSVC())


def test_long_traces_are_thinned_and_keep_their_phases(blobs):
    X, partly, _ = blobs
    model = AnnealedSVC().fit(X, partly)
    model.trace_.rows[5:5] = [dict(model.trace_.rows[4]) for _ in range(3000)]
    trace = report_data(model)["trace"]
    assert trace["rounds"] == len(model.trace_)
    assert len(trace["round"]) <= ROUNDS + 10
    assert trace["round"][-1] == len(model.trace_) - 1
    phases = ["supervised", "annealing", "switching"]
    assert list(dict.fromkeys(trace["phase"])) == phases


@pytest.mark.parametrize(
    ("gap", "n_labeled", "headline", "recommended"),
    [
        (0.1, 200, "Yes, they helped", "tsvm"),
        (-0.1, 200, "No, they hurt", "svm"),
        (0.1, 4, "Not known yet", "svm"),
    ],
)
def test_verdict(blobs, gap, n_labeled, headline, recommended):
    X, partly, model = blobs
    data = report_data(model, comparison(gap, n_labeled=n_labeled), X=X, y=partly)
    words = "".join(read(render(data)).words)
    assert headline in words
    assert words.count("Recommended") == 1
    assert re.search(rf"Recommended: (the supervised model, )?{recommended}\.", words)
    assert ("not with that one" in words) == (recommended == "svm")


def test_comparison_in_the_summary_is_used(blobs):
    model = semisvm.Model(blobs[2], summary={"comparison": comparison().to_dict()})
    assert report_data(model)["comparison"]["best"] == "tsvm"
    assert "not tested" in render(report_data(blobs[2]))


def test_text_of_users_is_escaped(evil):
    data = report_data(evil, comparison(names=(EVIL, EVIL_WORD)), title=EVIL, notes=["\x00\ud800"])
    page = render(data)
    reader = read(page)
    assert not {"script", "img", "iframe", "link", "object"} & set(reader.names)
    assert reader.links == []
    assert EVIL in "".join(reader.words)
    assert EVIL_WORD in "".join(reader.words)
    assert not re.search("[\x00\ud800]", page)


def test_page_loads_no_other_files(evil):
    page = render(report_data(evil, comparison()))
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|url\(|@import|<script|<link", page)
    assert {"svg", "table", "main", "h1"} <= set(read(page).names)


def test_supervised_and_many_classes():
    X, y = two_blobs(n=150, d=3)
    y = y + (X[:, 2] > 0.5) * (y == 1)
    partly = hide(y, 15)
    for model in (NewtonSVC(), TransductiveSVC(reg=0.01)):
        words = "".join(read(render(report_data(model.fit(X, partly), X=X, y=partly))).words)
        assert "margin of the best class over the second" in words
    labelled = report_data(NewtonSVC().fit(X, y), X=X, y=y)
    assert labelled["data"]["unlabelled"] == 0
    assert "not used by this method" in render(labelled)


def test_written_whole(evil, tmp_path):
    path = tmp_path / "report.html"
    data = write_report(evil, path, title="Mail")
    assert path.read_text(encoding="utf-8") == render(data)
    with pytest.raises(DataError, match="no folder"):
        write_report(evil, tmp_path / "nowhere" / "report.html")
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_report_of_a_loaded_model_is_that_of_the_fitted_one(evil, tmp_path):
    semisvm.save(evil, tmp_path / "m", created="2024-02-03")
    data = report_data(semisvm.load(tmp_path / "m"))
    assert data["created"] == "2024-02-03"
    fitted = report_data(evil, created="2024-02-03")
    fitted["parameters"] = data["parameters"]
    assert data == fitted


def test_markup():
    assert tag("p", "<", Markup("<b>"), None, ["&"], class_='a"b', id=None) == (
        '<p class="a&quot;b">&lt;<b>&amp;</p>'
    )
    # joined markup is text again, and safe
    assert escape(tag("b") + "x") == "&lt;b&gt;&lt;/b&gt;x"


def test_scales():
    assert Scale(0, 10, 0, 100)(5) == 50
    assert Scale(1, 1, 0, 100)(1) == 50
    assert Scale(0, 10, 0, 100).ticks(5) == [0, 2, 4, 6, 8, 10]
    assert Scale(0.01, 100, 0, 100, log=True).ticks(5) == pytest.approx([0.01, 0.1, 1, 10, 100])
    assert Scale(0.01, 100, 0, 100, log=True)(1) == 50
    assert Scale(2, 5, 0, 1, log=True).ticks() == [2, 5]
    assert len(Scale(-0.03, 0.7, 0, 1).ticks(4)) <= 5


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browsed(evil, tmp_path_factory):
    """The page in a browser: its elements, a picture of it, and the messages of the browser."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        pytest.skip(f"no browser here: none of {', '.join(BROWSERS)} is installed")
    folder = tmp_path_factory.mktemp("browser")
    page, picture = folder / "report.html", folder / "report.png"
    write_report(evil, page, comparison(), title="Mail report")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
    flags += ["--disable-background-networking", "--disable-sync", "--enable-logging=stderr"]
    flags += [f"--user-data-dir={folder / 'profile'}", "--window-size=900,1600"]
    flags += ["--dump-dom", f"--screenshot={picture}", page.as_uri()]
    command = [found, *flags]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return result.stdout, picture, result.stderr


def test_a_browser_shows_it(browsed):
    image = pytest.importorskip("matplotlib.image").imread(browsed[1])
    assert image.shape[:2] == (1600, 900)
    # a page that did not render is of one colour in most bands of a few lines
    bands = image[:, :, :3].reshape(40, 40, 900, 3)
    inked = [np.ptp(band, axis=(0, 1)).max() > 0.3 for band in bands]
    assert np.mean(inked) > 0.5


def test_a_browser_runs_and_fetches_nothing(browsed):
    elements, _, message = browsed
    assert "<title>Mail report</title>" in elements
    assert elements.count("<svg") == 3
    assert "<script" not in elements
    # errors, and what the policy of the page forbade
    assert "CONSOLE" not in message


def test_small_numbers_are_written_for_people(blobs):
    X, partly, model = blobs
    data = report_data(model, X=X, y=partly)
    data["data"]["fit_seconds"] = 0.0031
    data["method"]["rounds"] = 1
    for name in ("round", "phase", "objective", "value"):
        data["trace"][name] = data["trace"][name][:2]
    page = render(data)
    assert "1 round to the objective" in page
    assert "&lt; 0.01 s" in page
    assert "Objective of the fit" not in page, "two points are no curve"


def test_a_committee_lists_its_members(blobs):
    X, partly, _ = blobs
    members = [("svm", NewtonSVC()), ("tsvm", TransductiveSVC()), ("da", AnnealedSVC())]
    model = SemiSupervisedCommittee(members, weights=[1.0, 1.0, 1.0]).fit(X, partly)
    data = report_data(model, X=X, y=partly)
    assert data["prior"] == "estimated from the labels and the unlabelled rows"
    assert data["method"]["summary"].startswith("3 methods")
    model.trace_.notes.append("a note of the optimiser")
    data = report_data(model, X=X, y=partly, notes=["about the data"])
    assert data["notes"] == ["about the data"]
    assert [m["name"] for m in data["members"]] == ["svm", "tsvm", "da"]
    assert sum(m["share"] for m in data["members"]) == pytest.approx(1.0)
    page = render(data)
    trace = page[page.index('id="trace"') :]
    assert "3 methods were fitted" in trace
    assert "a note of the optimiser" in trace
    assert page.index("about the data") < page.index("a note of the optimiser")
    assert "NewtonSVC(unlabeled" not in page
    supervised = SemiSupervisedCommittee(members[:1], weights=[1.0]).fit(X, partly)
    assert report_data(supervised)["prior"] == "not used by this method"
    assert [entry["prior"] for entry in report_data(supervised)["classes"]] == [None, None]
    given = SemiSupervisedCommittee(members, weights=[1, 1, 1], class_prior=[0.4, 0.6])
    assert report_data(given.fit(X, partly))["prior"] == "given"
    assert "five" not in get("committee").summary
