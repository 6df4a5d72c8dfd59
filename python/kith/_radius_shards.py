"""All points within a radius, in shards: what kith.shards offers of it."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import Progress, _flag, _float64, _host, _integer, _metric, _rows, _settings, _wrong
from ._arrays import readable
from ._gradients import refuse_tracked
from ._kinds import on_host
from ._missing import told
from ._radius import RadiusCounts, RadiusNeighbors, _int64, _radii


class RadiusPartial(NamedTuple):
    """The points of a shard within a radius of each query, each row ordered by (key, index).

    Row i is ``indices[offsets[i]:offsets[i + 1]]``, with its keys next to it: what the order compares, before roots are taken
    and rounded.
    """

    indices: np.ndarray[Any, Any]  #: int64, counted among all points
    keys: np.ndarray[Any, Any]  #: float64
    offsets: np.ndarray[Any, Any]  #: (q + 1,) int64
    dimensions: int  #: coordinates of a point


def radius(shard: Any, first_point: int, queries: Any, r: Any, *, open: bool = False,  # noqa: A002
           metric: str = "euclidean", p: float = 2.0, inverse_covariance: Any = None, variances: Any = None,
           packed_bits: bool = False, formula: str | None = None, start: float = 0.0, device: str = "auto", memory: int = 0,
           threads: int = 0, path: str = "", isa: str = "", progress: Progress = None,
           missing: str = "warn") -> RadiusPartial:
    """All points of a shard within a radius of each query.

    Parameters
    ----------
    shard, first_point, queries
        As in `kith.shards.search`.
    r, open
        As in `kith.radius`.

    The other parameters are those of `kith.shards.search`.

    Returns
    -------
    RadiusPartial

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument; MemoryError also where the rows do not fit.

    Examples
    --------
    >>> import numpy, kith.shards
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> kith.shards.radius(points[1:], 1, points[:1], 2).indices
    array([1])
    """
    return _partial(shard, first_point, queries, -1, r, open,
                    _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, "euclidean"),
                    _settings(False, device, memory, threads, path, isa, 0, progress, missing=missing), missing)


def radius_graph(shard: Any, first_point: int, queries: Any, first_query: int, r: Any, *, open: bool = False,  # noqa: A002
                 metric: str = "euclidean", p: float = 2.0, inverse_covariance: Any = None, variances: Any = None,
                 packed_bits: bool = False, formula: str | None = None, start: float = 0.0, device: str = "auto",
                 memory: int = 0, threads: int = 0, path: str = "", isa: str = "", progress: Progress = None,
                 missing: str = "warn") -> RadiusPartial:
    """As above, for a graph: the queries are points, the first of them of index ``first_query``, and none is in its own row.

    Parameters
    ----------
    shard, first_point, queries, r, open
        As in `radius`.
    first_query : int
        The index of the first query among all points.

    The other parameters are those of `kith.shards.search`.

    Returns
    -------
    RadiusPartial

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument; MemoryError also where the rows do not fit.

    Examples
    --------
    >>> import numpy, kith.shards
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> kith.shards.radius_graph(points, 0, points[1:], 1, 2).indices
    array([0, 2, 1])
    """
    return _partial(shard, first_point, queries, _first(first_query), r, open,
                    _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, "euclidean"),
                    _settings(False, device, memory, threads, path, isa, 0, progress, missing=missing), missing)


def radius_counts(shard: Any, first_point: int, queries: Any, r: Any, *, first_query: int | None = None,
                  open: bool = False, metric: str = "euclidean", p: float = 2.0,  # noqa: A002
                  inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False,
                  formula: str | None = None, start: float = 0.0, device: str = "auto", memory: int = 0, threads: int = 0,
                  path: str = "", isa: str = "", progress: Progress = None, missing: str = "warn") -> RadiusCounts:
    """How many points of a shard are within a radius of each query: those of all shards are their sum.

    Parameters
    ----------
    shard, first_point, queries, r, open
        As in `radius`.
    first_query : int, optional
        As in `radius_graph`; without it the queries are no points.

    The other parameters are those of `kith.shards.search`.

    Returns
    -------
    kith.RadiusCounts
        ``(counts, report)``, counts a numpy array.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.shards
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> sum(kith.shards.radius_counts(points[i:i + 1], i, points[:1], 2).counts for i in range(3))
    array([2])
    """
    of = _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, "euclidean")
    settings = _settings(False, device, memory, threads, path, isa, 0, progress, missing=missing)
    points, asked, one, each = _arrays(shard, queries, r)
    counts, report = _core.radius_shard_counts(points, _integer(first_point, "first_point"), asked,
                                               -1 if first_query is None else _first(first_query), one, each,
                                               _flag(open, "open"), of, settings)
    told(missing, ("shard", report.nan_points, points), ("queries", report.nan_queries, asked))
    return RadiusCounts(_int64(counts), report)


def merge_radius(*parts: RadiusPartial, metric: str = "euclidean", p: float = 2.0, inverse_covariance: Any = None,
                 variances: Any = None, packed_bits: bool = False, formula: str | None = None, start: float = 0.0,
                 f64: bool = False) -> RadiusNeighbors:
    """The rows of all shards together, with the distances that the metric reports: those of `kith.radius` of all points.

    Parameters
    ----------
    *parts : RadiusPartial
        One of each shard, of the same queries.
    metric, p, inverse_covariance, variances, packed_bits, formula, start
        Those of the search.
    f64 : bool
        Distances as float64 in place of float32.

    Returns
    -------
    kith.RadiusNeighbors
        ``(distances, indices, offsets)``, numpy arrays; its report is empty.

    Raises
    ------
    ValueError, TypeError, MemoryError
        Naming the argument; where the rows or the dimensions differ in number, or there is no part.

    Examples
    --------
    >>> import numpy, kith.shards
    >>> points = numpy.array([[0.0], [1.0], [3.0]])
    >>> parts = [kith.shards.radius(points[i:i + 1], i, points[1:2], 2, metric="euclidean") for i in range(3)]
    >>> distances, indices, offsets = kith.shards.merge_radius(*parts, metric="euclidean")
    >>> indices
    array([1, 0, 2])
    """
    if not parts:
        raise ValueError("expected at least one part")
    whole = [_whole(part, f"parts[{i}]") for i, part in enumerate(parts)]
    for part in whole:
        if part.dimensions != whole[0].dimensions:
            raise ValueError(f"parts of {whole[0].dimensions} and of {part.dimensions} dimensions")
    offsets, indices, distances, report = _core.merge_radius_shards(
        [(part.offsets, part.indices, part.keys) for part in whole], whole[0].dimensions,
        _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, "euclidean"),
        _settings(_flag(f64, "f64"), "auto", 0, 0, "", "", 0, None))
    return RadiusNeighbors(distances, _int64(indices), _int64(offsets), report)


def _first(query: Any) -> int:
    if _integer(query, "first_query") < 0:
        raise ValueError(f"first_query is {query}: expected at least 0")
    return int(query)


def _arrays(shard: Any, queries: Any, r: Any) -> tuple[Any, Any, float, Any]:
    refuse_tracked("kith.shards", shard=shard, queries=queries)
    points, asked = on_host(readable(shard, "shard")), on_host(readable(queries, "queries"))
    _rows(points, "shard")
    return points, asked, *_radii(r, _rows(asked, "queries"))


def _partial(shard: Any, first_point: int, queries: Any, first_query: int, r: Any, opened: bool,
             metric: _core.MetricSettings, settings: _core.Settings, missing: str) -> RadiusPartial:
    points, asked, one, each = _arrays(shard, queries, r)
    offsets, indices, keys, report = _core.radius_shard(points, _integer(first_point, "first_point"), asked, first_query, one,
                                                        each, _flag(opened, "open"), metric, settings)
    told(missing, ("shard", report.nan_points, points), ("queries", report.nan_queries, asked))
    return RadiusPartial(_int64(indices), keys, _int64(offsets), int(points.shape[1]))


def _whole(part: Any, name: str) -> RadiusPartial:
    """With arrays as the core takes them, of rows that a search can have made."""
    if not isinstance(part, RadiusPartial):
        raise _wrong(part, name, "RadiusPartial")
    indices, offsets = (np.ascontiguousarray(_host(array, f"{name}.{of}", "iu", "integers"), np.int64)
                        for array, of in ((part.indices, "indices"), (part.offsets, "offsets")))
    keys = np.ascontiguousarray(_float64(part.keys, f"{name}.keys"))
    for of, array in (("indices", indices), ("keys", keys), ("offsets", offsets)):
        if array.ndim != 1:
            raise ValueError(f"{name}.{of}: expected 1 dimension, got {array.ndim}")
    if not len(offsets) or offsets[0] or (np.diff(offsets) < 0).any() or not offsets[-1] == len(indices) == len(keys):
        raise ValueError(f"{name}: {len(indices)} indices and {len(keys)} keys; expected offsets from 0 up to their number")
    wrong = (indices < 0) | np.isnan(keys)
    rises = (keys[1:] > keys[:-1]) | (keys[1:] == keys[:-1]) & (indices[1:] > indices[:-1])
    inside = np.ones(len(keys), bool)  # of a row, and not its first
    inside[offsets[:-1][offsets[:-1] < len(keys)]] = False
    wrong[1:] |= inside[1:] & ~rises
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{name}: index {indices[at]} with key {keys[at]} in row {int(np.searchsorted(offsets, at, 'right')) - 1}; "
                         "expected indices of at least 0, no NaN, and each row by ascending (key, index)")
    return RadiusPartial(indices, keys, offsets, _integer(part.dimensions, f"{name}.dimensions", 1))
