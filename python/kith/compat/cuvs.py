"""cuVS' brute-force search: ``from kith.compat.cuvs import brute_force``."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._search import Index

_METRICS = {"sqeuclidean": "sqeuclidean", "euclidean": "euclidean", "l1": "cityblock", "cityblock": "cityblock",
            "inner_product": "inner_product", "chebyshev": "chebyshev", "canberra": "canberra", "cosine": "cosine",
            "lp": "minkowski", "minkowski": "minkowski", "correlation": "correlation", "jensenshannon": "jensenshannon",
            "hamming": "hamming", "braycurtis": "braycurtis", "hellinger": "hellinger", "jaccard": "jaccard",
            "dice": "dice", "kl_divergence": "kl_divergence", "haversine": "haversine"}

__all__ = ["brute_force"]


def build(dataset: Any, metric: str = "sqeuclidean", metric_arg: float = 2.0, resources: Any = None) -> Index:
    """The points prepared for `search`; `resources` are not needed."""
    if metric not in _METRICS:
        raise ValueError(f"metric: {metric!r} is unknown; expected one of {', '.join(_METRICS)}")
    return Index(dataset, metric=_METRICS[metric], p=metric_arg)


def search(index: Index, queries: Any, k: int, neighbors: Any = None, distances: Any = None, resources: Any = None,
           prefilter: Any = None) -> tuple[Any, Any]:
    """``(distances, neighbors)`` of the k nearest, written to `distances` and `neighbors` where both are given."""
    if prefilter is not None:
        raise NotImplementedError("prefilter: leave the points out before build()")
    if (neighbors is None) != (distances is None):
        raise ValueError("neighbors, distances: expected both or none")
    found = index.search(queries, k, out=None if neighbors is None else (distances, neighbors))
    return found.distances, found.indices


brute_force = SimpleNamespace(build=build, search=search, Index=Index)
