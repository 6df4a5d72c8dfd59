"""All points within a radius: radius, radius_graph, radius_counts, and what they return."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core, _gradients
from ._arguments import Progress, _flag, _float64, _metric, _number, _rows, _settings
from ._arrays import array_interface, readable
from ._gradients import Form, Source, tracked
from ._kinds import Kind, kind_of, on_host
from ._missing import noted
from ._core import Report


class _Rows(NamedTuple):
    distances: Any
    indices: Any
    offsets: Any


class RadiusNeighbors(_Rows):
    """The points within the radius of each query: ``distances, indices, offsets = kith.radius(...)``.

    Row i is ``indices[offsets[i]:offsets[i + 1]]``, ordered by (distance, index), with its distances next to it.

    Attributes
    ----------
    distances : array
        float32, or float64 with ``f64=True``.
    indices : array
        int64.
    offsets : array of shape (queries + 1,)
        int64; the first is 0, the last the number of all.
    report : Report
        How the answer was reached and what it cost.
    """

    report: Report = None  # type: ignore[assignment]

    def __new__(cls, distances: Any, indices: Any, offsets: Any, report: Report | None = None) -> RadiusNeighbors:
        rows = super().__new__(cls, distances, indices, offsets)
        rows.report = report  # type: ignore[assignment]
        return rows

    def __reduce__(self) -> Any:
        return RadiusNeighbors, (self.distances, self.indices, self.offsets, self.report)

    def _replace(self, **parts: Any) -> RadiusNeighbors:
        return RadiusNeighbors(**{**self._asdict(), "report": self.report, **parts})

    def rows(self) -> list[tuple[Any, Any]]:
        """For each query its (distances, indices), as views."""
        return _split(self.distances, self.indices, self.offsets)

    def csr(self, points: int) -> Any:
        """A scipy.sparse.csr_matrix of queries x points whose data are the distances, those of 0 among them."""
        from scipy.sparse import csr_matrix
        return csr_matrix(tuple(map(on_host, self)), shape=(len(self.offsets) - 1, points))


class _Counts(NamedTuple):
    counts: Any
    report: Report


class RadiusCounts(_Counts):
    """How many points there are within the radius of each query.

    Attributes
    ----------
    counts : array of shape (queries,)
        int64.
    report : Report
        How the answer was reached and what it cost.
    """

    __slots__ = ()


def _split(distances: Any, indices: Any, offsets: Any) -> list[tuple[Any, Any]]:
    ends = offsets.tolist()
    return [(distances[first:last], indices[first:last]) for first, last in zip(ends, ends[1:])]


def _int64(array: Any) -> Any:
    return array.view(np.int64)  # which numpy may spell otherwise


def _rows_of(kind: Kind, like: Any, parts: tuple[Any, Any, Any, Report]) -> RadiusNeighbors:
    offsets, indices, distances, report = parts
    of = kind.of_numpy
    return RadiusNeighbors(of(like, distances), of(like, _int64(indices)), of(like, _int64(offsets)), report)


def _counts_of(kind: Kind, like: Any, parts: tuple[Any, Report]) -> RadiusCounts:
    return RadiusCounts(kind.of_numpy(like, _int64(parts[0])), parts[1])


def _radii(r: Any, rows: int) -> tuple[float, Any]:
    """A radius, or an array of one of each query."""
    if not isinstance(r, (list, tuple)) and np.ndim(r) == 0:
        return _number(r, "r"), None
    radii = _float64(r, "r")
    if radii.shape not in ((rows,), (rows, 1), (1, rows)):
        raise ValueError(f"r: shape {radii.shape}; expected one radius, or one of each of {rows} queries")
    return 0.0, radii.reshape(-1, 1)


def radius(points: Any, queries: Any, r: Any, *, open: bool = False, metric: str = "euclidean",  # noqa: A002
           p: float = 2.0, inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False,
           formula: str | None = None, start: float = 0.0, f64: bool = False, device: str = "auto", memory: int = 0,
           threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
           progress: Progress = None, missing: str = "warn", include_self: bool = False) -> RadiusNeighbors:
    """All points within a radius of each query, exactly: however many there are.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`.
    queries : array of shape (q, d), or None
        None: the points among themselves, each without itself unless ``include_self``, as `radius_graph` has them.
    r : float or array of shape (q,)
        The radius, of all queries or of each: a distance of the metric, which is ``"euclidean"`` here if none is named.
        Points at a distance of at most r are within, as the metric reports it in float64; for ``"inner_product"``, whose
        larger products are nearer, those of a product of at least r.
    open : bool
        Points at exactly r are not within.

    The other parameters: as in `search`.

    Returns
    -------
    RadiusNeighbors
        ``(distances, indices, offsets)``, three arrays of the queries' kind on their device, and ``.report``; ``.rows()``
        has them as a pair of each query. The bits are the same on every device. Gradients as of `search`.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument; MemoryError also where the answer does not fit: `radius_counts` says how large it is,
        `radius_blocks` and `radius_csr` need no room for it.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.array([[0, 0], [3, 4], [6, 8]], numpy.float32)
    >>> distances, indices, offsets = kith.radius(points, points[:2], 5, metric="euclidean")
    >>> indices
    array([0, 1, 1, 0, 2])
    >>> offsets
    array([0, 2, 5])
    """
    def found(points: Any, queries: Any) -> RadiusNeighbors:
        like = points if queries is None else queries
        kind = kind_of(like)
        on = kind.stream(like) if stream is None else stream
        points = readable(points, "points")
        asked = None if queries is None else readable(queries, "queries")
        one, each = _radii(r, _rows(points, "points") if asked is None else _rows(asked, "queries"))
        parts = _core.radius(
            array_interface(points, "points", on), None if asked is None else array_interface(asked, "queries", on), one, each,
            _flag(open, "open"), _flag(include_self, "include_self"),
            _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, "euclidean"),
            _settings(f64, device, memory, threads, path, isa, on, progress, missing=missing))
        noted(parts[3], missing, points, asked)
        return _rows_of(kind, like, parts)

    if not tracked(points, queries):
        return found(points, queries)
    form = Form(metric, p, inverse_covariance, variances, formula)
    if queries is None:
        return _gradients.radius(lambda of, _: found(of, None), points, points, form)  # type: ignore[no-any-return]
    return _gradients.radius(found, points, queries, form)  # type: ignore[no-any-return]


def radius_graph(points: Any, r: Any, *, include_self: bool = False, open: bool = False,  # noqa: A002
                 metric: str = "euclidean", p: float = 2.0, inverse_covariance: Any = None, variances: Any = None,
                 packed_bits: bool = False, formula: str | None = None, start: float = 0.0, f64: bool = False,
                 device: str = "auto", memory: int = 0, threads: int = 0, path: str = "", isa: str = "",
                 stream: int | None = None, progress: Progress = None, missing: str = "warn") -> RadiusNeighbors:
    """The other points within a radius of each point.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`.
    r : float or array of shape (n,)
        As in `radius`.
    include_self : bool
        Each point is in its own row like any other. Without it row i never holds i; duplicates are kept either way.

    The other parameters are those of `radius`.

    Returns
    -------
    RadiusNeighbors
        ``(distances, indices, offsets)``, arrays of n rows of the points' kind, and ``.report``.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument, and MemoryError as in `radius`.

    Examples
    --------
    >>> import numpy, kith
    >>> kith.radius_graph(numpy.array([[0.0], [1.0], [3.0]]), 1).indices
    array([1, 0])
    """
    return radius(points, None, r, include_self=include_self, open=open, metric=metric, p=p,
                  inverse_covariance=inverse_covariance, variances=variances, packed_bits=packed_bits, formula=formula,
                  start=start, f64=f64, device=device, memory=memory, threads=threads, path=path, isa=isa, stream=stream,
                  progress=progress, missing=missing)


def radius_counts(points: Any, queries: Any, r: Any, *, open: bool = False, include_self: bool = False,  # noqa: A002
                  metric: str = "euclidean", p: float = 2.0, inverse_covariance: Any = None, variances: Any = None,
                  packed_bits: bool = False, formula: str | None = None, start: float = 0.0, device: str = "auto",
                  memory: int = 0, threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
                  progress: Progress = None, missing: str = "warn") -> RadiusCounts:
    """How many points there are within a radius of each query; no list of them is made.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`.
    queries : array of shape (q, d), or None
        None: the points among themselves, each without itself unless ``include_self``.
    r, open
        As in `radius`.

    The other parameters are those of `radius`.

    Returns
    -------
    RadiusCounts
        ``(counts, report)``; counts of the queries' kind on their device.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith
    >>> kith.radius_counts(numpy.array([[0.0], [1.0], [3.0]]), numpy.array([[0.5]]), 1).counts
    array([2])
    """
    like = points if queries is None else queries
    kind = kind_of(like)
    stream = kind.stream(like) if stream is None else stream
    points = readable(points, "points")
    asked = None if queries is None else readable(queries, "queries")
    one, each = _radii(r, _rows(points, "points") if asked is None else _rows(asked, "queries"))
    parts = _core.radius_counts(
        array_interface(points, "points", stream),
        None if asked is None else array_interface(asked, "queries", stream), one, each, _flag(open, "open"),
        _flag(include_self, "include_self"),
        _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, "euclidean"),
        _settings(False, device, memory, threads, path, isa, stream, progress, missing=missing))
    noted(parts[1], missing, points, asked)
    return _counts_of(kind, like, parts)


class RadiusMethods:
    """The radius searches of an Index."""

    _core: _core.Index
    _kind: Kind  # of the points
    _place: Any
    _source: Source
    _radius_form: Form
    _nan_points: int | None

    def __len__(self) -> int:
        raise NotImplementedError

    def radius(self, queries: Any, r: Any, *, open: bool = False, f64: bool = False, memory: int = 0,  # noqa: A002
               threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
               progress: Progress = None, missing: str = "warn", include_self: bool = False) -> RadiusNeighbors:
        """All of the Index's points within a radius of each query, as `kith.radius` gives them.

        Parameters
        ----------
        queries : array of shape (q, d), or None
            None: the points among themselves.
        r : float or array of shape (q,) or (n,)
            As in `kith.radius`: of an Index whose metric was not named, a Euclidean distance.
        open, f64, memory, threads, path, isa, stream, progress, missing, include_self
            As in `kith.radius`.

        Returns
        -------
        RadiusNeighbors

        Raises
        ------
        ValueError, TypeError, MemoryError, DeviceError, Cancelled
            Naming the argument, and MemoryError as in `kith.radius`.

        Examples
        --------
        >>> import numpy, kith
        >>> kith.Index(numpy.array([[0.0], [1.0], [3.0]])).radius(numpy.array([[0.6]]), 1).indices
        array([1, 0])
        """
        def found(_: Any, queries: Any) -> RadiusNeighbors:
            like, kind = (self._place, self._kind) if queries is None else (queries, kind_of(queries))
            on = kind.stream(like) if stream is None else stream
            asked = None if queries is None else readable(queries, "queries")
            one, each = _radii(r, len(self) if asked is None else _rows(asked, "queries"))
            parts = self._core.radius(
                None if asked is None else array_interface(asked, "queries", on), one, each, _flag(open, "open"),
                _flag(include_self, "include_self"),
                _settings(f64, "auto", memory, threads, path, isa, on, progress, missing=missing))
            noted(parts[3], missing, None, asked, self._nan_points)
            return _rows_of(kind, like, parts)

        if not tracked(self._source.kept, queries):
            return found(None, queries)
        points = self._source.array()
        if queries is None:
            return _gradients.radius(lambda *_: found(None, None), points, points,  # type: ignore[no-any-return]
                                     self._radius_form)
        return _gradients.radius(found, points, queries, self._radius_form)  # type: ignore[no-any-return]

    def radius_graph(self, r: Any, *, include_self: bool = False, open: bool = False, f64: bool = False,  # noqa: A002
                     memory: int = 0, threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
                     progress: Progress = None) -> RadiusNeighbors:
        """The other points within a radius of each point, as `kith.radius_graph` gives them.

        Parameters
        ----------
        r : float or array of shape (n,)
            As in `kith.radius`.
        include_self, open, f64, memory, threads, path, isa, stream, progress
            As in `kith.radius_graph`.

        Returns
        -------
        RadiusNeighbors

        Raises
        ------
        ValueError, TypeError, MemoryError, DeviceError, Cancelled
            Naming the argument, and MemoryError as in `kith.radius`.

        Examples
        --------
        >>> import numpy, kith
        >>> kith.Index(numpy.array([[0.0], [1.0], [3.0]])).radius_graph(1).offsets
        array([0, 1, 2, 2])
        """
        return self.radius(None, r, include_self=include_self, open=open, f64=f64, memory=memory, threads=threads, path=path,
                           isa=isa, stream=stream, progress=progress)

    def radius_counts(self, queries: Any, r: Any, *, open: bool = False, include_self: bool = False,  # noqa: A002
                      memory: int = 0, threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
                      progress: Progress = None, missing: str = "warn") -> RadiusCounts:
        """How many they are, as `kith.radius_counts` says.

        Parameters
        ----------
        queries : array of shape (q, d), or None
            None: the points among themselves.
        r : float or array of shape (q,) or (n,)
            As in `kith.radius`.
        open, include_self, memory, threads, path, isa, stream, progress, missing
            As in `kith.radius_counts`.

        Returns
        -------
        RadiusCounts

        Raises
        ------
        ValueError, TypeError, MemoryError, DeviceError, Cancelled
            Naming the argument.

        Examples
        --------
        >>> import numpy, kith
        >>> kith.Index(numpy.array([[0.0], [1.0], [3.0]])).radius_counts(None, 1).counts
        array([1, 1, 0])
        """
        like, kind = (self._place, self._kind) if queries is None else (queries, kind_of(queries))
        stream = kind.stream(like) if stream is None else stream
        asked = None if queries is None else readable(queries, "queries")
        one, each = _radii(r, len(self) if asked is None else _rows(asked, "queries"))
        parts = self._core.radius_counts(
            None if asked is None else array_interface(asked, "queries", stream), one, each, _flag(open, "open"),
            _flag(include_self, "include_self"),
            _settings(False, "auto", memory, threads, path, isa, stream, progress, missing=missing))
        noted(parts[1], missing, None, asked, self._nan_points)
        return _counts_of(kind, like, parts)
