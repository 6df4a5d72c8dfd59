"""torch: operators for `torch.compile`, and the neighbour functions of pytorch3d and torch_cluster with exact answers.

>>> import torch, kith.torch
>>> x = torch.eye(3)
>>> kith.torch.knn(x, x[:1], 1)
tensor([[0],
        [0]])

`torch.ops.kith.search` and `torch.ops.kith.topk` are registered with torch by importing this module.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ._search import search as _search
from ._search import topk as _topk

__all__ = ["KNN", "knn", "knn_gather", "knn_graph", "knn_points"]


@torch.library.custom_op("kith::search", mutates_args=())
def _search_op(points: torch.Tensor, queries: torch.Tensor, k: int, metric: str = "sqeuclidean", p: float = 2.0,
               f64: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    found = _search(points, queries, k, metric=metric, p=p, f64=f64)
    return found.distances, found.indices


@_search_op.register_fake
def _(points: torch.Tensor, queries: torch.Tensor, k: int, metric: str = "sqeuclidean", p: float = 2.0,
      f64: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (queries.shape[0], k)
    return (queries.new_empty(shape, dtype=torch.float64 if f64 else torch.float32),
            queries.new_empty(shape, dtype=torch.int64))


@torch.library.custom_op("kith::topk", mutates_args=())
def _topk_op(values: torch.Tensor, k: int, dim: int = -1, largest: bool = True,
             sorted: bool = True) -> tuple[torch.Tensor, torch.Tensor]:  # noqa: A002
    found = _topk(values, k, dim, largest, sorted)
    return found.values.contiguous(), found.indices.contiguous()


@_topk_op.register_fake
def _(values: torch.Tensor, k: int, dim: int = -1, largest: bool = True,
      sorted: bool = True) -> tuple[torch.Tensor, torch.Tensor]:  # noqa: A002
    shape = list(values.shape)
    shape[dim] = k
    return values.new_empty(shape), values.new_empty(shape, dtype=torch.int64)


class KNN(NamedTuple):
    """What `knn_points` returns."""

    dists: torch.Tensor  #: (N, P1, K): squared distances (norm 1: sums of absolute differences)
    idx: torch.Tensor  #: (N, P1, K) int64
    knn: torch.Tensor | None  #: (N, P1, K, D) with return_nn


class _Distances(torch.autograd.Function):
    """The distances that the search found, with their gradients at fixed indices."""

    @staticmethod
    def forward(ctx: Any, p1: torch.Tensor, p2: torch.Tensor, idx: torch.Tensor, dists: torch.Tensor, norm: int) -> Any:
        ctx.save_for_backward(p1, p2, idx)
        ctx.norm = norm
        return dists.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        p1, p2, idx = ctx.saved_tensors
        known = idx >= 0
        difference = p1[:, :, None, :] - knn_gather(p2, idx.clamp(min=0))
        slope = 2 * difference if ctx.norm == 2 else difference.sign()
        parts = slope * (gradients[0] * known).to(p1.dtype)[..., None]
        to_p2 = torch.zeros_like(p2)
        flat = idx.clamp(min=0).flatten(1)[..., None].expand(-1, -1, p2.shape[2])
        to_p2.scatter_add_(1, flat, -parts.flatten(1, 2))
        return parts.sum(2), to_p2, None, None, None


def knn_points(p1: torch.Tensor, p2: torch.Tensor, lengths1: torch.Tensor | None = None,
               lengths2: torch.Tensor | None = None, norm: int = 2, K: int = 1, version: int = -1,  # noqa: N803
               return_nn: bool = False, return_sorted: bool = True) -> KNN:
    """pytorch3d's `knn_points`: the K nearest points of p2[n] for each point of p1[n].

    Parameters
    ----------
    p1, p2 : tensors of shape (N, P1, D) and (N, P2, D)
        N pairs of point clouds.
    lengths1, lengths2 : tensors of shape (N,), optional
        How many rows of each cloud are points; the others of p1 get index and distance 0, as do neighbours that do not
        exist.
    norm : int
        2: squared Euclidean distances; 1: sums of absolute differences.
    K : int
        Neighbours of each point.
    version, return_sorted
        Accepted; neighbours are always in order.
    return_nn : bool
        Also the neighbours' coordinates.

    Returns
    -------
    KNN
        Distances have gradients with respect to p1 and p2, at the indices found.
    """
    if p1.ndim != 3 or p2.ndim != 3 or p1.shape[0] != p2.shape[0] or p1.shape[2] != p2.shape[2]:
        raise ValueError(f"p1, p2: expected (N, P1, D) and (N, P2, D), got {tuple(p1.shape)} and {tuple(p2.shape)}")
    if norm not in (1, 2):
        raise ValueError(f"norm is {norm}: expected 1 or 2")
    clouds, rows, _ = p1.shape
    f64 = torch.float64 in (p1.dtype, p2.dtype)
    dists = torch.zeros((clouds, rows, K), dtype=torch.float64 if f64 else torch.float32, device=p1.device)
    idx = torch.full((clouds, rows, K), -1, dtype=torch.int64, device=p1.device)
    counts1 = _lengths(lengths1, clouds, rows, "lengths1")
    counts2 = _lengths(lengths2, clouds, p2.shape[1], "lengths2")
    metric = "sqeuclidean" if norm == 2 else "cityblock"
    for n, (count1, count2) in enumerate(zip(counts1, counts2)):
        if count1 > 0 and count2 > 0:
            found = _search(p2[n, :count2], p1[n, :count1], K, metric=metric, f64=f64)
            dists[n, :count1] = found.distances
            idx[n, :count1] = found.indices
    dists.masked_fill_(idx < 0, 0)
    differentiable = _Distances.apply(p1, p2, idx, dists.to(p1.dtype), norm)
    idx = idx.clamp(min=0)
    return KNN(differentiable, idx, knn_gather(p2, idx) if return_nn else None)


def _lengths(lengths: torch.Tensor | None, clouds: int, most: int, name: str) -> list[int]:
    if lengths is None:
        return [most] * clouds
    counts: list[int] = lengths.tolist()
    if len(counts) != clouds or not all(0 <= count <= most for count in counts):
        raise ValueError(f"{name}: expected {clouds} numbers from 0 to {most}, got {counts}")
    return counts


def knn_gather(x: torch.Tensor, idx: torch.Tensor) -> torch.Tensor:
    """pytorch3d's `knn_gather`: x (N, M, U) at idx (N, L, K), of shape (N, L, K, U)."""
    clouds, rows, k = idx.shape
    if x.shape[1] == 0:
        return x.new_zeros((clouds, rows, k, x.shape[2]))
    flat = idx.flatten(1)[..., None].expand(-1, -1, x.shape[2])
    return x.gather(1, flat).view(clouds, rows, k, x.shape[2])


