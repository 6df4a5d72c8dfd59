"""The baselines on the CPU, each by its fastest exact calls: faiss, scikit-learn, usearch, scipy, torch,
KeOps."""
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from baseline import Baseline

FEW_DIMENSIONS = 8  # up to which trees race
MATRIX = ("sqeuclidean", "inner_product", "cosine")


def unit(rows):
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / norms[:, None]


def faiss(case, settings):
    import faiss as f
    f.omp_set_num_threads(settings.threads)
    if settings.kernels == "tuned":
        # Eight times its default: its threads meet after every block, and wait. Up to twice as fast, never slower.
        f.cvar.distance_compute_blas_database_bs = 8192
    x, y, k = case.points, case.queries, case.k
    metric = {"sqeuclidean": f.METRIC_L2, "inner_product": f.METRIC_INNER_PRODUCT, "cosine": f.METRIC_INNER_PRODUCT,
              "hellinger": f.METRIC_L2, "cityblock": f.METRIC_L1, "chebyshev": f.METRIC_Linf}[case.metric]
    # faiss has neither cosine nor hellinger: their users change the vectors first.
    change = {"cosine": unit, "hellinger": np.sqrt}.get(case.metric, lambda rows: rows)
    index = f.IndexFlat(x.shape[1], metric)
    index.add(change(x))
    yield Baseline("faiss.knn", "faiss", "one-shot", lambda: f.knn(change(y), change(x), k, metric=metric)[1])
    yield Baseline("faiss IndexFlat", "faiss", "prepared", lambda: index.search(change(y), k)[1])


def scikit_learn(case, settings):
    if "faiss" in sys.modules:
        raise RuntimeError("beside faiss it gets one thread only: use --baselines scikit-learn")
    from sklearn.metrics._pairwise_distances_reduction import ArgKmin
    from sklearn.neighbors import NearestNeighbors
    if case.metric == "inner_product":
        return  # not a metric of its
    x, y, k = case.points, case.queries, case.k
    change = {"cosine": unit, "hellinger": np.sqrt}.get(case.metric, lambda rows: rows)
    reduced = {"cosine": "sqeuclidean", "hellinger": "sqeuclidean"}.get(case.metric, case.metric)
    yield Baseline("sklearn argkmin", "scikit-learn", "one-shot",
                    lambda: ArgKmin.compute(change(y), change(x), k, metric=reduced, return_distance=True)[1])
    metric = "euclidean" if case.metric == "hellinger" else case.metric
    keep = np.sqrt if case.metric == "hellinger" else (lambda rows: rows)
    model = NearestNeighbors(n_neighbors=k, algorithm="brute", metric=metric, n_jobs=settings.threads).fit(keep(x))
    yield Baseline("sklearn NearestNeighbors", "scikit-learn", "prepared", lambda: model.kneighbors(keep(y))[1])
    if case.metric == "sqeuclidean" and x.shape[1] <= FEW_DIMENSIONS:
        tree = NearestNeighbors(n_neighbors=k, algorithm="kd_tree", n_jobs=settings.threads).fit(x)
        yield Baseline("sklearn kd_tree", "scikit-learn", "prepared", lambda: tree.kneighbors(y)[1])


def usearch(case, settings):
    from usearch.index import MetricKind, search
    if case.metric not in MATRIX:
        return
    metric = {"sqeuclidean": MetricKind.L2sq, "inner_product": MetricKind.IP, "cosine": MetricKind.Cos}[case.metric]
    x, y, k = case.points, case.queries, case.k

    def run():
        keys = search(x, y, k, metric, exact=True, threads=settings.threads).keys
        return np.asarray(keys).astype(np.int64).reshape(len(y), k)
    yield Baseline("usearch exact", "usearch", "one-shot", run)


def scipy(case, settings):
    from scipy.spatial import cKDTree
    from scipy.spatial.distance import cdist
    if case.metric == "sqeuclidean" and case.points.shape[1] <= FEW_DIMENSIONS:
        tree, workers = cKDTree(case.points), settings.threads
        yield Baseline("scipy cKDTree, built", "scipy", "one-shot",
                       lambda: cKDTree(case.points).query(case.queries, case.k, workers=workers)[1].reshape(-1, case.k))
        yield Baseline("scipy cKDTree", "scipy", "prepared",
                       lambda: tree.query(case.queries, case.k, workers=workers)[1].reshape(-1, case.k))
    if case.metric in MATRIX:
        return  # one multiply-add at a time: never near the others
    change = np.sqrt if case.metric == "hellinger" else (lambda rows: rows)
    metric = "sqeuclidean" if case.metric == "hellinger" else case.metric
    k, tile = case.k, 64

    def run():
        x, y = (change(rows).astype(np.float64) for rows in (case.points, case.queries))

        def part(first):
            block = cdist(y[first:first + tile], x, metric)
            nearest = np.argpartition(block, k - 1, axis=1)[:, :k]
            order = np.argsort(np.take_along_axis(block, nearest, 1), axis=1, kind="stable")
            return np.take_along_axis(nearest, order, 1)
        with ThreadPoolExecutor(settings.threads) as pool:
            return np.concatenate(list(pool.map(part, range(0, len(y), tile))))
    yield Baseline("scipy cdist", "scipy", "one-shot", run)


def torch(case, settings):
    import torch as t
    if case.metric not in MATRIX:
        return
    t.set_num_threads(settings.threads)
    x, y = t.from_numpy(case.points), t.from_numpy(case.queries)
    k, tile = case.k, 256

    def run():
        a, b = (x, y) if case.metric != "cosine" else (x / x.norm(dim=1)[:, None], y / y.norm(dim=1)[:, None])
        norms = (a * a).sum(1) if case.metric == "sqeuclidean" else t.zeros(len(a))
        parts = []
        for first in range(0, len(b), tile):
            block = t.addmm(norms[None, :], b[first:first + tile], a.T, alpha=-2)
            parts.append(t.topk(block, k, dim=1, largest=False).indices)
        return t.cat(parts).numpy()
    yield Baseline("torch matmul+topk", "torch", "one-shot", run)


def pykeops(case, settings):
    from pykeops.numpy import LazyTensor
    if case.metric != "sqeuclidean":
        return

    def nearest(queries):
        difference = LazyTensor(queries[:, None, :]) - LazyTensor(case.points[None, :, :])
        return (difference ** 2).sum(-1).argKmin(case.k, dim=1)

    nearest(case.queries[:2])  # compiles
    yield Baseline("KeOps argKmin", "pykeops", "one-shot", lambda: nearest(case.queries).astype(np.int64))


ALL = {"faiss": faiss, "scikit-learn": scikit_learn, "usearch": usearch, "scipy": scipy, "torch": torch, "pykeops": pykeops}
