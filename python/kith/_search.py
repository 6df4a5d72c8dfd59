"""search, graph, topk, verify, Index: arguments, defaults and arrays of results around the core."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from . import _core
from ._arguments import Progress, _integer, _metric, _out, _rows, _settings
from ._arrays import Kind, array_interface, kind_of, readable
from ._radius import RadiusMethods
from ._results import Neighbors, TopK

Out = Optional[tuple[Any, Any]]


def _outputs(kind: Kind, like: Any, rows: int, k: int, f64: bool, out: Out) -> tuple[Any, Any]:
    if _integer(k, "k") < 1:
        raise ValueError(f"k is {k}: expected at least 1")
    if out is not None:
        distances, indices = _out(out)
        for part in (distances, indices):
            if part is not None and not kind_of(part).writable:
                raise TypeError(f"out: an array of {type(part).__module__.partition('.')[0]} cannot be written to")
        return distances, indices
    return (kind.empty(like, rows, k, "float64" if f64 else "float32"), kind.empty(like, rows, k, "int64"))


def _neighbors(kind: Kind, like: Any, distances: Any, indices: Any, report: _core.Report, out: Out) -> Neighbors:
    if out is not None:
        return Neighbors(distances, indices, report)
    return Neighbors(kind.finished(like, distances), kind.finished(like, indices), report)


def search(points: Any, queries: Any, k: int, *, metric: str = "sqeuclidean", p: float = 2.0,
           inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False,
           formula: str | None = None, start: float = 0.0, f64: bool = False, out: Out = None, device: str = "auto",
           memory: int = 0, threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
           progress: Progress = None, selector: str = "") -> Neighbors:
    """The k nearest points of each query, exactly.

    Parameters
    ----------
    points : array of shape (n, d)
        numpy, torch, cupy, jax or anything with DLPack or the buffer protocol, in host memory or on a CUDA device, of
        float16, bfloat16, float32, float64, int8 or uint8 (bool counts as uint8). It is not copied unless it has to be:
        other integers become float32 or float64 that hold the same values. A point with NaN is never returned.
    queries : array of shape (q, d)
        Likewise. A query with NaN has no neighbours.
    k : int
        At least 1. Neighbours that do not exist have index -1.
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

    Returns
    -------
    Neighbors
        ``(distances, indices)``, arrays of the queries' kind on their device, and ``.report``. The bits are the same on
        every device.

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
    like, kind = queries, kind_of(queries)
    points, queries = readable(points, "points"), readable(queries, "queries")
    distances, indices = _outputs(kind, like, _rows(queries, "queries"), k, f64, out)
    report = _core.search(
        array_interface(points, "points"), array_interface(queries, "queries"), k,
        _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
        _settings(like, kind, f64, device, memory, threads, path, isa, stream, progress, selector),
        array_interface(indices, "indices"), array_interface(distances, "distances"))
    return _neighbors(kind, like, distances, indices, report, out)


