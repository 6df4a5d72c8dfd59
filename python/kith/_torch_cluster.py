"""torch_cluster's neighbours of examples that lie one after the other: knn, knn_graph, radius, radius_graph, nearest.

The functions that return edges are what ``torch.jit.script`` takes: they call operators, whose schemas say the same.
"""
from typing import Any, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

from ._arguments import _integer, _number
from ._batches import search_batches as _search_batches
from ._radius import radius as _kith_radius
from ._torch_define import define, tensor

# Candidates of one search, a distance and an index each; where a radius asks for more, each example is a search.
_MOST = 1 << 25


def knn(x: Tensor, y: Tensor, k: int, batch_x: Optional[Tensor] = None, batch_y: Optional[Tensor] = None,
        cosine: bool = False, num_workers: int = 1, batch_size: Optional[int] = None) -> Tensor:
    """torch_cluster's `knn`: for each row of y its k nearest rows of x, of any k.

    Parameters
    ----------
    x, y : tensors of shape (N, F) and (M, F), or (N,) and (M,)
        Points and queries.
    k : int
        Neighbours; fewer where the batch has fewer points.
    batch_x, batch_y : tensors of shape (N,) and (M,), optional
        The example that each row belongs to, ascending: neighbours are looked for in the same one. Where there are several
        examples, both.
    cosine : bool
        The cosine distance in place of the Euclidean.
    num_workers : int
        Accepted and not needed.
    batch_size : int, optional
        How many examples there are: with 1 all rows are of one, and rows of later ones are left out. By default those of the
        batches.

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
    if torch.jit.is_scripting():
        return torch.ops.kith.knn(x, y, k, batch_x, batch_y, cosine, batch_size)
    else:
        return _call(torch.ops.kith.knn, _knn, x, y, k, batch_x, batch_y, cosine, batch_size)


def knn_graph(x: Tensor, k: int, batch: Optional[Tensor] = None, loop: bool = False, flow: str = "source_to_target",
              cosine: bool = False, num_workers: int = 1, batch_size: Optional[int] = None) -> Tensor:
    """torch_cluster's `knn_graph`: edges of the k-nearest-neighbour graph within each example.

    Parameters
    ----------
    x, k, batch, cosine, num_workers, batch_size
        As in `knn`.
    loop : bool
        Each point is its own neighbour, too.
    flow : str
        "source_to_target" or "target_to_source": which of the two rows holds the neighbours.

    Returns
    -------
    tensor of shape (2, E)
        Without loops never more than k edges of a point; torch_cluster gives k + 1 of one with more than k duplicates.

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
    if torch.jit.is_scripting():
        edges = torch.ops.kith.knn_graph(x, k, batch, loop, cosine, batch_size)
    else:
        edges = _call(torch.ops.kith.knn_graph, _knn_graph, x, k, batch, loop, cosine, batch_size)
    return _directed(edges, flow)


def radius(x: Tensor, y: Tensor, r: float, batch_x: Optional[Tensor] = None, batch_y: Optional[Tensor] = None,
           max_num_neighbors: int = 32, num_workers: int = 1, batch_size: Optional[int] = None,
           ignore_same_index: bool = False) -> Tensor:
    """torch_cluster's `radius`: for each row of y the rows of x that are nearer than r.

    Parameters
    ----------
    x, y, batch_x, batch_y, num_workers, batch_size
        As in `knn`.
    r : float
        Rows at this distance and beyond are outside. The comparison is that of float64 distances.
    max_num_neighbors : int
        The most of each row: the nearest of them, where torch_cluster takes any.
    ignore_same_index : bool
        Row i of y and row i of x are no pair.

    Returns
    -------
    tensor of shape (2, E)
        Rows of y, and rows of x, those of each row of y by (distance, index).

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import torch, kith.torch
    >>> kith.torch.radius(torch.tensor([0.0, 1.0, 5.0]), torch.tensor([0.9, 9.0]), 1.0)
    tensor([[0, 0],
            [1, 0]])
    """
    if torch.jit.is_scripting():
        return torch.ops.kith.radius(x, y, r, batch_x, batch_y, max_num_neighbors, batch_size, ignore_same_index)
    else:
        return _call(torch.ops.kith.radius, _radius, x, y, r, batch_x, batch_y, max_num_neighbors, batch_size,
                     ignore_same_index)


def radius_graph(x: Tensor, r: float, batch: Optional[Tensor] = None, loop: bool = False, max_num_neighbors: int = 32,
                 flow: str = "source_to_target", num_workers: int = 1, batch_size: Optional[int] = None) -> Tensor:
    """torch_cluster's `radius_graph`: edges between the points of each example that are nearer than r.

    Parameters
    ----------
    x, r, batch, max_num_neighbors, num_workers, batch_size
        As in `radius`.
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
    >>> kith.torch.radius_graph(torch.tensor([0.0, 1.0, 5.0]), 1.5)
    tensor([[1, 0],
            [0, 1]])
    """
    edges = radius(x, x, r, batch, batch, max_num_neighbors, num_workers, batch_size, not loop)
    return _directed(edges, flow)


