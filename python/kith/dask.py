"""Search over Dask arrays: chunks of points and of queries, whose neighbours are merged by (distance, index).

>>> import dask.array, kith.dask
>>> points = dask.array.random.default_rng(0).random((1000, 8), chunks=(300, -1))
>>> distances, indices = kith.dask.search(points, points[:10], k=3)
>>> indices.shape, indices.dtype
((10, 3), dtype('int64'))
>>> indices.compute().shape
(10, 3)

The graph is plain tasks, for every scheduler: each chunk of queries is searched in each chunk of points, the partial
results are merged in pairs, and nothing else is sent between workers. The answer has the bits of one `kith.search`.
"""
from __future__ import annotations

from itertools import accumulate
from typing import Any, Callable, Sequence

import dask
import dask.array as da
import numpy as np

from . import groundtruth as _jobs
from . import shards
from ._arguments import _integer, _metric
from ._results import Neighbors
from ._search import graph as _graph

__all__ = ["graph", "groundtruth", "search"]


def search(points: Any, queries: Any, k: int, *, metric: str = "sqeuclidean", p: float = 2.0, inverse_covariance: Any = None,
           variances: Any = None, packed_bits: bool = False, formula: str | None = None, start: float = 0.0,
           f64: bool = False, device: str = "auto", threads: int = 1, memory: int = 0, path: str = "",
           isa: str = "") -> Neighbors:
    """The k nearest points of each query, exactly and lazily.

    Parameters
    ----------
    points : dask array of shape (n, d)
        Or anything that ``dask.array.asarray`` takes. Chunks of known sizes; those of coordinates are put together.
    queries : dask array of shape (q, d)
        Likewise.
    k : int
        At least 1; may be more than a chunk of points has.
    metric, p, packed_bits, formula, start, f64
        As in `kith.search`.
    inverse_covariance, variances : array
        Must be given for ``"mahalanobis"`` and ``"seuclidean"``: they are of all points, which no task has.
    device, memory, path, isa
        Of each task, as in `kith.search`.
    threads : int
        Of each task on a CPU; schedulers run as many tasks beside each other as there are processors. 0: all.

    Returns
    -------
    Neighbors
        ``(distances, indices)``, dask arrays of shape (q, k) in the chunks of the queries, but for empty ones: float32 (``f64``: float64) and
        int64. Computed, they have the bits of one `kith.search`. ``.report`` is None.

    Raises
    ------
    ValueError, TypeError
        At once for chunks of unknown size and what arguments show by themselves; the rest when it is computed.

    Examples
    --------
    >>> import dask.array, kith.dask
    >>> points = dask.array.from_array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]], chunks=(2, -1))
    >>> found = kith.dask.search(points, points[:1], 2, metric="euclidean")
    >>> found.distances.compute()
    array([[0., 5.]], dtype=float32)
    """
    how = _how(k, metric, p, inverse_covariance, variances, packed_bits, formula, start)
    task = {"device": device, "threads": _integer(threads, "threads"), "memory": _integer(memory, "memory"), "path": path,
            "isa": isa}
    base, asked = _rows(points, "points"), _rows(queries, "queries")
    _same_columns(base, asked)
    return _searched(base, asked, k, how, task, f64, None)


def graph(points: Any, k: int, *, include_self: bool = False, metric: str = "sqeuclidean", p: float = 2.0,
          inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, formula: str | None = None,
          start: float = 0.0, f64: bool = False, device: str = "auto", threads: int = 1, memory: int = 0, path: str = "",
          isa: str = "") -> Neighbors:
    """Each point's k nearest among the other points, exactly and lazily.

    Parameters
    ----------
    points : dask array of shape (n, d)
        As in `search`.
    k : int
        Neighbours of each point; with ``include_self`` the point itself is one of them.
    include_self : bool
        As in `kith.graph`.

    The other parameters, what is returned and what is raised: as in `search`; the bits are those of `kith.graph`.

    Examples
    --------
    >>> import dask.array, kith.dask
    >>> points = dask.array.from_array([[0.0], [1.0], [3.0]], chunks=(2, -1))
    >>> kith.dask.graph(points, 1).indices.compute()
    array([[1],
           [0],
           [1]])
    """
    how = _how(k, metric, p, inverse_covariance, variances, packed_bits, formula, start)
    task = {"device": device, "threads": _integer(threads, "threads"), "memory": _integer(memory, "memory"), "path": path,
            "isa": isa}
    base = _rows(points, "points")
    return _searched(base, base, k, how, task, f64, include_self)


def groundtruth(folder: Any, **how: Any) -> Any:
    """The units of a ground-truth job that are not done, as a lazy Dask object: computed, it does them and gives their number.

    Every worker must see the folder and the job's files under the same paths. Units that others do meanwhile, of Dask or
    not, do no harm.

    Parameters
    ----------
    folder : path
        Of the job (`kith.groundtruth.init`).
    **how
        The named arguments of `kith.groundtruth.run_unit`; ``threads`` is 1 where it is not given.

    Returns
    -------
    dask.delayed.Delayed
        Its value is the number of units that were done by it.

    Raises
    ------
    OSError
        Where the folder has no job.

    Examples
    --------
    >>> import numpy, tempfile, kith.dask, kith.groundtruth
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.eye(4), k=1, shard_rows=2)
    >>> kith.dask.groundtruth(folder).compute()
    2
    >>> kith.groundtruth.status(folder).complete
    True
    """
    how = {"threads": 1, **how}
    run = dask.delayed(_jobs.run_unit, pure=False)
    done = [run(str(folder), tuple(unit), **how) for unit in _jobs.units(folder)]
    return dask.delayed(sum)(done)


