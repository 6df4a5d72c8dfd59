"""METRIC_NaNEuclidean and METRIC_GOWER, which ask of each pair which coordinates both have: sums by a formula and counts by
a product, both exact, of all pairs; the k nearest and those within a threshold are selected among them."""
from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from ..._distances import distances
from ..._kinds import on_host
from ._metrics import METRIC_GOWER, METRIC_NaNEuclidean

_MISSING = -1e300  # in place of NaN: no float32
_NONE = 1e200  # added for a pair that has no distance, beyond every sum
_TERMS = {
    METRIC_NaNEuclidean: "(q - x) * (q - x)",
    # Numbers of [0, 1] differ, categories (below 0) are the same or not; a pair of both kinds has no distance.
    METRIC_GOWER: (f"(q >= 0 && x >= 0 ? (q > 1 || x > 1 ? {_NONE!r} : fabs(q - x)) : "
                   f"(q < 0 && x < 0 ? q != x : {_NONE!r}))"),
}
_BLOCK = 1 << 24  # pairs at once, of which each takes some 32 bytes


def values(xq: Any, xb: Any, metric: int, device: str = "auto") -> np.ndarray[Any, Any]:
    """float64 distances of all pairs, NaN of a pair that has none."""
    q, x = (np.asarray(on_host(part), np.float64) for part in (xq, xb))
    if not len(q) or not len(x):
        return np.empty((len(q), len(x)))
    at_q, at_x = (~np.isnan(part) for part in (q, x))
    formula = f"a + (q == {_MISSING!r} || x == {_MISSING!r} ? 0 : {_TERMS[metric]})"
    sums = distances(np.where(at_x, x, _MISSING), np.where(at_q, q, _MISSING), formula=formula, f64=True, device=device)
    both = distances(at_x.astype(np.float32), at_q.astype(np.float32), metric="inner_product", f64=True, device=device)
    sums[sums >= _NONE] = np.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        found: np.ndarray[Any, Any] = (q.shape[1] / both) * sums if metric == METRIC_NaNEuclidean else sums / both
    return found


def _blocks(xq: Any, xb: Any, metric: int, device: str) -> Iterator[np.ndarray[Any, Any]]:
    step = max(1, _BLOCK // max(1, len(xb)))
    for first in range(0, len(xq), step):
        yield values(xq[first:first + step], xb, metric, device)


def nearest(xq: Any, xb: Any, k: int, metric: int, device: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """float64 distances and indices of the k nearest, by (distance, index); -1 and NaN where there is none."""
    far, indices = np.full((len(xq), k), np.nan), np.full((len(xq), k), -1, np.int64)
    first = 0
    for block in _blocks(xq, xb, metric, device):
        order = block.argsort(axis=1, kind="stable")[:, :k]  # NaN comes last
        found = np.take_along_axis(block, order, 1)
        far[first:first + len(block), :order.shape[1]] = found
        indices[first:first + len(block), :order.shape[1]] = np.where(np.isnan(found), -1, order)
        first += len(block)
    return far, indices


def within(xq: Any, xb: Any, threshold: float, metric: int, device: str) -> tuple[Any, Any, Any]:
    """(lims, float64 distances, indices) of those nearer than the threshold, by ascending index."""
    rows: list[Any] = []
    for block in _blocks(xq, xb, metric, device):
        rows += [(block[i, at], at) for i in range(len(block)) for at in [np.flatnonzero(block[i] < threshold)]]
    lims = np.concatenate([[0], np.cumsum([len(at) for _, at in rows])]).astype(np.int64)
    return (lims, np.concatenate([np.empty(0), *(far for far, _ in rows)]),
            np.concatenate([np.empty(0, np.int64), *(at for _, at in rows)]))
