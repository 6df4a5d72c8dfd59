"""pytorch3d's neighbours of point clouds: knn_points, knn_gather, ball_query."""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import _core
from ._arguments import _integer, _number
from ._arrays import readable
from ._derivatives import clouds as _clouds_of
from ._gradients import tracked
from ._kinds import kind_of
from ._radius import radius as _radius
from ._torch_define import define, tensor


class KNN(NamedTuple):
    """The result of `knn_points`."""

    dists: torch.Tensor  #: (N, P1, K): squared distances (norm 1: sums of absolute differences)
    idx: torch.Tensor  #: (N, P1, K) int64
    knn: torch.Tensor | None  #: (N, P1, K, D) with return_nn: 0, without a gradient, where there is no neighbour


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

    All pairs of clouds are one call of `kith.search_batches`: on a GPU one launch for up to 128 dimensions, K up to 128 and
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
    _pair(p1, p2, K)
    if norm not in (1, 2):
        raise ValueError(f"norm is {norm}: expected 1 or 2. Support for 1 or 2 norm.")
    traced = torch.compiler.is_compiling() or tracked(p1, p2)
    run = torch.ops.kith.knn_points if torch.compiler.is_compiling() else _differentiable() if traced else _knn_points
    dists, found = run(p1, p2, lengths1, lengths2, norm, K)
    if not return_nn:
        return KNN(dists, found.clamp(min=0) if traced else found.clamp_(min=0), None)
    idx = found.clamp(min=0)
    # Rows after lengths1 name p2[n, 0], as pytorch3d's do; what they lack by lengths2 is 0, as theirs.
    missing = found < 0
    if lengths1 is not None:
        missing = missing & (torch.arange(p1.shape[1], device=p1.device)[None, :, None] < lengths1.to(p1.device)[:, None, None])
    return KNN(dists, idx, knn_gather(p2, idx, lengths2).masked_fill(missing[..., None], 0))


def _pair(p1: Any, p2: Any, k: int) -> None:
    """Clouds of the same number and dimensions, and K."""
    tensor(p1, "p1"), tensor(p2, "p2")
    if p1.ndim != 3 or p2.ndim != 3 or p1.shape[0] != p2.shape[0] or p1.shape[2] != p2.shape[2]:
        raise ValueError(f"p1, p2: expected (N, P1, D) and (N, P2, D), got {tuple(p1.shape)} and {tuple(p2.shape)}")
    if _integer(k, "K") < 1:
        raise ValueError(f"K is {k}: expected at least 1")


# The types that the core reads as they are.
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
        if lengths is not None and tensor(lengths, name, True).shape != (clouds,):
            raise ValueError(f"{name}: expected {clouds} numbers, got shape {tuple(lengths.shape)}")
    if lengths1 is not None and lengths2 is not None and lengths1.is_cuda and lengths1.device == lengths2.device:
        return torch.stack([lengths1.long(), lengths2.long()]).tolist()  # type: ignore[no-any-return,unused-ignore]
    return [None if lengths is None else lengths.tolist() for lengths in (lengths1, lengths2)]


def _expect(lengths: list[int] | None, clouds: int, most: int, name: str) -> None:
    if lengths is not None and not all(0 <= length <= most for length in lengths):
        raise ValueError(f"{name}: expected {clouds} numbers from 0 to {most}, got {lengths}")