def _how(k: int, metric: str, p: float, inverse_covariance: Any, variances: Any, packed_bits: bool, formula: str | None,
         start: float) -> dict[str, Any]:
    """The named arguments of a metric, looked at once."""
    if _integer(k, "k") < 1:
        raise ValueError(f"k is {k}: expected at least 1")
    if metric == "mahalanobis" and inverse_covariance is None:
        raise ValueError("inverse_covariance: none; expected that of all points (kith.inverse_covariance), which no chunk has")
    if metric == "seuclidean" and variances is None:
        raise ValueError("variances: none; expected those of all points (kith.variances), which no chunk has")
    _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start)
    return {"metric": metric, "p": p, "inverse_covariance": inverse_covariance, "variances": variances,
            "packed_bits": packed_bits, "formula": formula, "start": start}


def _rows(array: Any, name: str) -> Any:
    """A dask array whose chunks are rows."""
    array = da.asarray(array)
    if array.ndim != 2:
        raise ValueError(f"{name}: expected 2 dimensions, got {array.ndim}")
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise ValueError(f"{name}: chunks of unknown size; call compute_chunk_sizes() first: indices count the rows before")
    return array.rechunk({1: -1}) if len(array.chunks[1]) > 1 else array


def _same_columns(points: Any, queries: Any) -> None:
    if points.shape[1] != queries.shape[1]:
        raise ValueError(f"queries: {queries.shape[1]} columns; expected {points.shape[1]}, as the points have")


def _searched(points: Any, queries: Any, k: int, how: dict[str, Any], task: dict[str, Any], f64: bool,
              include_self: bool | None) -> Neighbors:
    """`include_self` None: a search, else a graph of the points."""
    if points.shape[0] == 0:
        raise ValueError("points: 0 rows; expected at least 1")
    base = [chunk for chunk in _chunks(points) if chunk[2] > 0]
    others = k - bool(include_self)
    how = {**how, **task}
    shared = dask.delayed(how)  # once in the graph, however many tasks take it
    found: tuple[list[Any], list[Any]] = ([], [])
    for asked, first, rows in _chunks(queries):
        parts = [dask.delayed(_part, pure=True)(shard, start, asked, first, others, include_self is not None, shared)
                 for shard, start, _ in base] if others else []
        pair = dask.delayed(_whole, pure=True)(_tree(parts), asked, first, include_self, shared, f64)
        for place, dtype in enumerate((np.float64 if f64 else np.float32, np.int64)):
            found[place].append(da.from_delayed(pair[place], (rows, k), dtype=dtype, meta=np.empty((0, 0), dtype)))
    return Neighbors(*(da.concatenate(parts) for parts in found))


def _chunks(array: Any) -> list[tuple[Any, int, int]]:
    """Each chunk of rows as a delayed array, its first row among all, and its rows."""
    sizes = array.chunks[0]
    firsts = [0, *accumulate(sizes)]
    return [(chunk, int(first), int(size)) for chunk, first, size in zip(array.to_delayed()[:, 0], firsts, sizes)]


def _tree(parts: Sequence[Any]) -> Any:
    """Merged in pairs: as many merges run beside each other as there can."""
    merge: Callable[..., Any] = dask.delayed(_merged, pure=True)
    parts = list(parts)
    while len(parts) > 1:
        parts = [merge(*parts[i:i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0] if parts else None


def _part(shard: Any, first_point: int, queries: Any, first_query: int, k: int, graph_: bool,
          how: dict[str, Any]) -> shards.Partial:
    if len(queries) == 0:
        return shards.Partial(np.empty((0, k), np.int64), np.empty((0, k), np.float64), int(queries.shape[1]))
    if graph_:
        return shards.graph(shard, first_point, queries, first_query, k, **how)
    return shards.search(shard, first_point, queries, k, **how)


def _merged(a: shards.Partial, b: shards.Partial) -> shards.Partial:
    return shards.merge(a, b) if len(a.indices) else a


def _whole(partial: shards.Partial | None, queries: Any, first_query: int, include_self: bool | None, how: dict[str, Any],
           f64: bool) -> tuple[Any, Any]:
    metric = {name: value for name, value in how.items() if name not in ("device", "threads", "memory", "path", "isa")}
    parts: list[tuple[Any, Any]] = []
    if include_self:
        own = _graph(queries, 1, include_self=True, f64=f64, **how) if len(queries) else None
        indices = np.empty((0, 1), np.int64) if own is None else np.asarray(own.indices)
        distances = np.empty((0, 1), np.float64 if f64 else np.float32) if own is None else np.asarray(own.distances)
        parts.append((distances, np.where(indices >= 0, indices + first_query, indices)))
    if partial is not None:
        if len(partial.indices):
            parts.append(tuple(shards.finish(partial, f64=f64, **metric)))
        else:
            parts.append((np.empty(partial.keys.shape, np.float64 if f64 else np.float32), partial.indices))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([a for a, _ in parts], axis=1), np.concatenate([b for _, b in parts], axis=1)
