"""A fit to rows in chunks is that of one process."""

import pickle

import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from semisvm import (
    AnnealedSVC,
    CalibratedPartialClassifier,
    Checkpoint,
    MeanSVC,
    NewtonSVC,
    PartialLabelKFold,
    TransductiveSVC,
    TransductiveSVCCV,
    compare,
    open_rows,
    write_rows,
)
from semisvm.designs import RowsError
from semisvm.distributed import ClusterError
from semisvm.distributed.shard import Shard
from semisvm.tasks.weight_steps import RowsTask

METHODS = [NewtonSVC, TransductiveSVC, AnnealedSVC]
CHUNKS = (130, 1, 269, 200)
NAMES = list("abcdefgh")


def blobs(m=2, d=8, seed=0):
    rng = np.random.default_rng(seed)
    n = sum(CHUNKS)
    y = rng.integers(0, m, n)
    X = 2.2 * rng.standard_normal((m, d))[y] + rng.standard_normal((n, d))
    X[np.abs(X) < 0.3] = 0.0
    labels = np.full(n, -1)
    known = rng.choice(n, 8 * m, replace=False)
    labels[known] = y[known]
    return X, labels, y


def in_chunks(X, thin=False):
    """Divide rows; thin ones are to be compared with sparse ones.

    The folds that estimate class shares are solved loosely, so that the last bits of dense and of
    sparse products can tell in the fourth digit.
    """
    found = da.from_array(X, chunks=(CHUNKS, -1))
    return found.map_blocks(sparse.csr_matrix) if thin else found


def folders(X, place):
    """Write parts whose columns are numbered differently on the disk."""
    ends = np.cumsum(CHUNKS)[:-1]
    found = []
    for k, part in enumerate(np.split(X, ends)):
        write_rows(place / f"{k}.rows", sparse.csr_matrix(part))
        found.append(open_rows(place / f"{k}.rows"))
    return found


def check_same(here, there, *, close=False):
    """Compare two fits; of two ``close`` ones a row at a tie may have another label."""
    assert there.objective_ == pytest.approx(here.objective_, rel=2e-5 if close else 1e-6)
    if close:
        assert np.mean(there.transduction_.compute() == here.transduction_) > 0.99
        return
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(there.class_prior_, here.class_prior_, rtol=1e-6)
    assert isinstance(there.transduction_, da.Array)
    assert there.transduction_.chunks == (CHUNKS,)
    np.testing.assert_array_equal(there.transduction_.compute(), here.transduction_)


