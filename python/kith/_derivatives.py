"""Distances that torch can differentiate: the core finds them, and their slopes are those of the metric's formula at the
neighbours that were found, which stay the same in a small neighbourhood of almost every input."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
import torch
from torch import Tensor

from . import _core
from ._arrays import readable
from ._gradients import Form, refuse_parameters, transformed
from ._kinds import kind_of
from ._slopes import SLOPES, Slope

# Coordinates of pairs whose slopes are made at once: each takes some tens of bytes meanwhile.
_AT_ONCE = 1 << 22


def derived(kind: str, call: Callable[[Any, Any], Any], points: Any, queries: Any, form: Form, table: Any) -> Any:
    """As the functions of `_gradients` say."""
    # Without a gradient (vmap alone, tangents) it is a metric's right to have none until it is asked.
    if getattr(points, "requires_grad", False) or getattr(queries, "requires_grad", False):
        slope = slope_of(form)
    else:
        slope = lambda *of: slope_of(form)(*of)  # noqa: E731
    if not isinstance(queries, Tensor):
        raise TypeError("points: require a gradient, which results of queries that are no tensor cannot have; give both as "
                        "tensors, or points.detach()")
    if not isinstance(points, Tensor):
        points = torch.as_tensor(readable(points, "points"))
    starts = None
    if table is not None:
        starts = torch.from_numpy(np.repeat(table[:, 0], table[:, 3])).to(queries.device)
        rows = torch.from_numpy(_rows_of_batches(table)).to(queries.device)
        starts = torch.zeros(queries.shape[0], dtype=torch.int64, device=queries.device).index_put((rows,), starts)
    held: list[Any] = []

    def run(of: Tensor, asked: Tensor) -> tuple[Tensor, ...]:
        found = call(of, asked)
        held[:] = [found]
        if kind == "matrix":
            return (found,)
        if kind == "matches":
            return found.distances, found.pairs
        return (*found, starts) if starts is not None else tuple(found)

    parts = _Distances.apply(points, queries, run, kind, slope)  # type: ignore[no-untyped-call,unused-ignore]
    found = held[0]
    if kind == "matrix":
        return parts[0]
    if kind == "matches":
        return found._replace(pairs=parts[1], distances=parts[0])
    return found._replace(**dict(zip(found._fields, parts)))


def slope_of(form: Form) -> Slope:
    """The metric's slope with its parameters; a ValueError where it has none."""
    name = "formula" if form.formula is not None else _core.metric_name(form.metric)
    make = SLOPES.get(name)
    if make is None:
        raise ValueError(f"metric: {name!r} has no gradient; give points and queries that need none (.detach(), or "
                         "torch.no_grad() around the call)")
    refuse_parameters(inverse_covariance=form.inverse_covariance, variances=form.variances)
    return make(form)


def _rows_of_batches(table: Any) -> Any:
    """The queries of all batches, as they follow each other."""
    return np.concatenate([np.arange(first, first + count) for first, count in table[:, 2:]] or [np.empty(0, np.int64)])


