"""cuvs.neighbors.brute_force: build, search, save, load."""
from __future__ import annotations

import json
import zipfile
from typing import Any

import numpy as np

from ..._index import Index as KithIndex
from ..._kinds import on_host
from . import filters
from ._metrics import Search, search_of
from .common import stream_of

__all__ = ["Index", "build", "load", "save", "search"]


class Index:
    """Points prepared for `search`, by `build` or `load`.

    Attributes
    ----------
    trained : bool
        True if it is: an index of its own holds nothing.
    """

    def __init__(self) -> None:
        self._index: KithIndex | None = None
        self._dataset: Any = None
        self._metric, self._metric_arg = "", 2.0
        self._how = Search({})

    @property
    def trained(self) -> bool:
        """True if it holds points."""
        return self._index is not None

    def __len__(self) -> int:
        return 0 if self._index is None else len(self._index)

    def __repr__(self) -> str:
        return "Index(type=BruteForce)"


def build(dataset: Any, metric: str = "sqeuclidean", metric_arg: float = 2.0, resources: Any = None) -> Index:
    """The points prepared for `search`.

    Parameters
    ----------
    dataset : array of shape (n, d)
        As `kith.Index` takes points. `save` writes it as it then is: as with cuVS it stays, and stays as it is, until then.
    metric : str
        One of cuVS' names.
    metric_arg : float
        The exponent of "minkowski" and "lp".
    resources : Resources, optional
        Whose stream the work is ordered on.

    Returns
    -------
    Index

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat.cuvs import brute_force
    >>> len(brute_force.build(numpy.eye(3, dtype="float32"), metric="cosine"))
    3
    """
    index = Index()
    index._how = search_of(metric, metric_arg)
    index._index = KithIndex(dataset, stream=stream_of(resources), **index._how.arguments)
    index._dataset, index._metric, index._metric_arg = dataset, metric, metric_arg
    return index


def search(index: Index, queries: Any, k: int, neighbors: Any = None, distances: Any = None, resources: Any = None,
           prefilter: Any = None) -> tuple[Any, Any]:
    """The k nearest points of each query.

    Parameters
    ----------
    index : Index
        The result of `build` or `load`.
    queries : array of shape (q, d)
        As `kith.search` takes them.
    k : int
        At least 1.
    neighbors, distances : arrays of shape (q, k), optional
        To write to, C-contiguous: int64 and float32.
    resources : Resources, optional
        Whose stream the work is ordered on.
    prefilter : Prefilter, optional
        ``filters.no_filter()``. Any other is refused: leave the points out before `build`.

    Returns
    -------
    (distances, neighbors)
        Arrays of the queries' kind on their device.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, NotImplementedError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat.cuvs import brute_force
    >>> points = numpy.eye(3, dtype="float32")
    >>> distances, neighbors = brute_force.search(brute_force.build(points), points[1:2], 2)
    >>> neighbors
    array([[1, 0]])
    """
    if prefilter is not None and not isinstance(prefilter, filters.Prefilter):
        raise NotImplementedError(f"prefilter: {type(prefilter).__name__}; leave the points out before build()")
    if index._index is None:
        raise ValueError("index: holds no points; build() it before search()")
    stream = stream_of(resources)
    if index._how.finish is None and (neighbors is not None) == (distances is not None):
        out = None if neighbors is None else (distances, neighbors)
        found = index._index.search(queries, k, out=out, stream=stream)
        return found.distances, found.indices
    whole = index._index.search(queries, k, f64=index._how.finish is not None, stream=stream)
    far = index._how.finished(whole.distances, index._index.dimensions, False) if index._how.finish else whole.distances
    return _written(far, distances, "distances"), _written(whole.indices, neighbors, "neighbors")


def _written(values: Any, out: Any, name: str) -> Any:
    """The values in an array that a caller has for them."""
    if out is None:
        return values
    if tuple(out.shape) != tuple(values.shape) or str(out.dtype) != str(values.dtype):
        raise ValueError(f"{name}: expected {values.dtype} of shape {tuple(values.shape)}, got {out.dtype} of {tuple(out.shape)}")
    out[...] = values
    return out


def save(filename: Any, index: Index, include_dataset: bool = True, resources: Any = None) -> None:
    """Writes an index to a file, which `load` reads. The format is kith's: numpy's npz.

    Parameters
    ----------
    filename : str or path
        Where to.
    index : Index
        The result of `build` or `load`.
    include_dataset : bool
        Must be True.
    resources : Resources, optional
        Not needed.

    Raises
    ------
    ValueError, OSError

    Examples
    --------
    >>> import numpy, os, tempfile
    >>> from kith.compat.cuvs import brute_force
    >>> name = os.path.join(tempfile.mkdtemp(), "index.bin")
    >>> brute_force.save(name, brute_force.build(numpy.eye(3, dtype="float32")))
    >>> len(brute_force.load(name))
    3
    """
    if not index.trained:
        raise ValueError("index: holds no points; build() it before save()")
    if not include_dataset:
        raise ValueError("include_dataset: False; expected True, as a search needs the points")
    about = json.dumps({"metric": index._metric, "metric_arg": float(index._metric_arg)})
    with open(filename, "wb") as file:
        np.savez(file, about=np.frombuffer(about.encode(), np.uint8), dataset=on_host(index._dataset))


def load(filename: Any, resources: Any = None) -> Index:
    """An index that `save` wrote.

    Parameters
    ----------
    filename : str or path
        Where from.
    resources : Resources, optional
        Whose stream the work is ordered on.

    Returns
    -------
    Index

    Raises
    ------
    ValueError, OSError, MemoryError, DeviceError
        ValueError of a file that `save` did not write, cuVS' own among them.

    Examples
    --------
    >>> import numpy, os, tempfile
    >>> from kith.compat.cuvs import brute_force
    >>> name = os.path.join(tempfile.mkdtemp(), "index.bin")
    >>> brute_force.save(name, brute_force.build(numpy.eye(3, dtype="float32"), metric="l1"))
    >>> brute_force.search(brute_force.load(name), numpy.eye(3, dtype="float32")[:1], 2)[0]
    array([[0., 2.]], dtype=float32)
    """
    try:
        with np.load(filename, allow_pickle=False) as parts:
            about, dataset = json.loads(bytes(parts["about"])), parts["dataset"]
        metric, metric_arg = str(about["metric"]), float(about["metric_arg"])
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError):
        raise ValueError(f"{filename}: not an index that kith.compat.cuvs saved") from None
    return build(dataset, metric, metric_arg, resources)