def knn_gather(x: torch.Tensor, idx: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
    """pytorch3d's `knn_gather`: the features of neighbours.

    Parameters
    ----------
    x : tensor of shape (N, M, U)
        Features of the points.
    idx : tensor of shape (N, L, K)
        int64, as `knn_points` gives them.
    lengths : tensor of shape (N,), optional
        How many rows of each x are points: neighbour k of a cloud of at most k points is 0, and has no gradient.

    Returns
    -------
    tensor of shape (N, L, K, U)

    Raises
    ------
    ValueError, TypeError, RuntimeError
        RuntimeError is torch's, of indices out of range.

    Examples
    --------
    >>> import torch, kith.torch
    >>> kith.torch.knn_gather(torch.tensor([[[5.0], [7.0]]]), torch.tensor([[[1, 0]]]))
    tensor([[[[7.],
              [5.]]]])
    """
    clouds, rows, k = idx.shape
    if x.shape[0] != clouds:
        raise ValueError(f"x, idx: expected as many clouds, got {x.shape[0]} and {clouds}")
    if lengths is not None and tensor(lengths, "lengths", True).shape != (clouds,):
        raise ValueError(f"lengths: expected {clouds} numbers, got shape {tuple(lengths.shape)}")
    if x.shape[1] == 0:
        return x.new_zeros((clouds, rows, k, x.shape[2]))
    flat = idx.flatten(1)[..., None].expand(-1, -1, x.shape[2])
    found = x.gather(1, flat).view(clouds, rows, k, x.shape[2])
    if lengths is None:
        return found
    missing = lengths.to(x.device)[:, None] <= torch.arange(k, device=x.device)
    return found.masked_fill(missing[:, None, :, None], 0)


def ball_query(p1: torch.Tensor, p2: torch.Tensor, lengths1: torch.Tensor | None = None, lengths2: torch.Tensor | None = None,
               K: int = 500, radius: float = 0.2, return_nn: bool = True,  # noqa: N803
               skip_points_outside_cube: bool = False) -> KNN:
    """pytorch3d's `ball_query`: the first K points of p2[n], by index, that are nearer than a radius to each point of p1[n].

    Parameters
    ----------
    p1, p2, lengths1, lengths2
        As in `knn_points`.
    K : int
        The most of each point.
    radius : float
        Points at this distance and beyond are outside. The comparison is that of float64 distances.
    return_nn : bool
        Also the points' coordinates.
    skip_points_outside_cube : bool
        Accepted: it is about speed.

    Returns
    -------
    KNN
        Squared distances, 0 where fewer than K points are near, with gradients with respect to p1 and p2; indices, -1 there;
        coordinates, 0 there.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import torch, kith.torch
    >>> p = torch.tensor([[[3.0], [1.0], [0.0]]])
    >>> kith.torch.ball_query(p, p, K=2, radius=1.5).idx
    tensor([[[ 0, -1],
             [ 1,  2],
             [ 1,  2]]])
    """
    _pair(p1, p2, K)
    if not _number(radius, "radius") >= 0:
        raise ValueError(f"radius is {radius}: expected at least 0")
    dists, idx = torch.ops.kith.ball_query(p1, p2, lengths1, lengths2, K, float(radius))
    if not return_nn:
        return KNN(dists, idx, None)
    return KNN(dists, idx, knn_gather(p2, idx.clamp(min=0)).masked_fill((idx < 0)[..., None], 0))


def _ball_query(p1: Tensor, p2: Tensor, lengths1: Tensor | None, lengths2: Tensor | None, k: int,
                radius: float) -> tuple[Tensor, Tensor]:
    clouds, rows, _ = p1.shape
    dists = p1.new_zeros((clouds, rows, k), dtype=torch.float64)
    idx = p1.new_full((clouds, rows, k), -1, dtype=torch.int64)
    counts1, counts2 = _lengths(lengths1, lengths2, clouds)
    _expect(counts1, clouds, rows, "lengths1")
    _expect(counts2, clouds, p2.shape[1], "lengths2")
    for n in range(clouds):
        queries = p1[n, :rows if counts1 is None else counts1[n]]
        points = p2[n, :p2.shape[1] if counts2 is None else counts2[n]]
        if not len(queries) or not len(points):
            continue
        near = _radius(points, queries, radius * radius, metric="sqeuclidean", open=True, f64=True)
        of_query = torch.repeat_interleave(torch.arange(len(queries), device=p1.device), near.offsets.diff())
        order = (of_query * len(points) + near.indices).argsort()
        place = torch.arange(len(order), device=p1.device) - near.offsets[of_query]
        kept = place < k
        idx[n, of_query[kept], place[kept]] = near.indices[order][kept]
        dists[n, of_query[kept], place[kept]] = near.distances[order][kept]
    return dists.to(p1.dtype), idx


def _ball_query_fake(p1: Tensor, p2: Tensor, lengths1: Tensor | None, lengths2: Tensor | None, k: int,
                     radius: float) -> tuple[Tensor, Tensor]:
    return _knn_points_fake(p1, p2, lengths1, lengths2, 2, k)


def _ball_query_saves(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.norm = 2
    ctx.save_for_backward(inputs[0], inputs[1], output[1])


def _knn_points_fake(p1: Tensor, p2: Tensor, lengths1: Tensor | None, lengths2: Tensor | None, norm: int,
                     k: int) -> tuple[Tensor, Tensor]:
    shape = (p1.shape[0], p1.shape[1], k)
    return p1.new_empty(shape), p1.new_empty(shape, dtype=torch.int64)


def _knn_points_saves(ctx: Any, inputs: Any, output: Any) -> None:
    p1, p2, _, _, ctx.norm, _ = inputs
    ctx.save_for_backward(p1, p2, output[1])


def _knn_points_backward(ctx: Any, dists: Any, idx: Any) -> Any:
    """At fixed indices. Where there is no neighbour coordinates may be NaN, of padding or of a row that has none."""
    p1, p2, found = ctx.saved_tensors
    neighbors, there = found.clamp(min=0), (found >= 0)[..., None]
    difference = torch.where(there, p1[:, :, None, :] - knn_gather(p2, neighbors), 0)
    slope = 2 * difference if ctx.norm == 2 else difference.sign()
    parts = torch.where(there, slope * dists.to(p1.dtype)[..., None], 0)
    at = neighbors.flatten(1)[..., None].expand(-1, -1, p2.shape[2])
    to_p2 = torch.zeros_like(p2).scatter_add(1, at, -parts.flatten(1, 2).to(p2.dtype))
    return parts.sum(2), to_p2, None, None, None, None


@functools.cache
def _differentiable() -> Any:
    """`_knn_points` for autograd and torch.func."""
    return _clouds_of(_knn_points, _knn_points_saves, _knn_points_backward)


define("knn_points(Tensor p1, Tensor p2, Tensor? lengths1, Tensor? lengths2, int norm, int K) -> (Tensor dists, Tensor idx)",
       _knn_points, _knn_points_fake)
define("ball_query(Tensor p1, Tensor p2, Tensor? lengths1, Tensor? lengths2, int K, float radius) -> (Tensor dists, Tensor idx)",
       _ball_query, _ball_query_fake)
torch.library.register_autograd("kith::knn_points", _knn_points_backward, setup_context=_knn_points_saves)
torch.library.register_autograd("kith::ball_query", _knn_points_backward, setup_context=_ball_query_saves)
