"""Evidence in the label steps, against all labels of tiny problems and equivalent fits."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from problems import hide, two_blobs
from semisvm import AnnealedSVC, Checkpoint, TransductiveSVC, open_rows, write_rows
from semisvm.labels.evidence import with_evidence
from semisvm.labels.partial import encode
from semisvm.losses import LOSSES
from semisvm.model_selection import TransductiveSVCCV

MACHINES = [TransductiveSVC, AnnealedSVC]
PRIOR = {2: [0.5, 0.5], 3: [0.3, 0.3, 0.4]}


def clusters(m, n=60, d=5, seed=0, n_labels=6):
    """Gaussian clusters with few labels; returns X, y, the labels, and noisy probabilities."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    rng.shuffle(y)
    X = rng.standard_normal((n, d))
    X[np.arange(n), y] += 1.5
    guess = np.where(rng.random(n) < 0.75, y, (y + 1) % m)
    q = np.full((n, m), 0.4 / m)
    q[np.arange(n), guess] += 0.6
    return X, y, hide(y, n_labels, seed), q


def fitted(kind, X, labels, q=None, weight=None, **parameters):
    given = {"reg": 0.1, "class_prior": PRIOR[len(set(labels)) - 1], **parameters}
    return kind(**given).fit(X, labels, weight, evidence=q)


def assert_same(one, other, **tolerance):
    np.testing.assert_allclose(one.coef_, other.coef_, **tolerance)
    np.testing.assert_allclose(one.intercept_, other.intercept_, **tolerance)


def objective_of(model, X, labels, y, against):
    """Compute the objective at the weights of a model and any labels of the unlabelled rows."""
    m, scores = len(model.classes_), model.decision_function(X)
    free, tau = labels == -1, 0.2 if model.evidence_weight is None else model.evidence_weight
    extra = np.where(np.isinf(against), against, tau * np.nan_to_num(against, posinf=0.0))
    extra = extra[free, y[free]].mean()
    w = np.column_stack([model.node_coef_, model.node_intercept_])
    reg, loss = 0.5 * 0.1 * np.sum(w**2), LOSSES[model.loss]
    if m == 2:
        losses = loss.two.values(np.where(y == 1, scores, -scores))
        return loss.reg_of_two * reg + 0.5 * (losses[~free].mean() + losses[free].mean() + extra)
    losses = loss.many.costs(scores)[np.arange(len(y)), y]
    return reg + losses[~free].mean() + losses[free].mean() + extra


