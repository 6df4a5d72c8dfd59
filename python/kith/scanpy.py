"""scanpy's neighbours, exact: a transformer for `scanpy.pp.neighbors`.

>>> import kith.scanpy
>>> kith.scanpy.transformer(15, metric="cosine")
NeighborsTransformer(metric='cosine', n_neighbors=15)
"""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from .sklearn import KNeighborsTransformer

__all__ = ["NeighborsTransformer", "transformer"]


class NeighborsTransformer(KNeighborsTransformer):
    """A transformer whose ``n_neighbors`` counts the cell itself, as scanpy's does.

    Its ``fit_transform`` gives the n_neighbors - 1 other cells, as scanpy stores them. Parameters are those of
    `kith.sklearn.KNeighborsTransformer`.
    """

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """Fit to X, then the distances of each row to its nearest others."""
        self.fit(X)
        n, k = self.n_samples_fit_, self.n_neighbors - 1
        distances, indices = self.kneighbors(n_neighbors=k)
        return csr_matrix((distances.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def transformer(n_neighbors: int = 15, metric: Any = "euclidean", *, metric_params: Any = None, n_jobs: int | None = None,
                device: str = "auto") -> NeighborsTransformer:
    """For ``scanpy.pp.neighbors(cells, transformer=...)``, which takes the number of neighbours and the metric from it.

    Parameters
    ----------
    n_neighbors : int
        At least 2; the cell itself is one of them, as in scanpy.
    metric : str
        Any that `kith.sklearn.KNeighborsTransformer` takes.
    metric_params, n_jobs, device
        As there.

    Returns
    -------
    NeighborsTransformer

    Raises
    ------
    ValueError
        For fewer than 2 neighbours.

    Examples
    --------
    >>> import numpy, kith.scanpy
    >>> kith.scanpy.transformer(2).fit_transform(numpy.array([[0.0], [1.0], [3.0]])).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """
    if n_neighbors < 2:
        raise ValueError(f"n_neighbors is {n_neighbors}: expected at least 2, the cell itself and another")
    return NeighborsTransformer(n_neighbors=n_neighbors, metric=metric, metric_params=metric_params, n_jobs=n_jobs,
                                device=device)
