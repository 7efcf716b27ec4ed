"""Paths that begin on a sample of the unlabelled rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from interrupted import InterruptedFitError, same
from semisvm import AnnealedSVC, Checkpoint, TransductiveSVC, open_rows, write_rows
from semisvm.designs import Workers, make_design
from semisvm.labels.hierarchy import flat
from semisvm.losses import LOSSES
from semisvm.methods import Recorder, sample_sizes
from semisvm.tasks.samples import places_of, spans_of, within
from semisvm.tasks.task import make_task
from semisvm.tasks.weight_steps import SoftLabels

LAM = 0.8
METHODS = [TransductiveSVC, AnnealedSVC]


@pytest.fixture
def early(monkeypatch):
    """Take samples of small data."""
    monkeypatch.setattr(sample_sizes, "WHOLE_BELOW", 100)
    monkeypatch.setattr(sample_sizes, "SMALLEST", 60)
    monkeypatch.setattr(sample_sizes, "CURVATURE_ROWS", 100)


def blobs(m=2, n=1200, d=8, seed=0, gap=1.6):
    """Return overlapping blobs sorted by class, with six labels of each."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, m, n))
    X = gap * np.eye(m, d)[y] + rng.standard_normal((n, d)) / np.sqrt(d)
    X[np.abs(X) < 0.1] = 0.0
    labels = np.full(n, -1)
    for k in range(m):
        known = rng.permutation(np.flatnonzero(y == k))[:6]
        labels[known] = k
    return X, labels, y


def model_of(kind, data, **parameters):
    X, labels, y = data
    prior = np.bincount(y) / len(y)
    return kind(reg=1e-2, class_prior=prior, unlabeled_weight=LAM, **parameters).fit(X, labels)


def whole_model_of(kind, data, monkeypatch, **parameters):
    with monkeypatch.context() as patch:
        patch.setattr(sample_sizes, "WHOLE_BELOW", np.inf)
        return model_of(kind, data, **parameters)


