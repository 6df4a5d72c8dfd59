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
from typing import Any, Callable

import dask
import dask.array as da
import numpy as np

from . import groundtruth as _jobs
from ._arguments import Progress
from ._chunks import Chunk, Wanted, look_at, searched, wanted
from ._results import Neighbors

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
        For each task, as in `kith.search`.
    threads : int
        For each task on a CPU; schedulers run as many tasks next to each other as there are processors. 0: all.

    Returns
    -------
    Neighbors
        ``(distances, indices)``, dask arrays of shape (q, k) in the chunks of the queries, but for empty ones: float32 (``f64``: float64) and
        int64. Computed, they have the bits of one `kith.search`. ``.report`` is None.

    Raises
    ------
    ValueError, TypeError
        At once for chunks of unknown size and what arguments, types and columns show by themselves; the rest, which coordinates
        and the workers' devices show, when it is computed.

    Examples
    --------
    >>> import dask.array, kith.dask
    >>> points = dask.array.from_array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]], chunks=(2, -1))
    >>> found = kith.dask.search(points, points[:1], 2, metric="euclidean")
    >>> found.distances.compute()
    array([[0., 5.]], dtype=float32)
    """
    want = wanted(k, f64, None, metric, p, inverse_covariance, variances, packed_bits, formula, start, device, threads, memory,
                  path, isa)
    return _searched(_rows(points, "points"), _rows(queries, "queries"), want)


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

    The other parameters are those of `search`.

    Returns
    -------
    Neighbors
        As of `search`, n rows in all; the bits are those of `kith.graph`.

    Raises
    ------
    ValueError, TypeError
        As in `search`.

    Examples
    --------
    >>> import dask.array, kith.dask
    >>> points = dask.array.from_array([[0.0], [1.0], [3.0]], chunks=(2, -1))
    >>> kith.dask.graph(points, 1).indices.compute()
    array([[1],
           [0],
           [1]])
    """
    want = wanted(k, f64, include_self, metric, p, inverse_covariance, variances, packed_bits, formula, start, device, threads,
                  memory, path, isa)
    base = _rows(points, "points")
    return _searched(base, base, want)


def groundtruth(folder: Any, *, lease: float = 60.0, strict: bool = False, device: str = "auto", memory: int = 0,
                threads: int = 1, path: str = "", isa: str = "", progress: Progress = None) -> Any:
    """The units of a ground-truth job that are not done, as a lazy Dask object: computed, it does them and gives their number.

    Every worker must see the folder and the job's files under the same paths. Units that others do meanwhile, of Dask or
    not, do no harm.

    Parameters
    ----------
    folder : path
        For the job (`kith.groundtruth.init`).
    lease, strict, device, memory, path, isa, progress
        As in `kith.groundtruth.run_unit`, of each unit.
    threads : int
        As in `search`.

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
    run = dask.delayed(_jobs.run_unit, pure=False)
    done = [run(str(folder), tuple(unit), lease=lease, strict=strict, device=device, memory=memory, threads=threads, path=path,
                isa=isa, progress=progress) for unit in _jobs.units(folder)]
    return dask.delayed(sum)(done)


class _Dask:
    """Dask's tasks: lazy, and named by their arguments, so that equal ones are done once."""

    def share(self, value: Any) -> Any:
        return dask.delayed(value)

    def task(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return dask.delayed(function, pure=True)(*arguments)

    def pair(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
        both = self.task(function, *arguments)
        return both[0], both[1]


def _rows(array: Any, name: str) -> Any:
    """A dask array whose chunks are rows."""
    array = da.asarray(array)
    if array.ndim != 2:
        raise ValueError(f"{name}: expected 2 dimensions, got {array.ndim}")
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise ValueError(f"{name}: chunks of unknown size; call compute_chunk_sizes() first: indices count the rows before")
    return array.rechunk({1: -1}) if len(array.chunks[1]) > 1 else array


def _searched(points: Any, queries: Any, want: Wanted) -> Neighbors:
    look_at((points.shape[1], queries.shape[1]), (points.dtype, queries.dtype), want)
    types = np.float64 if want.f64 else np.float32, np.int64
    found = [[da.from_delayed(part, (each.size, want.k), dtype=dtype, meta=np.empty((0, 0), dtype))
              for part, dtype in zip((each.distances, each.indices), types)]
             for each in searched(_Dask(), _chunks(points), _chunks(queries), want)]
    return Neighbors(*(da.concatenate(parts) for parts in zip(*found)))


def _chunks(array: Any) -> list[Chunk]:
    sizes = array.chunks[0]
    firsts = [0, *accumulate(sizes)]
    return [Chunk(chunk, int(first), int(size)) for chunk, first, size in zip(array.to_delayed()[:, 0], firsts, sizes)]
