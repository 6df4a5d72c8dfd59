"""Neighbours by definition: all distances in exact arithmetic, sorted by (distance, index)."""
from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def nearest(points: Any, queries: Any, k: int, skip_self: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Squared Euclidean distances (float64, of exact sums) and indices."""
    points = [[Fraction(float(v)) for v in row] for row in np.asarray(points, np.float64)]
    queries = [[Fraction(float(v)) for v in row] for row in np.asarray(queries, np.float64)]
    distances = np.full((len(queries), k), np.inf)
    indices = np.full((len(queries), k), -1)
    for i, query in enumerate(queries):
        ranked = sorted((sum((a - b) ** 2 for a, b in zip(query, point)), j) for j, point in enumerate(points)
                        if not (skip_self and i == j))[:k]
        for place, (distance, j) in enumerate(ranked):
            distances[i, place], indices[i, place] = float(distance), j
    return distances, indices


def small(rows: int, cols: int, seed: int = 0) -> np.ndarray:
    """Small integers: exact in every type, with many ties."""
    return np.random.default_rng(seed).integers(0, 6, (rows, cols)).astype(np.float32)
