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

import numpy as np
import torch

from ._batches import search_batches as _search_batches
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

    All pairs of clouds are one call of `kith.search_batches`: on a GPU one launch for up to 32 dimensions, K up to 128 and
    32,768 points in a cloud, other than float64; beyond, a search of each. Lengths on a GPU are waited for.

    Returns
    -------
    KNN
        Distances have gradients with respect to p1 and p2, at the indices found.
    """
    if p1.ndim != 3 or p2.ndim != 3 or p1.shape[0] != p2.shape[0] or p1.shape[2] != p2.shape[2]:
        raise ValueError(f"p1, p2: expected (N, P1, D) and (N, P2, D), got {tuple(p1.shape)} and {tuple(p2.shape)}")
    if norm not in (1, 2):
        raise ValueError(f"norm is {norm}: expected 1 or 2")
    clouds, rows, dimensions = p1.shape
    most = p2.shape[1]
    counts1, counts2 = _lengths(lengths1, lengths2, clouds, rows, most)
    dtype = torch.float64 if torch.float64 in (p1.dtype, p2.dtype) else torch.float32
    if clouds * rows == 0 or most == 0:
        dists = torch.zeros((clouds, rows, K), dtype=dtype, device=p1.device)
        idx = torch.full((clouds, rows, K), -1, dtype=torch.int64, device=p1.device)
    else:
        first = np.arange(clouds)
        batches = np.stack([first * most, counts2, first * rows, counts1], 1)
        found = _search_batches(p2.reshape(-1, dimensions), p1.reshape(-1, dimensions), batches, K,
                                metric="sqeuclidean" if norm == 2 else "cityblock", f64=dtype == torch.float64)
        dists, idx = (part.view(clouds, rows, K) for part in (found.distances, found.indices))
    missing = idx < 0
    dists = dists.masked_fill_(missing, 0).to(p1.dtype)
    if torch.is_grad_enabled() and (p1.requires_grad or p2.requires_grad):
        dists = _Distances.apply(p1, p2, idx, dists, norm)
        idx = idx.masked_fill(missing, 0)
    else:
        idx.masked_fill_(missing, 0)
    return KNN(dists, idx, knn_gather(p2, idx) if return_nn else None)


def _lengths(lengths1: torch.Tensor | None, lengths2: torch.Tensor | None, clouds: int, most1: int,
             most2: int) -> list[Any]:
    """How many points clouds have; lengths that lie on a device are waited for once."""
    given = [(lengths1, most1, "lengths1"), (lengths2, most2, "lengths2")]
    for lengths, _, name in given:
        if lengths is not None and lengths.shape != (clouds,):
            raise ValueError(f"{name}: expected {clouds} numbers, got shape {tuple(lengths.shape)}")
    if lengths1 is not None and lengths2 is not None and lengths1.device == lengths2.device:
        lengths1, lengths2 = torch.stack([lengths1.long(), lengths2.long()]).cpu()
    counts: list[Any] = []
    for lengths, most, name in ((lengths1, most1, "lengths1"), (lengths2, most2, "lengths2")):
        if lengths is None:
            counts.append(np.full(clouds, most))
            continue
        values = lengths.cpu().numpy().astype(np.int64)
        if not ((values >= 0) & (values <= most)).all():
            raise ValueError(f"{name}: expected {clouds} numbers from 0 to {most}, got {values.tolist()}")
        counts.append(values)
    return counts


def knn_gather(x: torch.Tensor, idx: torch.Tensor) -> torch.Tensor:
    """pytorch3d's `knn_gather`: x (N, M, U) at idx (N, L, K), of shape (N, L, K, U)."""
    clouds, rows, k = idx.shape
    if x.shape[1] == 0:
        return x.new_zeros((clouds, rows, k, x.shape[2]))
    flat = idx.flatten(1)[..., None].expand(-1, -1, x.shape[2])
    return x.gather(1, flat).view(clouds, rows, k, x.shape[2])


def _offsets(batches: list[tuple[torch.Tensor | None, int]]) -> list[torch.Tensor]:
    """Of each (example of each row, rows) the first row of each example and the end of the last, on the device; the
    numbers of examples ascend. Waits for the device once."""
    for batch, rows in batches:
        if batch is not None and batch.shape != (rows,):
            raise ValueError(f"batch: expected {rows} numbers, got shape {tuple(batch.shape)}")
    batches = [(None if batch is None else batch.long(), rows) for batch, rows in batches]
    known = [(batch, rows) for batch, rows in batches if batch is not None and rows]
    facts = torch.stack([torch.stack([batch[0], batch[-1], (batch[1:] < batch[:-1]).any().to(batch.dtype)])
                         for batch, _ in known]).tolist() if known else []
    if any(first < 0 or falls for first, _, falls in facts):
        raise ValueError("batch: expected ascending numbers from 0 on")
    examples = 1 + max([last for _, last, _ in facts], default=0)
    offsets = []
    for batch, rows in batches:
        if batch is None:
            offsets.append(torch.tensor([0] + [rows] * examples))
        else:
            steps = torch.arange(examples + 1, device=batch.device, dtype=batch.dtype)
            offsets.append(torch.searchsorted(batch.contiguous(), steps))
    return offsets


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

    The examples are one call of `kith.search_batches`, as in `knn_points`, but for the cosine distance, which is a search
    of each on a GPU.

    Returns
    -------
    tensor of shape (2, E)
        Rows of y, and rows of x.
    """
    x, y = (part.view(-1, 1) if part.ndim == 1 else part for part in (x, y))
    if (batch_x is None) != (batch_y is None):
        batch_x = batch_x if batch_x is not None else x.new_zeros(len(x), dtype=torch.int64)
        batch_y = batch_y if batch_y is not None else y.new_zeros(len(y), dtype=torch.int64)
    of_x, of_y = _offsets([(batch_x, len(x)), (batch_y, len(y))])
    if not len(x) or not len(y):
        return torch.empty((2, 0), dtype=torch.int64, device=y.device)
    first_x, first_y = (offsets.cpu().numpy() for offsets in (of_x, of_y))
    counts = np.diff(first_x)
    batches = np.stack([first_x[:-1], counts, first_y[:-1], np.diff(first_y)], 1)
    found = _search_batches(x, y, batches, min(k, max(1, int(counts.max()))),
                            metric="cosine" if cosine else "sqeuclidean").indices
    rows, places = (found >= 0).nonzero(as_tuple=True)
    neighbors = found[rows, places]
    if batch_y is not None:
        neighbors = neighbors + of_x.to(y.device)[batch_y[rows].long()]
    return torch.stack([rows, neighbors])


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
