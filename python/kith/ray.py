"""Search over chunks that lie in Ray's object store: tasks of Ray, whose neighbours are merged by (distance, index).

>>> import numpy, ray, kith.ray
>>> points = numpy.random.default_rng(0).random((1000, 8))
>>> chunks = [ray.put(part) for part in numpy.array_split(points, 4)]
>>> distances, indices = kith.ray.search(chunks, points[:10], k=3)
>>> numpy.concatenate(ray.get(indices)).shape
(10, 3)

Each chunk of queries is searched in each chunk of points, the partial results are merged in pairs, and nothing else is sent
between workers. Placing, retrying and spilling are Ray's. The answer has the bits of one `kith.search`.
"""
from __future__ import annotations

from itertools import accumulate
from typing import Any, Callable

import numpy as np
import ray

from . import groundtruth as _jobs
from ._arguments import Progress
from ._arrays import readable
from ._chunks import Chunk, Wanted, look_at, searched, wanted
from ._kinds import on_host
from ._results import Neighbors

__all__ = ["graph", "groundtruth", "search"]


def search(points: Any, queries: Any, k: int, *, metric: str = "sqeuclidean", p: float = 2.0, inverse_covariance: Any = None,
           variances: Any = None, packed_bits: bool = False, formula: str | None = None, start: float = 0.0,
           f64: bool = False, device: str = "auto", threads: int = 1, memory: int = 0, path: str = "", isa: str = "",
           options: dict[str, Any] | None = None) -> Neighbors:
    """The k nearest points of each query, exactly, by tasks of Ray.

    Parameters
    ----------
    points : list of chunks
        ``ray.ObjectRef`` of arrays of shape (rows, d), or arrays, which are put into the object store; what
        ``Dataset.to_numpy_refs`` gives, for one. Indices count through the chunks in their order. An array is one chunk.
    queries : list of chunks
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
        For each task on a CPU; Ray runs as many tasks next to each other as ``num_cpus`` permits. 0: all.
    options : dict, optional
        For each task, as ``ray.remote`` takes them: ``{"num_gpus": 1}``, without which Ray hides a worker's GPUs.

    Returns
    -------
    Neighbors
        ``(distances, indices)``, each a list of ``ray.ObjectRef``, one for each chunk of the queries, of numpy arrays of
        shape (rows, k): float32 (``f64``: float64) and int64. They have the bits of one `kith.search`. ``.report`` is None.

    Raises
    ------
    ValueError, TypeError
        At once for what arguments, types and shapes of the chunks show, for which a task looks at each; the rest from
        ``ray.get``.

    Examples
    --------
    >>> import numpy, ray, kith.ray
    >>> points = [numpy.array([[0.0, 0.0], [3.0, 4.0]]), numpy.array([[6.0, 8.0]])]
    >>> found = kith.ray.search(points, points[0][:1], 2, metric="euclidean")
    >>> ray.get(found.distances)
    [array([[0., 5.]], dtype=float32)]
    """
    want = wanted(k, f64, None, metric, p, inverse_covariance, variances, packed_bits, formula, start, device, threads, memory,
                  path, isa)
    return _searched(_Chunks(points, "points"), _Chunks(queries, "queries"), want, options)


def graph(points: Any, k: int, *, include_self: bool = False, metric: str = "sqeuclidean", p: float = 2.0,
          inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, formula: str | None = None,
          start: float = 0.0, f64: bool = False, device: str = "auto", threads: int = 1, memory: int = 0, path: str = "",
          isa: str = "", options: dict[str, Any] | None = None) -> Neighbors:
    """Each point's k nearest among the other points, exactly, by tasks of Ray.

    Parameters
    ----------
    points : list of chunks
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
    >>> import numpy, ray, kith.ray
    >>> found = kith.ray.graph([numpy.array([[0.0], [1.0]]), numpy.array([[3.0]])], 1)
    >>> ray.get(found.indices)
    [array([[1],
           [0]]), array([[1]])]
    """
    want = wanted(k, f64, include_self, metric, p, inverse_covariance, variances, packed_bits, formula, start, device, threads,
                  memory, path, isa)
    base = _Chunks(points, "points")
    return _searched(base, base, want, options)


