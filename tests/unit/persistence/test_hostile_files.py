"""Hostile model files: memory and time are bounded, and errors are of one type."""

import io
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random

import numpy as np
import pytest
from benchmarks.fuzzing import models

import semisvm
from semisvm.cli.printing import MOST_LETTERS, print_facts
from semisvm.persistence import ModelFileError
from semisvm.persistence.archive import FREE_BYTES
from semisvm.tables import DataError
from semisvm.tables.words import MAX_NGRAM

resource = pytest.importorskip("resource")
DATA = Path(__file__).resolve().parents[2] / "data"
ROOT = DATA.parents[1]
MODEL = (DATA / "model_1.semisvm").read_bytes()


def parts_of(content=MODEL):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(parts.pop("model.json")), parts


def zipped(document, parts):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(document))
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def with_value(name, value):
    """A model with another entry in its summary."""
    document, parts = parts_of()
    document["summary"]["value"].append([name, value])
    return zipped(document, parts)


def settings_of_text(document):
    blocks = dict(document["features"]["value"])["blocks"]
    return dict(blocks[0]["value"])["settings"]["value"]


def with_setting(name, value):
    document, parts = parts_of()
    for pair in settings_of_text(document):
        if pair[0] == name:
            pair[1] = value
    return zipped(document, parts)


def one_array_as_many(spread):
    """An array of 8 MB, or one that is spread to 8 MB, under 400 names."""
    document, parts = parts_of()
    size = 1_000_000
    if spread:
        parts["a"], parts["b"] = npy(np.array([0])), npy(np.array([1.0]))
        entry = {
            "shape": [size],
            "order": "C",
            "places": {"file": "a", "type": "<i8", "shape": [1]},
            "values": {"file": "b", "type": "<f8", "shape": [1]},
        }
    else:
        parts["a"] = npy(np.zeros(size))
        entry = {"whole": {"file": "a", "type": "<f8", "shape": [size]}}
    document["arrays"].update({f"estimator.x{k}_": entry for k in range(400)})
    return zipped(document, parts)


def many_classes(nodes, n=8_000):
    """A matrix of zeros and ones, nodes by classes, would have 512 MB."""
    document, arrays = models.unpack(MODEL)
    if nodes:
        paths = [{"$": "tuple", "value": [y]} for y in range(n)]
        hierarchy = {"names": list(range(n)), "ancestors": {"$": "tuple", "value": paths}}
        document["estimator"]["hierarchy"] = hierarchy
    arrays["estimator.classes_"] = np.arange(n)
    arrays["estimator.class_prior_"] = np.full(n, 1.0 / n)
    arrays["estimator.coef_"] = arrays["estimator.node_coef_"] = np.zeros((n, 11))
    arrays["estimator.intercept_"] = arrays["estimator.node_intercept_"] = np.zeros(n)
    return models.pack(document, arrays)


def long_names(n=200_000):
    """Names of features begin with that of the column: together they would have 20 GB."""
    document, arrays = models.unpack(MODEL)
    text = dict(document["features"]["value"])["blocks"][0]["value"]
    for pair in text:
        if pair[0] == "column":
            pair[1] = "c" * 100_000
        if pair[0] == "words":
            pair[1] = [f"w{k}" for k in range(n)]
    arrays["features.0.idf"] = np.ones(n)
    return models.pack(document, arrays)


def raw_document(text):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", text)
    return stream.getvalue()


def a_size_that_lies():
    """The directory declares 100 bytes, and the stream holds 200 MB."""
    content = bytearray(raw_document(b" " * (200 << 20)))
    for mark, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = content.rindex(mark) + at
        content[place : place + 4] = (100).to_bytes(4, "little")
    return bytes(content)


def many_parts(n=25_000):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for k in range(n):
            archive.writestr(f"{k}", b"")
    return stream.getvalue()


