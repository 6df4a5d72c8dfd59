"""torch: operators for `torch.compile`, and the neighbour functions of pytorch3d and torch_cluster with exact answers.

>>> import torch, kith.torch
>>> x = torch.eye(3)
>>> kith.torch.knn(x, x[:1], 1)
tensor([[0],
        [0]])

`torch.ops.kith.search`, `graph`, `topk`, `knn_points` and `knn` are registered with torch by importing this module, with what
`torch.compile` needs to know of them; `knn_points` and `knn` here may be called in compiled functions as well.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from . import _core
from ._arguments import _integer, _wrong
from ._arrays import readable
from ._batches import search_batches as _search_batches
from ._derivatives import clouds as _clouds_of
from ._derivatives import graph_backward, graph_saves, search_backward, search_saves
from ._gradients import tracked
from ._kinds import kind_of
from ._search import graph as _graph
from ._search import search as _search
from ._topk import topk as _topk

__all__ = ["KNN", "knn", "knn_gather", "knn_graph", "knn_points"]


class KNN(NamedTuple):
    """What `knn_points` returns."""

    dists: torch.Tensor  #: (N, P1, K): squared distances (norm 1: sums of absolute differences)
    idx: torch.Tensor  #: (N, P1, K) int64
    knn: torch.Tensor | None  #: (N, P1, K, D) with return_nn


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
        Distances have gradients with respect to p1 and p2, at the indices found; torch.func's transforms take it, ``vmap``
        as one call.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import torch, kith.torch
    >>> p = torch.tensor([[[0.0], [1.0], [3.0]]])
    >>> kith.torch.knn_points(p, p, K=2).dists
    tensor([[[0., 1.],
             [0., 1.],
             [0., 4.]]])
    """
    _tensor(p1, "p1"), _tensor(p2, "p2")
    if p1.ndim != 3 or p2.ndim != 3 or p1.shape[0] != p2.shape[0] or p1.shape[2] != p2.shape[2]:
        raise ValueError(f"p1, p2: expected (N, P1, D) and (N, P2, D), got {tuple(p1.shape)} and {tuple(p2.shape)}")
    if norm not in (1, 2):
        raise ValueError(f"norm is {norm}: expected 1 or 2")
    if _integer(K, "K") < 1:
        raise ValueError(f"K is {K}: expected at least 1")
    if torch.compiler.is_compiling():
        dists, idx = torch.ops.kith.knn_points(p1, p2, lengths1, lengths2, norm, K)
        idx = idx.clamp(min=0)
    elif tracked(p1, p2):
        dists, idx = _differentiable_clouds(p1, p2, lengths1, lengths2, norm, K)
        idx = idx.clamp(min=0)
    else:
        dists, idx = _knn_points(p1, p2, lengths1, lengths2, norm, K)
        idx.clamp_(min=0)
    return KNN(dists, idx, knn_gather(p2, idx) if return_nn else None)


# What the core reads as it is.
_TYPES = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64",
          torch.int8: "int8", torch.uint8: "uint8"}


def _knn_points(p1: Tensor, p2: Tensor, lengths1: Tensor | None, lengths2: Tensor | None, norm: int,
                k: int) -> tuple[Tensor, Tensor]:
    """Distances, 0 where there is no neighbour, and indices, -1 there. One call of the core, of few steps of Python:
    this is what a small problem costs."""
    clouds, rows, dimensions = p1.shape
    most = p2.shape[1]
    f64 = torch.float64 in (p1.dtype, p2.dtype)
    dists = p1.new_empty((clouds, rows, k), dtype=torch.float64 if f64 else torch.float32)
    idx = p1.new_empty((clouds, rows, k), dtype=torch.int64)
    counts1, counts2 = _lengths(lengths1, lengths2, clouds)
    if clouds * rows == 0 or most == 0:  # which the core does not take
        _expect(counts1, clouds, rows, "lengths1")
        _expect(counts2, clouds, most, "lengths2")
        return dists.zero_().to(p1.dtype), idx.fill_(-1)
    stream = kind_of(p1).stream(p1)
    _core.search_clouds(_clouds(p2, "p2", stream, counts2), _clouds(p1, "p1", stream, counts1), clouds, dimensions, k,
                        "sqeuclidean" if norm == 2 else "cityblock", f64, stream, idx.data_ptr(), dists.data_ptr())
    dists.masked_fill_(idx < 0, 0)
    return dists if dists.dtype is p1.dtype else dists.to(p1.dtype), idx


def _tensor(value: Any, name: str, whole: bool = False) -> Tensor:
    """Itself; `whole`: of integers."""
    if not isinstance(value, Tensor):
        raise _wrong(value, name, "a tensor")
    if whole and (value.is_floating_point() or value.is_complex()):
        raise TypeError(f"{name}: expected integers, got {value.dtype}")
    return value