def groundtruth(folder: Any, *, options: dict[str, Any] | None = None, lease: float = 60.0, strict: bool = False,
                device: str = "auto", memory: int = 0, threads: int = 1, path: str = "", isa: str = "",
                progress: Progress = None) -> Any:
    """The units of a ground-truth job that are not done, as tasks of Ray.

    Every worker must see the folder and the job's files under the same paths. Units that others do meanwhile, of Ray or
    not, do no harm.

    Parameters
    ----------
    folder : path
        For the job (`kith.groundtruth.init`).
    options : dict, optional
        As in `search`.
    lease, strict, device, memory, path, isa, progress
        As in `kith.groundtruth.run_unit`, of each unit.
    threads : int
        As in `search`.

    Returns
    -------
    ray.ObjectRef
        The number of units that it has done.

    Raises
    ------
    OSError
        Where the folder has no job.

    Examples
    --------
    >>> import numpy, ray, tempfile, kith.groundtruth, kith.ray
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.eye(4), k=1, shard_rows=2)
    >>> ray.get(kith.ray.groundtruth(folder))
    2
    """
    engine = _Ray(options)
    how = {"lease": lease, "strict": strict, "device": device, "memory": memory, "threads": threads, "path": path, "isa": isa,
           "progress": progress}
    units = _jobs.units(folder)
    return engine.task(_sum, *(engine.task(_unit, str(folder), tuple(unit), how) for unit in units))


class _Ray:
    """Ray's tasks, which begin at once."""

    def __init__(self, options: dict[str, Any] | None) -> None:
        self._options = dict(options or {})

    def share(self, value: Any) -> Any:
        return ray.put(value)

    def task(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._remote(function, 1).remote(*arguments)

    def pair(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
        first, second = self._remote(function, 2).remote(*arguments)
        return first, second

    def _remote(self, function: Callable[..., Any], returns: int) -> Any:
        return ray.remote(function).options(**{"name": f"kith.{function.__name__.strip('_')}", **self._options,
                                               "num_returns": returns})


class _Chunks:
    """Chunks of rows in the object store, whose shapes are known."""

    def __init__(self, chunks: Any, name: str) -> None:
        if isinstance(chunks, ray.ObjectRef) or hasattr(chunks, "shape"):
            chunks = [chunks]
        refs = [chunk if isinstance(chunk, ray.ObjectRef) else ray.put(chunk) for chunk in chunks]
        if not refs:
            raise ValueError(f"{name}: expected at least one chunk")
        shapes = ray.get([_Ray(None).task(_shape, ref, name) for ref in refs])
        for number, (shape, dtype) in enumerate(shapes):
            if len(shape) != 2:
                raise ValueError(f"{name}: expected 2 dimensions, got {len(shape)} in chunk {number}")
            if shape[1] != shapes[0][0][1]:
                raise ValueError(f"{name}: {shape[1]} columns in chunk {number}; expected {shapes[0][0][1]}, as the first has")
        self.columns, self.type = shapes[0][0][1], np.result_type(*(dtype for _, dtype in shapes))
        sizes = [shape[0] for shape, _ in shapes]
        self.rows = sum(sizes)
        self.chunks = [Chunk(*each) for each in zip(refs, [0, *accumulate(sizes)], sizes)]


def _shape(array: Any, name: str) -> tuple[tuple[int, ...], Any]:
    shape = tuple(np.shape(array))
    return shape, on_host(readable(array[:0], name)).dtype if len(shape) == 2 else None


def _sum(*done: bool) -> int:
    return sum(done)


def _unit(folder: str, unit: tuple[int, int], how: dict[str, Any]) -> bool:
    return _jobs.run_unit(folder, unit, **how)


def _searched(points: _Chunks, queries: _Chunks, want: Wanted, options: dict[str, Any] | None) -> Neighbors:
    look_at((points.columns, queries.columns), (points.type, queries.type), want)
    found = searched(_Ray(options), points.chunks, queries.chunks, want)
    return Neighbors([each.distances for each in found], [each.indices for each in found])
