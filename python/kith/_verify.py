"""verify: whether given neighbours are the true ones."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import Progress, _flag, _host, _integer, _metric, _rows, _settings
from ._arrays import given
from ._kinds import kind_of, on_host
from ._results import Neighbors

_INT64 = np.iinfo(np.int64)


class Verification(NamedTuple):
    """The result of `verify`."""

    exact: bool  #: every row is right, up to ties
    rows: int  #: rows that were looked at
    wrong_rows: Any  #: numpy array of those whose neighbours, order or distances are not right
    recall: float  #: share of the true neighbours that are listed, in any order; one that is as near as the last counts
    tied: int = 0  #: rows that list an equally near neighbour in the place of another, and are right
    verdict: str = ""  #: "exact", "exact up to ties listed in another order" or "NOT exact", as ``kith verify`` says
    reasons: tuple[tuple[int, int, str], ...] = ()  #: of the first ten wrong rows: row, place, what is wrong there
    distances: str = "not compared"  #: "f32" or "f64": bit by bit as such; "nearly"; or "not compared"
    include_self: bool = False  #: the rows of the graph were taken to begin with their own point


def verify(points: Any, queries: Any, *found: Any, indices: Any = None, distances: Any = None, sample: int | None = None,
           include_self: bool | None = None, of_others: bool = False, metric: str = "sqeuclidean", p: float = 2.0,
           inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, formula: str | None = None,
           start: float = 0.0, device: str = "auto", memory: int = 0, threads: int = 0, path: str = "", isa: str = "",
           stream: int | None = None, progress: Progress = None, selector: str = "") -> Verification:
    """True if given neighbours are the true ones, by searching again.

    Parameters
    ----------
    points, queries : arrays
        As in `search`; queries None: the neighbours are a graph of the points.
    *found
        The neighbours to verify: the result of `search` or `graph` itself, or its parts, ``*kith.search(...)``, or indices
        alone. Integers are the indices and float32 or float64 the distances, so that either may come first.
    indices, distances : arrays of shape (q, k)
        Likewise, by name. Without distances the indices alone are verified, in order.
    sample : int, optional
        Look only at this many rows, evenly spaced.
    include_self : bool, optional
        For a graph: its rows begin with the point itself. None: they do where most of them do.
    of_others : bool
        The distances were computed by another library, which may round differently: they are held to a thousandth of the
        largest. By default they are compared bit by bit, as float32 or float64 as they are.
    metric, p, inverse_covariance, variances, packed_bits, formula, start, device, memory, threads, path, isa, stream
        As in `search`; of the neighbours' metric.
    progress, selector
        As in `search`.

    Returns
    -------
    Verification

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument: shapes that do not belong together, distances that are neither float32 nor float64, and what
        `search` raises.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.arange(6.0).reshape(3, 2)
    >>> kith.verify(points, points, [[0], [1], [2]]).exact
    True
    >>> kith.verify(points, None, kith.graph(points, 2)).verdict
    'exact'
    >>> kith.verify(points, points, [[0], [0], [2]]).reasons
    ((1, 0, 'id 0 at place 1 is not the right one'),)
    """
    listed, given_distances = _parts(found, indices, distances)
    if listed.ndim != 2:
        raise ValueError(f"indices: expected 2 dimensions, got {listed.ndim}")
    if given_distances is not None and given_distances.shape != listed.shape:
        raise ValueError(f"distances: expected the shape of indices, {listed.shape}, got {given_distances.shape}")
    if given_distances is not None and given_distances.dtype not in (np.float32, np.float64):
        raise TypeError(f"distances: expected float32 or float64, got {given_distances.dtype}")
    like = points if queries is None else queries
    stream = kind_of(like).stream(like) if stream is None else stream
    points, read_points = given(points, "points", stream)
    asked, read_queries = (points, None) if queries is None else given(queries, "queries", stream)
    rows = _rows(asked, "points" if queries is None else "queries")
    if len(listed) != rows:
        raise ValueError(f"indices: {len(listed)} rows for {rows} {'points' if queries is None else 'queries'}")
    if sample is not None and _integer(sample, "sample") < 1:
        raise ValueError(f"sample is {sample}: expected at least 1")
    verified = _core.verify(
        read_points, read_queries, listed, given_distances, sample or 0,
        None if include_self is None else _flag(include_self, "include_self"), _flag(of_others, "of_others"),
        _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start),
        _settings(False, device, memory, threads, path, isa, stream, progress, selector))
    return Verification(**verified)


def _parts(found: tuple[Any, ...], indices: Any, distances: Any) -> tuple[Any, Any]:
    """The indices as int64, and the distances or None; what is by position may be a result, or in either order."""
    if len(found) == 1 and (isinstance(found[0], Neighbors) or isinstance(found[0], tuple) and len(found[0]) == 2):
        found = tuple(found[0])
    if len(found) > 2:
        raise TypeError(f"verify: {len(found)} arrays; expected indices, distances and indices, or a result of search()")
    if found and indices is not None:
        raise TypeError("indices: given twice; expected them by position or by name")
    if len(found) == 2:
        if distances is not None:
            raise TypeError("distances: given twice; expected them by position or by name")
        indices, distances = found
        if distances is not None and on_host(indices).dtype.kind == "f":  # as search() returns them
            indices, distances = distances, indices
    elif found:
        indices = found[0]
    if indices is None:
        raise TypeError("indices: none; expected those to be verified")
    listed = _host(indices, "indices", "iu", "integers")
    if listed.dtype.kind == "u":  # beyond int64 there is no point
        listed = np.where(listed > _INT64.max, _INT64.min, listed.astype(np.int64))
    listed = np.ascontiguousarray(listed, np.int64)
    return listed, None if distances is None else np.ascontiguousarray(on_host(distances))