def _clouds(points: Tensor, name: str, stream: int, lengths: list[int] | None) -> _core.Clouds:
    dtype = _TYPES.get(points.dtype)
    if dtype is None or points.requires_grad or points.layout is not torch.strided:
        points = readable(points, name)
        dtype = _TYPES[points.dtype]
    points = points.contiguous()
    if points.is_cuda and kind_of(points).stream(points) != stream:
        kind_of(points).wait(points)
    return _core.Clouds(points, points.data_ptr(), dtype, points.shape[1], points.get_device(), lengths)


def _lengths(lengths1: Tensor | None, lengths2: Tensor | None, clouds: int) -> list[list[int] | None]:
    """How many points clouds have; lengths that lie on a device are waited for once."""
    for lengths, name in ((lengths1, "lengths1"), (lengths2, "lengths2")):
        if lengths is not None and _tensor(lengths, name, True).shape != (clouds,):
            raise ValueError(f"{name}: expected {clouds} numbers, got shape {tuple(lengths.shape)}")
    if lengths1 is not None and lengths2 is not None and lengths1.is_cuda and lengths1.device == lengths2.device:
        return torch.stack([lengths1.long(), lengths2.long()]).tolist()  # type: ignore[no-any-return,unused-ignore]
    return [None if lengths is None else lengths.tolist() for lengths in (lengths1, lengths2)]


def _expect(lengths: list[int] | None, clouds: int, most: int, name: str) -> None:
    if lengths is not None and not all(0 <= length <= most for length in lengths):
        raise ValueError(f"{name}: expected {clouds} numbers from 0 to {most}, got {lengths}")


def knn_gather(x: torch.Tensor, idx: torch.Tensor) -> torch.Tensor:
    """pytorch3d's `knn_gather`: the features of neighbours.

    Parameters
    ----------
    x : tensor of shape (N, M, U)
        Features of the points.
    idx : tensor of shape (N, L, K)
        int64, as `knn_points` gives them.

    Returns
    -------
    tensor of shape (N, L, K, U)

    Raises
    ------
    RuntimeError
        torch's, of indices out of range.

    Examples
    --------
    >>> import torch, kith.torch
    >>> kith.torch.knn_gather(torch.tensor([[[5.0], [7.0]]]), torch.tensor([[[1, 0]]]))
    tensor([[[[7.],
              [5.]]]])
    """
    clouds, rows, k = idx.shape
    if x.shape[1] == 0:
        return x.new_zeros((clouds, rows, k, x.shape[2]))
    flat = idx.flatten(1)[..., None].expand(-1, -1, x.shape[2])
    return x.gather(1, flat).view(clouds, rows, k, x.shape[2])


