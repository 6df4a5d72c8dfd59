"""kith.sklearn against scikit-learn: its own checks of estimators, and equal results on the digits."""
from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from images import fashion_mnist

pytest.importorskip("sklearn")
from sklearn import neighbors  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import kith.sklearn as ours  # noqa: E402

X, Y = load_digits(return_X_y=True)


@parametrize_with_checks([getattr(ours, name)() for name in ours.__all__ if isinstance(getattr(ours, name), type)])  # type: ignore[untyped-decorator,unused-ignore]
def test_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("metric, params", [("minkowski", None), ("manhattan", None), ("cosine", None), ("chebyshev", None),
                                            ("canberra", None), ("hamming", None), ("correlation", None),
                                            ("seuclidean", {"V": X.var(axis=0) + 1}), ("mahalanobis", {"VI": np.eye(64)})])
def test_distances(metric: str, params: Any) -> None:
    how = {"n_neighbors": 8, "metric": metric, "metric_params": params, "algorithm": "brute"}
    found, expected = (module.NearestNeighbors(**how).fit(X).kneighbors() for module in (ours, neighbors))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-7, atol=1e-7)


def test_predictions() -> None:
    for name in ("KNeighborsClassifier", "KNeighborsRegressor"):
        for weights in ("uniform", "distance"):
            found, expected = (getattr(module, name)(3, weights=weights).fit(X[:1500], Y[:1500]).predict(X[1500:])
                               for module in (ours, neighbors))
            assert np.mean(found == expected) > 0.99  # ties of distances are ordered by index here
    model = ours.KNeighborsClassifier(3).fit(X[:1500], Y[:1500])
    assert model.score(X[1500:], Y[1500:]) > 0.95 and model.predict_proba(X[1500:]).shape == (297, 10)


def test_transformer() -> None:
    for mode in ("distance", "connectivity"):
        found, expected = (module.KNeighborsTransformer(mode=mode, n_neighbors=6).fit_transform(X)
                           for module in (ours, neighbors))
        assert found.shape == expected.shape and found.nnz == expected.nnz and found.dtype == expected.dtype
        np.testing.assert_allclose(np.sort(found.data.reshape(len(X), -1)), np.sort(expected.data.reshape(len(X), -1)),
                                   atol=1e-6)
    pipeline = make_pipeline(ours.KNeighborsTransformer(n_neighbors=5, mode="distance"),
                             neighbors.KNeighborsClassifier(n_neighbors=5, metric="precomputed"))
    assert pipeline.fit(X[:1500], Y[:1500]).score(X[1500:], Y[1500:]) > 0.95


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_images(metric: str) -> None:
    """Fashion-MNIST: the distances of scikit-learn's brute force, its neighbours, and its predictions."""
    points, queries, labels, true_labels = (part.astype(float) for part in fashion_mnist(4000, 200))
    how: dict[str, Any] = {"n_neighbors": 7, "metric": metric, "algorithm": "brute"}
    models = [module.KNeighborsClassifier(**how).fit(points, labels) for module in (ours, neighbors)]
    found, expected = (model.kneighbors(queries) for model in models)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-9)
    assert np.mean(found[1] == expected[1]) > 0.995  # equal distances come by index here
    predicted, theirs = (model.predict(queries) for model in models)
    assert np.mean(predicted == theirs) > 0.99 and np.mean(predicted == true_labels) > 0.75
    radius = float(np.median(found[0][:, 3]))
    counts, theirs = (np.array([len(row) for row in module.NearestNeighbors(radius=radius, metric=metric, algorithm="brute").fit(points)
                                .radius_neighbors(queries)[1]]) for module in (ours, neighbors))
    assert np.mean(counts == theirs) > 0.99 and counts.sum() > 400


