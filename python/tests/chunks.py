"""Cases for engines of chunks: data with ties and NaN, ways to cut them, metrics, and arguments to refuse at once."""
from __future__ import annotations

from typing import Any

import numpy as np
from oracle import small

POINTS, QUERIES = small(300, 5), small(40, 5, 1)
POINTS[11], POINTS[200:210], QUERIES[4, 0] = np.nan, POINTS[3], np.nan
CHUNKS = [((300,), (40,)), ((100, 100, 100), (13, 27)), ((1, 0, 250, 49), (0, 40, 0)), ((30,) * 10, (10, 10, 10, 10))]
HOW: list[dict[str, Any]] = [
    {}, {"metric": "euclidean", "f64": True}, {"metric": "inner_product"}, {"metric": "cosine"}, {"metric": "minkowski", "p": 3.0},
    {"metric": "seuclidean", "variances": np.arange(1.0, 6.0)}, {"metric": "mahalanobis", "inverse_covariance": np.eye(5)},
    {"formula": "a + fabs(q - x)"}]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"k": 0}, "k is 0"), ({"k": 1.5}, "k: expected an integer"),
    ({"metric": "nope"}, "nope"), ({"metric": 3}, "metric: expected a name"), ({"metric": "minkowski", "p": 0.5}, "p: 0.5"),
    ({"metric": "seuclidean"}, "variances"), ({"metric": "seuclidean", "variances": np.ones(4)}, "variances"),
    ({"metric": "mahalanobis"}, "inverse_covariance"), ({"metric": "mahalanobis", "inverse_covariance": np.eye(4)}, "inverse_covariance"),
    ({"metric": "haversine"}, "haversine"), ({"formula": ""}, "formula"), ({"formula": "a +"}, "formula"), ({"threads": -1}, "threads"),
    ({"points": np.zeros((9, 5), complex)}, "points: no search in elements complex128"),
    ({"queries": np.zeros((9, 5), complex)}, "queries: no search in elements complex128"),
]
