"""kith in the tools that people use: scanpy and UMAP, beside what they do by default, on data that they bring."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kith


def overlap(ours: Any, theirs: Any) -> float:
    """Share of the entries of one sparse matrix that the other has."""
    a, b = (matrix.tocsr(copy=True) for matrix in (ours, theirs))
    for matrix in (a, b):
        matrix.eliminate_zeros()  # the diagonal, which one of them has
        matrix.data[:] = 1
    return float(a.multiply(b).nnz / max(a.nnz, b.nnz))


def test_scanpy() -> None:
    scanpy = pytest.importorskip("scanpy")
    from kith.sklearn import KNeighborsTransformer
    cells = scanpy.datasets.pbmc68k_reduced()
    scanpy.pp.neighbors(cells, n_neighbors=15, key_added="default")
    scanpy.pp.neighbors(cells, n_neighbors=15, key_added="exact",
                        transformer=KNeighborsTransformer(n_neighbors=14))  # scanpy's 15 count the cell itself
    ours, theirs = (cells.obsp[f"{key}_distances"] for key in ("exact", "default"))
    assert ours.shape == theirs.shape and overlap(ours, theirs) == 1
    # scanpy weighs the edges for the transformer's 14 neighbours, without it for 15.
    assert overlap(cells.obsp["exact_connectivities"], cells.obsp["default_connectivities"]) > 0.9


def test_umap() -> None:
    umap = pytest.importorskip("umap")
    from sklearn.datasets import load_digits
    from sklearn.manifold import trustworthiness
    x = load_digits().data.astype(np.float32)
    knn = kith.graph(x, 15, metric="euclidean", include_self=True)
    picture = umap.UMAP(n_neighbors=15, precomputed_knn=(knn.indices, knn.distances), random_state=0).fit_transform(x)
    assert picture.shape == (len(x), 2) and trustworthiness(x, picture, n_neighbors=15) > 0.95
