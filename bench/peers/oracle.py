"""Definitional distances in binary64 with numpy: kith's answer is checked by them, the peers' recall counted."""
import numpy as np

CHUNK_VALUES = 1 << 23  # binary64 values handled at a time


def pairs(metric, q, x):
    """Distances of the rows of q and x (broadcast), smaller is nearer."""
    if metric == "sqeuclidean":
        return np.square(q - x).sum(-1)
    if metric == "inner_product":
        return -(q * x).sum(-1)
    if metric == "cosine":
        return 1 - (q * x).sum(-1) / (np.sqrt(np.square(q).sum(-1)) * np.sqrt(np.square(x).sum(-1)))
    if metric == "cityblock":
        return np.abs(q - x).sum(-1)
    if metric == "chebyshev":
        return np.abs(q - x).max(-1)
    if metric == "hellinger":
        return np.sqrt(np.square(np.sqrt(q) - np.sqrt(x)).sum(-1) / 2)
    raise ValueError(metric)


def host(array):
    """numpy's form of an array of any library."""
    if type(array).__module__.split(".")[0] == "cupy":
        return array.get()
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


def rows64(array, index):
    return host(array[index]).astype(np.float64)


def verify(case, ids, sample):
    """Checks the neighbours of `sample` queries against all distances. A row is right when its ids are those of the
    oracle's order, or differ only where binary64 sums in another order cannot tell the distances apart."""
    n, q, d = case.shape()
    chosen = np.unique(np.linspace(0, q - 1, min(sample, q)).astype(np.int64))
    queries = rows64(case.queries, chosen)
    distances = np.empty((len(chosen), n))
    step = max(1, CHUNK_VALUES // d)
    for first in range(0, n, step):
        points = rows64(case.points, slice(first, first + step))
        for i, query in enumerate(queries):
            distances[i, first:first + step] = pairs(case.metric, query, points)
    wrong = 0
    for i, row in zip(chosen, distances):
        nearest = np.argpartition(row, case.k - 1)[:case.k] if case.k < n else np.arange(n)
        threshold = row[nearest].max()
        eligible = np.flatnonzero(row <= threshold)
        order = eligible[np.lexsort((eligible, row[eligible]))][:case.k]
        found = ids[i]
        slack = 1e-12 * np.abs(row).max()
        same = (found == order) | (np.abs(row[found] - row[order]) <= slack)
        wrong += not (same.all() and len(set(found.tolist())) == len(found))
    return {"queries": len(chosen), "wrong": int(wrong)}


def recall(case, ids, exact):
    """The share of returned neighbours that are not farther than the exact k-th one."""
    q, k = exact.shape
    inside = np.empty((q, k), bool)
    block = max(1, (1 << 25) // (k * k))
    for first in range(0, q, block):
        rows = slice(first, first + block)
        inside[rows] = (ids[rows, :, None] == exact[rows, None, :]).any(-1)
    # What is not among the exact ids may tie with the last of them.
    row, column = np.nonzero(~inside & (ids >= 0))
    step = max(1, CHUNK_VALUES // case.points.shape[1])
    for first in range(0, len(row), step):
        r, c = row[first:first + step], column[first:first + step]
        query = rows64(case.queries, r)
        found = pairs(case.metric, query, rows64(case.points, ids[r, c]))
        last = pairs(case.metric, query, rows64(case.points, exact[r, -1]))
        inside[r, c] = found <= last
    ordered = np.argsort(ids, axis=1, kind="stable")
    again = np.zeros((q, k), bool)
    values = np.take_along_axis(ids, ordered, 1)
    np.put_along_axis(again, ordered[:, 1:], values[:, 1:] == values[:, :-1], 1)
    return float((inside & ~again).mean())