BOMBS = {
    "one array as many": lambda: one_array_as_many(spread=False),
    "one spread array as many": lambda: one_array_as_many(spread=True),
    "wide text": lambda: with_value("x", {"$": "array", "type": "<U50000000", "value": ["a"] * 11}),
    "empty objects": lambda: raw_document("[" + "{}," * 20_000_000 + "{}]"),
    "empty lists": lambda: with_value("x", [[]] * 2_000_000),
    "text of wide characters": lambda: raw_document('"' + "a" * (60 << 20) + '\U0001f600"'),
    "deep lists": lambda: raw_document("[" * 200_000),
    "blanks": lambda: raw_document(b" " * (200 << 20)),
    "a size that lies": a_size_that_lies,
    "many parts": many_parts,
    "many classes": lambda: many_classes(nodes=False),
    "many classes and nodes": lambda: many_classes(nodes=True),
    "long names": long_names,
}
LOADED = ("one array as many", "many classes")
"""Bombs that load in little memory: the array is shared, and the matrix is not made."""

RUN = """
import resource, sys
from pathlib import Path
import semisvm
from benchmarks.fuzzing import models
folder, model, room = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
models.check(Path(model).read_bytes())
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))
for path in sorted(folder.iterdir()):
    try:
        loaded = semisvm.load(path)
        for use in models.USES.values():
            use(loaded)
        print(path.name, "loaded", sep="\\t")
    except BaseException as error:
        print(path.name, f"{type(error).__name__}: {error}", sep="\\t")
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What comes of all bombs in one process with little memory beyond its own."""
    if not Path("/proc/self/statm").exists() or not hasattr(resource, "RLIMIT_AS"):
        pytest.skip("the memory of a process cannot be bounded here")
    folder = tmp_path_factory.mktemp("bombs")
    for name, make in BOMBS.items():
        (folder / name).write_bytes(make())
    arguments = [str(folder), str(DATA / "model_1.semisvm"), str(4 * FREE_BYTES)]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return dict(line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line)


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_in_little_memory(name, outcomes):
    assert "MemoryError" not in outcomes[name]
    if name in LOADED:
        assert outcomes[name] == "loaded"
    else:
        assert outcomes[name].startswith("ModelFileError: ")


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(?u)\b\w\w+\b|(x+x+)+y", r"(\w)\1+", "", None, ["a"]]
)
def test_token_patterns_of_other_programs_are_refused(pattern, tmp_path):
    (tmp_path / "m").write_bytes(with_setting("token_pattern", pattern))
    with pytest.raises(ModelFileError, match="token_pattern"):
        semisvm.load(tmp_path / "m")


@pytest.mark.parametrize(
    "lengths", [[1, 100_000], [1, MAX_NGRAM + 1], [2, 1], [0, 1], [1], [1.0, 2]]
)
def test_long_ngrams_are_refused(lengths, tmp_path):
    (tmp_path / "m").write_bytes(with_setting("ngram_range", lengths))
    with pytest.raises(ModelFileError, match="ngram_range"):
        semisvm.load(tmp_path / "m")
    with pytest.raises(ValueError, match="ngram_range must be two whole numbers"):
        semisvm.tables.ColumnFeatures(text=["t"], ngram_range=lengths).fit({"t": ["a b", "b a"]})


def with_first_array(content, **facts):
    """A model whose first array is written so, with a header that matches."""
    document, parts = parts_of()
    entry = next(e["whole"] for e in document["arrays"].values() if "whole" in e)
    parts[entry["file"]] = content
    entry.update(facts)
    return zipped(document, parts)


def header(text, version=b"\x01\x00", form="<H"):
    return b"\x93NUMPY" + version + struct.pack(form, len(text)) + text


GOOD = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("<f8", "|O"),
        GOOD.replace("<f8", "<c16"),
        GOOD.replace("<f8", "<f16"),
        GOOD.replace("'<f8'", "[('a', '<f8')]"),
        GOOD.replace("<f8", "<U999999999"),
        GOOD.replace("2,", "-2,"),
        GOOD.replace("2,", "10000000000000,"),
        GOOD.replace("2,", "99999999999999999999999999,"),
        GOOD.replace("2,", "1, " * 70),
        GOOD.replace("(2,)", "(" * 300 + ")" * 300),
        GOOD + " + 'x'",
        "{'descr': ",
        "'''",
        "",
    ],
)
def test_absurd_headers_are_refused(text, tmp_path):
    for content in (
        header(text.encode()) + bytes(16),
        header(text.encode(), b"\x02\x00", "<I") + bytes(16),
        header(text.encode(), b"\x03\x00", "<I") + bytes(16),
    ):
        (tmp_path / "m").write_bytes(with_first_array(content))
        with pytest.raises(ModelFileError, match="arrays of this file are damaged"):
            semisvm.load(tmp_path / "m")


