"""Index: points that are prepared once and searched many times."""
from __future__ import annotations

from typing import Any

from . import _core, _gradients
from ._arguments import Progress, _flag, _metric, _rows, _settings
from ._arrays import given
from ._gradients import Form, Source, tracked
from ._kinds import kind_of
from ._missing import noted, told
from ._radius_blocks import RadiusBlockMethods
from ._results import Neighbors
from ._search import Out, _distance_type, _neighbors, _outputs


class Index(RadiusBlockMethods):
    """Points prepared once and searched often.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`; may go once the Index is there, which owns all that it needs. Gradients are the exception: those with
        respect to queries need the points that it was made of, as they were then, and of points that require a gradient
        it keeps the tensor.
    metric, p, inverse_covariance, variances, packed_bits, formula, start, device, memory, threads, isa, progress, missing
        As in `search`. Metric and device are the Index's own from here on. Without a metric, `search` and `graph` are of
        ``"sqeuclidean"``, and the searches within a radius of ``"euclidean"``.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith
    >>> index = kith.Index(numpy.eye(4, dtype=numpy.float32), metric="cosine")
    >>> index.search(numpy.eye(4, dtype=numpy.float32)[2:3], 1).indices
    array([[2]])
    """

    def __init__(self, points: Any, *, metric: str | None = None, p: float = 2.0, inverse_covariance: Any = None,
                 variances: Any = None, packed_bits: bool = False, formula: str | None = None, start: float = 0.0,
                 device: str = "auto", memory: int = 0, threads: int = 0, isa: str = "", stream: int | None = None,
                 progress: Progress = None, missing: str = "warn") -> None:
        like, kind = points, kind_of(points)
        self._source = Source(points)
        form = Form(metric or "sqeuclidean", p, inverse_covariance, variances, formula)
        self._form, self._radius_form = form, form if metric or formula else form._replace(metric="euclidean")
        stream = kind.stream(like) if stream is None else stream
        points, read_points = given(points, "points", stream)
        _rows(points, "points")
        self._metric = (metric or "sqeuclidean") if formula is None else "formula"
        self._core = _core.Index(
            read_points, _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, None),
            _settings(False, device, memory, threads, "", isa, stream, progress, missing=missing))
        self._nan_points = self._core.nan_points
        told(missing, ("points", self._nan_points, points))
        self._kind, self._place = kind, kind.place(like)

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
               path: str = "", isa: str = "", stream: int | None = None, progress: Progress = None, selector: str = "",
               missing: str = "warn") -> Neighbors:
        """The k nearest of the Index's points for each query, as `kith.search` gives them. May run in several threads.

        Parameters
        ----------
        queries : array of shape (q, d)
            As in `kith.search`.
        k : int
            At least 1.
        f64, out, memory, threads, path, isa, stream, progress, selector, missing
            As in `kith.search`.

        Returns
        -------
        Neighbors
            ``(distances, indices)``, arrays of shape (q, k) of the queries' kind on their device, and ``.report``.

        Raises
        ------
        ValueError, TypeError, MemoryError, DeviceError, Cancelled
            Naming the argument.

        Examples
        --------
        >>> import numpy, kith
        >>> index = kith.Index(numpy.array([[0.0], [1.0], [3.0]]), metric="euclidean")
        >>> index.search(numpy.array([[2.5]]), 2)
        Neighbors(distances=array([[0.5, 1.5]], dtype=float32), indices=array([[2, 1]]))
        """
        def found(_: Any, queries: Any) -> Neighbors:
            like, kind = queries, kind_of(queries)
            on = kind.stream(like) if stream is None else stream
            queries, read_queries = given(queries, "queries", on)
            distances, indices = _outputs(kind, like, _rows(queries, "queries"), k, _distance_type(f64), out)
            report = self._core.search(
                read_queries, k,
                _settings(f64, "auto", memory, threads, path, isa, on, progress, selector, missing),
                indices, distances)
            return _neighbors(kind, like, distances, indices, noted(report, missing, None, queries, self._nan_points), out)

        if not tracked(self._source.kept, queries):
            return found(None, queries)
        points = self._source.array()
        return _gradients.neighbors(found, points, queries, self._form, out)  # type: ignore[no-any-return]

    def graph(self, k: int, *, include_self: bool = False, f64: bool = False, out: Out = None, memory: int = 0,
              threads: int = 0, path: str = "", isa: str = "", stream: int | None = None,
              progress: Progress = None, selector: str = "") -> Neighbors:
        """Each point's k nearest among the others, as `kith.graph` gives them.

        Parameters
        ----------
        k : int
            At least 1.
        include_self : bool
            Row i begins with i.
        f64, out, memory, threads, path, isa, stream, progress, selector
            As in `kith.search`.

        Returns
        -------
        Neighbors
            ``(distances, indices)``, arrays of shape (n, k) of the points' kind on their device, and ``.report``.

        Raises
        ------
        ValueError, TypeError, MemoryError, DeviceError, Cancelled
            Naming the argument.

        Examples
        --------
        >>> import numpy, kith
        >>> kith.Index(numpy.array([[0.0], [1.0], [3.0]])).graph(2, include_self=True).indices
        array([[0, 1],
               [1, 0],
               [2, 1]])
        """
        def found(*_: Any) -> Neighbors:
            kind, like = self._kind, self._place
            on = kind.stream(like) if stream is None else stream
            distances, indices = _outputs(kind, like, len(self), k, _distance_type(f64), out)
            report = self._core.graph(
                k, _flag(include_self, "include_self"),
                _settings(f64, "auto", memory, threads, path, isa, on, progress, selector), indices, distances)
            return _neighbors(kind, like, distances, indices, noted(report, "warn", of_index=self._nan_points), out)

        if not tracked(self._source.kept):
            return found()
        points = self._source.array()
        return _gradients.neighbors(found, points, points, self._form, out)  # type: ignore[no-any-return]
