"""openTSNE on exact neighbours, of what is fitted and of what is added later.

>>> import numpy, kith.opentsne
>>> x = numpy.random.default_rng(0).random((100, 8), numpy.float32)
>>> kith.opentsne.KNNIndex(x, 30, metric="cosine").build()[0].shape
(100, 30)
"""
from __future__ import annotations

from typing import Any

import numpy as np
from openTSNE import nearest_neighbors as _theirs

from ._index import Index

__all__ = ["KNNIndex"]


class KNNIndex(_theirs.KNNIndex):
    """For ``openTSNE.affinity.PerplexityBasedNN(knn_index=...)``, and ``neighbors=`` of ``openTSNE.TSNE``.

    Parameters
    ----------
    data : array of shape (n, d)
        The points, as `kith.search` takes them.
    k : int
        Neighbours of each, without itself: three times the perplexity.
    metric : str
        Any of `kith.search`.
    metric_params : dict, optional
        Named arguments of `kith.Index`: ``p``, ``variances``, ``inverse_covariance``, also ``device``.
    n_jobs : int
        Threads; below 1: all.
    random_state, verbose, knn_kwargs
        openTSNE's; they mean nothing.
    """

    def __init__(self, data: Any, k: int, metric: str = "euclidean", metric_params: Any = None, n_jobs: int = -1,
                 random_state: Any = None, verbose: bool = False, knn_kwargs: Any = None) -> None:
        super().__init__(data, k, metric, metric_params, n_jobs, random_state, verbose, knn_kwargs)

    def check_metric(self, metric: Any) -> Any:
        """Any that the Index takes, which says so."""
        return metric

    def build(self) -> tuple[Any, Any]:
        """(indices, distances) of the points among themselves, each without itself."""
        self.index: Index = Index(self.data, metric=self.metric, threads=max(self.n_jobs, 0), **(self.metric_params or {}))
        found = self.index.graph(self.k, f64=True)
        return np.asarray(found.indices), np.asarray(found.distances)

    def query(self, query: Any, k: int) -> tuple[Any, Any]:
        """(indices, distances) of new points among those."""
        found = self.index.search(query, k, f64=True)
        return np.asarray(found.indices), np.asarray(found.distances)
