"""search, graph: arguments, defaults and arrays of results around the core."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _core, _gradients
from ._arguments import Progress, _flag, _host, _integer, _metric, _out, _rows, _settings, _wanted
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
    return kind.empty(like, rows, k, dtype), kind.empty(like, rows, k, "int64")


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

    Parameters
    ----------
    points : array of shape (n, d)
        numpy, torch, cupy, jax or anything with DLPack or the buffer protocol, in host memory or on a CUDA device, of
        float16, bfloat16, float32, float64, int8 or uint8 (bool counts as uint8). It is not copied unless it has to be:
        other integers become float32 or float64 that hold the same values. A point with NaN is never returned (``missing``).
    queries : array of shape (q, d)
        Likewise. A query with NaN has no neighbours.
    k : int
        At least 1. Neighbours that do not exist have index -1: of no points all of them.
    metric : str
        ``"sqeuclidean"``, ``"euclidean"``, ``"cosine"``, ``"inner_product"``, ``"cityblock"`` or any other name or alias
        that ``kith.info()`` lists; scipy's names and definitions, with the exceptions that are documented.
    p : float
        The exponent of ``"minkowski"``, at least 1.
    inverse_covariance : array of shape (d, d), optional
        Of ``"mahalanobis"``; by default the inverse of the points' sample covariance.
    variances : array of shape (d,), optional
        Of ``"seuclidean"``; by default the points' own.
    packed_bits : bool
        ``"hamming"``, ``"jaccard"``, ``"dice"``: rows of uint8 hold 8 bits per element.
    formula : str, optional
        In place of a metric: the next value of the distance from ``a`` (its value so far), ``q`` and ``x``
        (coordinates), from ``start`` on, as in ``"a + fabs(q - x)"``.
    f64 : bool
        Distances as float64 in place of float32. The order of the neighbours is the same.
    out : (distances, indices), optional
        Arrays to write to, C-contiguous, of shape (q, k): float32 (``f64``: float64) and int64, on one device;
        distances may be None.
    device : str
        ``"auto"``: where the data are, else a GPU if there is one; ``"cpu"``, ``"cuda"``, ``"cuda:1"``;
        ``"cuda:0,1"`` or ``"cuda:all"`` share the work among GPUs.
    memory : int
        Bytes of workspace; 0: most of what is free.
    threads : int
        Of the CPU; 0: all that the process has.
    path, isa : str
        A path or instruction set by name; the planner's choice by default. They never change the answer.
    stream : int, optional
        The CUDA stream on which the work is ordered; by default the current one of the queries' library.
    progress : bool or callable, optional
        True: a bar, by tqdm where it is installed. A callable is given pairs done, pairs in all, seconds and the stage,
        some times a second; returning False ends the call with Cancelled.
    selector : str
        A selector by name, as of `topk`: all distances, and of each query's the nearest by that one. It never changes
        the answer.
    missing : str
        What is done about rows of points or queries that hold a NaN. ``"warn"``: a `MissingValuesWarning` says how many,
        and ``.report.nan_points`` and ``.nan_queries`` count them; ``"raise"``: a ValueError; ``"ignore"``: nothing, and
        they are not looked for.

    Returns
    -------
    Neighbors
        ``(distances, indices)``, arrays of the queries' kind on their device, and ``.report``. The bits are the same on
        every device. Distances of torch's tensors that require a gradient have one, at the neighbours found, with respect
        to points and queries: in every metric but ``"hamming"``, ``"jaccard"``, ``"dice"`` and formulas, which are refused
        then. Compiled functions (``torch.compile``) call ``torch.ops.kith.search``.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument. Ctrl-C ends a long search with KeyboardInterrupt.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.array([[0, 0], [3, 4], [6, 8]], numpy.float32)
    >>> distances, indices = kith.search(points, points[:1], 2, metric="euclidean")
    >>> distances
    array([[0., 5.]], dtype=float32)
    >>> indices
    array([[0, 1]])
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
    """What this build and this machine have: instruction sets, devices, metrics and paths.

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
