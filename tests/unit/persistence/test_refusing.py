"""A checkpoint of another fit is refused with the reason; so is a fit that cannot be kept."""

import copy
import os
import stat
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from interrupted import TWO, InterruptedFitError, blobs, made, same
from promises import clusters, every
from semisvm import AnnealedSVC, Checkpoint, NewtonSVC, TransductiveSVC, TransductiveSVCCV
from semisvm.persistence import CheckpointError
from semisvm.persistence import checkpoints as module
from semisvm.tables.errors import DataError

X, Y = TWO


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def interrupted(path, **parameters):
    """Leave the checkpoint of a fit that ended after four rows."""

    def stop(row):
        if row["phase"] != "supervised" and row["level"] == 3:
            raise InterruptedFitError

    with pytest.raises(InterruptedFitError):
        TransductiveSVC(callback=Checkpoint(path, callback=stop), **parameters).fit(X, Y)
    return Checkpoint(path, resume=True)


def other(change):
    array = X.copy()
    array[7, 2] = np.nextafter(array[7, 2], 9.0)
    y = Y.copy()
    y[np.flatnonzero(Y == -1)[3]] = 1
    return {
        "values": (array, Y, "X has other values"),
        "labels": (X, y, "y has other labels"),
        "names": (X, np.where(Y == 1, 5, Y), "y has other labels"),
        "rows": (X[:-8], Y[:-8], r"X had the shape \(160, 5\) and has \(152, 5\)"),
        "precision": (X.astype(np.float32), Y, "another type of numbers"),
        "sparse": (sparse.csr_matrix(X), Y, "X has other values"),
    }[change]


@pytest.mark.parametrize("change", ["values", "labels", "names", "rows", "precision", "sparse"])
def test_other_data(path, change):
    keeper = interrupted(path)
    data, y, reason = other(change)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=reason) as caught:
        TransductiveSVC(callback=keeper).fit(data, y)
    assert str(path) in str(caught.value)
    assert not getattr(caught.value, "__notes__", [])
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"reg": 0.5}, r"reg was None and is 0\.5"),
        ({"unlabeled_weight": 2}, "unlabeled_weight was None and is 2"),
        ({"class_prior": {0: 0.5, 1: 0.5}}, "class_prior was None and is "),
        ({"class_prior": [0.5, 0.5]}, r"class_prior was None and is \[0\.5, 0\.5\]"),
        ({"loss": "log"}, "loss was 'squared_hinge' and is 'log'"),
        ({"kernel": lambda a, b: a @ b}, "kernel was 'linear' and is function"),
        ({"hierarchy": {"a": {0: {}, 1: {}}}}, "hierarchy was None and is "),
    ],
)
def test_other_parameters(path, parameters, reason):
    keeper = interrupted(path)
    with pytest.raises(CheckpointError, match=reason):
        TransductiveSVC(callback=keeper, **parameters).fit(X, Y)


def test_numbers_that_are_equal_are_the_same_parameter(path):
    keeper = interrupted(path, reg=1.0, unlabeled_weight=1)
    model = TransductiveSVC(callback=keeper, reg=1, unlabeled_weight=np.float64(1.0), verbose=0)
    assert model.fit(X, Y).n_iter_ > 3


def test_another_estimator(path):
    keeper = interrupted(path)
    with pytest.raises(CheckpointError, match="of TransductiveSVC, and this is AnnealedSVC"):
        AnnealedSVC(callback=keeper).fit(X, Y)


def test_other_sample_weights(path):
    weight = np.ones(len(Y))

    def fit(weight, **options):
        NewtonSVC(callback=Checkpoint(path, **options)).fit(X, Y, weight)

    fit(weight)
    with pytest.raises(CheckpointError, match="sample_weight is another"):
        fit(2 * weight + X[:, 0] ** 2, resume=True)


def test_another_warm_start(path):
    def model(reg):
        return TransductiveSVC(reg=reg, warm_start=True).fit(X, Y)

    model(0.1).set_params(callback=Checkpoint(path)).fit(X, Y)
    same(*(model(0.1).set_params(callback=Checkpoint(path, resume=True)).fit(X, Y) for _ in "ab"))
    other = model(0.2).set_params(reg=0.1, callback=Checkpoint(path, resume=True))
    with pytest.raises(CheckpointError, match="model that warm_start begins with"):
        other.fit(X, Y)


