"""Coordinates near the ends of float64, coordinates that a metric has no meaning for, and vectors next to themselves."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kith

ROOT2 = 2 ** 0.5


@pytest.mark.parametrize("size", [1e160, 1e-170, 1e300, 1e-300])
def test_distances_that_are_numbers(size: float) -> None:
    points, zero = np.array([[size, size], [0, 0], [size, 0]]), np.zeros((1, 2))
    for metric, expected in (("euclidean", [0, 1, ROOT2]), ("cityblock", [0, 1, 2])):
        distances, indices = kith.search(points, zero, 3, metric=metric, f64=True)
        np.testing.assert_array_equal(indices, [[1, 2, 0]])
        np.testing.assert_allclose(distances[0] / size, expected, rtol=1e-13)
        np.testing.assert_allclose(kith.distances(points, zero, metric=metric, f64=True)[0] / size, np.take(expected, [2, 0, 1]),
                                   rtol=1e-13)
        index = kith.Index(points, metric=metric)
        np.testing.assert_array_equal(index.search(zero, 3, f64=True).distances, distances)
    found = kith.radius(points, zero, 1.2 * size, metric="euclidean", f64=True)
    assert list(found.indices) == [1, 2]


@pytest.mark.parametrize("size", [1e160, 1e-170])
@pytest.mark.parametrize("metric", ["cosine", "correlation", "jensenshannon"])
def test_directions_have_no_size(metric: str, size: float) -> None:
    rng = np.random.default_rng(0)
    points, queries = rng.random((50, 6)), rng.random((9, 6))
    scale: Any = 2.0 ** np.round(np.log2(size))
    expected = kith.search(points, queries, 4, metric=metric, f64=True)
    found = kith.search(points * scale, queries / scale, 4, metric=metric, f64=True)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_a_vector_is_nearest_to_itself(metric: str) -> None:
    points = np.random.default_rng(0).standard_normal((500, 12))
    found = kith.search(points, points, 1, metric=metric, f64=True)
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(500))
    np.testing.assert_array_equal(found.distances, 0)


def test_a_latitude_ends_at_a_pole() -> None:
    places, beyond = np.radians(np.array([[90.0, 180], [-90, -360], [10, 20]])), np.radians(np.array([[10.0, 20], [-105, 3]]))
    kith.search(places, places.astype(np.float32), 1, metric="haversine")
    for points, queries, name in ((places, beyond, "queries"), (beyond, places, "points")):
        with pytest.raises(ValueError, match=f"{name}: row 1, column 0 is -1.83.*latitude"):
            kith.search(points, queries, 1, metric="haversine")
