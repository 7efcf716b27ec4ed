"""Columns of dates and times."""

import json
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from semisvm import SemiSupervisedClassifier, train
from semisvm.tables import ColumnFeatures, DataError, as_table, find_kind, read
from semisvm.tables.feature_states import restored, state_of
from semisvm.tables.streaming import StreamedFeatures
from semisvm.tables.time_columns import PARTS, read_times

START = datetime(2024, 1, 1, 6)  # a Monday
N = 400
MOMENTS = [START + timedelta(hours=7 * k) for k in range(N)]


def parts_of(cell):
    (row,) = read_times(as_table({"t": [cell]}), "t")
    return dict(zip(PARTS, row.tolist(), strict=True))


def test_parts():
    found = parts_of(datetime(2024, 7, 1, 6))
    assert found["Monday"] == 1
    assert sum(found[day] for day in PARTS[3:10]) == 1
    assert found["elapsed"] == (datetime(2024, 7, 1, 6) - datetime(1970, 1, 1)) / timedelta(days=1)
    assert found["hour_sin"] == pytest.approx(1)
    assert found["year_cos"] == pytest.approx(-1, abs=1e-3)
    for day in range(1, 8):
        assert parts_of(date(2024, 1, day))[PARTS[2 + day]] == 1
    clock = parts_of(time(18))
    assert clock["hour_sin"] == pytest.approx(-1)
    assert np.isnan(clock["elapsed"])
    assert parts_of(date(1900, 1, 1))["Monday"] == 1  # before 1970
    assert np.isnan(list(parts_of(None).values())).all()


@pytest.mark.parametrize(
    "same",
    [
        "2024-07-01T06:00:00",
        "2024-07-01 06:00",
        " 2024-07-01T06:00:00.000 ",
        "01.07.2024 06:00",
        "1.7.2024 6:00:00",
        "2024-07-01T06:00:00Z",
        datetime(2024, 7, 1, 6, tzinfo=UTC),
        pd.Timestamp("2024-07-01 06:00"),
        pd.Timestamp("2024-07-01 06:00", tz="Asia/Tokyo"),
    ],
)
def test_ways_to_write_a_time(same):
    """What clocks show counts, in any zone."""
    assert parts_of(same) == parts_of(datetime(2024, 7, 1, 6))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (MOMENTS, "time"),
        ([moment.isoformat() for moment in MOMENTS], "time"),
        ([moment.date().isoformat() for moment in MOMENTS[:5]] + ["", None], "time"),
        ([time(k % 24) for k in range(50)], "time"),
        ([f"{k % 24:02}:00:00" for k in range(50)], "time"),
        (np.array(MOMENTS, "M8[ns]"), "time"),
        (pd.DataFrame({"t": pd.period_range("2024", periods=50, freq="D")})["t"], "time"),
        ([MOMENTS[0]] * 20, None),
        (["2024-01-01", "2024-02-30"] * 10, None),
        ([MOMENTS[0], 5] * 10, None),
        ([timedelta(hours=k) for k in range(50)], "numeric"),
        ((np.arange(50) * 7).astype("m8[s]"), "numeric"),
    ],
)
def test_kinds(cells, kind):
    assert find_kind(as_table({"t": cells}), "t").name == kind


def test_features():
    features = ColumnFeatures()
    X = features.fit_transform({"t": MOMENTS})
    names = features.get_feature_names_out().tolist()
    assert names == [f"t__{part}" for part in PARTS]
    assert X.shape == (N, len(PARTS))
    np.testing.assert_allclose(X.toarray().mean(axis=0), 0.0, atol=1e-12)
    assert X.multiply(X).sum() / N == pytest.approx(1.0)
    # parts that do not vary are left out
    days = ColumnFeatures().fit({"t": [date(2024, 1, 1 + k % 28) for k in range(60)]})
    assert not [name for name in days.get_feature_names_out() if "hour" in name]
    clock = ColumnFeatures().fit({"t": [time(k % 24) for k in range(60)]})
    assert clock.get_feature_names_out().tolist() == ["t__hour_sin", "t__hour_cos"]


def test_missing_and_later_cells():
    cells = [None if k % 5 == 0 else moment for k, moment in enumerate(MOMENTS)]
    features = ColumnFeatures().fit({"t": cells})
    assert features.get_feature_names_out()[-1] == "t__missing"
    (none,) = features.transform({"t": [None]}).toarray()
    assert np.flatnonzero(none).tolist() == [len(PARTS)]
    last, later = features.transform({"t": [MOMENTS[-1], MOMENTS[-1].replace(year=2030)]}).toarray()
    assert later[0] == last[0]  # elapsed time is cut to that of the fit
    with pytest.raises(DataError, match="row 2, column 't': 'soon' is not a date"):
        features.transform({"t": ["2024-01-01", "soon"]})


