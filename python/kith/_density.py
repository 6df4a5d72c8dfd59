"""DBSCAN's clusters from neighbours that come in blocks: no list of them all is made."""
from __future__ import annotations

from typing import Any, Iterator

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from . import _core
from ._index import Index

# Neighbours that are kept from their counting for the clusters; where there are more they are found twice.
_KEPT_BYTES = 1 << 28


def density_clusters(index: Index, eps: float, min_samples: int, weights: Any = None, threads: int = 0,
                     kept_bytes: int = _KEPT_BYTES) -> tuple[Any, Any]:
    """Which of the Index's points are core points (bool), and the cluster of each point; -1: noise.

    A core point has points of a weight of `min_samples` (without weights: this many), itself among them, within `eps`. Clusters
    are numbered by their first core point; a point that is none belongs to the first cluster that reaches it. That is what
    scikit-learn's depth-first search finds.
    """
    core = np.zeros(len(index), bool)
    kept: list[Any] | None = []
    size = 0
    for block in _neighbors(index, eps, threads):
        first, indices, offsets = block
        if weights is None:
            found = np.diff(offsets)
        else:
            with _core.FloatState():
                found = np.array([np.sum(weights[indices[a:b]]) for a, b in zip(offsets[:-1], offsets[1:])])
        core[first:first + len(found)] = found >= min_samples
        if kept is not None:
            size += indices.nbytes
            kept = [*kept, block] if size <= kept_bytes else None
    # Components of core points, by union of what each block adds; components are named by their first point.
    component = np.arange(len(index))
    border: list[Any] = []
    for first, indices, offsets in _neighbors(index, eps, threads) if kept is None else kept:
        rows = np.repeat(np.arange(first, first + len(offsets) - 1), np.diff(offsets))
        reached = core[indices]
        both = reached & core[rows]
        component = _united(component, rows[both], indices[both])
        edges = reached & ~core[rows]
        border.append(_distinct(rows[edges], component[indices[edges]]))
    names = component[core]
    labels = np.full(len(index), -1, np.intp)
    number = np.full(len(index), len(index), np.intp)
    number[np.unique(names)] = np.arange(len(np.unique(names)))
    labels[core] = number[names]
    if border:
        rows, reached = np.concatenate(border, axis=1)
        best = np.full(len(index), len(index), np.intp)
        np.minimum.at(best, rows, number[component[reached]])
        labels[np.unique(rows)] = best[np.unique(rows)]
    return core, labels


def _neighbors(index: Index, eps: float, threads: int) -> Iterator[tuple[int, Any, Any]]:
    for block in index.radius_blocks(None, eps, include_self=True, f64=True, threads=threads):
        yield block.first, block.indices, block.offsets


def _united(component: Any, a: Any, b: Any) -> Any:
    """The components when a[i] and b[i] are in one."""
    a, b = component[a], component[b]
    different = a != b
    if not different.any():
        return component
    names, places = np.unique(np.concatenate([a[different], b[different]]), return_inverse=True)
    from_, to = np.split(places.ravel(), 2)
    count, group = connected_components(coo_matrix((np.ones(len(from_), bool), (from_, to)), (len(names), len(names))), False)
    least = np.full(count, len(component))
    np.minimum.at(least, group, names)
    renamed = np.arange(len(component))
    renamed[names] = least[group]
    return renamed[component]


def _distinct(rows: Any, components: Any) -> Any:
    return np.unique(np.stack([rows, components]), axis=1)