def labelings(labels, counts):
    """Yield all labels of the unlabelled rows with these counts."""
    free = np.flatnonzero(labels == -1)
    for some in product(range(len(counts)), repeat=len(free)):
        if (np.bincount(some, minlength=len(counts)) == counts).all():
            y = labels.copy()
            y[free] = some
            yield y


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("forbidding", [False, True])
def test_the_labels_are_the_cheapest_of_all(kind, loss, m, forbidding):
    X, y, _, q = clusters(m, n=13 - m, seed=3)
    labels = np.full(len(y), -1)
    labels[[np.flatnonzero(y == k)[0] for k in range(m)]] = np.arange(m)
    if forbidding:
        wrong = (y + np.arange(len(y))) % m
        q[np.arange(len(y)), np.where(wrong == y, (y + 1) % m, wrong)] = 0.0
    model = fitted(kind, X, labels, q, loss=loss, balance_tol=None, evidence_weight=0.4, tol=1e-9)
    against = with_evidence(encode(labels), q).evidence
    counts = np.bincount(model.transduction_[labels == -1], minlength=m)
    all_of_them = [objective_of(model, X, labels, y, against) for y in labelings(labels, counts)]
    own = objective_of(model, X, labels, model.transduction_, against)
    assert own == pytest.approx(min(all_of_them), rel=1e-9)
    assert model.objective_ == pytest.approx(own, rel=1e-7)


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("m", [2, 3])
def test_equal_probabilities_are_no_evidence(kind, m):
    X, _, labels, _ = clusters(m)
    q = np.full((len(X), m), 1.0 / m)
    q[::3] = np.nan
    one, other = fitted(kind, X, labels), fitted(kind, X, labels, q)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.objective_ == other.objective_
    # zeros among others change no bit either
    some = np.zeros((len(X), m), dtype=bool)
    some[labels != -1, 0] = True
    np.testing.assert_array_equal(fitted(kind, X, labels, some).coef_, one.coef_)


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("sure", [1e-12, 0.0])
def test_certainty_is_a_label(kind, m, sure):
    X, y, labels, q = clusters(m)
    q[:] = sure
    q[np.arange(len(y)), y] = 1.0
    shares = np.bincount(y[labels == -1], minlength=m) / np.sum(labels == -1)
    model = fitted(kind, X, labels, q, evidence_weight=50.0, class_prior=shares)
    np.testing.assert_array_equal(model.transduction_, y)


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("m", [2, 3])
def test_evidence_near_the_truth_helps(kind, m):
    X, y, labels, q = clusters(m, n=300)
    free = labels == -1
    without, model = fitted(kind, X, labels), fitted(kind, X, labels, q)
    right = [np.mean(one.transduction_[free] == y[free]) for one in (without, model)]
    assert right[1] > right[0]


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("m", [2, 3])
def test_the_order_of_rows_does_not_matter(kind, m):
    X, _, labels, q = clusters(m)
    order = np.random.default_rng(5).permutation(len(X))
    one = fitted(kind, X, labels, q, tol=1e-9)
    other = fitted(kind, X[order], labels[order], q[order], tol=1e-9)
    assert_same(one, other, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(one.transduction_[order], other.transduction_)


@pytest.mark.parametrize("m", [2, 3])
def test_a_row_twice_is_a_row_of_weight_two(m):
    X, _, labels, q = clusters(m, n=40)
    q[::7, 0], q[::7, 1] = 0.0, 0.5
    twice = np.repeat(np.arange(len(X)), 1 + np.arange(len(X)) % 2)
    weight = 1.0 + np.arange(len(X)) % 2
    # soft labels can be divided, so that both have the same class shares
    soft = {"temperature": 0.3, "last_temperature": 0.3, "refine": False, "balance_tol": None}
    if m > 2:
        soft.pop("balance_tol")
    one = fitted(AnnealedSVC, X, labels, q, weight, tol=1e-9, **soft)
    other = fitted(AnnealedSVC, X[twice], labels[twice], q[twice], tol=1e-9, **soft)
    assert_same(one, other, rtol=1e-4, atol=1e-6)
    both = one.label_distribution_[twice], other.label_distribution_
    np.testing.assert_allclose(*both, atol=1e-6)
    hard = (
        fitted(TransductiveSVC, X, labels, q, weight),
        fitted(TransductiveSVC, X[twice], labels[twice], q[twice]),
    )
    assert hard[0].objective_ == pytest.approx(hard[1].objective_, rel=0.02)


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("m", [2, 3])
def test_sparse_rows_and_rows_in_parts_give_the_same(kind, m, tmp_path):
    X, _, labels, q = clusters(m, n=90)
    q[::5, 0], q[::5, 1] = 0.0, 0.5
    one = fitted(kind, X, labels, q, tol=1e-9)
    assert_same(one, fitted(kind, sparse.csr_matrix(X), labels, q, tol=1e-9), rtol=1e-6, atol=1e-8)
    assert_same(one, fitted(kind, X, labels, sparse.csr_matrix(q), tol=1e-9), rtol=0)
    parts = []
    for k, rows in enumerate(np.array_split(np.arange(len(X)), 3)):
        write_rows(tmp_path / str(k), X[rows])
        parts.append(open_rows(tmp_path / str(k)))
    other = fitted(kind, parts, labels, q, tol=1e-9)
    assert_same(one, other, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(one.transduction_, other.transduction_.compute())


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber", "crammer_singer"])
def test_a_forbidden_class_is_not_chosen(kind, m, loss):
    X, y, labels, _ = clusters(m, n=90, seed=1)
    rng = np.random.default_rng(0)
    sets = [
        None if rng.random() < 0.3 else {int(one), int(rng.integers(m))} if m > 2 else {int(one)}
        for one in np.where(rng.random(len(y)) < 0.7, y, (y + 1) % m)
    ]
    for prior in (None, "labels"):
        model = fitted(kind, X, labels, sets, loss=loss, class_prior=prior)
        free = np.flatnonzero(labels == -1)
        assert all(sets[i] is None or model.transduction_[i] in sets[i] for i in free)
        if hasattr(model, "label_distribution_"):
            table = np.array([[k in (one or range(m)) for k in range(m)] for one in sets])
            assert np.all(model.label_distribution_[free][~table[free]] == 0.0)


def test_labels_that_leave_no_choice():
    X, y, labels, _ = clusters(2)
    sets = [{int(one)} for one in y]
    shares = np.bincount(y[labels == -1]) / np.sum(labels == -1)
    for kind in MACHINES:
        model = fitted(kind, X, labels, sets, class_prior=shares)
        np.testing.assert_array_equal(model.transduction_, y)
        model = fitted(kind, X, labels, sets, class_prior=None)
        np.testing.assert_array_equal(model.transduction_, y)
        assert any("class shares were moved" in note for note in model.trace_.notes)


@pytest.mark.parametrize("kind", MACHINES)
def test_shares_that_cannot_be_kept_are_refused(kind):
    X, _, labels, _ = clusters(3)
    sets = [{1, 2} if i % 2 else None for i in range(len(X))]
    message = r"(?s)rows \(rows \d+, .*\.\.\.\) can only have 1 or 2, and .* only 5 rows do"
    with pytest.raises(ValueError, match=message):
        fitted(kind, X, labels, sets, class_prior=[0.9, 0.05, 0.05])


@pytest.mark.parametrize("step", [{"label_step": "switching"}, {"max_switches": 3}])
def test_other_label_steps_take_probabilities_and_refuse_sets(step):
    X, _, labels, q = clusters(3)
    model = fitted(TransductiveSVC, X, labels, q, evidence_weight=20.0, **step)
    exact = fitted(TransductiveSVC, X, labels, q, evidence_weight=20.0)
    assert model.objective_ == pytest.approx(exact.objective_, rel=0.05)
    with pytest.raises(ValueError, match="only label_step='exact'"):
        fitted(TransductiveSVC, X, labels, [{0, 1}] * len(X), class_prior=None, **step)


def test_single_switches_of_two_classes_end_at_the_same_costs():
    X, y, labels, q = clusters(2)
    q[::5] = np.eye(2)[y[::5]]
    one = fitted(TransductiveSVC, X, labels, q, tol=1e-9)
    other = fitted(TransductiveSVC, X, labels, q, tol=1e-9, max_switches=1)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-2)
    free = np.flatnonzero(labels[::5] == -1) * 5
    np.testing.assert_array_equal(other.transduction_[free], y[free])


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("m", [2, 3])
def test_a_checkpoint_goes_on_with_the_same_evidence(kind, m, tmp_path):
    X, _, labels, q = clusters(m)
    whole = fitted(kind, X, labels, q, callback=Checkpoint(tmp_path / "whole", every=0.0))
    path, stop, rows = tmp_path / "half", len(whole.trace_) // 2, iter(range(1000))
    half = Checkpoint(path, every=0.0, callback=lambda _: next(rows) == stop)
    fitted(kind, X, labels, q, callback=half)
    model = fitted(kind, X, labels, q, callback=Checkpoint(path, every=0.0, resume=True))
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    with pytest.raises(ValueError, match="evidence is other"):
        fitted(kind, X, labels, 1 - q, callback=Checkpoint(path, every=0.0, resume=True))


def test_a_search_passes_evidence_of_held_out_rows():
    X, y = two_blobs(200, gap=1.2)
    labels = hide(y, 30)
    # only held-out rows are known
    q = np.where((labels != -1)[:, None], np.eye(2)[y], np.nan)
    model = TransductiveSVCCV(regs=[0.1], evidence_weight=100.0, cv=3)
    plain = clone(model).fit(X, labels).scores_.mean()
    assert model.fit(X, labels, evidence=q).scores_.mean() > plain
