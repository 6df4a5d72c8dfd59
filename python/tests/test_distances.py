"""distances: scipy's cdist in the bits of a search."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import kith


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra",
                                    "braycurtis", "jensenshannon", "hamming"])
def test_scipys_cdist(metric: str) -> None:
    rng = np.random.default_rng(0)
    points, queries = rng.random((100, 8)), rng.random((10, 8))
    found = kith.distances(points, queries, metric=metric, f64=True)
    np.testing.assert_allclose(found, cdist(queries, points, metric), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.sort(found), kith.search(points, queries, 100, metric=metric, f64=True).distances)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int32])
def test_kinds_and_layouts(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    points, queries = (rng.integers(0, 100, (n, 6)).astype(dtype) for n in (40, 7))
    want = ((queries[:, None].astype(float) - points.astype(float)) ** 2).sum(-1)
    for p, q in ((points, queries), (np.asfortranarray(points), queries[::-1][::-1]), (np.repeat(points, 2, 0)[::2], queries)):
        found = kith.distances(p, q)
        assert found.dtype == np.float32 and found.shape == (7, 40)
        np.testing.assert_array_equal(found, want.astype(np.float32))
    torch = pytest.importorskip("torch")
    tensors = torch.from_numpy(points.copy()), torch.from_numpy(queries.copy())
    result = kith.distances(*tensors, f64=True)
    assert isinstance(result, torch.Tensor) and result.dtype == torch.float64
    np.testing.assert_array_equal(result.numpy(), want)


def test_among_themselves_with_nan() -> None:
    points = np.array([[0.0, 0], [3, 4], [np.nan, 1]])
    np.testing.assert_array_equal(kith.distances(points, metric="euclidean", f64=True),
                                  [[0, 5, np.nan], [5, 0, np.nan], [np.nan] * 3])


def test_out() -> None:
    rng = np.random.default_rng(2)
    points, queries = rng.random((30, 4), np.float32), rng.random((5, 4), np.float32)
    out = np.empty((5, 30), np.float32)
    assert kith.distances(points, queries, out=out) is out
    np.testing.assert_array_equal(out, kith.distances(points, queries))
    for wrong in (np.empty((30, 5), np.float32), np.empty((5, 30)), np.empty((5, 60), np.float32)[:, ::2]):
        with pytest.raises((ValueError, TypeError), match="out"):
            kith.distances(points, queries, out=wrong)
    square = np.zeros((4, 4), np.float32)
    with pytest.raises(ValueError, match="overlaps"):
        kith.distances(square, out=square)


def test_kernels_are_of_a_gpu() -> None:
    points = np.zeros((4, 3), np.float32)
    with pytest.raises(ValueError, match="path: 'garcia'"):
        kith.distances(points, device="cpu", path="garcia")
    with pytest.raises(ValueError, match="estimated in f32 by one of baseline"):
        kith.distances(points, device="cpu", path="garcia+bits")
    np.testing.assert_array_equal(kith.distances(points, device="cpu", path="exact"), np.zeros((4, 4)))
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="without gradients"):
        kith.distances(torch.zeros(4, 3, requires_grad=True), path="garcia")


def test_refused() -> None:
    points = np.zeros((4, 3), np.float32)
    with pytest.raises(ValueError, match="5"):
        kith.distances(points, np.zeros((2, 5), np.float32))
    with pytest.raises(ValueError, match="metric"):
        kith.distances(points, metric="euclid")
    with pytest.raises(ValueError, match="negative|non-negative|row"):
        kith.distances(points - 1, metric="hellinger")
    with pytest.raises(ValueError, match="queries"):
        kith.distances(points, np.zeros(3, np.float32))


def test_cancelled() -> None:
    points = np.random.default_rng(3).random((20_000, 64), np.float32)
    with pytest.raises(kith.Cancelled):
        kith.distances(points, progress=lambda done, total, seconds, stage: False)
