"""kith in the tools that people use: scanpy, UMAP, openTSNE, HDBSCAN, next to what they do by themselves."""
from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import kith


def digits() -> Any:
    from sklearn.datasets import load_digits
    return load_digits().data.astype(np.float32)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("k", [15, 5])
def test_scanpy(k: int, metric: str) -> None:
    """Equal edges and weights, but for scanpy's float32."""
    scanpy = pytest.importorskip("scanpy")
    import kith.scanpy
    cells = scanpy.datasets.pbmc68k_reduced()
    scanpy.pp.neighbors(cells, n_neighbors=k, metric=metric, key_added="theirs")
    scanpy.pp.neighbors(cells, metric=metric, transformer=kith.scanpy.transformer(k, metric), key_added="ours")
    assert cells.uns["ours"]["params"]["n_neighbors"] == k
    for what, error in (("connectivities", 1e-4), ("distances", 1e-5)):
        ours, theirs = (cells.obsp[f"{key}_{what}"].tocsr().sorted_indices() for key in ("ours", "theirs"))
        assert ours.nnz == theirs.nnz and (ours.indptr == theirs.indptr).all() and (ours.indices == theirs.indices).all()
        np.testing.assert_allclose(ours.data, theirs.data, error, error)


def test_scanpys_number_is_the_transformers() -> None:
    """scikit-learn's class, too: scanpy takes n_neighbors from the instance and counts the cell itself."""
    scanpy = pytest.importorskip("scanpy")
    import kith.scanpy
    from kith.sklearn import KNeighborsTransformer
    cells = scanpy.datasets.pbmc68k_reduced()
    scanpy.pp.neighbors(cells, n_neighbors=15, key_added="theirs")
    scanpy.pp.neighbors(cells, transformer=KNeighborsTransformer(n_neighbors=15), key_added="ours")
    ours, theirs = (cells.obsp[f"{key}_connectivities"] for key in ("ours", "theirs"))
    assert ours.nnz == theirs.nnz and abs(ours - theirs).max() < 1e-5
    with pytest.raises(ValueError, match="^n_neighbors is 1"):
        kith.scanpy.transformer(1)


def test_umap_fits() -> None:
    umap = pytest.importorskip("umap")
    from sklearn.manifold import trustworthiness
    x = digits()
    knn = kith.graph(x, 15, metric="euclidean", include_self=True)
    picture = umap.UMAP(n_neighbors=15, precomputed_knn=(knn.indices, knn.distances), random_state=0).fit_transform(x)
    assert picture.shape == (len(x), 2) and trustworthiness(x, picture, n_neighbors=15) > 0.95


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_umap_transforms(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    umap = pytest.importorskip("umap")
    import kith.umap
    x = digits()
    rest, fitted = x[:200], x[200:]
    knn = kith.umap.precomputed_knn(fitted, 15, metric=metric)
    exact = kith.graph(fitted, 15, metric=metric, include_self=True)
    assert (knn.indices == exact.indices).all() and (knn.distances == exact.distances).all()
    asked: list[Any] = []
    query = kith.umap.SearchIndex.query

    def noted(self: Any, *how: Any, **named: Any) -> Any:
        asked.append(query(self, *how, **named))
        return asked[-1]

    monkeypatch.setattr(kith.umap.SearchIndex, "query", noted)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "precomputed_knn")  # that it is no NNDescent
        model = umap.UMAP(n_neighbors=15, metric=metric, precomputed_knn=knn, random_state=0, n_jobs=1).fit(fitted)
    picture = model.transform(rest)
    expected = kith.search(fitted, rest, 15, metric=metric)
    assert (asked[0][0] == expected.indices).all() and (asked[0][1] == expected.distances).all()
    # New points lie next to the embedded neighbours that they have.
    beside = model.embedding_[expected.indices].mean(axis=1)
    spread = np.linalg.norm(model.embedding_ - model.embedding_.mean(axis=0), axis=1).mean()
    assert np.median(np.linalg.norm(picture - beside, axis=1)) < spread / 4
    again = pickle.loads(pickle.dumps(model))
    assert np.isfinite(again.transform(rest)).all()


def test_umaps_index() -> None:
    pytest.importorskip("pynndescent")
    import kith.umap
    x = digits()
    index = kith.umap.SearchIndex(x[:500], 10, "cosine", threads=1)
    index.prepare()
    index.update(x[500:600], xs_updated=x[700:702], updated_indices=[3, 5])
    now = x[:600].copy()
    now[[3, 5]] = x[700:702]
    exact = kith.graph(now, 10, metric="cosine", include_self=True)
    assert all((a == b).all() for a, b in zip(index.neighbor_graph, (exact.indices, exact.distances)))
    found = pickle.loads(pickle.dumps(index)).query(x[800:], 4)
    exact = kith.search(now, x[800:], 4, metric="cosine")
    assert (found[0] == exact.indices).all() and found[0].dtype == np.int32 and (found[1] == exact.distances).all()