def _directed(edges: Tensor, flow: str) -> Tensor:
    if flow != "source_to_target" and flow != "target_to_source":
        raise ValueError(f"flow is {flow}: expected source_to_target or target_to_source")
    return edges.flip(0) if flow == "source_to_target" else edges


def nearest(x: Tensor, y: Tensor, batch_x: Optional[Tensor] = None, batch_y: Optional[Tensor] = None) -> Tensor:
    """torch_cluster's `nearest`: for each row of x its nearest row of y.

    Parameters
    ----------
    x, y : tensors of shape (N, F) and (M, F), or (N,) and (M,)
        Queries and points: the other way round than in `knn`.
    batch_x, batch_y : tensors of shape (N,) and (M,), optional
        The example that each row belongs to, ascending; each of x must be one of y. One that is not given is 0.

    Returns
    -------
    tensor of shape (N,)
        int64; of equally near rows the first.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError
        ValueError of a row that has none, as it holds NaN.

    Examples
    --------
    >>> import torch, kith.torch
    >>> kith.torch.nearest(torch.tensor([0.0, 1.0, 5.0]), torch.tensor([0.9, 9.0]))
    tensor([0, 0, 1])
    """
    x, y = _columns(x, "x"), _columns(y, "y")
    for batch, name in ((batch_x, "batch_x"), (batch_y, "batch_y")):
        if batch is not None and bool((batch[1:] < batch[:-1]).any()):
            raise ValueError(f"'{name}' is not sorted")
    if batch_x is not None or batch_y is not None:
        batch_x = batch_x if batch_x is not None else x.new_zeros(len(x), dtype=torch.int64)
        batch_y = batch_y if batch_y is not None else y.new_zeros(len(y), dtype=torch.int64)
        if not torch.equal(batch_x.unique_consecutive().long(), batch_y.unique_consecutive().long()):
            raise ValueError("Some batch indices occur in 'batch_x' that do not occur in 'batch_y'")
    edges = _knn(y, x, 1, batch_y, batch_x)
    if edges.shape[1] != len(x):
        alone = torch.ones(len(x), dtype=torch.bool, device=x.device).index_fill(0, edges[0], False)
        raise ValueError(f"x: row {int(alone.nonzero()[0])} has no nearest row of y: one of them is empty, or holds NaN")
    return edges[1]


# ---------------------------------------------------------------- what the operators do

def _call(operator: Any, function: Any, *arguments: Any) -> Any:
    """The operator where torch compiles, else the function itself."""
    return (operator if torch.compiler.is_compiling() else function)(*arguments)


def _columns(values: Any, name: str) -> Tensor:
    """As a matrix, without a gradient: edges have none."""
    rows = tensor(values, name).detach()
    return rows.view(-1, 1) if rows.ndim == 1 else rows


def _offsets(batches: List[Tuple[Optional[Tensor], int]], batch_size: Optional[int]) -> List[Tensor]:
    """For each (example of each row, rows) the first row of each example and the end of the last, on the device; the
    numbers of examples ascend. Waits for the device once."""
    for batch, rows in batches:
        if batch is not None and tensor(batch, "batch", True).shape != (rows,):
            raise ValueError(f"batch: expected {rows} numbers, got shape {tuple(batch.shape)}")
    if batch_size is not None and _integer(batch_size, "batch_size") < 1:
        raise ValueError(f"batch_size is {batch_size}: expected at least 1")
    if batch_size == 1:
        batches = [(None, rows) for _, rows in batches]
    of_rows = [(None if batch is None else batch.long(), rows) for batch, rows in batches]
    known = [batch for batch, rows in of_rows if batch is not None and rows]
    facts = torch.stack([torch.stack([batch[0], batch[-1], (batch[1:] < batch[:-1]).any().to(batch.dtype)])
                         for batch in known]).tolist() if known else []
    if any(first < 0 or falls for first, _, falls in facts):
        raise ValueError("batch: expected ascending numbers from 0 on")
    examples = 1 + max([last for _, last, _ in facts], default=0) if batch_size is None else batch_size
    if examples > 1 and any(batch is None and rows for batch, rows in of_rows):
        raise ValueError(f"batch_x, batch_y: one of them alone, with {examples} examples; expected both")
    offsets = []
    for batch, rows in of_rows:
        if batch is None:
            offsets.append(torch.tensor([0] + [rows] * examples))
        else:
            steps = torch.arange(examples + 1, device=batch.device, dtype=batch.dtype)
            offsets.append(torch.searchsorted(batch.contiguous(), steps))
    return offsets


def _examples(x: Tensor, y: Tensor, batch_x: Optional[Tensor], batch_y: Optional[Tensor],
              batch_size: Optional[int]) -> Tuple[Tensor, "np.ndarray[Any, Any]"]:
    """The first row of x of each row of y's example, and the table of `search_batches`."""
    of_x, of_y = _offsets([(batch_x, len(x)), (batch_y, len(y))], batch_size)
    first_x, first_y = (offsets.cpu().numpy() for offsets in (of_x, of_y))
    table = np.stack([first_x[:-1], np.diff(first_x), first_y[:-1], np.diff(first_y)], 1)
    example = torch.bucketize(torch.arange(len(y), device=y.device), of_y.to(y.device), right=True) - 1
    return of_x.to(y.device)[example], table


