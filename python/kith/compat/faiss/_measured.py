"""Vectors prepared under one of faiss' metrics: the nearest of them, those within a threshold, all distances."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..._distances import distances as _distances
from ..._index import Index
from ..._kinds import on_host
from .._values import as_defined, is_tensor, rounded
from . import _pairs
from ._arrays import ascending, beside
from ._metrics import METRIC_GOWER, METRIC_NaNEuclidean, Search, checked, has_nan, search_of, worst


def by_pairs(xq: Any, missing: bool, metric: int) -> bool:
    """True if distances ask which coordinates both have, `missing` saying whether a vector lacks one. Where none does,
    NaN-Euclidean is squared Euclidean."""
    return metric == METRIC_GOWER or (metric == METRIC_NaNEuclidean and (missing or has_nan(xq)))


class Measured:
    """Vectors of shape (n, d), n at least 1, under a metric; prepared at the first search that needs it.

    `nearest` and `within` give float64 distances in faiss' terms where `f64` says so, else float32.
    """

    def __init__(self, vectors: Any, metric: int, metric_arg: float, device: str, how: Search | None = None) -> None:
        self.key = (metric, metric_arg)
        self._vectors, self._metric, self._device = vectors, checked(metric), device
        self._how = search_of(self._metric, metric_arg) if how is None else how
        self._missing = self._metric == METRIC_NaNEuclidean and has_nan(vectors)
        self._index: Index | None = None

    def _prepared(self, queries: Any) -> Index:
        self._how.check(queries, "x")
        if self._index is None:
            self._how.check(self._vectors, "xb")
            self._index = Index(self._vectors, device=self._device, **self._how.arguments)
        return self._index

    @as_defined
    def nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        """(D, I); of a neighbour that does not exist the index is -1 and the distance the metric's worst."""
        if by_pairs(queries, self._missing, self._metric):
            found = _pairs.nearest(queries, self._vectors, k, self._metric, self._device)
            far, indices = (beside(queries, part) for part in found)
            far = far if f64 else rounded(far)
        elif self._how.exact:
            far, indices = self._prepared(queries).search(queries, k, f64=f64)
        else:
            far, indices = self._prepared(queries).search(queries, k, f64=True)
            far = self._how.to_faiss(far) if f64 else rounded(self._how.to_faiss(far))
        far[indices < 0] = worst(self._metric)
        return far, indices

    @as_defined
    def within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        """(lims, D, I) of those strictly nearer than the threshold by float64 distances, by ascending index."""
        n = len(self._vectors)
        if by_pairs(queries, self._missing, self._metric):
            lims, far, indices = _pairs.within(queries, self._vectors, threshold, self._metric, self._device)
            return beside(queries, lims if is_tensor(queries) else lims.astype(np.uint64)), rounded(beside(queries, far)), beside(
                queries, indices)
        index, how = self._prepared(queries), self._how
        if how.exact:
            if threshold < 0 and not how.similarity:
                threshold = 0.0  # of which an open ball holds nothing
            far, indices, lims = index.radius(queries, threshold, open=True)
            return ascending(lims, far, indices, n)
        # Changed distances are rounded: a little more is looked through than what the threshold asks for.
        near = how.from_faiss(threshold)
        far, indices, lims = index.radius(queries, max(near + 1e-12 * (1 + abs(near)), 0.0), f64=True)
        far = how.to_faiss(far)
        kept = far > threshold if how.similarity else far < threshold
        if is_tensor(kept):
            torch = sys.modules["torch"]
            lims = torch.cat([lims.new_zeros(1), kept.cumsum(0)])[lims]
        else:
            lims = np.concatenate([[0], np.cumsum(on_host(kept).astype(bool))])[on_host(lims)]
        return ascending(lims, rounded(far[kept]), indices[kept], n)


@as_defined
def all_distances(xq: Any, xb: Any, metric: int, metric_arg: float, device: str = "auto") -> Any:
    """float32 of shape (q, n)."""
    metric = checked(metric)
    if not len(xq) or not len(xb):
        return xq.new_empty((len(xq), len(xb))) if is_tensor(xq) else np.empty((len(xq), len(xb)), np.float32)
    if by_pairs(xq, metric == METRIC_NaNEuclidean and has_nan(xb), metric):
        return rounded(beside(xq, _pairs.values(xq, xb, metric, device)))
    how = search_of(metric, metric_arg)
    how.check(xq, "xq"), how.check(xb, "xb")
    found = _distances(xb, xq, f64=not how.exact, device=device, **how.arguments)
    return found if how.exact else rounded(how.to_faiss(found))