def test_umaps_index_takes_other_types() -> None:
    """New rows of fractions next to bytes stay what they are."""
    pytest.importorskip("pynndescent")
    import kith.umap
    bytes_ = digits().astype(np.uint8)
    index = kith.umap.SearchIndex(bytes_[:50], 3)
    index.update(bytes_[50:52] + np.float32(0.75), xs_updated=[bytes_[60] + np.float32(0.5)], updated_indices=[7])
    now = np.concatenate([bytes_[:50], bytes_[50:52] + np.float32(0.75)])
    now[7] = bytes_[60] + np.float32(0.5)
    found = index.query(now[[7, 50]], 1)
    assert found[0].tolist() == [[7], [50]] and not found[1].any()


@pytest.mark.parametrize("metric", ["hellinger", "seuclidean", "mahalanobis", "jaccard", "canberra"])
def test_umaps_metrics(metric: str) -> None:
    """UMAP's graph, or a refusal where its distances of that name are others."""
    umap = pytest.importorskip("umap")
    import kith.umap
    x = digits()[:300] + np.float32(0.1) * (metric != "jaccard")
    how: dict[str, Any] = {}
    keywords: dict[str, Any] = {}
    if metric == "hellinger":
        with pytest.raises(ValueError, match="^points: row 0 sums to"):
            kith.umap.precomputed_knn(x, 15, metric=metric)
        x /= x.sum(1, keepdims=True)
    elif metric in ("seuclidean", "mahalanobis"):
        with pytest.raises(ValueError, match="^(variances|inverse_covariance): missing"):
            kith.umap.precomputed_knn(x, 15, metric=metric)
        spread = 1 + np.arange(64.0)
        how = {"variances": spread} if metric == "seuclidean" else {"inverse_covariance": np.diag(1 / spread)}
        keywords = {"sigma": spread} if metric == "seuclidean" else {"vinv": np.diag(1 / spread)}
    knn = kith.umap.precomputed_knn(x, 15, metric=metric, **how)
    of = umap.distances.named_distances[metric]
    theirs = np.array([[of(x[i], x[j], *keywords.values()) for j in knn.indices[i]] for i in range(0, 300, 30)])
    np.testing.assert_allclose(knn.distances[::30], theirs, 1e-4, 1e-3)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_opentsne(metric: str) -> None:
    tsne = pytest.importorskip("openTSNE")
    import kith.opentsne
    x = digits() + np.random.default_rng(0).random((1797, 64))  # without ties
    rest, fitted = x[:100], x[100:]
    ours = tsne.affinity.PerplexityBasedNN(knn_index=kith.opentsne.KNNIndex(fitted, 90, metric), perplexity=30)
    theirs = tsne.affinity.PerplexityBasedNN(fitted, perplexity=30, metric=metric, method="exact")
    for a, b in ((ours.P, theirs.P), (ours.to_new(rest), theirs.to_new(rest))):
        assert a.shape == b.shape and a.nnz == b.nnz and abs(a - b).max() < 1e-7
    embedding = tsne.TSNE(n_iter=20, early_exaggeration_iter=20, random_state=0).fit(affinities=ours, initialization=fitted[:, 20:22].copy())
    assert embedding.transform(rest).shape == (100, 2)


def test_hdbscan() -> None:
    """For a sparse graph that holds the tree of the mutual distances: the clusters of all distances."""
    hdbscan = pytest.importorskip("hdbscan")
    from sklearn.cluster import HDBSCAN
    from sklearn.datasets import make_blobs
    from sklearn.metrics import adjusted_rand_score

    from kith.sklearn import kneighbors_graph
    x = make_blobs(900, 5, centers=6, cluster_std=1.0, random_state=0)[0]
    graph = kneighbors_graph(x, 300, mode="distance")
    graph = graph.maximum(graph.T)
    theirs = hdbscan.HDBSCAN(min_cluster_size=20, min_samples=10).fit(x).labels_
    assert theirs.max() > 2
    ours = hdbscan.HDBSCAN(min_cluster_size=20, min_samples=10, metric="precomputed").fit(graph).labels_
    assert adjusted_rand_score(theirs, ours) == 1 and ((ours < 0) == (theirs < 0)).all()  # but for the clusters' numbers
    theirs = HDBSCAN(min_cluster_size=20, min_samples=10, copy=True).fit(x).labels_
    # scikit-learn's counts the point itself where it finds the distances, and not in a graph that leaves it out.
    ours = HDBSCAN(min_cluster_size=20, min_samples=9, metric="precomputed", copy=True).fit(graph).labels_
    assert adjusted_rand_score(theirs, ours) == 1
