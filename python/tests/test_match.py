"""match: by its definition in numpy, of any arrays, and what it refuses."""
from __future__ import annotations

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
