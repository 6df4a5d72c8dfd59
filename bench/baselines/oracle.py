"""Definitional distances in binary64: kith's answer is checked by them, everyone's recall counted.

numpy for arrays of the host, torch for tensors on a GPU; neither knows anything of kith.
"""
import functools

import numpy as np

CHUNK_VALUES = 1 << 23  # binary64 values handled at a time
SLACK = 1e-12           # of the largest distance: what sums in another order may differ by


def largest(values):
    return values.amax(-1) if hasattr(values, "amax") else values.max(-1)


# Distances of the rows of q and x (broadcast), smaller is nearer.
PAIRS = {
    "sqeuclidean": lambda q, x: ((q - x) ** 2).sum(-1),
    "inner_product": lambda q, x: -(q * x).sum(-1),
    "cosine": lambda q, x: 1 - (q * x).sum(-1) / ((q ** 2).sum(-1) ** 0.5 * (x ** 2).sum(-1) ** 0.5),
    "cityblock": lambda q, x: abs(q - x).sum(-1),
    "chebyshev": lambda q, x: largest(abs(q - x)),
    "hellinger": lambda q, x: (((q ** 0.5 - x ** 0.5) ** 2).sum(-1) / 2) ** 0.5,
}
NON_NEGATIVE = {"hellinger"}  # of coordinates below zero it has no distances


def host(array):
    """numpy's form of an array of any library."""
    if type(array).__module__.split(".")[0] == "cupy":
        return array.get()
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


def rows64(array, index):
    rows = array[index]
    return rows.double() if hasattr(rows, "double") else rows.astype(np.float64)


class Truth:
    """The nearest `k` points of `sample` queries, evenly spread: found when first asked for, kept for any smaller k."""

    def __init__(self, metric, points, queries, k, sample):
        self.metric, self.points, self.queries, self.k = metric, points, queries, min(k, points.shape[0])
        q = queries.shape[0]
        self.chosen = np.unique(np.linspace(0, q - 1, min(sample, q)).astype(np.int64))

    @functools.cached_property
    def nearest(self):
        """(ids, distances, slack): a row per chosen query, ordered by (distance, id)."""
        n, d = self.points.shape
        chosen = rows64(self.queries, self.chosen)
        distances = np.empty((len(self.chosen), n))
        step = max(1, CHUNK_VALUES // d)
        for first in range(0, n, step):
            points = rows64(self.points, slice(first, first + step))
            for row, query in zip(distances, chosen):
                row[first:first + step] = host(PAIRS[self.metric](query, points))
        ids = np.empty((len(distances), self.k), np.int64)
        for row, into in zip(distances, ids):
            last = np.partition(row, self.k - 1)[self.k - 1]
            eligible = np.flatnonzero(row <= last)
            into[:] = eligible[np.lexsort((eligible, row[eligible]))][:self.k]
        return ids, np.take_along_axis(distances, ids, 1), SLACK * np.abs(distances).max(1)

    def found(self, ids):
        """Distances of the ids given to the chosen queries; +inf where there is none, and for an id's second place."""
        answered = ids[self.chosen]
        distances = np.full(answered.shape, np.inf)
        for i, (row, query) in enumerate(zip(answered, self.chosen)):
            _, places = np.unique(row, return_index=True)
            places = places[(row[places] >= 0) & (row[places] < len(self.points))]
            at = rows64(self.points, row[places])
            distances[i, places] = host(PAIRS[self.metric](rows64(self.queries, query), at))
        return distances

    def recall(self, ids, k):
        """The share of the k given neighbours that are not farther than the k-th nearest; ties count."""
        _, nearest, slack = self.nearest
        k = min(k, self.k)
        return float((self.found(ids)[:, :k] <= (nearest[:, k - 1] + slack)[:, None]).mean())

    def wrong(self, ids, k):
        """How many chosen queries have other neighbours, or another order, than the oracle: where ids differ, binary64
        must not be able to tell the distances apart."""
        right, nearest, slack = self.nearest
        k = min(k, self.k)
        same = (ids[self.chosen][:, :k] == right[:, :k]) | (np.abs(self.found(ids)[:, :k] - nearest[:, :k]) <=
                                                            slack[:, None])
        return int((~same.all(1)).sum())
