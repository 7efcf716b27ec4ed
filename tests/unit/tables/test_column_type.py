"""A class that declares a type of columns, and its place in two lists, is all that a type needs."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

import semisvm
from semisvm.labelling.pool import make_pool
from semisvm.tables import ColumnFeatures, as_table, find_kind, kinds
from semisvm.tables.blocks import Kind, OneColumn, Tally
from semisvm.tables.schema import Record, text
from semisvm.tables.streaming import StreamedFeatures

COLOR = re.compile(r"#[0-9a-f]{6}")


class ColorTally(Tally):
    def add(self, table):
        pass

    def merge(self, other):
        pass

    def block(self, columns, n_rows, path):
        return ColorBlock(*columns)


@dataclass
class ColorBlock(OneColumn):
    """Colors such as #ff8000, as three numbers."""

    column: str
    kind = "color"
    title = "colors"
    tally = ColorTally
    is_dense = True
    shown_as = "category"
    stored = Record({"kind": text, "column": text})

    @classmethod
    def recognise(cls, cells):
        fine = cells.words and all(map(COLOR.fullmatch, cells.words))
        return Kind(cls.kind, "its values are colors") if fine else None

    @classmethod
    def fit(cls, table, columns, options):
        block = cls(*columns)
        return block, block.matrix(table)

    def matrix(self, table):
        pairs = [[cell[k : k + 2] for k in (1, 3, 5)] for cell in table.text(self.column)]
        return np.array([[int(pair, 16) / 255.0 for pair in row] for row in pairs])

    def width(self):
        return 3

    def names(self):
        return [f"{self.column}__{part}" for part in ("red", "green", "blue")]

    def state(self):
        return {"column": self.column}, {}

    @classmethod
    def restore(cls, state, arrays):
        return cls(state["column"])


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setitem(kinds.TYPES, "color", ColorBlock)
    monkeypatch.setattr(kinds, "RECOGNISED", (ColorBlock, *kinds.RECOGNISED))
    random = np.random.default_rng(0)
    colors = [f"#{r:02x}{g:02x}40" for r, g in random.integers(256, size=(60, 2))]
    return as_table({"paint": colors, "size": random.normal(size=60)})


def test_a_new_type_is_recognised_fitted_and_streamed(table):
    assert find_kind(table, "paint").name == "color"
    whole = ColumnFeatures()
    expected = whole.fit_matrix(table)
    assert whole.get_feature_names_out()[-3:].tolist() == [
        "paint__red",
        "paint__green",
        "paint__blue",
    ]
    streamed = StreamedFeatures(ColumnFeatures())
    streamed.find_kinds(table)
    pieces = [table[:25], table[25:50], table[50:]]
    for piece in pieces:
        streamed.count(piece)
    streamed.fit()
    parts = [streamed.transform(piece) for piece in pieces]
    np.testing.assert_allclose(np.vstack(parts) * streamed.finish(), expected.toarray())


def test_a_new_type_is_in_model_files_and_on_the_labelling_page_but_not_in_onnx(table, tmp_path):
    labels = np.where(np.arange(60) % 2, "warm", "cold").astype(object)
    labels[20:] = None
    model = semisvm.train(replace(table, labels=labels), "svm")
    semisvm.save(model, tmp_path / "m.semisvm")
    loaded = semisvm.load(tmp_path / "m.semisvm")
    assert loaded.predict(table).tolist() == model.predict(table).tolist()
    with pytest.raises(ValueError, match="'paint' has colors, for which ONNX has no operator"):
        semisvm.to_onnx(loaded, tmp_path / "m.onnx", columns=True)
    assert make_pool(table, None, None, None).kinds["paint"] == "category"