def test_other_layouts_of_arrays_give_the_same_model(tmp_path):
    """Arrays of a machine with another byte order, or with columns first, are read."""
    document, arrays = models.unpack(MODEL)
    plain = semisvm.load(DATA / "model_1.semisvm")
    for change in (lambda a: a.astype(a.dtype.newbyteorder(">")), np.asfortranarray):
        (tmp_path / "m").write_bytes(
            models.pack(document, {name: change(array) for name, array in arrays.items()})
        )
        again = semisvm.load(tmp_path / "m")
        assert again.estimator.coef_.dtype == np.float64
        np.testing.assert_array_equal(again.estimator.coef_, plain.estimator.coef_)
        rows = models.rows_for(plain)
        np.testing.assert_array_equal(again.decision_function(rows), plain.decision_function(rows))


def test_archives_of_other_kinds_are_refused(tmp_path):
    document, _ = parts_of()
    for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(tmp_path / "m", "w", compression) as archive:
            archive.writestr("model.json", json.dumps(document))
        with pytest.raises(ModelFileError, match="compressed in another way"):
            semisvm.load(tmp_path / "m")
    content = bytearray(MODEL)
    first = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", first + 4)
    # both parts begin where the first one does, and each is declared as long as the file
    for at in (first, second):
        content[at + 20 : at + 24] = len(content).to_bytes(4, "little")
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match="overlap"):
        semisvm.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("estimator", "parameters", "tol"), -1.0, "parameters of AnnealedSVC"),
        (("estimator", "parameters", "loss"), ["log"], "parameters of AnnealedSVC"),
        (("estimator", "parameters", "kernel"), "rbf", "not those of its kernel"),
        (("estimator", "values", "kernel_map_"), 7, "not an attribute"),
        (("estimator", "values", "trace_"), 7, "not an attribute"),
        (("estimator", "values", "n_iter_"), "many", "n_iter_ must be a whole number"),
        (("estimator", "trace", "columns", "phase"), [1], r"phase\[0\] must be text"),
        (("estimator", "trace", "notes"), "all", "trace.notes must be a list"),
        (("estimator", "hierarchy"), {"names": ["a"], "ancestors": []}, "hierarchy"),
        (("calibrator",), {"method": "sigmoid", "slope": [], "offset": []}, "calibration"),
        (("versions",), {"semisvm": 7}, "versions.semisvm must be text"),
        (("kind",), "other", "kind must be one of"),
        (("more",), 1, "'more', which is not known"),
    ],
)
def test_fields_of_a_file_are_checked(place, value, message, tmp_path):
    document, parts = parts_of()
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / "m").write_bytes(zipped(document, parts))
    with pytest.raises(ModelFileError, match=message):
        semisvm.load(tmp_path / "m")


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = semisvm.load(DATA / "model_1.semisvm")
    for part, entry in (("settings", {"label": 3}), ("summary", {"rows": "many"})):
        changed = semisvm.Model(model.estimator, model.features, **{part: entry})
        with pytest.raises(ModelFileError, match=f"cannot be saved: {part}"):
            semisvm.save(changed, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_rows_that_a_model_cannot_score_are_an_error_of_the_data():
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    model = semisvm.Model(semisvm.NewtonSVC(kernel="poly").fit(X, [0, 1]))
    for rows in (np.full((1, 2), 1e200), np.zeros((1, 3))):
        with np.errstate(all="ignore"), pytest.raises(DataError, match="these rows"):
            model.predict(rows)


def test_tables_of_long_values_stay_short(capsys):
    print_facts("model", {"text": "x" * 10_000_000, "list": list(range(1_000_000))})
    shown = capsys.readouterr().out
    assert len(shown) < 10 * MOST_LETTERS
    assert "…" in shown
    assert "and 999970 more" in " ".join(shown.split())


def test_tampered_files_are_refused_or_can_be_used():
    """One field at a time; `tests/fuzz` changes bytes of the same files."""
    rng = Random(0)
    seeds = models.seeds()
    for k, seed in enumerate(seeds):
        for make in rng.sample(models.mutants(seed), 3):
            try:
                models.check(make())
            except AssertionError as error:
                raise AssertionError(f"a file made of seed {k}: {error}") from error