def _edges(found: Tensor, first: Tensor) -> Tensor:
    """(rows of y, rows of x) of neighbours within examples; -1: none."""
    rows, places = (found >= 0).nonzero(as_tuple=True)
    return torch.stack([rows, found[rows, places] + first[rows]])


def _none(y: Tensor) -> Tensor:
    return torch.empty((2, 0), dtype=torch.int64, device=y.device)


def _knn(x: Tensor, y: Tensor, k: int, batch_x: Optional[Tensor] = None, batch_y: Optional[Tensor] = None,
         cosine: bool = False, batch_size: Optional[int] = None) -> Tensor:
    x, y = _columns(x, "x"), _columns(y, "y")
    first, table = _examples(x, y, batch_x, batch_y, batch_size)
    if not len(x) or not len(y):
        return _none(y)
    found = _search_batches(x, y, table, min(k, max(1, int(table[:, 1].max()))),
                            metric="cosine" if cosine else "sqeuclidean").indices
    return _edges(found, first)


def _knn_graph(x: Tensor, k: int, batch: Optional[Tensor] = None, loop: bool = False, cosine: bool = False,
               batch_size: Optional[int] = None) -> Tensor:
    """(points, neighbours)."""
    edges = _knn(x, x, k if loop else k + 1, batch, batch, cosine, batch_size)
    if loop:
        return edges
    # The point itself where it was found, else (more than k duplicates before it) the last of its neighbours.
    rows, neighbors = edges
    counts = torch.bincount(rows, minlength=len(x))
    own = rows == neighbors
    last = torch.zeros_like(own)
    last[counts.cumsum(0)[counts > 0] - 1] = True
    found = torch.zeros(len(x), dtype=torch.bool, device=x.device)
    found[rows[own]] = True
    dropped = own | (last & ~found[rows] & (counts[rows] > k))
    return edges[:, ~dropped]


def _radius(x: Tensor, y: Tensor, r: float, batch_x: Optional[Tensor] = None, batch_y: Optional[Tensor] = None,
            max_num_neighbors: int = 32, batch_size: Optional[int] = None, ignore_same_index: bool = False) -> Tensor:
    x, y = _columns(x, "x"), _columns(y, "y")
    if not _number(r, "r") >= 0:
        raise ValueError(f"r is {r}: expected at least 0")
    if _integer(max_num_neighbors, "max_num_neighbors") < 0:
        raise ValueError(f"max_num_neighbors is {max_num_neighbors}: expected at least 0")
    first, table = _examples(x, y, batch_x, batch_y, batch_size)
    if not len(x) or not len(y) or not max_num_neighbors:
        return _none(y)
    k = min(max_num_neighbors + ignore_same_index, max(1, int(table[:, 1].max())))
    if k * len(y) <= _MOST:
        near = _search_batches(x, y, table, k, metric="sqeuclidean", f64=True)
        edges = _edges(near.indices.masked_fill(near.distances >= r * r, -1), first)
    else:
        edges = torch.cat([_none(y), *(_within(x, y, r, row) for row in table.tolist() if row[1] and row[3])], 1)
    if ignore_same_index:
        edges = edges[:, edges[0] != edges[1]]
    counts = torch.bincount(edges[0], minlength=len(y))
    place = torch.arange(edges.shape[1], device=y.device) - (counts.cumsum(0) - counts)[edges[0]]
    return edges[:, place < max_num_neighbors]


def _within(x: Tensor, y: Tensor, r: float, example: List[int]) -> Tensor:
    """The edges of one example: (first, number) of its rows of x, and of y."""
    first_x, of_x, first_y, of_y = example
    near = _kith_radius(x[first_x:first_x + of_x], y[first_y:first_y + of_y], r * r, metric="sqeuclidean", open=True)
    rows = torch.repeat_interleave(torch.arange(of_y, device=y.device), near.offsets.diff())
    return torch.stack([rows + first_y, near.indices + first_x])


def _edges_fake(x: Tensor) -> Tensor:
    return x.new_empty((2, torch.library.get_ctx().new_dynamic_size()), dtype=torch.int64)


define("knn(Tensor x, Tensor y, int k, Tensor? batch_x=None, Tensor? batch_y=None, bool cosine=False, int? batch_size=None) -> Tensor",
       _knn, lambda x, y, *_, **__: _edges_fake(y))
define("knn_graph(Tensor x, int k, Tensor? batch=None, bool loop=False, bool cosine=False, int? batch_size=None) -> Tensor",
       _knn_graph, lambda x, *_, **__: _edges_fake(x))
define("radius(Tensor x, Tensor y, float r, Tensor? batch_x=None, Tensor? batch_y=None, int max_num_neighbors=32, "
       "int? batch_size=None, bool ignore_same_index=False) -> Tensor", _radius, lambda x, y, *_, **__: _edges_fake(y))
