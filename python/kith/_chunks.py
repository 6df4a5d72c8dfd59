"""A search of chunks of points by chunks of queries, as tasks of pure functions that any engine can schedule.

Each chunk of queries is searched in each chunk of points, the partial results are merged in pairs by (distance key, index),
and nothing else passes between tasks. `kith.dask` and `kith.ray` are two engines of it.
"""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, Protocol, Sequence

import numpy as np

from . import shards
from ._arguments import _bytes, _integer, _metric
from ._search import graph as _graph
from ._search import search as _search

OF_TASKS = ("device", "threads", "memory", "path", "isa")


class Engine(Protocol):
    """The scheduler of tasks. Handles of values that are not there yet may be arguments of tasks."""

    def share(self, value: Any) -> Any:
        """A handle of a value that many tasks take."""

    def task(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A handle of what the function will return."""

    def pair(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
        """Those of the two values that it will return."""


class Chunk(NamedTuple):
    """Rows of an array."""

    rows: Any  #: an array, or a handle of one
    first: int  #: index of the first row among all
    size: int


class Found(NamedTuple):
    """The neighbours of a chunk of queries."""

    size: int
    distances: Any  #: handles of arrays of shape (size, k)
    indices: Any


class Wanted(NamedTuple):
    """The request, by metric and settings that were looked at."""

    k: int
    how: dict[str, Any]  # named arguments of kith.shards.search
    f64: bool
    include_self: Optional[bool]  # None: a search, else a graph of the points


def wanted(k: int, f64: bool, include_self: bool | None, metric: str, p: float, inverse_covariance: Any, variances: Any,
           packed_bits: bool, formula: str | None, start: float, device: str, threads: int, memory: int, path: str,
           isa: str) -> Wanted:
    """Raises what the arguments show by themselves."""
    if _integer(k, "k") < 1:
        raise ValueError(f"k is {k}: expected at least 1")
    if metric == "mahalanobis" and inverse_covariance is None:
        raise ValueError("inverse_covariance: none; expected that of all points (kith.inverse_covariance), which no chunk has")
    if metric == "seuclidean" and variances is None:
        raise ValueError("variances: none; expected those of all points (kith.variances), which no chunk has")
    _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start)
    how = {"metric": metric, "p": p, "inverse_covariance": inverse_covariance, "variances": variances,
           "packed_bits": packed_bits, "formula": formula, "start": start, "device": device,
           "threads": _integer(threads, "threads"), "memory": _bytes(memory, "memory"), "path": path, "isa": isa}
    return Wanted(k, how, f64, include_self)


def look_at(columns: tuple[int, int], types: Sequence[Any], want: Wanted) -> None:
    """Raises what the metric says of rows of such types and columns, of points and of queries, before any task is made."""
    if columns[0] != columns[1]:
        raise ValueError(f"queries: {columns[1]} columns; expected {columns[0]}, as the points have")
    # Zeros are coordinates of every metric. Devices, paths and memory are those of the workers.
    here = {name: value for name, value in want.how.items() if name not in OF_TASKS}
    for name, dtype in zip(("points", "queries"), types):
        try:
            zeros = np.zeros((1, columns[0]), dtype)
            shards.search(zeros, 0, zeros, 1, device="cpu", threads=min(want.how["threads"], 1), **here)
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("shard:", f"{name}:", 1)) from None


def searched(engine: Engine, points: Sequence[Chunk], queries: Sequence[Chunk], want: Wanted) -> list[Found]:
    """The neighbours of each chunk of the queries; of a graph the queries are the points."""
    of_others = want.k - bool(want.include_self)
    how = engine.share(want.how)
    base = [chunk for chunk in points if chunk.size > 0]
    found = []
    for asked in queries:
        parts = [engine.task(_part, chunk.rows, chunk.first, asked.rows, asked.first, of_others,
                             want.include_self is not None, how) for chunk in base] if of_others else []
        while len(parts) > 1:  # in pairs: as many merges run next to each other as there can
            parts = [engine.task(_merged, *parts[i:i + 2]) if i + 1 < len(parts) else parts[i]
                     for i in range(0, len(parts), 2)]
        pair = engine.pair(_whole, parts[0] if parts else None, asked.rows, asked.first, of_others, want.include_self, how,
                           want.f64)
        found.append(Found(asked.size, *pair))
    return found


def _part(shard: Any, first_point: int, queries: Any, first_query: int, k: int, graph: bool,
          how: dict[str, Any]) -> shards.Partial:
    if len(queries) == 0:
        return shards.Partial(np.empty((0, k), np.int64), np.empty((0, k), np.float64), int(queries.shape[1]))
    if graph:
        return shards.graph(shard, first_point, queries, first_query, k, **how)
    return shards.search(shard, first_point, queries, k, **how)


def _merged(a: shards.Partial, b: shards.Partial) -> shards.Partial:
    return shards.merge(a, b) if len(a.indices) else a


def _whole(partial: shards.Partial | None, queries: Any, first_query: int, of_others: int, include_self: bool | None,
           how: dict[str, Any], f64: bool) -> tuple[Any, Any]:
    metric = {name: value for name, value in how.items() if name not in OF_TASKS}
    parts: list[tuple[Any, Any]] = []
    if include_self:
        own = _graph(queries, 1, include_self=True, f64=f64, **how) if len(queries) else None
        indices = np.empty((0, 1), np.int64) if own is None else np.asarray(own.indices)
        distances = np.empty((0, 1), np.float64 if f64 else np.float32) if own is None else np.asarray(own.distances)
        parts.append((distances, np.where(indices >= 0, indices + first_query, indices)))
    if partial is None and of_others:  # there are no points
        none = _search(queries[:0], queries, of_others, f64=f64, **how)
        parts.append((np.asarray(none.distances), np.asarray(none.indices)))
    if partial is not None:
        if len(partial.indices):
            parts.append(tuple(shards.finish(partial, f64=f64, **metric)))
        else:
            parts.append((np.empty(partial.keys.shape, np.float64 if f64 else np.float32), partial.indices))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([a for a, _ in parts], axis=1), np.concatenate([b for _, b in parts], axis=1)