class TestThreads:
    """Without a client: threads of this process."""

    @pytest.fixture(autouse=True)
    def _no_client(self):
        with pytest.raises(ValueError):
            distributed.Client.current(allow_global=True)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("m", [2, 3])
    def test_methods(self, method, m):
        X, labels, _ = blobs(m)
        # with a looser tolerance rounding decides where a fit ends
        here = method(reg=1e-2, tol=1e-8).fit(sparse.csr_matrix(X), labels)
        there = method(reg=1e-2, tol=1e-8).fit(in_chunks(X, thin=True), labels)
        check_same(here, there)
        assert "rounds" not in there.trace_.columns
        assert there.trace_["passes"][-1] > 0
        if method is AnnealedSVC:
            assert there.label_distribution_.chunks == (CHUNKS, (m,))
            np.testing.assert_allclose(
                there.label_distribution_.compute(), here.label_distribution_, atol=1e-6
            )

    @pytest.mark.parametrize("m", [2, 3])
    def test_the_start_calls_the_chunks_for_nothing_but_the_labelled_rows(self, m, monkeypatch):
        # more columns than labels, so that the rows span as many dimensions as there are rows
        X, labels, _ = blobs(m, d=60)
        prior = {"class_prior": np.full(m, 1 / m), "reg": 1e-2, "tol": 1e-8}
        here = TransductiveSVC(**prior).fit(X, labels)
        called, first, run = [], RowsTask.first, Shard.run

        def watched(task, tol):
            with monkeypatch.context() as patch:
                patch.setattr(
                    Shard, "run", lambda shard, calls: (called.extend(calls), run(shard, calls))[1]
                )
                return first(task, tol)

        monkeypatch.setattr(RowsTask, "first", watched)
        there = TransductiveSVC(**prior).fit(in_chunks(X), labels)
        assert [call.name for call in called] == ["labeled_rows"]
        check_same(here, there)

    def test_the_shares_are_estimated_from_the_same_rows(self, monkeypatch):
        monkeypatch.setattr("semisvm.methods.fold_fits.MOST_UNLABELED", 100)
        X, labels, _ = blobs()
        here, there = (TransductiveSVC(reg=1e-2).fit(rows, labels) for rows in (X, in_chunks(X)))
        check_same(here, there)

    @pytest.mark.parametrize("loss", ["squared", "log", "hinge", "crammer_singer"])
    def test_losses(self, loss):
        X, labels, _ = blobs()
        here, there = (
            TransductiveSVC(reg=1e-2, loss=loss).fit(rows, labels) for rows in (X, in_chunks(X))
        )
        check_same(here, there)
        if loss in ("hinge", "crammer_singer"):
            assert "brought into this process" in there.trace_.notes[-1]

    def test_a_hierarchy_and_names_of_classes(self):
        X, labels, _ = blobs(4)
        y = np.array(["ant", "bee", "cat", "dog", None], dtype=object)[labels]
        tree = {"insect": ["ant", "bee"], "mammal": ["cat", "dog"]}
        here, there = (
            TransductiveSVC(reg=1e-2, hierarchy=tree, tol=1e-9).fit(rows, y)
            for rows in (X, in_chunks(X))
        )
        check_same(here, there)

    def test_a_data_frame(self):
        X, labels, y = blobs()
        frame = pd.DataFrame(X, columns=NAMES)
        rows = dd.from_pandas(frame, npartitions=3)
        model = NewtonSVC(reg=1e-2).fit(rows, dd.from_pandas(pd.Series(labels), npartitions=3))
        here = NewtonSVC(reg=1e-2).fit(frame, labels)
        np.testing.assert_allclose(model.coef_, here.coef_)
        assert model.feature_names_in_.tolist() == NAMES
        np.testing.assert_array_equal(model.predict(rows).compute(), here.predict(frame))
        assert model.score(rows, y) == here.score(frame, y)

    def test_folders(self, tmp_path):
        X, labels, _ = blobs(3)
        rows = folders(X, tmp_path)
        given = {"reg": 1e-2, "class_prior": np.full(3, 1 / 3)}
        here, there = (TransductiveSVC(**given).fit(one, labels) for one in (X, rows))
        check_same(here, there)
        np.testing.assert_array_equal(there.predict(rows).compute(), here.predict(X))

    def test_weights_and_a_warm_start(self):
        X, labels, _ = blobs()
        weight = np.random.default_rng(0).random(len(X))
        models = []
        for rows, s in ((X, weight), (in_chunks(X), da.from_array(weight, chunks=100))):
            model = NewtonSVC(reg=1e-2, warm_start=True).fit(rows, labels, sample_weight=s)
            models.append(model.fit(rows, labels, sample_weight=s))
        check_same(*models)

    @pytest.mark.parametrize("m", [2, 3])
    @pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
    def test_weights_of_unlabelled_rows(self, cls, m):
        X, labels, _ = blobs(m)
        weight = np.random.default_rng(0).gamma(2.0, size=len(X))
        given = {"reg": 1e-2, "class_prior": np.full(m, 1 / m), "tol": 1e-9}
        if cls is AnnealedSVC:
            # 0.7 is where labels of these rows begin to decide: there last bits grow
            given["temperature"] = 10.0
        here, there = (
            cls(**given).fit(rows, labels, sample_weight=weight) for rows in (X, in_chunks(X))
        )
        check_same(here, there)

    def test_a_kernel_by_components(self):
        X, labels, _ = blobs()
        rows, X = in_chunks(X, thin=True), sparse.csr_matrix(X)
        kernel = {"reg": 1e-2, "kernel": "rbf", "n_components": 30}
        here, there = (TransductiveSVC(**kernel).fit(one, labels) for one in (X, rows))
        # so few rows are their own sample
        check_same(here, there)
        assert there.n_features_in_ == 8
        np.testing.assert_array_equal(there.predict(rows).compute(), here.predict(X))

    def test_predictions_are_lazy_and_keep_the_chunks(self):
        X, labels, y = blobs(3)
        rows = in_chunks(X)
        model = NewtonSVC(reg=1e-2, loss="log").fit(rows, labels)
        for name, shape in (("predict", ()), ("decision_function", (3,)), ("predict_proba", (3,))):
            found = getattr(model, name)(rows)
            assert isinstance(found, da.Array)
            assert found.chunks == (CHUNKS, *((n,) for n in shape))
            np.testing.assert_allclose(found.compute(), getattr(model, name)(X))
        right = model.score(X, y)
        assert model.score(rows, y) == right
        assert model.score(rows, da.from_array(y, chunks=(CHUNKS,))) == right

    def test_a_model_can_be_pickled(self):
        X, labels, _ = blobs()
        model = TransductiveSVC(reg=1e-2).fit(in_chunks(X), labels)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.transduction_, model.transduction_)

    def test_an_estimator_fitted_elsewhere_predicts_chunks(self):
        X, labels, _ = blobs()
        model = MeanSVC().fit(X, labels)
        np.testing.assert_array_equal(model.predict(in_chunks(X)).compute(), model.predict(X))

    def test_a_checkpoint(self, tmp_path):
        X, labels, _ = blobs()
        rows = in_chunks(X)

        def fit(**options):
            callback = Checkpoint(tmp_path / "fit", **options)
            return TransductiveSVC(reg=1e-2, callback=callback).fit(rows, labels)

        fit(callback=lambda row: row["level"] == 5)
        late = fit(resume=True)
        np.testing.assert_array_equal(late.coef_, fit().coef_)
        other = in_chunks(X + 1e-9)
        callback = Checkpoint(tmp_path / "fit", resume=True)
        with pytest.raises(ValueError, match="X has other values"):
            TransductiveSVC(reg=1e-2, callback=callback).fit(other, labels)

    def test_refusals(self):
        X, labels, _ = blobs()
        rows = in_chunks(X)
        for fit in (
            MeanSVC().fit,
            TransductiveSVCCV().fit,
            CalibratedPartialClassifier(TransductiveSVC(), cv=2).fit,
        ):
            with pytest.raises(TypeError, match=r"X\.compute\(\)"):
                fit(rows, labels)
        with pytest.raises(TypeError, match="set n_components"):
            TransductiveSVC(kernel="rbf").fit(rows, labels)
        with pytest.raises(ValueError, match=r"X\.rechunk"):
            TransductiveSVC().fit(rows.rechunk((600, 4)), labels)
        with pytest.raises(ValueError, match="X has 600 rows but y has 599"):
            TransductiveSVC().fit(rows, labels[1:])
        with pytest.raises(TypeError, match="memory of one process"):
            TransductiveSVC(label_step="switching").fit(*(in_chunks(blobs(3)[0]), blobs(3)[1]))
        X[3, 2] = np.nan
        with pytest.raises(ValueError, match="row 3, column 2"):
            TransductiveSVC().fit(in_chunks(X), labels)

    def test_methods_can_be_compared(self):
        X, labels, _ = blobs()
        folds = PartialLabelKFold(2)
        here, there = (
            compare([TransductiveSVC(reg=1e-2), NewtonSVC(reg=1e-2)], rows, labels, cv=folds)
            for rows in (X, in_chunks(X))
        )
        for one, other in zip(here.methods, there.methods, strict=True):
            np.testing.assert_array_equal(one.scores, other.scores)

    def test_without_dask(self, monkeypatch):
        X, labels, _ = blobs()
        monkeypatch.setattr("semisvm.distributed.find_spec", lambda name: None)
        with pytest.raises(ImportError, match=r"pip install 'semisvm\[dask\]'"):
            TransductiveSVC().fit(in_chunks(X), labels)

    def test_too_many_rows_for_a_loss_that_needs_them_here(self, monkeypatch):
        monkeypatch.setattr("semisvm.distributed.rows.MOST_LOADED", 1000)
        X, labels, _ = blobs()
        with pytest.raises(TypeError, match="another loss; 'squared_hinge', 'huber'"):
            TransductiveSVC(loss="hinge").fit(in_chunks(X), labels)


