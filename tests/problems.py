"""Small problems that the tests share."""

import numpy as np
from scipy import sparse

from semisvm.designs import Workers, make_design
from semisvm.losses import LOSSES, SQUARED_HINGE
from semisvm.methods import Recorder
from semisvm.solvers import State, minimize
from semisvm.tasks import OneScoreBlock, OneScoreRows
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.tasks.weight_steps import RowsProblem


def two_blobs(n=120, d=6, gap=2.5, seed=0, positive=0.5):
    """Two Gaussian clusters; returns X and y in {0, 1}."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < round(positive * n)).astype(int)
    rng.shuffle(y)
    X = rng.standard_normal((n, d))
    X[:, 0] += gap * (2 * y - 1) / 2
    X[:, 1] += gap * (2 * y - 1) / 2
    return X, y


def hide(y, n_labels, seed=0):
    """Keep ``n_labels`` labels, in proportion to the classes, and mark the other rows by -1."""
    rng = np.random.default_rng(seed)
    partly = np.full(len(y), -1)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        keep = rows[: max(1, round(n_labels * len(rows) / len(y)))]
        partly[keep] = label
    return partly


def sparse_text(n=200, d=500, seed=0, dtype=np.float64):
    """Unit rows with few entries and two topics; returns CSR X and y in {0, 1}."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rows, columns = [], []
    for i in range(n):
        common = rng.zipf(1.6, 12) % (d // 3)
        topic = d // 3 + y[i] * (d // 3) + rng.integers(0, d // 3, 6)
        columns += [*common, *topic]
        rows += [i] * (len(common) + len(topic))
    X = sparse.csr_matrix((rng.random(len(rows)) + 0.1, (rows, columns)), shape=(n, d))
    norms = np.sqrt(X.multiply(X).sum(axis=1)).A1
    return sparse.csr_matrix(sparse.diags(1 / norms) @ X, dtype=dtype), y


def short_texts(n=600, n_words=6000, seed=0):
    """Unit rows of two to six words each and two topics; returns CSR X and y in {0, 1}.

    Words are as frequent as in a language, so most texts share none or a common one. Two texts are
    empty, and so nearer to most others than these are to each other.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frequent = 1.0 / np.arange(1, n_words + 1)
    language = np.random.default_rng(0)
    topics = frequent * np.exp(1.2 * language.standard_normal((2, n_words)))
    weights = np.log(n / (1.0 + n * np.minimum(frequent, 0.9)))
    rows, columns = [], []
    for i in range(n):
        shares = 0.8 * topics[y[i]] / topics[y[i]].sum() + 0.2 * frequent / frequent.sum()
        words = np.unique(rng.choice(n_words, rng.integers(2, 7), p=shares))
        rows += [i] * len(words)
        columns += words.tolist()
    entries = (1.0 + np.maximum(weights, 0.0))[columns]
    entries[np.isin(rows, [n // 3, n // 2])] = 0.0
    X = sparse.csr_matrix((entries, (rows, columns)), shape=(n, n_words))
    X.eliminate_zeros()
    norms = np.sqrt(X.multiply(X).sum(axis=1)).A1
    return sparse.csr_matrix(sparse.diags(1 / np.where(norms > 0.0, norms, 1.0)) @ X), y


def save_set(folder, name, X, y, splits=None):
    """Save rows as a data set of `python -m papers`."""
    place = folder / name
    place.mkdir()
    if sparse.issparse(X):
        sparse.save_npz(place / "X.npz", X)
    else:
        np.save(place / "X.npy", X)
    np.save(place / "y.npy", y)
    if splits is not None:
        np.savez(place / "splits.npz", **splits)


def two_class_task(X, partly, share=0.4, *, bias=1.0, loss=SQUARED_HINGE, reg=0.1, evidence=None):
    """Rows with labels 0, 1 and -1 for none, as the methods for two classes see them."""
    labeled, unlabeled = np.flatnonzero(partly != -1), np.flatnonzero(partly == -1)
    return TwoClassTask.of(
        make_design(X, bias, Workers()),
        labeled,
        unlabeled,
        partly[labeled] == 1,
        np.full(len(labeled), 1.0 / len(labeled)),
        n_positive=round(share * len(unlabeled)),
        loss=loss,
        reg=reg,
        recorder=Recorder(),
        evidence=evidence,
    )


def binary_task(loss="squared_hinge", n=60, d=4, reg=0.05, seed=0):
    """Two clusters with six labels, as the methods for two classes see them."""
    X, y = two_blobs(n, d, gap=1.5, seed=seed)
    return two_class_task(X, hide(y, 6), loss=LOSSES[loss], reg=reg)


def charged_block(design, loss, a, b, rows=None, labeled=()):
    """All rows of a design in a block, where some of them have given costs of the labels."""
    labeled = np.array(labeled, dtype=np.intp)
    unlabeled = np.setdiff1d(np.arange(design.n_rows), labeled)
    given = a[labeled] > 0.0, (a + b)[labeled]
    block = OneScoreBlock(design, labeled, unlabeled, *given, len(unlabeled), loss)
    block._a, block._b = a, b
    block._rows = design.all_rows if rows is None else design.rows(rows)
    return block


def weight_step(block, reg, labeled_preconditioner=None):
    """The problem of the weights for the costs of a block."""
    return RowsProblem(
        OneScoreRows([block]), reg, labeled_preconditioner, quadratic=block.loss.quadratic
    )


def solve_from(problem, w=None, *, tol=1e-12, **options):
    """Minimise a problem over rows from weights, by default zero."""
    state = State(np.zeros(problem.n_weights) if w is None else w.copy())
    problem.rows.all.score(state.w)
    return minimize(problem, state, tol=tol, **options)


def inverted(inverse, r, systems=1, rtol=1e-8):
    """M^-1 r of a preconditioner, for a flat vector with systems in turns."""
    squares = (r.reshape(-1, systems) ** 2).sum(axis=0)
    products, z = inverse.weigh(r.copy(), squares, np.empty_like(r))
    z = z.copy()
    inverse.complete(z)
    np.testing.assert_allclose(products, (r * z).reshape(-1, systems).sum(axis=0), rtol=rtol)
    return z / inverse.unit


def linearized(problem, w):
    """A problem over rows at weights, computed afresh."""
    problem.rows.all.score(w)
    return problem.linearize(w)


def gradient_of_beliefs(task, w, p, lam):
    """Gradient of a two-class problem at weights and beliefs, by rows of its own."""
    [known] = task.rows.blocks
    given = known.labeled, known.unlabeled, known.positive, known.weight, known.n_unlabeled
    block = OneScoreBlock(known.design, *given, known.loss)
    block._p, block._q = p.copy(), 1.0 - p
    block.set_belief_costs(lam)
    return linearized(weight_step(block, task.reg), w).gradient


def random_costs(n, m, seed=0):
    """Costs that favour a hidden class, and counts that do not fit it; some may be zero."""
    rng = np.random.default_rng(seed)
    costs = rng.standard_normal((n, m)) + 0.5 * rng.standard_normal(m)
    costs[np.arange(n), rng.integers(0, m, n)] -= 1.5
    counts = np.bincount(rng.integers(0, m, n) * rng.integers(0, 2, n), minlength=m)
    return costs, counts