class _Distances(torch.autograd.Function):
    """Distances, and what says of which pairs they are; points and queries of it have gradients."""

    @staticmethod
    def forward(points: Tensor, queries: Tensor, run: Any, kind: str, slope: Slope) -> Any:
        return run(points.detach(), queries.detach())

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        points, queries, _, ctx.kind, ctx.slope = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(points, queries, *output[1:])
        ctx.save_for_forward(points, queries, *output[1:])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        points, queries, *others = ctx.saved_tensors
        return (*pull_back(ctx.kind, ctx.slope, points, queries, others, grads[0], ctx.needs_input_grad), None, None, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        points, queries, *others = ctx.saved_tensors
        return (push_forward(ctx.kind, ctx.slope, points, queries, others, *tangents[:2]), *(None for _ in others))

    @staticmethod
    def vmap(info: Any, in_dims: Any, points: Tensor, queries: Tensor, run: Any, kind: str, slope: Slope) -> Any:
        if kind in ("radius", "matches"):
            raise ValueError("vmap: results of different lengths make no tensor; call it for each")
        parts = [_Distances.apply(_one(points, in_dims[0], i), _one(queries, in_dims[1], i), run, kind, slope)
                 for i in range(info.batch_size)]
        return tuple(torch.stack(part) for part in zip(*parts)), tuple(0 for _ in parts[0])


def _one(batched: Tensor, dim: int | None, i: int) -> Tensor:
    return batched if dim is None else batched.select(dim, i)


def _pairs(kind: str, others: list[Tensor], n: int, first: int, last: int, device: Any) -> tuple[Tensor, Tensor]:
    """Queries and points of the distances from `first` to `last`, counted along rows; -1: there is no such point."""
    places = torch.arange(first, last, device=device)
    if kind == "matrix":
        return places // n, places % n
    if kind == "matches":
        return others[0][first:last, 0], others[0][first:last, 1]
    points = others[0].reshape(-1)[first:last]
    if kind == "radius":
        return torch.searchsorted(others[1], places, right=True) - 1, points
    rows = places // others[0].shape[1]
    return rows, torch.where(points < 0, points, points + others[1][rows]) if kind == "batches" else points


def _gathered(kind: str, points: Tensor, queries: Tensor, others: list[Tensor], first: int,
              last: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Rows of queries and of points, which of them there are, and their coordinates: of pairs that there are not, zeros,
    whose slopes are finite."""
    rows, ids = _pairs(kind, others, points.shape[0], first, last, queries.device)
    there = (ids >= 0)[:, None]
    ids = ids.clamp(min=0).to(points.device)
    wide = torch.promote_types(torch.promote_types(queries.dtype, points.dtype), torch.float32)
    q, x = queries[rows].to(wide), points[ids].to(queries.device).to(wide)
    return rows, ids, there, torch.where(there, q, 0), torch.where(there, x, 0)


def _chunks(count: int, d: int) -> list[tuple[int, int]]:
    at_once = max(1, _AT_ONCE // max(d, 1))
    if count <= at_once:
        return [(0, count)]
    return [(first, min(first + at_once, count)) for first in range(0, count, at_once)]


def pull_back(kind: str, slope: Slope, points: Tensor, queries: Tensor, others: list[Tensor], grad: Tensor,
              needed: Any = (True, True)) -> tuple[Any, Any]:
    """The gradients of points and of queries from that of the distances; None of what is not needed."""
    wide = torch.promote_types(torch.promote_types(queries.dtype, points.dtype), torch.float32)
    to_points = torch.zeros_like(points, dtype=wide) if needed[0] else None
    to_queries = torch.zeros_like(queries, dtype=wide) if needed[1] else None
    grad = grad.reshape(-1)
    if grad.shape[0] and points.shape[0]:
        of_pairs = slope(points, queries)
        # A graph to be differentiated again, or transformed, is kept anyway: at once, and nothing is changed in place.
        plain = not torch.is_grad_enabled() and not any(map(transformed, (points, queries, grad)))
        for first, last in _chunks(grad.shape[0], points.shape[1]) if plain else [(0, grad.shape[0])]:
            rows, ids, there, q, x = _gathered(kind, points, queries, others, first, last)
            of_q, of_x = of_pairs(q, x)
            share = torch.where(there, grad[first:last, None].to(wide), 0)
            add = Tensor.index_add_ if plain else Tensor.index_add
            part = share * of_q
            if to_queries is not None:
                to_queries = add(to_queries, 0, rows, part)
            if to_points is not None:
                part, sign = (part, -1) if of_x is None else (share * of_x, 1)
                to_points = add(to_points, 0, ids, part.to(points.device), alpha=sign)
    return _as(points, to_points), _as(queries, to_queries)


def _as(tensor: Tensor, gradient: Tensor | None) -> Any:
    return None if gradient is None or not tensor.is_floating_point() else gradient.to(tensor.dtype)


def push_forward(kind: str, slope: Slope, points: Tensor, queries: Tensor, others: list[Tensor], of_points: Tensor | None,
                 of_queries: Tensor | None) -> Tensor:
    """The tangents of the distances from those of points and of queries."""
    if kind == "matrix":
        shape = torch.Size((queries.shape[0], points.shape[0]))
    else:
        shape = others[0].shape[:1] if kind in ("matches", "radius") else others[0].shape
    if not points.shape[0]:
        return torch.zeros(shape, dtype=torch.float32, device=queries.device)
    parts = []
    of_pairs = slope(points, queries)
    for first, last in _chunks(shape.numel(), points.shape[1]):
        rows, ids, there, q, x = _gathered(kind, points, queries, others, first, last)
        of_q, of_x = of_pairs(q, x)
        part = torch.zeros_like(q[:, 0])
        if of_queries is not None:
            part = part + (of_q * torch.where(there, of_queries[rows].to(q.dtype), 0)).sum(1)
        if of_points is not None:
            tangents = torch.where(there, of_points[ids].to(q.dtype).to(q.device), 0)
            part = part + ((-of_q if of_x is None else of_x) * tangents).sum(1)
        parts.append(part)
    return torch.cat(parts).reshape(shape)


# ---------------------------------------------------------------- of the operators kith::search and kith::graph

def search_saves(ctx: Any, inputs: Any, output: Any) -> None:
    points, queries, _, metric, p, *_ = inputs
    ctx.slope = slope_of(Form(metric, p))
    ctx.save_for_backward(points, queries, output[1])


def search_backward(ctx: Any, distances: Any, indices: Any) -> Any:
    points, queries, found = ctx.saved_tensors
    return (*pull_back("neighbors", ctx.slope, points, queries, [found], distances, ctx.needs_input_grad), None, None,
            None, None, None)


def graph_saves(ctx: Any, inputs: Any, output: Any) -> None:
    points, _, _, metric, p, *_ = inputs
    ctx.slope = slope_of(Form(metric, p))
    ctx.save_for_backward(points, output[1])


def graph_backward(ctx: Any, distances: Any, indices: Any) -> Any:
    points, found = ctx.saved_tensors
    to_points, to_queries = pull_back("neighbors", ctx.slope, points, points, [found], distances)
    return to_points + to_queries, None, None, None, None, None, None


# ---------------------------------------------------------------- of pairs of clouds

def clouds(run: Callable[..., Any], saves: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """`run(p1, p2, lengths1, lengths2, norm, k)`, which gives distances and indices of pairs of clouds, for autograd and for
    torch.func; `saves` and `backward` are those of its operator."""

    class Clouds(torch.autograd.Function):
        @staticmethod
        def forward(p1: Tensor, p2: Tensor, *how: Any) -> Any:
            return run(p1.detach(), p2.detach(), *how)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])
            saves(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(ctx, *grads)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *given: Any) -> Any:
            """Clouds of all elements of the batch are clouds next to each other."""
            tensors, how = given[:4], given[4:]

            def beside(tensor: Tensor | None, dim: int | None) -> Tensor | None:
                if tensor is None:
                    return None
                whole = tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
                return whole.reshape(info.batch_size * whole.shape[1], *whole.shape[2:])

            found = Clouds.apply(*map(beside, tensors, in_dims), *how)  # type: ignore[no-untyped-call,unused-ignore]
            return tuple(part.reshape(info.batch_size, -1, *part.shape[1:]) for part in found), (0, 0)

    return Clouds.apply  # type: ignore[no-any-return,unused-ignore]
