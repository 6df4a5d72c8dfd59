"""Searches in shards and their merge, against one search."""
from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from oracle import small

import kith
import kith.shards

POINTS, QUERIES = small(300, 5), small(20, 5, 1)
POINTS[11], QUERIES[4, 0] = np.nan, np.nan


def of_parts(cuts: list[int], k: int, graph: bool, **how: Any) -> list[kith.shards.Partial]:
    parts = []
    for first, last in zip([0, *cuts], [*cuts, 300]):
        shard = POINTS[first:last]
        parts.append(kith.shards.graph(shard, first, POINTS[40:90], 40, k, **how) if graph
                     else kith.shards.search(shard, first, QUERIES, k, **how))
    return parts


@pytest.mark.parametrize("how", [{}, {"metric": "euclidean"}, {"metric": "inner_product"}, {"metric": "minkowski", "p": 1.5},
                                 {"metric": "seuclidean", "variances": np.arange(1.0, 6.0)}, {"formula": "a + fabs(q - x)"}])
@pytest.mark.parametrize("graph", [False, True])
def test_one_search(how: dict[str, Any], graph: bool) -> None:
    for k in (1, 7, 50, 310):
        parts = of_parts([3, 60, 61, 200], k, graph, **how)
        for f64 in (False, True):
            expected = kith.graph(POINTS, k, f64=f64, **how) if graph else kith.search(POINTS, QUERIES, k, f64=f64, **how)
            rows = slice(40, 90) if graph else slice(None)
            for order in (parts, parts[::-1], parts[2:] + parts[:2], parts + parts):
                found = kith.shards.finish(kith.shards.merge(*order), f64=f64, **how)
                np.testing.assert_array_equal(found.indices, expected.indices[rows])
                assert found.distances.tobytes() == expected.distances[rows].tobytes()


def test_partial() -> None:
    part = kith.shards.search(POINTS, 0, QUERIES, 3)
    other = pickle.loads(pickle.dumps(part))
    for array in other[:2]:
        array.flags.writeable = False  # as schedulers hand them over
    found = kith.shards.finish(kith.shards.merge(part, other))
    np.testing.assert_array_equal(found.indices, kith.search(POINTS, QUERIES, 3).indices)


@pytest.mark.parametrize("call, words", [
    (lambda: kith.shards.search(POINTS, -1, QUERIES, 3), "first_point"), (lambda: kith.shards.search(POINTS, 0, QUERIES, 0), "k is 0"),
    (lambda: kith.shards.search(POINTS, 0, QUERIES, 3, metric="seuclidean"), "variances"),
    (lambda: kith.shards.search(POINTS, 0, QUERIES, 3, metric="mahalanobis"), "inverse_covariance"),
    (lambda: kith.shards.graph(POINTS, 0, POINTS, -1, 3), "first_query"), (lambda: kith.shards.merge(), "at least one"),
    (lambda: kith.shards.merge(kith.shards.search(POINTS, 0, QUERIES, 3), kith.shards.search(POINTS, 0, QUERIES, 4)), "expected 20 x 3"),
])
def test_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
