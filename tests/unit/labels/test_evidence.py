"""Evidence about unlabelled rows: what it may be, and what it adds to the costs of labels."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from semisvm.labels.evidence import evidence_costs, with_evidence
from semisvm.labels.partial import encode

Q = np.array([[0.5, 0.25, 0.25], [0.0, 0.2, 0.8], [1.0, 0.0, 0.0], [np.nan] * 3])
AGAINST = np.array(
    [[0, np.log(2), np.log(2)], [np.inf, np.log(4), 0], [0, np.inf, np.inf], [0, 0, 0]]
)


def labels(classes=("a", "b", "c"), n=4):
    """Three labelled rows, and more without a label."""
    return encode(np.array([*classes, *[None] * (n - len(classes))], dtype=object), None)


def found(evidence, n=4):
    return with_evidence(labels(n=n), evidence).evidence


def test_costs_are_logarithms_of_ratios():
    np.testing.assert_allclose(found(Q), AGAINST, rtol=1e-15)


def test_rows_count_up_to_a_factor():
    np.testing.assert_array_equal(found(Q), found(8.0 * Q))


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array, np.ndarray.tolist])
def test_other_kinds_of_numbers_give_the_same(kind):
    np.testing.assert_array_equal(found(kind(np.nan_to_num(Q))), found(Q))


def test_a_frame_is_aligned_by_name():
    frame = pd.DataFrame(Q, columns=["a", "b", "c"])
    np.testing.assert_array_equal(found(frame[["c", "a", "b"]]), found(Q))
    with pytest.raises(ValueError, match=r"no column for the classes \['b'\] and columns \['d'\]"):
        found(frame.rename(columns={"b": "d"}))


@pytest.mark.parametrize(
    "sets",
    [
        [{"a"}, {"b", "c"}, None, set()],
        [["a"], ["c", "b"], None, []],
        pd.Series([("a",), ("b", "c"), None, float("nan")]),
        [("a",), ("b", "c"), ("a", "b", "c"), ()],
    ],
)
def test_possible_classes_forbid_the_others(sets):
    inf = np.inf
    expected = [[0, inf, inf], [inf, 0, 0], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(found(sets), expected)


def test_numbers_of_classes_in_sets():
    known = encode([0, 1, 2, -1])
    against = with_evidence(known, [{0}, {1, 2}, {2}, None]).evidence
    np.testing.assert_array_equal(against[1], [np.inf, 0, 0])


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (Q[:3], r"shape \(3, 3\), but X has 4 rows and y 3 classes"),
        (Q[:, :2], r"shape \(4, 2\)"),
        (-Q, "entry 0 of row 0 is -0.5"),
        (np.where(np.isnan(Q), [1.0, np.nan, 1.0], Q), "entry 1 of row 3 is nan"),
        (np.where(Q == 1.0, np.inf, Q), "entry 0 of row 2 is inf"),
        ([{"a"}, {"d"}, None, None], "names 'd' in row 1, which is no class"),
        ([{"a"}, "b", None, None], "has 'b' in row 1, which is no set of classes"),
        ([{"a"}, 1, None, None], "has 1 in row 1, which is no set"),
        ([[0.5, "x", 1], *Q[1:].tolist()], "names 0.5 in row 0, which is no class"),
    ],
)
def test_what_is_no_evidence_is_refused(evidence, message):
    with pytest.raises(ValueError, match=message):
        found(evidence)


def test_the_users_array_stays_as_it_is():
    mine = Q.copy()
    found(mine)
    np.testing.assert_array_equal(mine, Q)


def test_a_weight_leaves_forbidden_classes_forbidden():
    known = with_evidence(labels(n=4), Q[[3, 3, 3, 1]])
    for weight in (0.0, 0.3):
        expected = [[np.inf, weight * np.log(4), 0]]
        np.testing.assert_allclose(evidence_costs(known, weight), expected)


def test_no_costs_where_nothing_is_known():
    assert evidence_costs(labels(), 1.0) is None
    assert evidence_costs(with_evidence(labels(), Q), 1.0) is None


def test_hidden_labels_keep_their_evidence():
    known = with_evidence(labels(n=4), Q)
    some = known.without(np.array([1])).of_rows(np.array([1, 3]))
    assert some.codes.tolist() == [-1, -1]
    np.testing.assert_array_equal(some.evidence, known.evidence[[1, 3]])
