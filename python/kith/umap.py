"""UMAP on exact neighbours, of what is fitted and of what is transformed later.

>>> import numpy, kith.umap
>>> x = numpy.random.default_rng(0).random((100, 8), numpy.float32)
>>> indices, distances, index = kith.umap.precomputed_knn(x, 15)
>>> index.query(x[:2] + 0.01, 3)[0].shape
(2, 3)
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from pynndescent import NNDescent

from ._arguments import Progress
from ._arrays import readable
from ._index import Index
from ._kinds import on_host

__all__ = ["PrecomputedKNN", "SearchIndex", "precomputed_knn"]


class PrecomputedKNN(NamedTuple):
    """The argument of ``umap.UMAP(precomputed_knn=...)``."""

    indices: np.ndarray[Any, Any]  #: (n, k) int32; each row begins with its own
    distances: np.ndarray[Any, Any]  #: (n, k) float32
    index: SearchIndex  #: what answers ``transform``


class SearchIndex(NNDescent):
    """The points that a UMAP is fitted to, for its ``transform`` and ``update``: what these ask of pynndescent's NNDescent, whose
    class UMAP insists on, by exact search.

    Parameters
    ----------
    points, n_neighbors, metric, p, inverse_covariance, variances, packed_bits, device, memory, threads, isa, progress, missing
        As in `precomputed_knn`.

    Attributes
    ----------
    neighbor_graph : (indices, distances)
        For the points among themselves, each with itself first.
    """

    def __init__(self, points: Any, n_neighbors: int = 15, metric: str = "euclidean", *, p: float = 2.0,
                 inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, device: str = "auto",
                 memory: int = 0, threads: int = 0, isa: str = "", progress: Progress = None, missing: str = "warn") -> None:
        self._raw_data = on_host(readable(points, "points"))
        _as_umaps(metric, self._raw_data, inverse_covariance, variances)
        self.n_neighbors: int = n_neighbors
        self.metric: str = metric
        self._how: dict[str, Any] = {
            "p": p, "inverse_covariance": inverse_covariance, "variances": variances, "packed_bits": packed_bits,
            "device": device, "memory": memory, "threads": threads, "isa": isa, "progress": progress, "missing": missing}
        self._angular_trees = False  # UMAP asks, to choose an epsilon that nothing depends on here
        self._index: Index | None = None
        self._graph: tuple[Any, Any] | None = None

    def _prepared(self) -> Index:
        if self._index is None:
            self._index = Index(self._raw_data, metric=self.metric, **self._how)
        return self._index

    def query(self, query_data: Any, k: int = 10, epsilon: float = 0.1) -> tuple[Any, Any]:
        """The k nearest points of each row: (indices, distances). ``epsilon`` means nothing."""
        found = self._prepared().search(query_data, k)
        return _int32(found.indices), on_host(found.distances)

    @property
    def neighbor_graph(self) -> tuple[Any, Any]:
        """(indices, distances) of the points among themselves."""
        if self._graph is None:
            found = self._prepared().graph(self.n_neighbors, include_self=True)
            self._graph = _int32(found.indices), on_host(found.distances)
        return self._graph[0].copy(), self._graph[1].copy()

    def prepare(self, compile_search: bool = False) -> None:
        """Makes the index now."""
        self._prepared()

    def update(self, xs_fresh: Any = None, xs_updated: Any = None, updated_indices: Any = None) -> None:
        """Adds rows, and puts others in the place of rows that there are."""
        points = self._raw_data
        if xs_updated is not None:
            updated = np.asarray(xs_updated)
            points = points.astype(np.result_type(points, updated))
            points[np.asarray(updated_indices)] = updated
        if xs_fresh is not None:
            points = np.concatenate([points, np.asarray(xs_fresh)])
        self._raw_data, self._index, self._graph = points, None, None

    def compress_index(self) -> None:
        """Nothing: there is nothing to leave out."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}  # made again when it is needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _as_umaps(metric: str, points: Any, inverse_covariance: Any, variances: Any) -> None:
    """A ValueError of metrics that UMAP has under kith's name with other distances."""
    if metric == "hellinger":  # UMAP scales rows
        sums = points.sum(1, dtype=np.float64)
        other = np.flatnonzero(np.abs(sums - 1) > _SUM_ERROR)
        if len(other):
            raise ValueError(f"points: row {other[0]} sums to {sums[other[0]]:.6g}; expected 1 of each, to which UMAP's 'hellinger' "
                             "scales rows: give points / points.sum(1, keepdims=True) to both")
    for name, parameter, given, theirs in (("seuclidean", "variances", variances, "numpy.ones(d)"),
                                           ("mahalanobis", "inverse_covariance", inverse_covariance, "numpy.eye(d)")):
        if metric == name and given is None:
            raise ValueError(f"{parameter}: missing; expected what UMAP has in metric_kwds, as its {name!r} estimates nothing from the "
                             f"points: without metric_kwds {theirs}")


# The rest of a sum of 1 after rounding in float32 and float16.
_SUM_ERROR = 1e-2


def _int32(indices: Any) -> Any:
    return on_host(indices).astype(np.int32, copy=False)


def precomputed_knn(points: Any, n_neighbors: int = 15, *, metric: str = "euclidean", p: float = 2.0,
                    inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, device: str = "auto",
                    memory: int = 0, threads: int = 0, isa: str = "", progress: Progress = None,
                    missing: str = "warn") -> PrecomputedKNN:
    """The neighbours of all points and what finds those of new ones, for ``umap.UMAP(n_neighbors=..., precomputed_knn=...)``.

    Parameters
    ----------
    points : array of shape (n, d)
        The data that UMAP is fitted to; n below 2^31. It looks at float32.
    n_neighbors : int
        UMAP's; each point is its own first.
    metric : str
        UMAP's, where `kith.search` has it of the same name. For ``"hellinger"`` rows must sum to 1, to which UMAP scales them;
        ``"seuclidean"`` and ``"mahalanobis"`` take their parameter, which UMAP does not estimate.
    p, inverse_covariance, variances, packed_bits, device, memory, threads, isa, progress, missing
        As in `kith.Index`, which is made of the points.

    Returns
    -------
    PrecomputedKNN
        ``(indices, distances, index)``.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.umap
    >>> kith.umap.precomputed_knn(numpy.array([[0.0], [1.0], [3.0]]), 2).indices
    array([[0, 1],
           [1, 0],
           [2, 1]], dtype=int32)
    """
    index = SearchIndex(points, n_neighbors, metric, p=p, inverse_covariance=inverse_covariance, variances=variances,
                        packed_bits=packed_bits, device=device, memory=memory, threads=threads, isa=isa, progress=progress,
                        missing=missing)
    return PrecomputedKNN(*index.neighbor_graph, index)
