"""Several indexes that answer as one: IndexShards, whose parts have each some vectors, IndexReplicas, whose parts have all."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._kinds import on_host
from .._values import is_tensor, rounded
from ._arrays import beside, bytes_of_codes, ids_of, rows
from ._binary import IndexBinary
from ._index import Index
from ._metrics import is_similarity_metric


class _Parts:
    """Indexes of the same dimensions and metric. True if they are asked by threads of their own means nothing here.

    Whatever vectors they are of: `_of` is the class of the indexes, and of what this is mixed into.
    """

    _of: Any = Index
    _indexes: list[Any]
    d: int
    metric_type: int

    def _rows(self, x: Any, *numeric_type: Any) -> Any:
        return rows(x, self.d, "x", *numeric_type)

    def addIndex(self, index: Any) -> None:  # noqa: N802
        """Takes an index in."""
        if not isinstance(index, self._of):
            raise TypeError(f"index: expected an {self._of.__name__}, got {type(index).__name__}")
        if any(index is one for one in self._indexes):
            raise RuntimeError("addIndex: the index is there already")
        if self._indexes or self.d:
            if index.d != self.d or any(_metric_of(index) != _metric_of(one) for one in self._indexes):
                raise RuntimeError(f"addIndex: {index!r} is of another metric or number of dimensions than {self!r}")
        self._check(index)
        self._indexes.append(index)
        self.syncWithSubIndexes()

    def _check(self, index: Any) -> None:
        """RuntimeError where the index does not belong here."""

    def removeIndex(self, index: Any) -> None:  # noqa: N802
        """Lets an index go."""
        kept = [one for one in self._indexes if one is not index]
        if len(kept) == len(self._indexes):
            raise RuntimeError("removeIndex: index not found")
        self._indexes = kept
        self.syncWithSubIndexes()

    def syncWithSubIndexes(self) -> None:  # noqa: N802
        """Takes over the dimensions and the metric of the indexes; how many vectors they have is always asked of them."""
        if self._indexes:
            first = self._indexes[0]
            self.d, self.metric_type = first.d, first.metric_type
            if isinstance(first, Index):
                self.metric_arg = first.metric_arg

    def count(self) -> int:
        """How many indexes there are."""
        return len(self._indexes)

    def at(self, i: int) -> Any:
        """Index i."""
        if not 0 <= i < len(self._indexes):
            raise RuntimeError(f"i is {i}: there are {len(self._indexes)} indexes")
        return self._indexes[i]

    def train(self, x: Any, *numeric_type: Any) -> None:
        """Nothing to train."""
        for index in self._indexes:
            index.train(x, *numeric_type)

    def reset(self) -> None:
        """Forgets all vectors."""
        for index in self._indexes:
            index.reset()


def _metric_of(index: Any) -> tuple[int, float]:
    return index.metric_type, getattr(index, "metric_arg", 0.0)


class _Shards(_Parts):
    """Indexes that hold each some of the vectors."""

    successive_ids: bool = True

    @property
    def ntotal(self) -> int:
        """Vectors of all indexes."""
        return sum(index.ntotal for index in self._indexes)

    add_shard = _Parts.addIndex
    remove_shard = _Parts.removeIndex

    def add(self, x: Any, *numeric_type: Any) -> None:
        """Shares rows out among the indexes."""
        array = self._rows(x, *numeric_type)
        if self.successive_ids:
            if self.ntotal:
                raise RuntimeError(f"add: successive_ids, and {self.ntotal} vectors are there; expected all in one call")
            self._share_out(array, None)
        else:
            self._share_out(array, self.ntotal + np.arange(len(array)))

    def add_with_ids(self, x: Any, ids: Any, *numeric_type: Any) -> None:
        """Shares rows and their ids out among the indexes."""
        if self.successive_ids:
            raise RuntimeError("add_with_ids: successive_ids gives ids of its own; IndexShards(d, threaded, False) takes others")
        array = self._rows(x, *numeric_type)
        self._share_out(array, ids_of(ids, len(array)))

    def _share_out(self, array: Any, ids: Any) -> None:
        if not self._indexes:
            raise RuntimeError("add: no index is there; add_shard first")
        for i, index in enumerate(self._indexes):
            first, last = (j * len(array) // len(self._indexes) for j in (i, i + 1))
            if ids is None:
                index.add(array[first:last])
            else:
                index.add_with_ids(array[first:last], ids[first:last])

    def _firsts(self) -> list[int]:
        if not self.successive_ids:
            return [0] * len(self._indexes)
        firsts: list[int] = np.cumsum([0, *(index.ntotal for index in self._indexes)]).tolist()
        return firsts[:-1]

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        far, ids = [], []
        for first, index in zip(self._firsts(), self._indexes):
            if index.ntotal:
                part, indices = (on_host(found) for found in index._nearest(queries, k, True))
                far.append(part)
                ids.append(np.where(indices < 0, -1, indices + first))
        distances, indices = np.concatenate(far, 1), np.concatenate(ids, 1)
        sign = -1 if is_similarity_metric(self.metric_type) else 1
        order = np.lexsort((indices, sign * distances, indices < 0))[:, :k]
        distances, indices = np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)
        return beside(queries, distances if f64 or distances.dtype.kind == "i" else rounded(distances)), beside(queries, indices)

    def _within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        parts: list[Any] = [(first, *map(on_host, index._within(queries, threshold)))
                            for first, index in zip(self._firsts(), self._indexes) if index.ntotal]
        of_query = np.concatenate([np.repeat(np.arange(len(queries)), np.diff(lims.astype(np.int64))) for _, lims, _, _ in parts])
        far = np.concatenate([part for _, _, part, _ in parts])
        ids = np.concatenate([indices + first for first, _, _, indices in parts])
        order = np.lexsort((ids, of_query))
        lims = np.searchsorted(of_query[order], np.arange(len(queries) + 1))
        return (beside(queries, lims if is_tensor(queries) else lims.astype(np.uint64)), beside(queries, far[order]),
                beside(queries, ids[order]))

    def _vectors_of(self, keys: np.ndarray[Any, Any]) -> Any:
        if not self.successive_ids:
            raise RuntimeError("reconstruct: without successive_ids the shards do not say which of them has an id")
        ends = np.cumsum([index.ntotal for index in self._indexes])
        if keys.size and not 0 <= keys.min() <= keys.max() < self.ntotal:
            raise RuntimeError(f"keys from {keys.min()} to {keys.max()}: the index holds {self.ntotal} vectors")
        found = np.empty((len(keys), self.d if self._of is Index else self.d // 8), np.float32 if self._of is Index else np.uint8)
        of = np.searchsorted(ends, keys, side="right")
        for i, (first, index) in enumerate(zip(self._firsts(), self._indexes)):
            if (of == i).any():
                found[of == i] = on_host(index._vectors_of(keys[of == i] - first))
        return found


class _Replicas(_Parts):
    """Indexes that hold each all vectors."""

    @property
    def ntotal(self) -> int:
        """Vectors of each index."""
        return self._indexes[0].ntotal if self._indexes else 0

    add_replica = _Parts.addIndex
    remove_replica = _Parts.removeIndex

    def _check(self, index: Any) -> None:
        if self._indexes and index.ntotal != self.ntotal:
            raise RuntimeError(f"addIndex: {index.ntotal} vectors; expected {self.ntotal}, as the others have")

    def add(self, x: Any, *numeric_type: Any) -> None:
        """Appends rows to each index."""
        if not self._indexes:
            raise RuntimeError("add: no index is there; add_replica first")
        for index in self._indexes:
            index.add(x, *numeric_type)

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        far, indices = self._indexes[0]._nearest(queries, k, f64)
        return far, indices

    def _within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        lims, far, indices = self._indexes[0]._within(queries, threshold)
        return lims, far, indices

    def _vectors_of(self, keys: np.ndarray[Any, Any]) -> Any:
        return self.at(0)._vectors_of(keys)


class IndexShards(_Shards, Index):
    """Indexes that hold each some of the vectors: the nearest of all are found among the nearest of each.

    Parameters
    ----------
    d : int, optional
        Dimensions; by default those of the first index.
    threaded : bool
        Means nothing: an exact search takes all processors.
    successive_ids : bool
        The ids of an index go on from those of the one before it; else they are taken as they are.
    """

    def __init__(self, *arguments: Any, d: int = 0, threaded: bool = False, successive_ids: bool = True) -> None:
        given = iter(arguments)
        if arguments and not isinstance(arguments[0], bool):  # else IndexShards(threaded, successive_ids)
            d = next(given)
        threaded, successive_ids = next(given, threaded), next(given, successive_ids)
        super().__init__(d)
        self._indexes, self.successive_ids = [], bool(successive_ids)


class IndexReplicas(_Replicas, Index):
    """Indexes that hold each all vectors: any of them gives the answer.

    Parameters
    ----------
    d : int, optional
        Dimensions; by default those of the first index.
    threaded : bool
        Means nothing: an exact search takes all processors.
    """

    def __init__(self, d: Any = 0, threaded: bool = True) -> None:
        super().__init__(0 if isinstance(d, bool) else d)
        self._indexes = []


class _OfBits:
    _of: Any = IndexBinary
    d: int

    def _rows(self, x: Any, *_: Any) -> Any:
        return bytes_of_codes(x, self.d // 8, "x")


class IndexBinaryShards(_OfBits, _Shards, IndexBinary):
    """`IndexShards` of indexes of packed bits."""

    def __init__(self, d: int = 0, threaded: bool = False, successive_ids: bool = True) -> None:
        super().__init__(d)
        self._indexes, self.successive_ids = [], bool(successive_ids)


class IndexBinaryReplicas(_OfBits, _Replicas, IndexBinary):
    """`IndexReplicas` of indexes of packed bits."""

    def __init__(self, d: int = 0, threaded: bool = True) -> None:
        super().__init__(d)
        self._indexes = []


IndexProxy = IndexReplicas
