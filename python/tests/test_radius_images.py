"""kith.sklearn's radii and DBSCAN on images, whose coordinates are whole numbers: many pairs are at exactly the radius."""
from __future__ import annotations

import gzip
import pathlib
from typing import Any

import numpy as np
import pytest

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")


def images(name: str) -> Any:
    """As rows of f64. Handwritten digits, 1,797 x 64; the first 3,000 of Fashion-MNIST, a pixel of each 2 x 2, 196."""
    datasets = pytest.importorskip("sklearn.datasets")
    if name == "digits":
        return datasets.load_digits().data
    if not FASHION.exists():
        pytest.skip("the package dataset-fashion-mnist is not installed")
    with gzip.open(FASHION) as file:
        pixels = np.frombuffer(file.read(16 + 3000 * 784), np.uint8, offset=16)
    return pixels.reshape(3000, 28, 28)[:, ::2, ::2].reshape(3000, 196).astype(float)


def squares_of(rows: Any) -> Any:
    """All squared distances, in whole numbers."""
    whole = rows.astype(np.int64)
    norms = (whole * whole).sum(axis=1)
    return norms[:, None] + norms[None] - 2 * (rows @ rows.T).astype(np.int64)


# For whole radii, at which scikit-learn's squares are those of the points.
RADII = {"digits": (16, 20, 24, 30), "fashion": (400, 650, 850, 1100)}


@pytest.mark.parametrize("name", ["digits", "fashion"])
def test_points_at_the_radius_are_within(name: str) -> None:
    import kith
    from kith.sklearn import NearestNeighbors
    rows = images(name)
    squares = squares_of(rows)
    at_radius = 0
    for r in RADII[name]:
        within = squares <= r * r
        at_radius += int((squares == r * r).sum())
        np.testing.assert_array_equal(kith.radius_counts(rows, rows, float(r), metric="euclidean").counts, within.sum(axis=1))
        np.testing.assert_array_equal(kith.radius_counts(rows, rows, float(r), metric="euclidean", open=True).counts,
                                      (squares < r * r).sum(axis=1))
        graph = NearestNeighbors(radius=r).fit(rows).radius_neighbors_graph(rows, mode="connectivity")
        assert (graph.toarray() == within).all()
    assert at_radius > 0


@pytest.mark.parametrize("name", ["digits", "fashion"])
def test_dbscan(name: str) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    from kith.sklearn import DBSCAN
    rows = images(name)
    clusters = set()
    for eps in RADII[name]:
        for min_samples in (3, 10):
            found = DBSCAN(eps=eps, min_samples=min_samples).fit(rows)
            clusters.add(int(found.labels_.max()) + 1)
            for algorithm in ("brute", "kd_tree"):
                expected = cluster.DBSCAN(eps=eps, min_samples=min_samples, algorithm=algorithm).fit(rows)
                np.testing.assert_array_equal(found.labels_, expected.labels_)
                np.testing.assert_array_equal(found.core_sample_indices_, expected.core_sample_indices_)
    assert len(clusters) > 2  # none, few and many
