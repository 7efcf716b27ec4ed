"""Results over rows as lazy Dask arrays, with the chunks of X."""

from copy import copy
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from numpy.typing import NDArray

from semisvm.distributed.connecting import ANSWER_SECONDS, ClusterError
from semisvm.distributed.rows import current_client
from semisvm.distributed.sources import source_of

OVER_ROWS = ("transduction_", "label_distribution_")
HEAVY = ("trace_", *OVER_ROWS)


def over_chunks(estimator: Any, method: str, X: Any, dtype: Any, n_outputs: int | None) -> da.Array:
    """Return the results of a method of a fitted estimator on all chunks of X, lazily.

    Parameters
    ----------
    estimator : estimator
    method : str
        Takes rows, and returns an array with one entry, or row of ``n_outputs``, per row.
    X : Dask array, Dask dataframe or sequence of RowsOnDisk
    dtype : dtype
    n_outputs : int or None
        None for a vector.
    """
    source = source_of(X)
    model = delayed(_light(estimator), pure=False)
    more = () if n_outputs is None else (n_outputs,)
    parts = [
        da.from_delayed(delayed(_called)(model, method, part), (size, *more), dtype=dtype)
        for part, size in zip(source.parts(), source.sizes(), strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _light(estimator: Any) -> Any:
    """Return a copy without what is not needed to predict."""
    found = copy(estimator)
    found.__dict__ = {k: v for k, v in vars(estimator).items() if k not in HEAVY}
    if "callback" in found.__dict__:
        found.callback = None
    return found


def _called(estimator: Any, method: str, rows: Any) -> Any:
    return getattr(estimator, method)(rows)


def in_chunks(vector: NDArray[Any], sizes: Any) -> da.Array:
    """Return an array over rows of this process as a Dask array with chunks of such sizes."""
    ends = np.cumsum(np.asarray(sizes, dtype=np.intp))[:-1]
    return da.concatenate([da.from_array(part, chunks=-1) for part in np.split(vector, ends)])


def publish_chunks(estimator: Any, X: Any, sizes: Any, n_features: int) -> None:
    """Turn the results over rows of a fit to X in parts into Dask arrays, and name its columns."""
    for name in OVER_ROWS:
        if hasattr(estimator, name):
            setattr(estimator, name, in_chunks(getattr(estimator, name), sizes))
    estimator.n_features_in_ = n_features
    estimator.__dict__.pop("feature_names_in_", None)
    names = list(getattr(X, "columns", ()))
    if names and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def computed(y: Any) -> Any:
    """Return a vector over rows in this process, whatever it was."""
    if type(y).__module__.split(".")[0] != "dask":
        return y
    client = current_client()
    if client is None:
        [found] = dask.compute(y, scheduler="threads")
    else:
        seconds = float(dask.config.get("semisvm.answer-seconds", ANSWER_SECONDS))
        try:
            found = client.compute(y).result(timeout=seconds)
        except TimeoutError as error:
            raise ClusterError(f"y was not computed within {seconds:g} s.") from error
    return found.to_numpy() if hasattr(found, "to_numpy") else found


def accuracy(predicted: da.Array, y: Any, sample_weight: Any = None) -> float:
    """Return the fraction of rows that are predicted correctly."""
    if sample_weight is None and isinstance(y, da.Array) and y.chunks == predicted.chunks:
        return float((predicted == y).mean().compute())
    right = np.asarray(predicted.compute()) == np.asarray(computed(y))
    return float(np.average(right, weights=computed(sample_weight)))