def graph(points: Any, k: int, *, include_self: bool = False, metric: str = "sqeuclidean", p: float = 2.0,
          inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, formula: str | None = None,
          start: float = 0.0, f64: bool = False, out: Out = None, device: str = "auto", memory: int = 0,
          threads: int = 0, path: str = "", isa: str = "", stream: int | None = None, progress: Progress = None,
          selector: str = "") -> Neighbors:
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

    The other parameters, what is returned and what is raised: as in `search`.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> kith.graph(points, 1).indices
    array([[1],
           [0],
           [1]])
    """
    like, kind = points, kind_of(points)
    points = readable(points, "points")
    distances, indices = _outputs(kind, like, _rows(points, "points"), k, f64, out)
    report = _core.graph(
        array_interface(points, "points"), k, include_self,
        _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
        _settings(like, kind, f64, device, memory, threads, path, isa, stream, progress, selector),
        array_interface(indices, "indices"), array_interface(distances, "distances"))
    return _neighbors(kind, like, distances, indices, report, out)


class Index(RadiusMethods):
    """Points prepared once and searched often.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`; may go once the Index is there, which owns all that it needs. At least one point.
    metric, p, inverse_covariance, variances, packed_bits, formula, start, device, memory, threads, isa, progress
        As in `search`. Metric and device are the Index's own from here on.

    Examples
    --------
    >>> import numpy, kith
    >>> index = kith.Index(numpy.eye(4, dtype=numpy.float32), metric="cosine")
    >>> index.search(numpy.eye(4, dtype=numpy.float32)[2:3], 1).indices
    array([[2]])
    """

    def __init__(self, points: Any, *, metric: str = "sqeuclidean", p: float = 2.0, inverse_covariance: Any = None,
                 variances: Any = None, packed_bits: bool = False, formula: str | None = None, start: float = 0.0,
                 device: str = "auto", memory: int = 0, threads: int = 0, isa: str = "", stream: int | None = None,
                 progress: Progress = None) -> None:
        like, kind = points, kind_of(points)
        points = readable(points, "points")
        _rows(points, "points")
        self._metric = metric if formula is None else "formula"
        self._core = _core.Index(
            array_interface(points, "points"),
            _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
            _settings(like, kind, False, device, memory, threads, "", isa, stream, progress))

    def __len__(self) -> int:
        return self._core.size

    @property
    def dimensions(self) -> int:
        """d, the coordinates of a point."""
        return self._core.dimensions

    @property
    def metric(self) -> str:
        """The metric's name as it was given, or "formula"."""
        return self._metric

    def __repr__(self) -> str:
        return f"Index(points={len(self)}, dimensions={self.dimensions}, metric={self._metric!r})"

    def __reduce__(self) -> Any:
        raise TypeError("an Index cannot be pickled: make one from the points where it is needed")

    def search(self, queries: Any, k: int, *, f64: bool = False, out: Out = None, memory: int = 0, threads: int = 0,
               path: str = "", isa: str = "", stream: int | None = None, progress: Progress = None,
               selector: str = "") -> Neighbors:
        """The k nearest of the Index's points for each query, as `kith.search` gives them. May run in several threads."""
        like, kind = queries, kind_of(queries)
        queries = readable(queries, "queries")
        distances, indices = _outputs(kind, like, _rows(queries, "queries"), k, f64, out)
        report = self._core.search(
            array_interface(queries, "queries"), k,
            _settings(like, kind, f64, "auto", memory, threads, path, isa, stream, progress, selector),
            array_interface(indices, "indices"), array_interface(distances, "distances"))
        return _neighbors(kind, like, distances, indices, report, out)

    def graph(self, k: int, *, include_self: bool = False, f64: bool = False, out: Out = None, memory: int = 0,
              threads: int = 0, path: str = "", isa: str = "", stream: int | None = None, progress: Progress = None,
              selector: str = "") -> Neighbors:
        """Each point's k nearest among the others, as `kith.graph` gives them; numpy arrays, unless ``out`` is given."""
        kind = kind_of(None)
        distances, indices = _outputs(kind, None, len(self), k, f64, out)
        report = self._core.graph(
            k, include_self,
            _settings(None, kind, f64, "auto", memory, threads, path, isa, stream, progress, selector),
            array_interface(indices, "indices"), array_interface(distances, "distances"))
        return Neighbors(distances, indices, report)


def topk(values: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *,  # noqa: A002
         device: str = "auto", threads: int = 0, selector: str = "", stream: int | None = None) -> TopK:
    """The k largest (or smallest) values along a dimension, and where they are: torch.topk's arguments.

    Parameters
    ----------
    values : array of at least one dimension
        As in `search`; float16, bfloat16 and integers are compared as float32 or float64 that hold the same values.
    k : int
        From 1 to the size of ``dim``.
    dim : int
        The dimension along which to select.
    largest : bool
        The largest values first, or the smallest.
    sorted : bool
        False permits any order within the result.

    Returns
    -------
    TopK
        ``(values, indices)``. Unlike torch's, the result is the same every time and everywhere: of equal values the
        smaller index comes first, and NaN comes last.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import numpy, kith
    >>> values, indices = kith.topk(numpy.array([3.0, 1.0, 2.0]), 2)
    >>> values, indices
    (array([3., 2.]), array([0, 2]))
    """
    kind = kind_of(values)
    array = values if hasattr(values, "reshape") else np.asarray(values)
    dims = len(array.shape)
    if dims == 0 or not -dims <= dim < dims:
        raise ValueError(f"dim is {dim}: the values have {dims} dimensions")
    size = int(array.shape[dim])
    if not 1 <= _integer(k, "k") <= size:
        raise ValueError(f"k is {k}: expected 1 to {size}, the size of dimension {dim}")
    last = _move_axis(array, dim, dims - 1)
    matrix = _f32_or_f64(readable(last if dims == 2 else last.reshape((-1, size)), "values"))
    f64 = str(matrix.dtype).endswith("float64")
    selected, indices = _outputs(kind, array, int(matrix.shape[0]), k, f64, None)
    if matrix.shape[0]:
        settings = _settings(array, kind, f64, device, 0, threads, "", "", stream, None, selector)
        _core.select(array_interface(matrix, "values"), k, largest, sorted, settings,
                     array_interface(indices, "indices"), array_interface(selected, "values"))
    found = [kind.finished(array, part) for part in (selected, indices)]
    if dims != 2 or last is not array:
        shape = tuple(last.shape[:-1]) + (k,)
        found = [_move_axis(part.reshape(shape), dims - 1, dim) for part in found]
    if found[0].dtype != array.dtype:
        found[0] = found[0].astype(array.dtype) if hasattr(found[0], "astype") else found[0].to(array.dtype)
    return TopK(*found)


def _f32_or_f64(values: Any) -> Any:
    if str(values.dtype).removeprefix("torch.") in ("float32", "float64"):
        return values
    return values.astype("float32") if hasattr(values, "astype") else values.float()


def _move_axis(array: Any, source: int, target: int) -> Any:
    if source % len(array.shape) == target % len(array.shape):
        return array
    if hasattr(array, "movedim"):
        return array.movedim(source, target)
    order = [axis for axis in range(len(array.shape)) if axis != source % len(array.shape)]
    order.insert(target % len(array.shape), source % len(array.shape))
    return array.transpose(order)


class Verification(NamedTuple):
    """What `verify` found."""

    exact: bool  #: every index is the true one and every distance has the true bits
    rows: int  #: rows that were looked at
    wrong_rows: Any  #: numpy array of those whose indices or distances differ
    recall: float  #: share of the true neighbours that are listed, in any order


def verify(points: Any, queries: Any, indices: Any, distances: Any = None, *, sample: int | None = None,
           include_self: bool = True, **how: Any) -> Verification:
    """Whether given neighbours are the true ones, by searching again.

    Parameters
    ----------
    points, queries : arrays
        As in `search`; queries None: the neighbours are a graph of the points.
    indices : array of shape (q, k)
        What is to be verified, in order.
    distances : array of shape (q, k), optional
        Compared bit by bit, as float32 or float64 as they are.
    sample : int, optional
        Look only at so many rows, evenly spaced.
    include_self : bool
        Of a graph: its rows begin with the point itself.
    **how
        metric and the other named arguments of `search`.

    Returns
    -------
    Verification

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.arange(6.0).reshape(3, 2)
    >>> kith.verify(points, points, [[0], [1], [2]]).exact
    True
    """
    listed = np.asarray(indices)
    if listed.ndim != 2:
        raise ValueError(f"indices: expected 2 dimensions, got {listed.ndim}")
    given = None if distances is None else np.asarray(distances)
    if given is not None and given.shape != listed.shape:
        raise ValueError(f"distances: expected the shape of indices, {listed.shape}, got {given.shape}")
    if given is not None and given.dtype not in (np.float32, np.float64):
        raise TypeError(f"distances: expected float32 or float64, got {given.dtype}")
    points = readable(points, "points")
    asked = points if queries is None else readable(queries, "queries")
    count, k = listed.shape
    if count != _rows(asked, "queries"):
        raise ValueError(f"indices: {count} rows for {len(asked)} {'points' if queries is None else 'queries'}")
    rows = np.arange(count) if sample is None or sample >= count else np.arange(sample) * count // sample
    how = {**how, "f64": given is not None and given.dtype == np.float64}
    found = search(points, asked[rows], k + (queries is None), **how)
    true_distances, true_indices = (np.asarray(part) for part in found)
    if queries is None:
        true_distances, true_indices = _as_graph(true_distances, true_indices, rows, include_self)
        if include_self:  # the distance of a point to itself
            own = np.asarray(graph(asked[rows], 1, include_self=True, **how).distances)
            true_distances = np.concatenate([own, true_distances], axis=1)
    listed = listed[rows]
    right = (listed == true_indices).all(axis=1)
    if given is not None:
        bits = np.uint64 if given.dtype == np.float64 else np.uint32
        listed_bits, true_bits = (np.ascontiguousarray(part).view(bits) for part in (given[rows], true_distances))
        right &= (listed_bits == true_bits).all(axis=1)
    hits = sum(len(np.intersect1d(a[a >= 0], b)) for a, b in zip(true_indices, listed))
    present = int((true_indices >= 0).sum())
    return Verification(bool(right.all()), len(rows), rows[~right], hits / present if present else 1.0)


def _as_graph(distances: Any, indices: Any, rows: Any, include_self: bool) -> tuple[Any, Any]:
    """Of k + 1 neighbours the k others: without the point itself where it is among them, else without the last. With
    `include_self` k - 1 of them, and the point's index before them."""
    own = indices == rows[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(rows), indices.shape[1] - 1)
    distances, indices = distances[~own].reshape(shape), indices[~own].reshape(shape)
    if not include_self:
        return distances, indices
    known = np.where(indices[:, :1] >= 0, rows[:, None], -1) if shape[1] else rows[:, None]
    return distances[:, :-1], np.concatenate([known, indices[:, :-1]], axis=1)


def inverse_covariance(points: Any) -> np.ndarray[Any, Any]:
    """The d x d matrix that ``"mahalanobis"`` takes by default: the inverse of the points' sample covariance (f64)."""
    matrix = readable(points, "points")
    d = int(matrix.shape[1]) if _rows(matrix, "points") >= 0 else 0
    return np.array(_core.inverse_covariance(array_interface(matrix, "points"))).reshape(d, d)


def variances(points: Any) -> np.ndarray[Any, Any]:
    """The d variances that ``"seuclidean"`` takes by default: the points' own, divisor n - 1 (f64)."""
    matrix = readable(points, "points")
    _rows(matrix, "points")
    return np.array(_core.variances(array_interface(matrix, "points")))


def info() -> str:
    """What this build and this machine have: instruction sets, devices, metrics and paths, as text."""
    return _core.build_info()