def _ranges(batch: torch.Tensor | None, rows: int, batches: int) -> list[tuple[int, int]]:
    """First and last row of each batch; `batch` ascends."""
    if batch is None:
        return [(0, rows)]
    if batch.shape != (rows,):
        raise ValueError(f"batch: expected {rows} numbers, got shape {tuple(batch.shape)}")
    if rows and (bool((batch[1:] < batch[:-1]).any()) or int(batch[0]) < 0):
        raise ValueError("batch: expected ascending numbers from 0 on")
    ends = torch.bincount(batch, minlength=batches).cumsum(0).tolist()
    return list(zip([0, *ends[:-1]], ends))


def knn(x: torch.Tensor, y: torch.Tensor, k: int, batch_x: torch.Tensor | None = None,
        batch_y: torch.Tensor | None = None, cosine: bool = False, num_workers: int = 1,
        batch_size: int | None = None) -> torch.Tensor:
    """torch_cluster's `knn`: for each row of y its k nearest rows of x, of any k.

    Parameters
    ----------
    x, y : tensors of shape (N, F) and (M, F), or (N,) and (M,)
        Points and queries.
    k : int
        Neighbours; fewer where the batch has fewer points.
    batch_x, batch_y : tensors of shape (N,) and (M,), optional
        The example that each row belongs to, ascending: neighbours are looked for in the same one.
    cosine : bool
        The cosine distance in place of the Euclidean.
    num_workers, batch_size
        Accepted and not needed.

    Returns
    -------
    tensor of shape (2, E)
        Rows of y, and rows of x.
    """
    x, y = (part.view(-1, 1) if part.ndim == 1 else part for part in (x, y))
    if (batch_x is None) != (batch_y is None):
        batch_x = batch_x if batch_x is not None else x.new_zeros(len(x), dtype=torch.int64)
        batch_y = batch_y if batch_y is not None else y.new_zeros(len(y), dtype=torch.int64)
    batches = 1 + max([int(b.max()) for b in (batch_x, batch_y) if b is not None and b.numel()], default=0)
    pairs = []
    for (x0, x1), (y0, y1) in zip(_ranges(batch_x, len(x), batches), _ranges(batch_y, len(y), batches)):
        if x1 > x0 and y1 > y0:
            found = _search(x[x0:x1], y[y0:y1], min(k, x1 - x0), metric="cosine" if cosine else "sqeuclidean").indices
            rows = torch.arange(y0, y1, device=y.device)[:, None].expand_as(found)
            known = found >= 0
            pairs.append(torch.stack([rows[known], found[known] + x0]))
    return torch.cat(pairs, 1) if pairs else torch.empty((2, 0), dtype=torch.int64, device=y.device)


def knn_graph(x: torch.Tensor, k: int, batch: torch.Tensor | None = None, loop: bool = False,
              flow: str = "source_to_target", cosine: bool = False, num_workers: int = 1,
              batch_size: int | None = None) -> torch.Tensor:
    """torch_cluster's `knn_graph`: edges of the k-nearest-neighbour graph within each example.

    Parameters
    ----------
    x, k, batch, cosine
        As in `knn`.
    loop : bool
        Each point is its own neighbour, too.
    flow : str
        "source_to_target" or "target_to_source": which of the two rows holds the neighbours.

    Returns
    -------
    tensor of shape (2, E)
    """
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"flow is {flow!r}: expected 'source_to_target' or 'target_to_source'")
    rows, neighbors = knn(x, x, k if loop else k + 1, batch, batch, cosine)
    if not loop:
        # The point itself where it was found, else (more than k duplicates before it) the last of its neighbours.
        counts = torch.bincount(rows, minlength=len(x))
        own = rows == neighbors
        last = torch.zeros_like(own)
        last[counts.cumsum(0)[counts > 0] - 1] = True
        found = torch.zeros(len(x), dtype=torch.bool, device=x.device)
        found[rows[own]] = True
        dropped = own | (last & ~found[rows] & (counts[rows] > k))
        rows, neighbors = rows[~dropped], neighbors[~dropped]
    return torch.stack([neighbors, rows] if flow == "source_to_target" else [rows, neighbors])
