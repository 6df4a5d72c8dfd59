"""Points in shards: the neighbours among each, and their merge, which is the answer of one search of all points, bit for bit.

>>> import numpy, kith, kith.shards
>>> points = numpy.random.default_rng(0).random((1000, 8), numpy.float32)
>>> first = kith.shards.search(points[:600], 0, points[:5], k=3)
>>> second = kith.shards.search(points[600:], 600, points[:5], k=3)
>>> distances, indices = kith.shards.finish(kith.shards.merge(first, second))
>>> bool((indices == kith.search(points, points[:5], k=3).indices).all())
True
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import Progress, _flag, _float64, _host, _integer, _metric, _rows, _settings, _too_many, _wanted, _wrong
from ._arrays import readable
from ._gradients import refuse_tracked
from ._kinds import on_host
from ._missing import told
from ._radius_shards import RadiusPartial, merge_radius, radius, radius_counts, radius_graph
from ._results import Neighbors

__all__ = ["Partial", "RadiusPartial", "finish", "graph", "merge", "merge_radius", "radius", "radius_counts",
           "radius_graph", "search"]


class Partial(NamedTuple):
    """The nearest of each query among some of the points, ordered by (key, index).

    Two distances may be equal after their root is taken and rounded where the order knows which is smaller: keys are what
    it compares, before that.
    """

    indices: np.ndarray[Any, Any]  #: (q, k) int64, counted among all points; -1 where missing
    keys: np.ndarray[Any, Any]  #: (q, k) float64; +inf where missing
    dimensions: int  #: coordinates of a point


def search(shard: Any, first_point: int, queries: Any, k: int, *, metric: str = "sqeuclidean", p: float = 2.0,
           inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, formula: str | None = None,
           start: float = 0.0, device: str = "auto", memory: int = 0, threads: int = 0, path: str = "", isa: str = "",
           progress: Progress = None, missing: str = "warn") -> Partial:
    """The k nearest of each query in a shard.

    Parameters
    ----------
    shard : array of shape (n, d)
        Rows of a larger set of points; of another place than host memory it is copied there.
    first_point : int
        The index of the shard's first row among all points.
    queries : array of shape (q, d)
        Likewise.
    k : int
        At least 1.
    metric, p, inverse_covariance, variances, packed_bits, formula, start
        As in `kith.search`, and the same for every shard. The parameters of ``"mahalanobis"`` and ``"seuclidean"`` must be given: each
        is of all points (`kith.inverse_covariance`, `kith.variances`).
    device, memory, threads, path, isa, progress, missing
        As in `kith.search`.

    Returns
    -------
    Partial

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.shards
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> kith.shards.search(points[1:], 1, points[:1], k=2).indices
    array([[1, 2]])
    """
    return _shard(shard, first_point, queries, -1, k,
                  _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
                  _settings(False, device, memory, threads, path, isa, 0, progress, missing=missing), missing)


def graph(shard: Any, first_point: int, queries: Any, first_query: int, k: int, *, metric: str = "sqeuclidean",
          p: float = 2.0, inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False,
          formula: str | None = None, start: float = 0.0, device: str = "auto", memory: int = 0, threads: int = 0,
          path: str = "", isa: str = "", progress: Progress = None, missing: str = "warn") -> Partial:
    """As above, for a graph: the queries are points, the first of them of index ``first_query``, and none is its own neighbour.

    Parameters
    ----------
    shard, first_point, queries
        As in `search`.
    first_query : int
        The index of the first query among all points.

    The other parameters are those of `search`.

    Returns
    -------
    Partial

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.shards
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> kith.shards.graph(points, 0, points[1:], 1, k=1).indices
    array([[0],
           [1]])
    """
    if _integer(first_query, "first_query") < 0:
        raise ValueError(f"first_query is {first_query}: expected at least 0")
    return _shard(shard, first_point, queries, first_query, k,
                  _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
                  _settings(False, device, memory, threads, path, isa, 0, progress, missing=missing), missing)


def merge(*parts: Partial) -> Partial:
    """The k best of what the parts hold of the same queries, by (key, index).

    A neighbour that several hold is taken once, so the order, the grouping and the repetition of merges do not matter.

    Parameters
    ----------
    *parts : Partial
        All of shape (q, k).

    Returns
    -------
    Partial

    Raises
    ------
    ValueError
        Where shapes or dimensions differ, there is no part, or a row that no search makes.

    Examples
    --------
    >>> import numpy, kith.shards
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> parts = [kith.shards.search(points[i:i + 1], i, points[1:2], k=2) for i in range(3)]
    >>> kith.shards.merge(*parts).indices
    array([[1, 0]])
    """
    if not parts:
        raise ValueError("expected at least one part")
    all_, *others = [_whole(part, f"parts[{i}]") for i, part in enumerate(parts)]
    for i, part in enumerate(others, 1):
        if part.dimensions != all_.dimensions:
            raise ValueError(f"parts of {all_.dimensions} and of {part.dimensions} dimensions")
        if part.indices.shape != all_.indices.shape:
            (rows, k), (all_rows, all_k) = part.indices.shape, all_.indices.shape
            raise ValueError(f"parts[{i}]: {rows} queries x {k}; expected {all_rows} x {all_k}, as parts[0] has")
        indices, keys = np.empty(all_.indices.shape, np.int64), np.empty(all_.keys.shape, np.float64)
        _core.merge_shards(all_.indices, all_.keys, part.indices, part.keys, indices, keys)
        all_ = Partial(indices, keys, all_.dimensions)
    return all_


def finish(partial: Partial, *, metric: str = "sqeuclidean", p: float = 2.0, inverse_covariance: Any = None,
           variances: Any = None, packed_bits: bool = False, formula: str | None = None, start: float = 0.0,
           f64: bool = False) -> Neighbors:
    """The neighbours, with the distances that the metric reports: ``(distances, indices)``, numpy arrays.

    Parameters
    ----------
    partial : Partial
        Those of all points.
    metric, p, inverse_covariance, variances, packed_bits, formula, start
        Those of the search.
    f64 : bool
        Distances as float64 in place of float32.

    Returns
    -------
    Neighbors
        ``(distances, indices)`` of shape (q, k), without a report.

    Raises
    ------
    ValueError, TypeError
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.shards
    >>> points = numpy.array([[0.0, 0], [3, 4]])
    >>> part = kith.shards.search(points, 0, points[:1], k=2, metric="euclidean")
    >>> kith.shards.finish(part, metric="euclidean").distances
    array([[0., 5.]], dtype=float32)
    """
    partial = _whole(partial, "partial")
    f64 = _flag(f64, "f64")
    shape = partial.indices.shape
    distances, indices = np.empty(shape, np.float64 if f64 else np.float32), np.empty(shape, np.int64)
    _core.finish_shards(partial.indices, partial.keys, partial.dimensions,
                        _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
                        _settings(f64, "auto", 0, 0, "", "", 0, None), indices, distances)
    return Neighbors(distances, indices)


def _shard(shard: Any, first_point: int, queries: Any, first_query: int, k: int, metric: _core.MetricSettings,
           settings: _core.Settings, missing: str) -> Partial:
    refuse_tracked("kith.shards", shard=shard, queries=queries)
    points, asked = on_host(readable(shard, "shard")), on_host(readable(queries, "queries"))
    _rows(points, "shard")
    shape = _rows(asked, "queries"), _wanted(k, len(asked))
    try:
        indices, keys = np.empty(shape, np.int64), np.empty(shape, np.float64)
    except MemoryError as error:
        raise MemoryError(_too_many(k, len(asked))) from error
    report = _core.search_shard(points, _integer(first_point, "first_point"), asked, first_query, k, metric, settings,
                                indices, keys)
    told(missing, ("shard", report.nan_points, points), ("queries", report.nan_queries, asked))
    return Partial(indices, keys, int(points.shape[1]))


def _whole(part: Any, name: str) -> Partial:
    """With arrays as the core takes them, of rows that a search can have made."""
    if not isinstance(part, Partial):
        raise _wrong(part, name, "Partial")
    indices = _host(part.indices, f"{name}.indices", "iu", "integers").astype(np.int64, copy=False)
    keys = _float64(part.keys, f"{name}.keys")
    for of, array in (("indices", indices), ("keys", keys)):
        if array.ndim != 2:
            raise ValueError(f"{name}.{of}: expected 2 dimensions, got {array.ndim}")
    if indices.shape != keys.shape:
        raise ValueError(f"{name}: indices of shape {indices.shape} and keys of {keys.shape}; expected the same")
    there = indices >= 0
    _none_at(~(there | (indices == -1) & (keys == np.inf)), name, indices, keys, "expected an index of at least 0, or -1 with the key inf")
    _none_at(np.isnan(keys), name, indices, keys, "expected no NaN")
    rises = (keys[:, 1:] > keys[:, :-1]) | (keys[:, 1:] == keys[:, :-1]) & (indices[:, 1:] > indices[:, :-1])
    _none_at(there[:, 1:] & ~(there[:, :-1] & rises), name, indices[:, 1:], keys[:, 1:],
             "expected each row by ascending (key, index), and what is missing at its end")
    ordered = np.sort(indices, axis=1)
    _none_at((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0), name, ordered[:, 1:], None, "expected an index once in a row")
    return Partial(indices, keys, _integer(part.dimensions, f"{name}.dimensions", 1))


def _none_at(wrong: Any, name: str, indices: Any, keys: Any, expected: str) -> None:
    if wrong.any():
        row, place = map(int, np.argwhere(wrong)[0])
        key = "" if keys is None else f" with key {keys[row, place]}"
        raise ValueError(f"{name}: index {indices[row, place]}{key} in row {row}; {expected}")
