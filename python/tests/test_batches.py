"""search_batches: a search of each batch, whatever the array; and what is refused."""
from __future__ import annotations

import numpy as np
import pytest
from oracle import small

import kith

POINTS, QUERIES = small(200, 4), small(90, 4, 1)
BATCHES = [[0, 120, 0, 40], [50, 3, 40, 10], [7, 0, 50, 5], [100, 100, 60, 25]]


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "inner_product"])
def test_each(metric: str) -> None:
    points = POINTS.copy()
    points[60, 2], points[110, 0] = np.nan, np.inf
    found = kith.search_batches(points, QUERIES, np.array(BATCHES), 5, metric=metric, device="cpu", f64=True)
    indices, distances = np.full((90, 5), -1), np.full((90, 5), -np.inf if metric == "inner_product" else np.inf)
    for first, count, query, queries in BATCHES:
        if count:
            alone = kith.search(points[first:first + count], QUERIES[query:query + queries], 5, metric=metric, f64=True,
                                device="cpu")
            distances[query:query + queries], indices[query:query + queries] = alone
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.distances, distances)
    assert found.report.queries == 80 and found.report.pairs == 120 * 40 + 30 + 2500


def test_out() -> None:
    distances, indices = np.empty((90, 2), np.float32), np.empty((90, 2), np.int64)
    found = kith.search_batches(POINTS, QUERIES, BATCHES, 2, out=(distances, indices))
    assert found.indices is indices
    np.testing.assert_array_equal(kith.search_batches(POINTS.tolist(), QUERIES, BATCHES, 2).indices, indices)


def test_errors() -> None:
    with pytest.raises(ValueError, match="batches: expected shape"):
        kith.search_batches(POINTS, QUERIES, [0, 1, 0, 1], 2)
    with pytest.raises(ValueError, match="batches: points of batch 0: 201 rows from 0"):
        kith.search_batches(POINTS, QUERIES, [[0, 201, 0, 1]], 2)
    with pytest.raises(ValueError, match="behind those before"):
        kith.search_batches(POINTS, QUERIES, [[0, 5, 3, 5], [0, 5, 0, 3]], 2)
    with pytest.raises(ValueError, match="k is 0"):
        kith.search_batches(POINTS, QUERIES, BATCHES, 0)
