"""kith in the tools that people use: scanpy and UMAP, beside what they do by default, on data that they bring."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kith


def overlap(ours: Any, theirs: Any) -> float:
    """Share of the entries of one sparse matrix that the other has."""
    a, b = (matrix.tocsr().astype(bool) for matrix in (ours, theirs))
    return float(a.multiply(b).nnz / max(a.nnz, b.nnz))


def test_scanpy() -> None:
    scanpy = pytest.importorskip("scanpy")
    from kith.sklearn import KNeighborsTransformer
    cells = scanpy.datasets.pbmc68k_reduced()
    scanpy.pp.neighbors(cells, n_neighbors=15, key_added="default")
    scanpy.pp.neighbors(cells, n_neighbors=15, transformer=KNeighborsTransformer(n_neighbors=15), key_added="exact")
    ours, theirs = (cells.obsp[f"{key}_distances"] for key in ("exact", "default"))
    assert ours.shape == theirs.shape and overlap(ours, theirs) > 0.99
    assert overlap(cells.obsp["exact_connectivities"], cells.obsp["default_connectivities"]) > 0.99


def test_umap() -> None:
    umap = pytest.importorskip("umap")
    from sklearn.datasets import load_digits
    from sklearn.manifold import trustworthiness
    x = load_digits().data.astype(np.float32)
    knn = kith.graph(x, 15, metric="euclidean", include_self=True)
    picture = umap.UMAP(n_neighbors=15, precomputed_knn=(knn.indices, knn.distances), random_state=0).fit_transform(x)
    assert picture.shape == (len(x), 2) and trustworthiness(x, picture, n_neighbors=15) > 0.95