def _offsets(batches: list[tuple[torch.Tensor | None, int]]) -> list[torch.Tensor]:
    """Of each (example of each row, rows) the first row of each example and the end of the last, on the device; the
    numbers of examples ascend. Waits for the device once."""
    for batch, rows in batches:
        if batch is not None and _tensor(batch, "batch", True).shape != (rows,):
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

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import torch, kith.torch
    >>> kith.torch.knn(torch.tensor([0.0, 1.0, 5.0]), torch.tensor([0.9]), 2)
    tensor([[0, 0],
            [1, 0]])
    """
    x, y = (part.view(-1, 1) if _tensor(part, name).ndim == 1 else part for part, name in ((x, "x"), (y, "y")))
    if torch.compiler.is_compiling():
        return torch.ops.kith.knn(x, y, k, batch_x, batch_y, cosine)  # type: ignore[no-any-return,unused-ignore]
    return _knn(x, y, k, batch_x, batch_y, cosine)


def _knn(x: Tensor, y: Tensor, k: int, batch_x: Tensor | None = None, batch_y: Tensor | None = None,
         cosine: bool = False) -> Tensor:
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

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import torch, kith.torch
    >>> kith.torch.knn_graph(torch.tensor([0.0, 1.0, 5.0]).view(-1, 1), 1)
    tensor([[1, 0, 1],
            [0, 1, 2]])
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


# ---------------------------------------------------------------- operators

def _define(schema: str, implementation: Any, fake: Any) -> None:
    """For tensors of any device: what it does, and what torch.compile is to know of its results."""
    name = "kith::" + schema.partition("(")[0]
    torch.library.define(name, schema[schema.index("("):], tags=torch.Tag.pt2_compliant_tag)
    torch.library.impl(name, "default", implementation)
    torch.library.register_fake(name, fake)


def _search_op(points: Tensor, queries: Tensor, k: int, metric: str = "sqeuclidean", p: float = 2.0, f64: bool = False,
               packed_bits: bool = False) -> tuple[Tensor, Tensor]:
    found = _search(points, queries, k, metric=metric, p=p, f64=f64, packed_bits=packed_bits)
    return found.distances, found.indices


def _search_fake(points: Tensor, queries: Tensor, k: int, metric: str = "sqeuclidean", p: float = 2.0, f64: bool = False,
                 packed_bits: bool = False) -> tuple[Tensor, Tensor]:
    shape = (queries.shape[0], k)
    return (queries.new_empty(shape, dtype=torch.float64 if f64 else torch.float32),
            queries.new_empty(shape, dtype=torch.int64))


def _graph_op(points: Tensor, k: int, include_self: bool = False, metric: str = "sqeuclidean", p: float = 2.0,
              f64: bool = False, packed_bits: bool = False) -> tuple[Tensor, Tensor]:
    found = _graph(points, k, include_self=include_self, metric=metric, p=p, f64=f64, packed_bits=packed_bits)
    return found.distances, found.indices


def _graph_fake(points: Tensor, k: int, include_self: bool = False, metric: str = "sqeuclidean", p: float = 2.0,
                f64: bool = False, packed_bits: bool = False) -> tuple[Tensor, Tensor]:
    return _search_fake(points, points, k, metric, p, f64, packed_bits)


def _topk_op(values: Tensor, k: int, dim: int = -1, largest: bool = True,
             sorted: bool = True) -> tuple[Tensor, Tensor]:  # noqa: A002
    found = _topk(values, k, dim, largest, sorted)
    return found.values.contiguous(), found.indices.contiguous()


def _topk_fake(values: Tensor, k: int, dim: int = -1, largest: bool = True,
               sorted: bool = True) -> tuple[Tensor, Tensor]:  # noqa: A002
    shape = list(values.shape)
    shape[dim] = k
    return values.new_empty(shape), values.new_empty(shape, dtype=torch.int64)


def _topk_saves(ctx: Any, inputs: Any, output: Any) -> None:
    values, _, ctx.dim = inputs[:3]
    ctx.shape = values.shape
    ctx.save_for_backward(output[1])


def _topk_backward(ctx: Any, values: Any, indices: Any) -> Any:
    where, = ctx.saved_tensors
    return values.new_zeros(ctx.shape).scatter(ctx.dim, where, values), None, None, None, None


def _knn_points_fake(p1: Tensor, p2: Tensor, lengths1: Tensor | None, lengths2: Tensor | None, norm: int,
                     k: int) -> tuple[Tensor, Tensor]:
    shape = (p1.shape[0], p1.shape[1], k)
    return p1.new_empty(shape), p1.new_empty(shape, dtype=torch.int64)


def _knn_points_saves(ctx: Any, inputs: Any, output: Any) -> None:
    p1, p2, _, _, ctx.norm, _ = inputs
    ctx.save_for_backward(p1, p2, output[1])


def _knn_points_backward(ctx: Any, dists: Any, idx: Any) -> Any:
    """At fixed indices."""
    p1, p2, found = ctx.saved_tensors
    neighbors = found.clamp(min=0)
    difference = p1[:, :, None, :] - knn_gather(p2, neighbors)
    slope = 2 * difference if ctx.norm == 2 else difference.sign()
    parts = slope * (dists * (found >= 0)).to(p1.dtype)[..., None]
    at = neighbors.flatten(1)[..., None].expand(-1, -1, p2.shape[2])
    to_p2 = torch.zeros_like(p2).scatter_add(1, at, -parts.flatten(1, 2).to(p2.dtype))
    return parts.sum(2), to_p2, None, None, None, None


def _knn_fake(x: Tensor, y: Tensor, k: int, batch_x: Tensor | None = None, batch_y: Tensor | None = None,
              cosine: bool = False) -> Tensor:
    return y.new_empty((2, torch.library.get_ctx().new_dynamic_size()), dtype=torch.int64)


_define("search(Tensor points, Tensor queries, int k, str metric='sqeuclidean', float p=2.0, bool f64=False, "
        "bool packed_bits=False) -> (Tensor distances, Tensor indices)", _search_op, _search_fake)
_define("graph(Tensor points, int k, bool include_self=False, str metric='sqeuclidean', float p=2.0, bool f64=False, "
        "bool packed_bits=False) -> (Tensor distances, Tensor indices)", _graph_op, _graph_fake)
_define("topk(Tensor values, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
        _topk_op, _topk_fake)
_define("knn_points(Tensor p1, Tensor p2, Tensor? lengths1, Tensor? lengths2, int norm, int K) -> (Tensor dists, Tensor idx)",
        _knn_points, _knn_points_fake)
_define("knn(Tensor x, Tensor y, int k, Tensor? batch_x=None, Tensor? batch_y=None, bool cosine=False) -> Tensor", _knn,
        _knn_fake)
torch.library.register_autograd("kith::search", search_backward, setup_context=search_saves)
torch.library.register_autograd("kith::graph", graph_backward, setup_context=graph_saves)
torch.library.register_autograd("kith::topk", _topk_backward, setup_context=_topk_saves)
torch.library.register_autograd("kith::knn_points", _knn_points_backward, setup_context=_knn_points_saves)
_differentiable_clouds = _clouds_of(_knn_points, _knn_points_saves, _knn_points_backward)