def test_weights_and_shares():
    table = {"t": MOMENTS, "n": np.random.default_rng(0).normal(size=N)}
    features = ColumnFeatures()
    X = features.fit_transform(table).toarray()
    own = (X[:, features.source_columns() == "t"] ** 2).sum() / (X**2).sum()
    assert own == pytest.approx(0.5)  # one column of two, however many features it has
    assert ColumnFeatures(column_weights={"time": 0}).fit(table).kinds_ == {"n": "numeric"}


@pytest.mark.parametrize("missing", [False, True])
def test_in_pieces(missing):
    cells = [None if missing and k % 3 == 0 else moment for k, moment in enumerate(MOMENTS)]
    table = as_table({"t": cells, "n": np.arange(N) ** 0.5})
    whole = ColumnFeatures()
    expected = whole.fit_transform(table).toarray()
    features = ColumnFeatures()
    streamed = StreamedFeatures(features)
    pieces = [table[k : k + 90] for k in range(0, N, 90)]
    streamed.find_kinds(pieces[0])
    other = streamed.empty()
    for k, piece in enumerate(pieces):
        (other if k % 2 else streamed).count(piece)
    streamed.merge_counts(other)
    streamed.fit()
    rows = np.vstack([streamed.transform(piece) for piece in pieces]) * streamed.finish()
    np.testing.assert_allclose(rows, expected, atol=1e-9)


def test_state_gives_the_same_bits():
    features = ColumnFeatures().fit({"t": [*MOMENTS, None]})
    state, arrays = state_of(features)
    again = restored(json.loads(json.dumps(state)), arrays)
    rows = {"t": MOMENTS[::3]}
    assert (again.transform(rows) != features.transform(rows)).nnz == 0
    with pytest.raises(ValueError, match="parts of times"):
        restored(state, {**arrays, "0.low": arrays["0.low"][1:]})


@pytest.fixture
def weekends():
    rng = np.random.default_rng(0)
    moments = [START + timedelta(minutes=int(m)) for m in rng.integers(0, 10**6, N)]
    busy = ["weekend" if moment.weekday() >= 5 else "week" for moment in moments]
    labels = [kind if k < 60 else None for k, kind in enumerate(busy)]
    return {"sent": moments, "size": rng.normal(size=N)}, labels, busy


def test_what_is_learnt_from_dates(weekends, tmp_path):
    """A model that sees the day of the week; files, frames and model files agree."""
    columns, labels, busy = weekends
    frame = pd.DataFrame(columns)
    model = SemiSupervisedClassifier("svm").fit(frame, labels)
    assert np.mean(model.predict(frame)[60:] == np.array(busy)[60:]) > 0.95
    expected = model.predict_proba(frame)
    polars = pl.DataFrame(columns)
    np.testing.assert_allclose(clone_fit(model, polars, labels), expected)
    for name, write in {"t.csv": frame.to_csv, "t.parquet": frame.to_parquet}.items():
        path = tmp_path / name
        frame["kind"] = labels
        write(path, index=False)
        from_file = train(read(path, label="kind"), "svm", probabilities=True)
        np.testing.assert_allclose(from_file.predict_proba(read(path)), expected)
    model.save(tmp_path / "model.semisvm")
    loaded = SemiSupervisedClassifier.load(tmp_path / "model.semisvm")
    np.testing.assert_array_equal(loaded.predict_proba(frame), expected)
    with pytest.raises(ValueError, match="dates or times, for which ONNX"):
        model.to_onnx(tmp_path / "model.onnx", columns=True)
    model.to_onnx(tmp_path / "model.onnx")


def clone_fit(model, rows, labels):
    return SemiSupervisedClassifier(model.method).fit(rows, labels).predict_proba(rows)


def test_dates_of_unknown_order_are_left_out_with_what_to_do():
    days = [f"{1 + k % 12:02}/{1 + k % 28:02}/2024" for k in range(N)]
    kind = find_kind(as_table({"when": days}), "when")
    assert kind.name is None
    assert "'01/01/2024', have no known order" in kind.reason
    assert find_kind(as_table({"when": [f"{day} 10:30" for day in days]}), "when").name is None
    assert find_kind(as_table({"when": days[:20] * 20}), "when").name == "categorical"
    read = pd.to_datetime(pd.Series(days), format="%m/%d/%Y")
    assert find_kind(as_table({"when": read}), "when").name == "time"
    assert find_kind(as_table({"when": read.dt.strftime("%d.%m.%Y")}), "when").name == "time"
    wrong = find_kind(as_table({"when": ["31.02.2024", "01.03.2024"]}), "when")
    assert "'31.02.2024' is not a date" in wrong.reason
