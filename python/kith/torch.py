"""torch: operators for `torch.compile`, and the neighbour functions of pytorch3d and torch_cluster with exact answers.

>>> import torch, kith.torch
>>> x = torch.eye(3)
>>> kith.torch.knn(x, x[:1], 1)
tensor([[0],
        [0]])

`torch.ops.kith.search`, `graph`, `topk` and one operator for each of these functions are registered with torch by importing this
module, with what `torch.compile` needs to know of them. The functions may be called in compiled functions as well, and
torch_cluster's in those that ``torch.jit.script`` takes.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._derivatives import graph_backward, graph_saves, search_backward, search_saves
from ._search import graph as _graph
from ._search import search as _search
from ._topk import topk as _topk
from ._torch_clouds import KNN, ball_query, knn_gather, knn_points
from ._torch_cluster import knn, knn_graph, nearest, radius, radius_graph
from ._torch_define import define as _define

__all__ = ["KNN", "ball_query", "knn", "knn_gather", "knn_graph", "knn_points", "nearest", "radius", "radius_graph"]


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


_define("search(Tensor points, Tensor queries, int k, str metric='sqeuclidean', float p=2.0, bool f64=False, "
        "bool packed_bits=False) -> (Tensor distances, Tensor indices)", _search_op, _search_fake)
_define("graph(Tensor points, int k, bool include_self=False, str metric='sqeuclidean', float p=2.0, bool f64=False, "
        "bool packed_bits=False) -> (Tensor distances, Tensor indices)", _graph_op, _graph_fake)
_define("topk(Tensor values, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
        _topk_op, _topk_fake)
torch.library.register_autograd("kith::search", search_backward, setup_context=search_saves)
torch.library.register_autograd("kith::graph", graph_backward, setup_context=graph_saves)
torch.library.register_autograd("kith::topk", _topk_backward, setup_context=_topk_saves)