def test_a_damaged_file(path):
    keeper = interrupted(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"damaged.*Delete it"):
        TransductiveSVC(callback=keeper).fit(X, Y)


def weights(content, change):
    """Change all vectors over columns alike, so that they still agree with each other."""
    for phase in content["phases"]:
        kept = phase["snapshot"]
        state = kept.get("state", kept)
        state["w"] = change(state["w"])
        if kept.get("gradient") is not None:
            kept["gradient"] = change(kept["gradient"])


TAMPERED = {
    "all vectors too short": (
        lambda content: weights(content, lambda w: w[:3]),
        "cannot go on from this checkpoint: its 'w' has another shape",
    ),
    "one vector too short": (
        lambda content: content["phases"][-1]["snapshot"]["state"].update(w=np.zeros(3)),
        "damaged: .* has 3 weights, not 6",
    ),
    "a gradient too short": (
        lambda content: content["phases"][-1]["snapshot"].update(gradient=np.zeros(1), solved=1.0),
        "damaged: .*gradient",
    ),
    "single precision": (
        lambda content: weights(content, lambda w: w.astype(np.float32)),
        "damaged: .*w must be a vector of numbers in double precision",
    ),
    "not a number": (
        lambda content: weights(content, lambda w: w * np.nan),
        "damaged: .*w must be a vector of numbers up to 1e",
    ),
    "another place": (
        lambda content: content["phases"][-1]["place"].update(elsewhere=1),
        "damaged: .*place has 'elsewhere'",
    ),
    "before the first level": (
        lambda content: content["phases"][-1]["place"].update(level=-1),
        "damaged: .*place.level must be a whole number",
    ),
    "another phase": (
        lambda content: content["phases"][-1].update(name="annealing"),
        "cannot go on from this checkpoint: its phase 1 is 'annealing'",
    ),
    "a method of more parts": (
        lambda content: content["phases"][-1]["snapshot"].pop("switched"),
        "cannot go on from this checkpoint: it holds",
    ),
    "a trace of objects": (
        lambda content: content["rows"][-1].update(passes={}),
        r"damaged: .*rows\[.*passes must be a number",
    ),
    "an identity of nothing": (
        lambda content: content.update(identity=None),
        "damaged: .*identity must be an object",
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_content_that_fits_nothing(path, what):
    """Its checksums are right: a file that was made, or one of another program."""
    change, reason = TAMPERED[what]
    keeper = interrupted(path)
    content = module.read_checkpoint(path)
    change(content)
    module.write_checkpoint(path, content)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=reason):
        TransductiveSVC(callback=keeper).fit(X, Y)
    assert path.read_bytes() == before


def test_prices_of_another_number_of_classes(path):
    """Compiled code would read past the end of the prices."""

    def stop(row):
        return row["level"] == 1

    many, labels = blobs(3)
    TransductiveSVC(callback=Checkpoint(path, callback=stop)).fit(many, labels)
    content = module.read_checkpoint(path)
    content["phases"][-1]["snapshot"]["prices"] = np.zeros(2)
    module.write_checkpoint(path, content)
    with pytest.raises(CheckpointError, match="prices has 2 classes, not 3"):
        TransductiveSVC(callback=Checkpoint(path, resume=True)).fit(many, labels)


def test_an_unfinished_fit_is_not_overwritten(path):
    interrupted(path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"unfinished fit\. Go on from it with resume=True"):
        TransductiveSVC(callback=Checkpoint(path)).fit(X, Y)
    assert path.read_bytes() == before


def test_a_finished_fit_is_overwritten(path):
    made("tsvm", path)
    made("da", path)


def test_no_other_file_is_overwritten(path):
    path.write_text("label,text\n")
    for resume in (False, True):
        with pytest.raises(CheckpointError, match="not a checkpoint"):
            TransductiveSVC(callback=Checkpoint(path, resume=resume)).fit(X, Y)
    assert path.read_text() == "label,text\n"


def test_a_place_that_cannot_be_written_to(tmp_path):
    with pytest.raises(DataError, match="no folder"):
        TransductiveSVC(callback=Checkpoint(tmp_path / "no" / "x")).fit(X, Y)


def test_a_full_disk_does_not_end_the_fit(path, monkeypatch):
    def full(name, content):
        raise DataError("the disk is full.", name)

    monkeypatch.setattr(module, "write_checkpoint", full)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = made("tsvm", path)
    assert model.n_iter_ > 0
    assert [str(one.message) for one in warned] == [
        f"the checkpoint was not written, and the fit goes on: {path}: the disk is full."
    ]


def test_an_error_has_a_remedy(path):
    def fail(row):
        if row["level"] == 2:
            raise InterruptedFitError("something else")

    with pytest.raises(InterruptedFitError) as caught:
        TransductiveSVC(callback=Checkpoint(path, callback=fail)).fit(X, Y)
    [note] = caught.value.__notes__
    assert f"Checkpoint({str(path)!r}, resume=True)" in note


def test_an_interrupt_writes_the_last_round(path):
    """The last writing was that of the supervised start."""

    def stop(row):
        if row["phase"] == "annealing" and row["iteration"] == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        AnnealedSVC(reg=1e-2, callback=Checkpoint(path, 1e9, callback=stop)).fit(X, Y)
    place = module.read_checkpoint(path)["phases"][-1]["place"]
    assert place["iteration"] == 1


def test_a_level_is_written_when_it_ends(path):
    seen = []

    class Counting(Checkpoint):
        def wrote(self):
            seen.append(module.read_checkpoint(self.path)["phases"][-1]["place"]["iteration"])

    model = TransductiveSVC(callback=Counting(path, every=1e9)).fit(X, Y)
    levels = len(set(model.trace_["level"][1:]))
    # after the supervised start, after each level, and at the end
    assert seen == [0] * (levels + 2)
    seen.clear()
    path.unlink()
    TransductiveSVC(callback=Counting(path, every=0)).fit(X, Y)
    assert len(seen) == model.n_iter_ + 2


@every("checkpoints", "callback")
def test_every_estimator_keeps_its_fit_or_refuses(candidate, path):
    data, _, partly = clusters(2)
    model = candidate.make(callback=Checkpoint(path))
    if isinstance(model, (TransductiveSVC, AnnealedSVC, NewtonSVC)):
        model.fit(data, partly)
    else:
        with pytest.raises(ValueError, match="cannot go on from a checkpoint"):
            model.fit(data, partly)
    assert path.exists() == hasattr(model, "coef_")


@pytest.mark.parametrize(
    "model",
    [
        TransductiveSVC(max_switches=1),
        TransductiveSVC(label_step="switching"),
        TransductiveSVC(loss="hinge"),
        AnnealedSVC(loss="crammer_singer"),
        NewtonSVC(loss="hinge"),
        TransductiveSVCCV(),
    ],
)
def test_what_does_not_follow_from_weights_is_refused(model, path):
    with pytest.raises(ValueError, match="cannot go on from a checkpoint"):
        model.set_params(callback=Checkpoint(path)).fit(X, Y)
    assert not path.exists()


def test_it_is_a_parameter_like_others(path):
    keeper = Checkpoint(path, resume=True)
    model = make_pipeline(StandardScaler(), TransductiveSVC(callback=keeper))
    again = clone(model).fit(X, Y)
    assert path.exists()
    assert copy.deepcopy(keeper).path == path
    assert repr(keeper) == f"Checkpoint({str(path)!r}, every=60.0, resume=True)"
    np.testing.assert_array_equal(model.fit(X, Y).predict(X), again.predict(X))


@pytest.mark.parametrize("every", [-1, float("nan"), "1", None, True])
def test_seconds_must_be_a_number(every):
    with pytest.raises(ValueError, match="every must be a number of seconds"):
        Checkpoint("x", every)


def test_other_arguments():
    with pytest.raises(TypeError, match="path must be"):
        Checkpoint(3)
    with pytest.raises(ValueError, match="callback must be a function"):
        Checkpoint("x", callback=3)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_the_file_is_an_ordinary_one(path):
    made("tsvm", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    assert [name.name for name in path.parent.iterdir()] == [path.name]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_a_checkpoint_is_small(path):
    """Vectors over columns and a trace, whatever the number of rows."""
    sizes = []
    for n in (200, 4000):
        data, y = blobs(2, n)
        TransductiveSVC(max_iter=1, callback=Checkpoint(path)).fit(data, y)
        sizes.append(path.stat().st_size)
    assert sizes[1] < 1.1 * sizes[0]