def test_images_as_a_graph() -> None:
    points = fashion_mnist(1500, 1)[0]
    for mode in ("distance", "connectivity"):
        found, expected = (module.KNeighborsTransformer(mode=mode, n_neighbors=9).fit_transform(points.astype(np.float32))
                           for module in (ours, neighbors))
        assert found.nnz == expected.nnz and (found > 0).multiply(expected > 0).nnz > 0.999 * expected.count_nonzero()


def test_the_diagonal_stays_among_duplicates() -> None:
    graph = ours.KNeighborsTransformer(n_neighbors=2).fit_transform(np.ones((8, 3)))
    assert all(i in graph[i].indices for i in range(8))


def test_the_types_of_distances_are_theirs() -> None:
    for dtype in (np.float32, np.float64, np.uint8):
        found, expected = (module.NearestNeighbors(algorithm="brute").fit(X.astype(dtype)).kneighbors()[0].dtype
                           for module in (ours, neighbors))
        assert found == expected


def test_mahalanobis_as_people_give_it() -> None:
    x = X[:, 2:6] + np.random.default_rng(0).random((len(X), 4))
    for params in ({"VI": np.linalg.inv(np.cov(x.T))}, {"V": np.cov(x.T)}):
        model = ours.NearestNeighbors(metric="mahalanobis", metric_params=params).fit(x)
        assert model._kith_metric() is not None
        expected = neighbors.NearestNeighbors(metric="mahalanobis", metric_params=params).fit(x).kneighbors()
        np.testing.assert_allclose(model.kneighbors()[0], expected[0], rtol=1e-7)


def test_sparse_questions_to_a_dense_classifier() -> None:
    from scipy.sparse import csr_matrix
    model = ours.KNeighborsClassifier(algorithm="brute").fit(X[:500], Y[:500])
    np.testing.assert_array_equal(model.predict(csr_matrix(X[500:600])), model.predict(X[500:600]))


def test_copies() -> None:
    model = ours.NearestNeighbors(n_neighbors=3, device="cpu").fit(X)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(X)):
        np.testing.assert_array_equal(other.kneighbors(X[:9])[1], model.kneighbors(X[:9])[1])


def test_left_to_scikit_learn() -> None:
    from scipy.sparse import csr_matrix
    assert ours.NearestNeighbors(n_neighbors=2).fit(csr_matrix(X)).kneighbors(csr_matrix(X[:3]))[1][0, 0] == 0
    assert ours.NearestNeighbors(n_neighbors=2, metric=lambda a, b: abs(a - b).sum()).fit(X[:50]).kneighbors(X[:3])[1][2, 0] == 2
    assert len(ours.NearestNeighbors(radius=20.0).fit(X).radius_neighbors(X[:3])[0]) == 3


def test_unknown_device() -> None:
    with pytest.raises(ValueError, match="device"):
        ours.NearestNeighbors(device="abacus").fit(X)


@pytest.mark.parametrize("tree", ("BallTree", "KDTree"))
def test_a_tree_has_its_own_metric(tree: str) -> None:
    fitted = getattr(neighbors, tree)(X[:200], metric="manhattan")
    given = neighbors.NearestNeighbors(algorithm="kd_tree", metric="chebyshev").fit(X[:200])
    for X_fit in (fitted, given):
        found, expected = (module.NearestNeighbors(n_neighbors=4).fit(X_fit) for module in (ours, neighbors))
        np.testing.assert_allclose(found.kneighbors(X[200:220])[0], expected.kneighbors(X[200:220])[0])
        np.testing.assert_allclose(found.fit(X[:300]).kneighbors(X[300:320])[0],
                                   expected.fit(X[:300]).kneighbors(X[300:320])[0])


@pytest.mark.parametrize("radius", (-1.0, float("nan")))
def test_a_radius_that_holds_nothing(radius: float) -> None:
    for module in (ours, neighbors):
        model = module.NearestNeighbors(algorithm="kd_tree").fit(X[:50])
        for queries, rows in ((X[:3], 3), (None, 50)):
            distances, indices = model.radius_neighbors(queries, radius)
            assert [len(row) for row in distances] == [len(row) for row in indices] == [0] * rows
