"""Many small searches at once."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _core, _gradients
from ._arguments import Progress, _host, _metric, _rows, _settings, _wanted
from ._arrays import given
from ._gradients import Form, tracked
from ._kinds import kind_of
from ._missing import noted
from ._results import Neighbors
from ._search import Out, _distance_type, _neighbors, _outputs


def search_batches(points: Any, queries: Any, batches: Any, k: int, *, metric: str = "sqeuclidean", p: float = 2.0,
                   f64: bool = False, out: Out = None, device: str = "auto", memory: int = 0, threads: int = 0,
                   stream: int | None = None, progress: Progress = None, missing: str = "warn") -> Neighbors:
    """The k nearest points of each query within its batch: pairs of point clouds, the examples of a training step.

    On a GPU all batches are one launch where the metric is euclidean, sqeuclidean or cityblock, for up to 128 dimensions,
    k up to 128, up to 32,768 points in a batch, and elements other than float64. Otherwise, and for more than 2^36 pairs
    in batches of 2^24 on average, each batch is a search. Coordinates so small or so large that their squared
    differences leave float32 cost that launch its speed. On a CPU small batches are tasks of one thread each, and large
    ones are searched by all threads.

    Parameters
    ----------
    points, queries : arrays of shape (n, d) and (q, d)
        The rows of all batches, as in `search`.
    batches : array of integers, shape (batches, 4)
        For each batch the first row of the points, their number, the first row of the queries, their number. Queries
        ascend from batch to batch, and none is in two; points may be shared. Both may be none.
    k : int
        At least 1. Neighbours that do not exist have index -1, as have those of queries in no batch.

    The other parameters are those of `search`.

    Returns
    -------
    Neighbors
        ``(distances, indices)``, arrays of shape (q, k) of the queries' kind on their device, and ``.report``. Indices count
        from the first point of the batch. Gradients as of `search`.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.array([[0.0], [1.0], [5.0], [7.0]])
    >>> kith.search_batches(points, points, [[0, 2, 0, 2], [2, 2, 2, 2]], 1).indices.ravel()
    array([0, 1, 0, 1])
    >>> kith.search_batches(points, points, [[0, 2, 0, 2], [2, 2, 2, 2]], 2, metric="cityblock").distances[:, 1]
    array([1., 1., 2., 2.], dtype=float32)
    """
    table = _host(batches, "batches", "iu", "integers").astype(np.int64, copy=False)
    if table.ndim != 2 or table.shape[1] != 4:
        raise ValueError(f"batches: expected shape (batches, 4), got {table.shape}")

    def found(points: Any, queries: Any) -> Neighbors:
        like, kind = queries, kind_of(queries)
        on = kind.stream(like) if stream is None else stream
        points, read_points = given(points, "points", on)
        queries, read_queries = given(queries, "queries", on)
        rows = _rows(queries, "queries")
        distances, indices = _outputs(kind, like, rows, _wanted(k, rows), _distance_type(f64), out)
        report = _core.search_batches(
            read_points, read_queries, table, k,
            _metric(metric, p, None, None, False, None, 0.0),
            _settings(f64, device, memory, threads, "", "", on, progress, missing=missing),
            indices, distances)
        return _neighbors(kind, like, distances, indices, noted(report, missing, points, queries), out)

    if not tracked(points, queries):
        return found(points, queries)
    return _gradients.batches(found, points, queries, Form(metric, p), table, out)  # type: ignore[no-any-return]
