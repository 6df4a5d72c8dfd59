"""match: by its definition in numpy, by OpenCV's matcher of the features of two views, and what it refuses."""
from __future__ import annotations

import importlib.resources

import cv2
import numpy as np
import pytest
from scipy.spatial.distance import cdist

import kith


@pytest.mark.parametrize("mutual", [False, True])
@pytest.mark.parametrize("ratio", [None, 0.7, 1.0])
def test_definition(ratio: float | None, mutual: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, (120, 4)).astype(np.float32), rng.integers(0, 9, (80, 4)).astype(np.float32)
    table = cdist(a.astype(float), b.astype(float))
    order = np.argsort(table, axis=1, kind="stable")
    want = []
    for i, nearest in enumerate(order[:, 0]):
        if ratio is not None and not table[i, nearest] < ratio * table[i, order[i, 1]]:
            continue
        if mutual and np.argmin(table[:, nearest]) != i:
            continue
        want.append((i, nearest))
    pairs, distances = kith.match(a, b, ratio=ratio, mutual=mutual)
    assert pairs.dtype == np.int64 and distances.dtype == np.float64
    np.testing.assert_array_equal(pairs, want)
    np.testing.assert_array_equal(distances, [table[i, j] for i, j in want])
    del a, b
    assert pairs.sum() == np.sum(want)  # the arrays own what they show


def test_binary_features() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 256, (40, 8), np.uint8), rng.integers(0, 256, (30, 8), np.uint8)
    bits = [np.unpackbits(x, axis=1).astype(np.float32) for x in (a, b)]
    packed = kith.match(a, b, ratio=0.95, metric="hamming", packed_bits=True)
    np.testing.assert_array_equal(packed.pairs, kith.match(*bits, ratio=0.95, metric="hamming").pairs)


@pytest.mark.parametrize("kind", ["SIFT", "ORB"])
def test_opencvs_matcher(kind: str) -> None:
    path = importlib.resources.files("sklearn.datasets") / "images" / "china.jpg"
    image = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    assert image is not None
    height, width = image.shape
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), 10, 0.9)
    view = cv2.warpAffine(image, turn, (width, height), flags=cv2.INTER_AREA)
    finder = cv2.SIFT.create() if kind == "SIFT" else cv2.ORB.create(1000)
    a, b = (finder.detectAndCompute(shown, None)[1].astype(np.uint8) for shown in (image, view))  # SIFT's are whole numbers
    norm = cv2.NORM_L2 if kind == "SIFT" else cv2.NORM_HAMMING
    metric, packed_bits, unit = ("euclidean", False, 1.0) if kind == "SIFT" else ("hamming", True, 8.0 * a.shape[1])

    both = cv2.BFMatcher(norm).knnMatch(a, b, 2)
    nearest = kith.match(a, b, metric=metric, packed_bits=packed_bits)
    np.testing.assert_array_equal(nearest.pairs[:, 0], np.arange(len(a)))
    np.testing.assert_allclose(nearest.distances * unit, [first.distance for first, _ in both], rtol=1e-6)

    kept = [(first.queryIdx, first.trainIdx) for first, second in both if first.distance < 0.8 * second.distance]
    assert len(kept) > 300
    pairs = kith.match(a, b, ratio=0.8, metric=metric, packed_bits=packed_bits).pairs
    np.testing.assert_array_equal(pairs, kept)

    checked = cv2.BFMatcher(norm, crossCheck=True).match(a, b)
    pairs = kith.match(a, b, mutual=True, metric=metric, packed_bits=packed_bits).pairs
    np.testing.assert_array_equal(pairs, [(m.queryIdx, m.trainIdx) for m in checked])


def test_refused() -> None:
    a = np.zeros((3, 2), np.float32)
    with pytest.raises(ValueError, match="ratio: 1.5"):
        kith.match(a, a, ratio=1.5)
    with pytest.raises(ValueError, match="b: 1 rows"):
        kith.match(a, a[:1], ratio=0.8)
    with pytest.raises(ValueError, match="inner_product"):
        kith.match(a, a, ratio=0.8, metric="ip")
    with pytest.raises(ValueError, match="b: 3 columns"):
        kith.match(a, np.zeros((3, 3), np.float32))
    assert kith.match(a, np.full((2, 2), np.nan, np.float32)).pairs.shape == (0, 2)
