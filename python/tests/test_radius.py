"""kith.radius and its kin against the definition, and kith.sklearn's classes of a radius against scikit-learn's."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import kith

GENERATOR = np.random.default_rng(4)
POINTS = GENERATOR.integers(-3, 4, (400, 3)).astype(np.float32)
QUERIES = GENERATOR.integers(-3, 4, (40, 3)).astype(np.float32)
DISTANCES = np.sqrt(((QUERIES[:, None].astype(float) - POINTS[None]) ** 2).sum(axis=2))


def expected(distances: Any, r: Any, opened: bool = False) -> list[list[int]]:
    """For each row those within, by (distance, index)."""
    rows = []
    for row, radius in zip(distances, np.broadcast_to(r, len(distances))):
        near = np.flatnonzero(row < radius if opened else row <= radius)
        rows.append(list(near[np.argsort(row[near], kind="stable")]))
    return rows


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_rows(dtype: str) -> None:
    """For no named metric: r is a Euclidean distance, of an Index as well."""
    points, queries = POINTS.astype(dtype), QUERIES.astype(dtype)
    index = kith.Index(points)
    for r in (0, 2, np.sqrt(5), np.nextafter(np.sqrt(5), 0), np.inf, np.sqrt(np.arange(40))):
        for opened in (False, True):
            want = expected(DISTANCES, r, opened)
            for found in (kith.radius(points, queries, r, open=opened), index.radius(queries, r, open=opened)):
                assert [list(indices) for _, indices in found.rows()] == want
                assert found.distances.dtype == np.float32 and found.report.queries == 40
                within = DISTANCES[np.arange(40).repeat(np.diff(found.offsets)), found.indices]
                np.testing.assert_array_equal(found.distances, within.astype(np.float32))
            counts = [len(row) for row in want]
            assert list(kith.radius_counts(points, queries, r, open=opened).counts) == counts
            assert list(index.radius_counts(queries, r, open=opened).counts) == counts


def test_graph() -> None:
    whole = expected(np.sqrt(((POINTS[:, None].astype(float) - POINTS[None]) ** 2).sum(axis=2)), 3)
    others = [[j for j in row if j != i] for i, row in enumerate(whole)]
    index = kith.Index(POINTS)
    for include_self, want in ((False, others), (True, whole)):
        for found in (kith.radius_graph(POINTS, 3, include_self=include_self), index.radius_graph(3, include_self=include_self)):
            assert [list(indices) for _, indices in found.rows()] == want
        assert list(kith.radius_counts(POINTS, None, 3, include_self=include_self).counts) == [len(row) for row in want]
        assert list(index.radius_counts(None, 3, include_self=include_self).counts) == [len(row) for row in want]


def test_squares_are_named() -> None:
    """Whoever names sqeuclidean compares squares, of an Index as well; a formula may stand next to the default."""
    want = expected(np.rint(DISTANCES ** 2), 5)
    for found in (kith.radius(POINTS, QUERIES, 5, metric="sqeuclidean"), kith.Index(POINTS, metric="sqeuclidean").radius(QUERIES, 5),
                  kith.radius(POINTS, QUERIES, 5, formula="a + (q - x) * (q - x)")):
        assert [list(indices) for _, indices in found.rows()] == want
    index = kith.Index(POINTS)
    assert index.metric == "sqeuclidean"
    np.testing.assert_array_equal(index.search(QUERIES, 3).distances, kith.search(POINTS, QUERIES, 3).distances)
    with pytest.raises(ValueError, match="metric: 'cosine' beside a formula"):
        kith.radius(POINTS, QUERIES, 5, metric="cosine", formula="a + abs(q - x)")
    with pytest.raises(TypeError, match="metric: expected a name"):
        kith.radius(POINTS, QUERIES, 5, metric=None)  # type: ignore[arg-type]


def test_inner_product_is_at_least() -> None:
    found = kith.radius(POINTS, QUERIES, 6, metric="inner_product", f64=True)
    products = QUERIES.astype(float) @ POINTS.T
    assert list(np.diff(found.offsets)) == list((products >= 6).sum(axis=1))
    assert found.distances.dtype == np.float64 and found.distances.min() >= 6


def test_results() -> None:
    found = kith.radius(POINTS, QUERIES, 2)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert (other.indices == found.indices).all() and other.report.queries == found.report.queries
    sparse = pytest.importorskip("scipy.sparse")
    matrix = found.csr(len(POINTS))
    assert sparse.issparse(matrix) and matrix.shape == (40, 400) and matrix.nnz == len(found.indices)


def test_errors() -> None:
    for r, words in ((-1, "at least 0"), (np.nan, "nan"), (np.ones(3), "40 queries")):
        with pytest.raises(ValueError, match=words):
            kith.radius(POINTS, QUERIES, r)
    with pytest.raises(ValueError, match="prepared on cpu|columns"):
        kith.Index(POINTS, device="cpu").radius(np.ones((2, 4), np.float32), 1)
    with pytest.raises(kith.Cancelled):
        many = np.tile(POINTS, (400, 1))
        kith.radius_counts(many, many, 1, metric="euclidean", path="exact", device="cpu", progress=lambda *_: False)


class TestScikitLearn:
    """On whole numbers, whose distances scikit-learn computes exactly as well."""

    X = GENERATOR.integers(0, 9, (300, 4)).astype(float)
    Y = GENERATOR.integers(0, 3, 300)

    @staticmethod
    def modules() -> tuple[Any, Any]:
        pytest.importorskip("sklearn")
        from sklearn import neighbors

        import kith.sklearn as ours
        return ours, neighbors

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "sqeuclidean", "minkowski"])
    def test_radius_neighbors(self, metric: str) -> None:
        for radius in (2.0, 3.0, 9.0):
            found, expected = (module.NearestNeighbors(radius=radius, metric=metric, algorithm="brute").fit(self.X)
                               for module in self.modules())
            for X in (None, self.X[:50] + 1):  # noqa: N806
                ours, theirs = found.radius_neighbors(X), expected.radius_neighbors(X)
                for row in range(len(ours[1])):
                    assert sorted(ours[1][row]) == sorted(theirs[1][row])
                    np.testing.assert_allclose(np.sort(ours[0][row]), np.sort(theirs[0][row]), rtol=1e-12)
                    assert (np.diff(ours[0][row]) >= 0).all()
                for mode in ("connectivity", "distance"):
                    a, b = found.radius_neighbors_graph(X, mode=mode), expected.radius_neighbors_graph(X, mode=mode)
                    assert a.shape == b.shape and a.nnz == b.nnz and abs(a - b).max() < 1e-12

    def test_predictions(self) -> None:
        ours, theirs = self.modules()
        for name in ("RadiusNeighborsClassifier", "RadiusNeighborsRegressor"):
            for weights in ("uniform", "distance"):
                a, b = (getattr(module, name)(3.0, weights=weights).fit(self.X[:200], self.Y[:200]) for module in (ours, theirs))
                np.testing.assert_allclose(a.predict(self.X[:200]), b.predict(self.X[:200]), rtol=1e-9)

    def test_transformer(self) -> None:
        for mode in ("distance", "connectivity"):
            a, b = (module.RadiusNeighborsTransformer(mode=mode, radius=2.5).fit_transform(self.X) for module in self.modules())
            assert a.nnz == b.nnz and abs(a - b).max() < 1e-12

    def test_dbscan(self) -> None:
        pytest.importorskip("sklearn")
        from sklearn import cluster

        import kith.sklearn as ours
        weights = GENERATOR.integers(0, 4, 300).astype(float)
        for eps in (1.0, 1.5, 2.0):
            for metric in ("euclidean", "cityblock"):
                for sample_weight in (None, weights):
                    a, b = (module.DBSCAN(eps=eps, min_samples=6, metric=metric).fit(self.X, sample_weight=sample_weight)
                            for module in (ours, cluster))
                    assert (a.labels_ == b.labels_).all() and (a.core_sample_indices_ == b.core_sample_indices_).all()
                    assert (a.components_ == b.components_).all()
