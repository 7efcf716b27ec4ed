"""Model files that were tampered with: they are refused, or the model in them can be used.

`seeds` are files of every method. `mutate` changes the document or an array of one and packs it
again with right checksums, or changes bytes. `check` loads a file; if it loads, predictions,
``inspect`` and ``report`` must work, or raise an error of the package.
"""

import contextlib
import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import semisvm
from benchmarks.fuzzing.documents import (
    ARRAY_CHANGES,
    VALUES,
    Change,
    Place,
    changed,
    dropped,
    places,
    replaced,
    with_array,
    with_other_bytes,
)
from semisvm.cli.inspect import describe
from semisvm.cli.inspect import show as show_facts
from semisvm.cli.predict import as_model, predicted_rows
from semisvm.cli.prediction_rules import Rules, wanted
from semisvm.cli.printing import print_json
from semisvm.estimators import registry
from semisvm.model_selection.explaining import column_weights, has_row_weights
from semisvm.persistence import ModelFileError
from semisvm.persistence.archive import MODEL, Container
from semisvm.reporting import render, report_data
from semisvm.tables import ColumnFeatures, DataError, MatrixData, Table
from semisvm.tables.labels import text_labels

OWN = (ModelFileError, DataError)

FEWER: dict[str, dict[str, Any]] = {
    "cluster-kernel": {"n_runs": 3},
    "semiboost": {"n_estimators": 2},
}
"""Parameters that make small files of methods which make large ones."""