class TestCluster:
    """With a client: the worker processes of its cluster."""

    @pytest.mark.parametrize(
        ("method", "m"), [(NewtonSVC, 3), (TransductiveSVC, 2), (AnnealedSVC, 2), (AnnealedSVC, 3)]
    )
    def test_methods(self, client, method, m):
        X, labels, _ = blobs(m)
        quick = {} if method is NewtonSVC else {"annealing_rate": 4.0, "tol": 1e-8}
        here = method(reg=1e-2, **quick).fit(sparse.csr_matrix(X), labels)
        rows = in_chunks(X, thin=True)
        there, again = (method(reg=1e-2, **quick).fit(rows, labels) for _ in range(2))
        # annealing of three classes also changes by a row if the rows are shuffled
        check_same(here, there, close=method is AnnealedSVC and m == 3)
        np.testing.assert_array_equal(there.coef_, again.coef_)
        assert there.objective_ == again.objective_
        trace = there.trace_.to_frame()
        assert (trace[["rounds", "bytes"]].diff().iloc[1:] >= 0).all().all()
        assert there.trace_["rounds"][-1] > 2

    def test_messages_are_small(self, client):
        """Vectors over columns travel, vectors over rows do not."""
        X, labels, _ = blobs()
        model = TransductiveSVC(reg=1e-2, class_prior=[0.5, 0.5]).fit(in_chunks(X), labels)
        rounds, size = model.trace_["rounds"][-1], model.trace_["bytes"][-1]
        assert size / rounds < 2 * 1200 + 4 * 8 * 9

    def test_many_labelled_rows_stay_where_they_are(self, client):
        X, _, y = blobs()
        rows = in_chunks(np.tile(X, (5, 1))[: 5 * 600].reshape(600, 40))
        model = NewtonSVC(reg=1e-2).fit(rows, y)
        rounds, size = model.trace_["rounds"][-1], model.trace_["bytes"][-1]
        assert size / rounds < 2 * 1200 + 4 * 8 * 41

    def test_chunks_stay_where_they_are(self, client):
        X, labels, _ = blobs()
        rows = in_chunks(X).persist()
        distributed.wait(rows)
        before = client.who_has(distributed.futures_of(rows))
        model = TransductiveSVC(reg=1e-2).fit(rows, labels)
        check_same(TransductiveSVC(reg=1e-2).fit(X, labels), model)
        assert client.who_has(distributed.futures_of(rows)) == before

    def test_folders_and_a_kernel(self, client, tmp_path):
        X, labels, _ = blobs()
        rows, X = folders(X, tmp_path), sparse.csr_matrix(X)
        given = {"reg": 1e-2, "kernel": "rbf", "n_components": 30}
        for options in ({"reg": 1e-2}, given):
            here, there = (AnnealedSVC(**options).fit(one, labels) for one in (X, rows))
            check_same(here, there)
            np.testing.assert_array_equal(there.predict(rows).compute(), here.predict(X))

    def test_workers_that_only_the_scheduler_can_reach(self, client, monkeypatch):
        X, labels, _ = blobs()
        rows = in_chunks(X)
        whole = NewtonSVC(reg=1e-2).fit(rows, labels)

        def unreachable(address):
            raise OSError(address)

        monkeypatch.setattr(client, "rpc", unreachable)
        np.testing.assert_array_equal(NewtonSVC(reg=1e-2).fit(rows, labels).coef_, whole.coef_)

    def test_another_version_on_the_workers(self, client, monkeypatch):
        X, labels, _ = blobs()
        monkeypatch.setattr("semisvm.distributed.cluster.__version__", "0.0.1")
        with pytest.raises(ClusterError, match="Install the same version"):
            TransductiveSVC().fit(in_chunks(X), labels)

    def test_a_part_that_cannot_be_used(self, client):
        X, labels, _ = blobs()
        X[3, 2] = np.inf
        with pytest.raises(ValueError, match="row 3, column 2"):
            TransductiveSVC().fit(in_chunks(X), labels)

    def test_a_folder_that_workers_cannot_read(self, client, tmp_path):
        X, labels, _ = blobs()
        rows = folders(X, tmp_path)
        (tmp_path / "1.rows").rename(tmp_path / "gone.rows")
        with pytest.raises(RowsError, match=r"1\.rows: there is no such folder"):
            TransductiveSVC().fit(rows, labels)