# The sample ---------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.integers(2, 30_000), st.data())
def test_a_sample_takes_its_share_of_every_part(n, data):
    size = data.draw(st.integers(1, n))
    spans = spans_of(n, size)
    places = places_of(spans)
    assert len(places) == size
    assert (np.diff(places) > 0).all()
    assert places[0] >= 0
    assert places[-1] < n
    # as many in the first half, but for one part
    most = -(-n // min(size, 1000))
    assert abs(np.count_nonzero(places < n // 2) - size / 2) <= most
    if size <= n // 2:
        others = places_of(spans_of(n, size, others=True))
        assert len(np.intersect1d(places, others)) == 0
        assert np.all(np.diff(others) > 0)
        assert 3 * len(others) >= size


@settings(max_examples=50)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.data())
def test_blocks_have_the_rows_of_the_whole(sizes, data):
    n = sum(sizes) + 1
    sizes = [*sizes, 1]
    spans = spans_of(n, data.draw(st.integers(1, n)))
    begins = np.cumsum([0, *sizes[:-1]])
    parts = [places_of(own) + b for own, b in zip(within(spans, sizes), begins, strict=True)]
    np.testing.assert_array_equal(np.concatenate(parts), places_of(spans))


def task_of(X, labels, m, counts, loss="squared_hinge", mass=None, evidence=None):
    labeled = np.flatnonzero(labels >= 0)
    design = make_design(X, 1.0, Workers(), renumber=False)
    return make_task(
        design,
        labeled,
        np.flatnonzero(labels < 0),
        labels[labeled],
        np.full(len(labeled), 1.0 / len(labeled)),
        counts=counts,
        hierarchy=flat(np.arange(m)),
        loss=LOSSES[loss],
        reg=1e-2,
        recorder=Recorder(),
        **({} if mass is None else {"mass": mass}),
        evidence=evidence,
    )


def numbers_of(task, w, soft):
    """Return what a task computes, with hard and with soft labels."""
    rows = task.rows.all
    rows.score(w)
    if task.n_columns == 1:
        task.label_best()
    else:
        task.assign(None)
        rows.adopt_table()
    rows.set_label_costs(LAM)
    value, gradient, _ = rows.linearize()
    found = [value, gradient, rows.curvature(w.copy()), *rows.losses(), task.imbalance()]
    rows.set_direction(w)
    rows.move(0.3)
    task.soften(soft)
    found += [task.free_energy(w, soft), rows.entropy()]
    rows.set_belief_costs(LAM)
    problem_value, gradient, _ = rows.linearize()
    return [*found, problem_value, gradient, rows.labeled_curvature()]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_a_sampled_task_is_that_of_its_rows(form, loss, weighted, m):
    X, labels, _ = blobs(m, n=400)
    free = np.flatnonzero(labels < 0)
    u = len(free)
    rng = np.random.default_rng(3)
    mass = rng.integers(1, 4, u).astype(float) if weighted else None
    total = u if mass is None else int(mass.sum())
    counts = np.full(m, total // m)
    counts[0] += total - counts.sum()
    evidence = rng.random((u, m)) if weighted else None
    task = task_of(form(X), labels, m, counts, loss, mass, evidence)
    some = task.sampled(90)
    places = places_of(spans_of(u, 90))
    rows = np.sort(np.concatenate([np.flatnonzero(labels >= 0), free[places]]))
    own = None if mass is None else mass[places]
    known = None if evidence is None else evidence[places]
    wanted = np.array(
        [some.n_unlabeled - some.n_positive, some.n_positive] if m == 2 else some.counts
    )
    np.testing.assert_allclose(wanted / wanted.sum(), counts / total, atol=2 / wanted.sum())
    alone = task_of(form(X[rows]), labels[rows], m, wanted, loss, own, known)
    w = rng.standard_normal(task.n_weights)
    for ours, theirs in zip(
        numbers_of(some, w, SoftLabels(LAM, 0.3)),
        numbers_of(alone, w, SoftLabels(LAM, 0.3)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    # and back to all rows
    fresh = task_of(form(X), labels, m, counts, loss, mass, evidence)
    for ours, theirs in zip(
        numbers_of(some.sampled(None), w, SoftLabels(LAM, 0.3)),
        numbers_of(fresh, w, SoftLabels(LAM, 0.3)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_products_with_the_curvature_of_a_sample_are_right_on_average(m, soft):
    """Over samples that together are all rows, the mean is the product with all rows."""
    X, labels, _ = blobs(m, n=318 if m == 2 else 312)
    u = np.count_nonzero(labels < 0)
    counts = np.full(m, u // m)
    counts[0] += u - counts.sum()
    task = task_of(X, labels, m, counts)
    w, p = np.random.default_rng(1).standard_normal((2, task.n_weights))
    rows = task.rows.all
    rows.score(w)
    labels_of = SoftLabels(LAM, 0.5)
    task.soften(labels_of)

    def product(spans):
        rows.set_belief_costs(LAM)
        rows.linearize()
        if soft and m == 2:
            rows.respond(0.5, LAM, True)
        elif soft:
            # responding beliefs of many classes are those at the scores
            task.soften(labels_of)
            rows.respond(0.5, LAM)
        if spans is not None:
            rows.sample_curvature(spans, u / len(places_of(spans)))
        if soft and m > 2:
            prices = np.linspace(0.0, 0.1, m)
            found = [rows.respond_to_step(p), rows.reduced_curvature(prices)]
        else:
            found = [rows.curvature(p)]
        if not (soft and m > 2):
            found.append(rows.column_scales())
        rows.release()
        task.soften(labels_of)
        return [np.array(one) for one in found]

    cuts = u * np.arange(4) // 3
    if u % 3:
        pytest.fail("the parts must be of equal size")
    parts = [product(np.array([[a, b]])) for a, b in pairwise(cuts)]
    for k, expected in enumerate(product(None)):
        if k == 1 and soft and m == 2:
            continue  # scales are absolute values
        np.testing.assert_allclose(
            np.mean([part[k] for part in parts], axis=0), expected, rtol=1e-9
        )


# Fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("kind", METHODS)
def test_a_fit_ends_as_low_as_one_on_all_rows(kind, m, early, monkeypatch):
    data = blobs(m)
    model, whole = model_of(kind, data), whole_model_of(kind, data, monkeypatch)
    assert "sampled_rows" in model.trace_.columns
    assert "sampled_rows" not in whole.trace_.columns
    assert model.objective_ <= whole.objective_ * 1.001
    assert model.converged_ == whole.converged_ if hasattr(model, "converged_") else True
    # the last level takes all rows
    assert np.isnan(model.trace_["sampled_rows"][-1])
    assert model.trace_["gradient_norm"][-1] ** 2 / 2e-2 <= 1e-5 * model.objective_
    agree = np.mean(model.transduction_ == whole.transduction_)
    assert agree > 0.98
    if kind is AnnealedSVC:
        beliefs = model.label_distribution_
        assert np.mean(np.abs(beliefs - whole.label_distribution_)) < 0.02


@pytest.mark.parametrize("kind", METHODS)
def test_small_data_are_taken_whole(kind, monkeypatch):
    data = blobs(n=500)
    model = model_of(kind, data)
    assert "sampled_rows" not in model.trace_.columns
    same(model, whole_model_of(kind, data, monkeypatch))


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("kind", METHODS)
def test_where_the_rows_are_changes_nothing(kind, m, early, tmp_path):
    data = X, labels, y = blobs(m)
    model = model_of(kind, data)
    same(model, model_of(kind, data))
    thin = sparse.csr_matrix(X)
    write_rows(tmp_path / "x.rows", [thin], labels)
    memory = model_of(kind, (thin, labels, y))
    others = {
        "threads": model_of(kind, data, n_jobs=2),
        "csr": memory,
        "disk": model_of(kind, (open_rows(tmp_path / "x.rows"), labels, y)),
        "in parts": model_of(kind, (open_rows(tmp_path / "x.rows").split(3), labels, y), n_jobs=1),
    }
    for name, other in others.items():
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-6), name
        same_labels = np.asarray(other.transduction_) == model.transduction_
        assert np.mean(same_labels) > 0.999, name
        np.testing.assert_array_equal(
            other.trace_["sampled_rows"], model.trace_["sampled_rows"], err_msg=name
        )


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "log"},
        {"loss": "squared"},
        {"kernel": "rbf", "n_components": 12},
        {"class_prior": None},
    ],
)
@pytest.mark.parametrize("kind", METHODS)
def test_other_fits_take_samples_too(kind, parameters, early, monkeypatch):
    X, labels, _ = blobs(n=900)

    def fit():
        return kind(**{"reg": 1e-2, **parameters}).fit(X, labels)

    model = fit()
    with monkeypatch.context() as patch:
        patch.setattr(sample_sizes, "WHOLE_BELOW", np.inf)
        whole = fit()
    assert "sampled_rows" in model.trace_.columns
    assert model.objective_ <= whole.objective_ * 1.002
    assert np.mean(model.transduction_ == whole.transduction_) > 0.97


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("kind", METHODS)
def test_weights_and_evidence(kind, m, early, monkeypatch):
    X, labels, y = blobs(m, n=900)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, len(y)).astype(float)
    evidence = np.full((len(y), m), 1.0)
    evidence[np.arange(len(y)), y] += 3.0 * rng.random(len(y))
    if m == 2:
        # rows that cannot be of the first class
        evidence[np.flatnonzero(y == 1)[::9], 0] = 0.0

    def fit():
        return kind(reg=1e-2, unlabeled_weight=LAM).fit(
            X, labels, sample_weight=weight, evidence=evidence
        )

    model = fit()
    with monkeypatch.context() as patch:
        patch.setattr(sample_sizes, "WHOLE_BELOW", np.inf)
        whole = fit()
    assert "sampled_rows" in model.trace_.columns
    assert model.objective_ <= whole.objective_ * 1.002
    if m == 2:
        assert (model.transduction_[evidence[:, 0] == 0.0] == 1).all()


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("kind", METHODS)
def test_weights_that_are_no_whole_numbers(kind, m, early, monkeypatch):
    X, labels, y = blobs(m, n=900)
    weight = np.random.default_rng(1).exponential(size=len(y))

    def fit():
        return kind(reg=1e-2, unlabeled_weight=LAM).fit(X, labels, sample_weight=weight)

    model = fit()
    with monkeypatch.context() as patch:
        patch.setattr(sample_sizes, "WHOLE_BELOW", np.inf)
        whole = fit()
    assert "sampled_rows" in model.trace_.columns
    assert model.objective_ <= whole.objective_ * 1.002


@pytest.mark.parametrize("m", [2, 3])
def test_the_masses_of_a_sample_sum_to_its_counts(m):
    X, labels, _ = blobs(m, n=400)
    mass = np.random.default_rng(1).exponential(size=int(np.sum(labels < 0)))
    mass *= len(mass) / mass.sum()
    task = task_of(X, labels, m, np.full(m, len(mass) / m), mass=mass).sampled(90)
    block = task.rows.blocks[0]
    assert block.mass.sum() == pytest.approx(task.rows.n_unlabeled, rel=1e-12)
    if m > 2:
        assert task.counts.sum() == pytest.approx(task.rows.n_unlabeled, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "parameters", "m"),
    [
        (TransductiveSVC, {"loss": "hinge"}, 2),
        (TransductiveSVC, {"max_switches": 5}, 2),
        (TransductiveSVC, {"label_step": "switching"}, 3),
    ],
)
def test_methods_with_numbers_per_row_take_all_rows(kind, parameters, m, early):
    model = model_of(kind, blobs(m, n=300), **parameters)
    assert "sampled_rows" not in model.trace_.columns


def test_rows_that_may_not_have_some_of_many_classes_are_taken_whole(early):
    X, labels, y = blobs(3, n=600)
    evidence = np.ones((len(y), 3))
    evidence[np.flatnonzero(y == 1)[::5], 0] = 0.0
    model = TransductiveSVC(reg=1e-2).fit(X, labels, evidence=evidence)
    assert "sampled_rows" not in model.trace_.columns
    assert (model.transduction_[evidence[:, 0] == 0.0] != 0).all()


@pytest.mark.parametrize("kind", METHODS)
def test_the_last_temperature_and_a_rare_class(kind, early, monkeypatch):
    X, labels, y = blobs(n=1000)
    keep = np.flatnonzero((y == 0) | (np.arange(len(y)) % 6 == 0) | (labels >= 0))
    data = X[keep], labels[keep], y[keep]
    for parameters in [{}, {"refine": False}] if kind is AnnealedSVC else [{}]:
        model = model_of(kind, data, **parameters)
        whole = whole_model_of(kind, data, monkeypatch, **parameters)
        assert model.objective_ <= whole.objective_ * 1.002
        assert np.isnan(model.trace_["sampled_rows"][-1])


# Checkpoints and callbacks --------------------------------------------------------------------


class Stopping:
    """Raise, or stop, at a row of the trace."""

    def __init__(self, at, stops=False):
        self.left, self.stops = at, stops

    def __call__(self, row):
        self.left -= 1
        if self.left < 0 and not self.stops:
            raise InterruptedFitError
        return self.left < 0


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("kind", METHODS)
def test_a_fit_goes_on_from_every_level_bit_for_bit(kind, m, early, tmp_path):
    data, path = blobs(m, n=800), tmp_path / "fit.checkpoint"

    def fit(path, **options):
        return model_of(kind, data, callback=Checkpoint(path, every=0.0, **options))

    whole = fit(tmp_path / "whole")
    sampled = whole.trace_["sampled_rows"]
    assert len(np.unique(sampled[np.isfinite(sampled)])) > 1
    n = len(whole.trace_)
    # the first round of every sample, and some others
    changes = np.flatnonzero(np.diff(np.nan_to_num(sampled, nan=-1.0)) != 0) + 1
    for at in sorted({1, n // 3, n - 2, n - 1, *changes.tolist(), *(changes + 1).tolist()}):
        path.unlink(missing_ok=True)
        with pytest.raises(InterruptedFitError):
            fit(path, callback=Stopping(min(at, n - 1)))
        same(fit(path, resume=True), whole)


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("kind", METHODS)
def test_a_fit_that_is_stopped_on_a_sample_has_labels_of_all_rows(kind, m, early):
    _, labels, y = data = blobs(m, n=500)
    model = model_of(kind, data, callback=Stopping(3, stops=True))
    assert np.isfinite(model.trace_["sampled_rows"][-1])
    assert (model.transduction_ >= 0).all()
    free = labels < 0
    np.testing.assert_allclose(
        np.bincount(model.transduction_[free]), np.bincount(y) * free.sum() / len(y), atol=2
    )
    assert np.isfinite(model.objective_)


def test_callbacks_see_samples_that_grow(early):
    rows = []
    model_of(TransductiveSVC, blobs(), callback=lambda row: rows.append(row) or False)
    sizes = [row["sampled_rows"] for row in rows if "sampled_rows" in row]
    assert sizes == sorted(sizes)
    progress = [row["progress"] for row in rows if "progress" in row]
    assert progress == sorted(progress)