def table(n: int = 24) -> Table:
    """Make a small table with columns of all kinds."""
    rng = np.random.default_rng(0)
    words = (("win", "money", "prize", "now"), ("lunch", "meeting", "plan", "notes"))
    columns: dict[str, Any] = {
        "text": [" ".join(rng.choice(words[i % 2], 6)) for i in range(n)],
        "size": [None if i == 3 else float(i % 5) for i in range(n)],
        "kind": ["rare" if i == 0 else "ab"[i % 2] for i in range(n)],
    }
    labels = ["" if i >= n // 2 else ("spam", "ham")[i % 2] for i in range(n)]
    return Table(columns, text_labels(labels), "mail.csv", np.arange(2, n + 2))


@cache
def seeds() -> list[bytes]:
    """Return model files of every method, of kernels, many classes, hierarchies, calibrations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_saved(model) for model in _models()]


def _models() -> Iterator[Any]:
    features: dict[str, Any] = {"text": ["text"], "numeric": ["size"], "categorical": ["kind"]}
    for method in registry.methods():
        settings: dict[str, Any] = {"probabilities": method.name in ("svm", "tsvm")}
        made = ColumnFeatures(**features)
        yield semisvm.train(
            table(), method.name, features=made, **settings, **FEWER.get(method.name, {})
        )
    yield semisvm.train(table(40), features=ColumnFeatures(**features))
    rng = np.random.default_rng(0)
    y = np.arange(32) % 4
    X = rng.standard_normal((32, 3)) + 2 * np.eye(4, 3)[y]
    names = np.array(["north", "south", "east", "west"])
    target = names[y].astype(object)
    target[::3] = None
    tree = {"vertical": ["north", "south"], "horizontal": ["east", "west"]}
    yield semisvm.TransductiveSVC(hierarchy=tree, unlabeled=None).fit(X, target)
    for name in ("svm", "lds", "semiboost", "cluster-kernel", "entropy"):
        yield registry.get(name).make(unlabeled=None, **FEWER.get(name, {})).fit(X, target)
    for kernel in ("poly", "laplacian", "cosine", "precomputed"):
        data = X @ X.T if kernel == "precomputed" else X
        yield semisvm.NewtonSVC(kernel=kernel).fit(data, y > 1)
    yield semisvm.NewtonSVC(kernel="rbf").fit(sparse.csr_matrix(X), y > 1)
    from semisvm.model_selection import CalibratedPartialClassifier

    inner = semisvm.NewtonSVC(unlabeled=None)
    yield CalibratedPartialClassifier(inner, cv=2, unlabeled=None).fit(X, target)
    yield from _pipelines()


def _pipelines() -> Iterator[Any]:
    """Yield pipelines of scikit-learn with all known steps."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction import text
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler

    rows = frame(table())
    target = np.array([*(["spam", "ham"] * 6), *[None] * 12], dtype=object)
    filled = make_pipeline(SimpleImputer(), MinMaxScaler())
    kinds = OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist")
    parts = [("text", text.TfidfVectorizer(), "text"), ("size", filled, ["size"])]
    for further, rest in (
        ([("kind", kinds, ["kind"])], "drop"),
        ([("gone", "drop", ["kind"]), ("weight", StandardScaler(), slice(3, 4))], "passthrough"),
    ):
        columns = ColumnTransformer([*parts, *further], remainder=rest)
        yield make_pipeline(columns, semisvm.NewtonSVC(unlabeled=None)).fit(rows, target)
    words = (text.HashingVectorizer(n_features=32), text.TfidfTransformer(), Normalizer())
    yield make_pipeline(*words, semisvm.NewtonSVC(unlabeled=None)).fit(rows["text"], target)


def frame(rows: Table) -> Any:
    """Return a table as a data frame, with two more columns of numbers."""
    import pandas as pd

    made = pd.DataFrame({name: rows.columns[name] for name in ("text", "size", "kind")})
    made["size"] = made["size"].astype(float)
    return made.assign(weight=np.arange(len(made)) % 3, height=1.5)


def _saved(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        semisvm.save(model, path)
        return path.read_bytes()


# Files as documents and arrays, and back


def unpack(
    content: bytes, kind: Container = MODEL
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the document of a file without its directory, and all arrays by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        document = json.loads(archive.read(kind.document))
        directory = document.pop("arrays")

        def read(entry: dict[str, Any]) -> NDArray[Any]:
            return np.load(io.BytesIO(archive.read(entry["file"])))

        arrays: dict[str, NDArray[Any]] = {}
        for name, entry in directory.items():
            if "same_as" in entry:
                arrays[name] = arrays[entry["same_as"]].copy()
            elif "whole" in entry:
                arrays[name] = read(entry["whole"])
            else:
                values = read(entry["values"])
                flat = np.zeros(int(np.prod(entry["shape"])), dtype=values.dtype)
                flat[read(entry["places"])] = values
                arrays[name] = flat.reshape(entry["shape"])
    return document, arrays


def pack(document: Any, arrays: dict[str, NDArray[Any]], kind: Container = MODEL) -> bytes:
    """Write a document and arrays as a file with right sizes and checksums."""
    stream = io.BytesIO()
    directory = {}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for k, (name, array) in enumerate(arrays.items()):
            part = f"arrays/{k}.npy"
            own = io.BytesIO()
            np.save(own, array)
            archive.writestr(part, own.getvalue())
            facts = {"file": part, "type": array.dtype.str, "shape": list(array.shape)}
            directory[name] = {"whole": facts}
        whole = {**document, "arrays": directory} if isinstance(document, dict) else document
        archive.writestr(kind.document, json.dumps(whole))
    return stream.getvalue()


# Mutations


def mutants(content: bytes) -> list[Callable[[], bytes]]:
    """Return makers of files in which one entry of the document, or one array, is another."""
    document, arrays = unpack(content)
    makers: list[Callable[[], bytes]] = []
    for at in places(document):
        makers.append(partial(_pack_dropped, document, arrays, at))
        makers += [partial(_pack_replaced, document, arrays, at, value) for value in VALUES]
    for name in arrays:
        rest = {n: a for n, a in arrays.items() if n != name}
        makers.append(partial(pack, document, rest))
        makers += [
            partial(_pack_changed, document, arrays, name, change) for change in ARRAY_CHANGES
        ]
    return makers


def _pack_dropped(document: Any, arrays: dict[str, NDArray[Any]], at: Place) -> bytes:
    return pack(dropped(document, at), arrays)


def _pack_replaced(document: Any, arrays: dict[str, NDArray[Any]], at: Place, value: Any) -> bytes:
    return pack(replaced(document, at, value), arrays)


def _pack_changed(
    document: Any, arrays: dict[str, NDArray[Any]], name: str, change: Change
) -> bytes:
    return pack(document, with_array(arrays, name, change))


def mutate(content: bytes, rng: Random) -> bytes:
    """Return a model file with one to three changes of document, arrays or bytes."""
    if rng.random() < 0.2:
        return with_other_bytes(content, rng)
    try:
        document, arrays = unpack(content)
    except Exception:  # a file that was changed before
        return with_other_bytes(content, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        document, arrays = changed(document, arrays, rng)
    return pack(document, arrays)


# What must hold


def check(content: bytes) -> None:
    """Load a file and use what is in it.

    Raises
    ------
    AssertionError
        If something other than an error of the package comes of it.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "m"
        path.write_bytes(content)
        try:
            loaded = _promised("load", lambda: semisvm.load(path))
        except OWN:
            return
        if hasattr(loaded, "steps"):
            _promised("predict", partial(_predict_frame, loaded))
            return
        bundle = as_model(loaded)
        for what, action in USES.items():
            with contextlib.suppress(*OWN):
                _promised(what, partial(action, bundle))


def _promised(what: str, action: Callable[[], Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            return action()
    except OWN:
        raise
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


def rows_for(bundle: Any) -> Table | MatrixData:
    """Make a few rows that a model may be asked for."""
    if bundle.features is not None:
        made: dict[str, list[Any]] = {
            "text": ["win the prize now", "", "é"],
            "numeric": [1.5, None, -3.0],
        }
        columns: dict[str, Any] = {
            name: made.get(kind, ["a", "", "zz"]) for name, kind in bundle.features.kinds_.items()
        }
        return Table(columns, None, "new.csv", np.arange(2, 5))
    width = bundle.estimator.n_features_in_
    if width > 1000:
        return MatrixData(sparse.csr_matrix((3, width)))
    return MatrixData(np.random.default_rng(0).standard_normal((3, width)))


def _predict(bundle: Any) -> None:
    piece = rows_for(bundle)
    likely, sets = bundle.has_probabilities, bundle.conformal
    rules = Rules(
        abstain_below=0.6 if likely else None,
        coverage=0.5 if sets is not None and sets.n_labels else None,
    )
    by_rows = has_row_weights(bundle.estimator)
    explain = None if column_weights(bundle.estimator) is None and not by_rows else 3
    asked = wanted(bundle, rules, top=2 if likely else None, explain=explain)
    bundle.unlike(piece)
    for row in predicted_rows(bundle, piece, asked, [], True):
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    assert len(bundle.predict(piece)) == 3


def _predict_frame(pipeline: Any) -> None:
    """Predict rows as those of the fit; scikit-learn says so if a file asks for other columns."""
    rows = frame(table(4))
    takes_frame = hasattr(pipeline[0], "transformers_")
    with contextlib.suppress(ValueError):
        assert len(pipeline.predict(rows if takes_frame else rows["text"])) == 4


def _inspect(bundle: Any) -> None:
    with _captured():
        facts = describe(bundle, 3)
        show_facts(bundle, facts)
        print_json(facts)


def _report(bundle: Any) -> None:
    data = report_data(bundle, title="Report")
    render(data).encode("utf-8")
    render(json.loads(json.dumps(data)))


@contextlib.contextmanager
def _captured() -> Iterator[None]:
    # a file, not a StringIO: it cannot hold halves of characters
    with open(os.devnull, "w", encoding="utf-8") as sink, contextlib.redirect_stdout(sink):
        yield


USES: dict[str, Callable[[Any], None]] = {
    "predict": _predict,
    "inspect": _inspect,
    "report": _report,
}
