"""distances: the matrix that a search looks through."""
from __future__ import annotations

from typing import Any

from . import _core, _gradients
from ._arguments import Progress, _metric, _rows, _settings
from ._arrays import given
from ._gradients import Form, tracked
from ._kinds import kind_of


def distances(points: Any, queries: Any = None, *, metric: str = "sqeuclidean", p: float = 2.0,
              inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False,
              formula: str | None = None, start: float = 0.0, f64: bool = False, out: Any = None, device: str = "auto",
              memory: int = 0, threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
              progress: Progress = None) -> Any:
    """The distance of each query to each point, to the last bit the one that `search` reports.

    scipy's ``cdist(queries, points, metric)``, in canonical bits on any device.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`.
    queries : array of shape (q, d), optional
        Likewise; by default the points, among themselves.
    out : array of shape (q, n), optional
        To write to, C-contiguous: float32, or float64 with ``f64``.

    path : str, optional
        A distance kernel of the papers, such as "garcia", on a GPU: distances are then estimates in float32, not the bits
        of `search`, NaN also for rows that float32 does not hold, and without gradients.

    The other parameters are those of `search`.

    Returns
    -------
    array of shape (q, n)
        float32, or float64 with ``f64``, of the queries' kind on their device: element (i, j) is the distance of query i
        and point j, NaN where either has a NaN coordinate. Gradients as of `search`.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument; several devices are a ValueError.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.array([[0, 0], [3, 4]], numpy.float32)
    >>> kith.distances(points, metric="euclidean")
    array([[0., 5.],
           [5., 0.]], dtype=float32)
    """
    if queries is None:
        queries = points

    def found(points: Any, queries: Any) -> Any:
        like, kind = queries, kind_of(queries)
        on = kind.stream(like) if stream is None else stream
        points, read_points = given(points, "points", on)
        queries, read_queries = given(queries, "queries", on)
        rows, columns = _rows(queries, "queries"), _rows(points, "points")
        if out is not None and not kind_of(out).writable:
            raise TypeError(f"out: an array of {type(out).__module__.partition('.')[0]} cannot be written to")
        try:
            result = kind.empty(like, rows, columns, "float64" if f64 else "float32") if out is None else out
        except MemoryError as error:
            raise MemoryError(f"queries and points: the distances of {rows} x {columns} do not fit into memory") from error
        _core.distances(
            read_points, read_queries,
            _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
            _settings(f64, device, memory, threads, path, isa, on, progress), result)
        return kind.finished(like, result) if out is None else out

    if not tracked(points, queries):
        return found(points, queries)
    if path not in ("", "exact"):
        raise ValueError(f"path: {path!r} gives estimates without gradients; give points and queries that need none (.detach())")
    return _gradients.matrix(found, points, queries, Form(metric, p, inverse_covariance, variances, formula), out)
