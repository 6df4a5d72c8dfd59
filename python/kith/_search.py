"""search, graph: arguments, defaults and arrays of results around the core."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _core, _gradients
from ._arguments import Progress, _flag, _host, _integer, _metric, _out, _rows, _settings, _too_many, _wanted
from ._arrays import array_interface, given, readable
from ._gradients import Form, tracked
from ._kinds import Kind, kind_of, on_host
from ._missing import left_out, noted
from ._results import Neighbors

Out = Optional[tuple[Any, Any]]


def _distance_type(f64: bool) -> str:
    return "float64" if _flag(f64, "f64") else "float32"


def _outputs(kind: Kind, like: Any, rows: int, k: int, dtype: str, out: Out) -> tuple[Any, Any]:
    k = _wanted(k, rows)
    if out is not None:
        distances, indices = _out(out)
        for part in (distances, indices):
            if part is not None and not kind_of(part).writable:
                raise TypeError(f"out: an array of {type(part).__module__.partition('.')[0]} cannot be written to")
        return distances, indices
    try:
        return kind.empty(like, rows, k, dtype), kind.empty(like, rows, k, "int64")
    except MemoryError as error:
        raise MemoryError(_too_many(k, rows)) from error


def _neighbors(kind: Kind, like: Any, distances: Any, indices: Any, report: _core.Report, out: Out) -> Neighbors:
    if out is not None:
        return Neighbors(distances, indices, report)
    return Neighbors(kind.finished(like, distances), kind.finished(like, indices), report)


def search(points: Any, queries: Any, k: int, *, metric: str = "sqeuclidean", p: float = 2.0,
           inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False,
           formula: str | None = None, start: float = 0.0, f64: bool = False, out: Out = None, device: str = "auto",
           memory: int = 0, threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
           progress: Progress = None, selector: str = "", missing: str = "warn") -> Neighbors:
    """The k nearest points of each query, exactly.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.array([[0, 0], [3, 4], [6, 8]], numpy.float32)
    >>> kith.search(points, points[:1], k=2, metric="euclidean")
    Neighbors(distances=array([[0., 5.]], dtype=float32), indices=array([[0, 1]]))

    Parameters
    ----------
    points, queries : arrays of shape (n, d) and (q, d)
        An array of numpy, torch, cupy, jax, pandas and others, one vector a row, in host memory or on a GPU.
    k : int
        Neighbours of each query, at least 1.
    metric : str
        "sqeuclidean", "euclidean", "cosine", "inner_product", "cityblock" or another of `kith.info()`.
    p, inverse_covariance, variances, packed_bits, formula, start
        Parameters of some metrics, and a distance of your own in place of a metric.
    f64, out, device, memory, threads, stream, progress, missing
        Results as float64 or in given arrays; where and with what to work; rows with a NaN.
    path, isa, selector
        How to work, by name. The answer is the same. `help(kith.arguments)` says all of each argument.

    Returns
    -------
    Neighbors
        ``(distances, indices)`` of shape (q, k), nearest first, of the queries' kind, and ``.report``.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument. Ctrl-C ends a long search.
    """
    def found(points: Any, queries: Any) -> Neighbors:
        like, kind = queries, kind_of(queries)
        on = kind.stream(like) if stream is None else stream
        points, read_points = given(points, "points", on)
        queries, read_queries = given(queries, "queries", on)
        distances, indices = _outputs(kind, like, _rows(queries, "queries"), k, _distance_type(f64), out)
        report = _core.search(
            read_points, read_queries, k,
            _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
            _settings(f64, device, memory, threads, path, isa, on, progress, selector, missing),
            indices, distances)
        return _neighbors(kind, like, distances, indices, noted(report, missing, points, queries), out)

    if not tracked(points, queries):
        return found(points, queries)
    form = Form(metric, p, inverse_covariance, variances, formula)
    return _gradients.neighbors(found, points, queries, form, out)  # type: ignore[no-any-return]


def graph(points: Any, k: int, *, include_self: bool = False, metric: str = "sqeuclidean", p: float = 2.0,
          inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, formula: str | None = None,
          start: float = 0.0, f64: bool = False, out: Out = None, device: str = "auto", memory: int = 0,
          threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
          progress: Progress = None, selector: str = "", missing: str = "warn") -> Neighbors:
    """Each point's k nearest among the other points: the k-nearest-neighbour graph.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`.
    k : int
        Neighbours of each point; with ``include_self`` the point itself is one of them.
    include_self : bool
        Row i begins with i, at its distance to itself: what UMAP's ``precomputed_knn`` and scikit-learn take. Without
        it row i never holds i; duplicates of point i are kept either way.

    The other parameters are those of `search`.

    Returns
    -------
    Neighbors
        ``(distances, indices)``, arrays of shape (n, k) of the points' kind on their device, and ``.report``.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> kith.graph(points, 1).indices
    array([[1],
           [0],
           [1]])
    """
    def found(points: Any, _: Any = None) -> Neighbors:
        like, kind = points, kind_of(points)
        on = kind.stream(like) if stream is None else stream
        points, read_points = given(points, "points", on)
        distances, indices = _outputs(kind, like, _rows(points, "points"), k, _distance_type(f64), out)
        report = _core.graph(
            read_points, k, _flag(include_self, "include_self"),
            _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
            _settings(f64, device, memory, threads, path, isa, on, progress, selector, missing),
            indices, distances)
        return _neighbors(kind, like, distances, indices, noted(report, missing, points), out)

    if not tracked(points):
        return found(points)
    form = Form(metric, p, inverse_covariance, variances, formula)
    return _gradients.neighbors(found, points, points, form, out)  # type: ignore[no-any-return]


def inverse_covariance(points: Any, *, missing: str = "warn") -> np.ndarray[Any, Any]:
    """The d x d matrix that ``"mahalanobis"`` takes by default: the inverse of the points' sample covariance.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`. Rows with a NaN or an infinity are left out.
    missing : str
        As in `search`, of rows with a NaN.

    Returns
    -------
    numpy.ndarray of shape (d, d)
        float64, in units of one over the square of the points'; the covariance has the divisor n - 1.

    Raises
    ------
    ValueError, TypeError, MemoryError
        A covariance that has no inverse (points of fewer than d + 1 rows, or in a plane) is a ValueError.

    Examples
    --------
    >>> import numpy, kith
    >>> kith.inverse_covariance(numpy.array([[0.0, 0], [2, 0], [0, 2], [2, 2]]))
    array([[0.75, 0.  ],
           [0.  , 0.75]])
    """
    matrix = readable(points, "points")
    d = int(matrix.shape[1]) if _rows(matrix, "points") >= 0 else 0
    left_out(matrix, array_interface(matrix, "points", 0), missing)
    return np.array(_core.inverse_covariance(array_interface(matrix, "points", 0))).reshape(d, d)


def variances(points: Any, *, missing: str = "warn") -> np.ndarray[Any, Any]:
    """The d variances that ``"seuclidean"`` takes by default: the points' own.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`. Rows with a NaN or an infinity are left out.
    missing : str
        As in `search`, of rows with a NaN.

    Returns
    -------
    numpy.ndarray of shape (d,)
        float64, in units of the square of the points', with the divisor n - 1.

    Raises
    ------
    ValueError, TypeError, MemoryError
        A column that does not vary is a ValueError.

    Examples
    --------
    >>> import numpy, kith
    >>> kith.variances(numpy.array([[0.0, 1], [2, 5]]))
    array([2., 8.])
    """
    matrix = readable(points, "points")
    _rows(matrix, "points")
    left_out(matrix, array_interface(matrix, "points", 0), missing)
    return np.array(_core.variances(array_interface(matrix, "points", 0)))


def info() -> str:
    """The contents of this build and this machine: instruction sets, devices, metrics and paths.

    Returns
    -------
    str
        Lines of text, as ``kith info`` prints them.

    Examples
    --------
    >>> import kith
    >>> "sqeuclidean" in kith.info()
    True
    """
    return _core.build_info()
