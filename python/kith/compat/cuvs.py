"""cuVS' brute-force search: ``from kith.compat.cuvs import brute_force``; also `pairwise_distance` and `Resources`.

Arrays may be of any library and device, and results are of the queries' kind on their device. `russellrao`, `bitwise_hamming`
and a `prefilter` are refused.
"""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._distances import distances as _distances
from .._index import Index

_METRICS = {"sqeuclidean": "sqeuclidean", "euclidean": "euclidean", "l2": "euclidean", "l1": "cityblock",
            "cityblock": "cityblock", "inner_product": "inner_product", "chebyshev": "chebyshev", "canberra": "canberra",
            "cosine": "cosine", "lp": "minkowski", "minkowski": "minkowski", "correlation": "correlation",
            "jensenshannon": "jensenshannon", "hamming": "hamming", "braycurtis": "braycurtis", "hellinger": "hellinger",
            "jaccard": "jaccard", "dice": "dice", "kl_divergence": "kl_divergence", "haversine": "haversine"}

__all__ = ["Resources", "brute_force", "pairwise_distance"]


class Resources:
    """Accepted wherever cuVS wants one.

    Parameters
    ----------
    stream : int, optional
        The CUDA stream, as a number, on which the work is ordered in place of the queries' library's current one.
    """

    def __init__(self, stream: Any = None) -> None:
        self.stream: int | None = None if stream is None else int(getattr(stream, "ptr", stream))

    def sync(self) -> None:
        """Nothing to wait for: calls have finished on return."""


def _metric(name: str) -> str:
    if name not in _METRICS:
        raise ValueError(f"metric: {name!r} is unknown; expected one of {', '.join(_METRICS)}")
    return _METRICS[name]


def _stream(resources: Any) -> int | None:
    return getattr(resources, "stream", None)


def build(dataset: Any, metric: str = "sqeuclidean", metric_arg: float = 2.0, resources: Any = None) -> Index:
    """The points prepared for `search`.

    Parameters
    ----------
    dataset : array of shape (n, d)
        As `kith.Index` takes points.
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
    return Index(dataset, metric=_metric(metric), p=metric_arg, stream=_stream(resources))


def search(index: Index, queries: Any, k: int, neighbors: Any = None, distances: Any = None, resources: Any = None,
           prefilter: Any = None) -> tuple[Any, Any]:
    """The k nearest points of each query.

    Parameters
    ----------
    index : Index
        What `build` returned.
    queries : array of shape (q, d)
        As `kith.search` takes them.
    k : int
        At least 1.
    neighbors, distances : arrays of shape (q, k), optional
        To write to, both or none: int64 and float32.
    resources : Resources, optional
        Whose stream the work is ordered on.
    prefilter
        Refused: leave the points out before `build`.

    Returns
    -------
    (distances, neighbors)
        Of the queries' kind on their device.

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
    if prefilter is not None:
        raise NotImplementedError("prefilter: leave the points out before build()")
    if (neighbors is None) != (distances is None):
        raise ValueError("neighbors, distances: expected both or none")
    out = None if neighbors is None else (distances, neighbors)
    found = index.search(queries, k, out=out, stream=_stream(resources))
    return found.distances, found.indices


def pairwise_distance(X: Any, Y: Any, out: Any = None, metric: str = "euclidean", p: float = 2.0,  # noqa: N803
                      resources: Any = None) -> Any:
    """The distance of each row of X to each row of Y.

    Parameters
    ----------
    X, Y : arrays of shape (m, d) and (n, d)
        As `kith.distances` takes queries and points.
    out : array of shape (m, n), optional
        To write to: float32.
    metric : str
        One of cuVS' names.
    p : float
        The exponent of "minkowski" and "lp".
    resources : Resources, optional
        Whose stream the work is ordered on.

    Returns
    -------
    array of shape (m, n)
        float32, of X' kind on its device, or `out`.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat.cuvs import pairwise_distance
    >>> pairwise_distance(numpy.zeros((1, 2), "float32"), numpy.array([[3, 4]], "float32"))
    array([[5.]], dtype=float32)
    """
    return _distances(Y, X, metric=_metric(metric), p=p, out=out, stream=_stream(resources))


brute_force = SimpleNamespace(build=build, search=search, Index=Index)
