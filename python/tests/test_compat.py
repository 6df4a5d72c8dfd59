"""The interface of faiss: the same calls, the same shapes, types and values."""
from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from images import fashion_mnist
from oracle import nearest, small

import kith
from kith.compat import faiss as ours

POINTS, QUERIES = small(100, 8), small(9, 8, 1)


def modules() -> list[Any]:
    """Ours, and faiss where it is installed: one test of both."""
    try:
        import faiss
    except ImportError:
        return [ours]
    return [ours, faiss]


@pytest.mark.parametrize("faiss", modules(), ids=lambda module: module.__name__)
def test_faiss(faiss: Any) -> None:
    index = faiss.IndexFlatL2(8)
    assert (index.d, index.ntotal, index.is_trained, index.metric_type) == (8, 0, True, faiss.METRIC_L2)
    index.add(POINTS[:60])
    index.add(POINTS[60:])
    distances, indices = index.search(QUERIES, 5)
    assert (distances.dtype, indices.dtype, index.ntotal) == (np.float32, np.int64, 100)
    expected, true_indices = nearest(POINTS, QUERIES, 5)
    np.testing.assert_array_equal(distances, expected)
    if faiss is ours:
        np.testing.assert_array_equal(indices, true_indices)
    np.testing.assert_array_equal(index.reconstruct(7), POINTS[7])
    np.testing.assert_array_equal(index.reconstruct_n(10, 5), POINTS[10:15])
    far, missing = index.search(QUERIES, 101)
    assert missing[0, -1] == -1 and far[0, -1] == np.finfo(np.float32).max
    products = faiss.IndexFlatIP(8)
    products.add(POINTS)
    np.testing.assert_array_equal(products.search(QUERIES, 3)[0], -np.sort(-(QUERIES @ POINTS.T))[:, :3])
    np.testing.assert_array_equal(faiss.knn(QUERIES, POINTS, 5)[0], expected)
    for metric in (faiss.METRIC_L1, faiss.METRIC_Linf):
        assert faiss.knn(QUERIES, POINTS, 2, metric=metric)[0].shape == (9, 2)
    index.reset()
    assert index.ntotal == 0 and (index.search(QUERIES, 2)[1] == -1).all()
    rows = POINTS.copy() + 1
    faiss.normalize_L2(rows)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    out = np.empty((9, 5), np.float32), np.empty((9, 5), np.int64)
    index.add(POINTS)
    index.search(QUERIES, 5, D=out[0], I=out[1])
    np.testing.assert_array_equal(out[0], expected)
    np.testing.assert_array_equal(index.assign(QUERIES, 1).ravel(), out[1][:, 0])


@pytest.mark.parametrize("faiss", modules(), ids=lambda module: module.__name__)
def test_faiss_lp(faiss: Any) -> None:
    expected = np.sort((np.abs(QUERIES[:, None] - POINTS[None]) ** 3).sum(axis=2), axis=1)[:, :4]
    np.testing.assert_array_equal(faiss.knn(QUERIES, POINTS, 4, faiss.METRIC_Lp, 3.0)[0], expected)


@pytest.mark.parametrize("faiss", modules(), ids=lambda module: module.__name__)
def test_faiss_on_images(faiss: Any) -> None:
    """Fashion-MNIST, by the definition in binary64: faiss multiplies matrices in float32, ours has the true neighbours."""
    points, queries = (part.astype(np.float32) for part in fashion_mnist(3000, 100)[:2])
    squares = kith.distances(points, queries, f64=True)
    order = np.argsort(squares, axis=1, kind="stable")[:, :10]
    best = np.take_along_axis(squares, order, 1)
    index = faiss.IndexFlatL2(784)
    index.add(points)
    for distances, indices in (index.search(queries, 10), faiss.knn(queries, points, 10)):
        np.testing.assert_allclose(distances, best, rtol=1e-4)
        assert np.mean(indices == order) > 0.999
        if faiss is ours:
            np.testing.assert_array_equal(indices, order)
            np.testing.assert_array_equal(distances, best.astype(np.float32))
    products = faiss.IndexFlatIP(784)
    products.add(points)
    exact = queries.astype(float) @ points.astype(float).T
    found, places = products.search(queries, 10)
    np.testing.assert_allclose(found, -np.sort(-exact)[:, :10], rtol=1e-6)
    assert np.mean(places == np.argsort(-exact, axis=1, kind="stable")[:, :10]) > 0.999


def test_faiss_copies_and_outputs() -> None:
    index = ours.IndexFlatL2(8)
    index.add(POINTS)
    assert index.search(QUERIES[:0], 3)[1].shape == (0, 3)
    index.search(QUERIES, 3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(index)).search(QUERIES, 3)[1], index.search(QUERIES, 3)[1])
    with pytest.raises(ValueError, match="D: expected"):
        index.search(QUERIES, 3, D=np.empty((9, 3)), I=np.empty((9, 3), np.int64))


def test_faiss_refuses() -> None:
    with pytest.raises(NotImplementedError):
        ours.IndexFlat(8, 99)
    with pytest.raises(ValueError, match="shape"):
        ours.IndexFlatL2(8).add(POINTS[:, :3])
