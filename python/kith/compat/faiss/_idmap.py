"""Ids of one's own around an index: IndexIDMap, and IndexIDMap2 that finds vectors by them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._kinds import on_host
from ._arrays import Float32, WrongArgument, beside, ids_of
from ._index import Index
from ._swig import Int64Vector


class MappedIds:
    """The common part of maps of ids, whatever vectors they are of. Classes have `index`, the index that holds the vectors."""

    index: Any = None
    own_fields: bool = False
    _parts_of_ids: list[np.ndarray[Any, Any]]
    _sorted: tuple[np.ndarray[Any, Any], ...] | None = None  # the ids, the order that sorts them, and they in it

    @property
    def _ids(self) -> np.ndarray[Any, Any]:
        """The id of each vector. Parts that were added become one where they are asked for."""
        if len(self._parts_of_ids) != 1:
            self._parts_of_ids = [np.concatenate(self._parts_of_ids)]
        return self._parts_of_ids[0]

    @_ids.setter
    def _ids(self, ids: np.ndarray[Any, Any]) -> None:
        self._parts_of_ids = [ids]

    def _take_index(self, index: Any, within: Any) -> None:
        if not isinstance(index, within) or isinstance(index, MappedIds):
            raise TypeError(f"index: expected an {within.__name__} without ids of its own, got {type(index).__name__}")
        if index.ntotal:
            raise RuntimeError(f"index holds {index.ntotal} vectors: expected an empty one")
        self.index, self._ids = index, np.empty(0, np.int64)

    @classmethod
    def _around(cls, index: Any, ids: np.ndarray[Any, Any]) -> Any:
        """A map around an index that holds vectors already."""
        made = cls.__new__(cls)
        made.__dict__.update(d=index.d, metric_type=index.metric_type, metric_arg=getattr(index, "metric_arg", 0.0),
                             index=index, own_fields=True, _parts_of_ids=[ids])
        return made

    @property
    def ntotal(self) -> int:
        """Vectors that were added."""
        return int(self.index.ntotal)

    @property
    def id_map(self) -> Int64Vector:
        """The id of each vector, copied."""
        return Int64Vector(self._ids)

    def add(self, x: Any, *_: Any) -> None:
        """Refused: `add_with_ids` says under which ids."""
        raise RuntimeError(f"add does not make sense with {type(self).__name__}: use add_with_ids")

    def add_with_ids(self, x: Any, ids: Any, *numeric_type: Any) -> None:
        """Appends rows under these ids. An id may be there more than once."""
        taken = ids_of(ids, len(x)).copy()
        self.index.add(x, *numeric_type)
        self._parts_of_ids.append(taken)

    def reset(self) -> None:
        """Forgets all vectors."""
        self.index.reset()
        self._ids = self._ids[:0]

    def remove_ids(self, x: Any) -> int:
        """Forgets the vectors of these ids. Returns how many they were."""
        ids = on_host(x)
        if ids.ndim != 1:
            raise WrongArgument(f"x: expected one dimension of ids, got shape {ids.shape}")
        gone = np.isin(self._ids, ids_of(ids, ids.size, "x"))
        self.index.remove_ids(np.flatnonzero(gone))
        self._ids = self._ids[~gone]
        return int(gone.sum())

    def check_compatible_for_merge(self, otherIndex: Any) -> None:  # noqa: N803
        """RuntimeError where `merge_from` cannot be."""
        if type(otherIndex) is not type(self):
            raise RuntimeError(f"merge_from: {otherIndex!r} is of another class than {self!r}")
        self.index.check_compatible_for_merge(otherIndex.index)

    def merge_from(self, otherIndex: Any, add_id: int = 0) -> None:  # noqa: N803
        """Takes over the vectors of another map, whose ids are raised by add_id; it is empty afterwards."""
        self.check_compatible_for_merge(otherIndex)
        ids = otherIndex._ids + add_id
        self.index.merge_from(otherIndex.index)
        self._ids, otherIndex._ids = np.concatenate([self._ids, ids]), otherIndex._ids[:0]

    def _by_id(self, indices: Any) -> Any:
        """Ids in place of the inner index' numbers; -1 stays."""
        places = on_host(indices)
        return beside(indices, np.where(places >= 0, self._ids[places], -1) if len(self._ids) else places)

    def _places(self, keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """For ids the inner index' numbers: of an id that is there more than once the last."""
        ids = self._ids
        if self._sorted is None or self._sorted[0] is not ids:
            order = ids.argsort(kind="stable")
            self._sorted = ids, order, ids[order]
        _, order, ascending = self._sorted
        at = np.searchsorted(ascending, keys, side="right") - 1
        places = order[np.maximum(at, 0)] if len(order) else np.full(len(keys), -1)
        unknown = (ids[places] if len(order) else places) != keys
        if unknown.any() or (len(keys) and not len(order)):
            raise RuntimeError(f"key {keys[unknown][0] if unknown.any() else keys[0]} not found")
        return places

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sorted": None}  # sorted again when it is needed


class IndexIDMap(MappedIds, Index):
    """Ids of one's own for the vectors of an index.

    Parameters
    ----------
    index : IndexFlat or another
        Empty; holds the vectors, in the order in which they were added.

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> index = faiss.IndexIDMap(faiss.IndexFlatL2(2))
    >>> index.add_with_ids(numpy.eye(2, dtype="float32"), numpy.array([70, 50]))
    >>> index.search(numpy.eye(2, dtype="float32")[:1], 2)[1]
    array([[70, 50]])
    """

    def __init__(self, index: Any) -> None:
        self._take_index(index, Index)
        super().__init__(index.d, index.metric_type)
        self.metric_arg, self.verbose = index.metric_arg, index.verbose

    def train(self, x: Any, numeric_type: int = Float32) -> None:
        """Nothing to train."""
        self.index.train(x, numeric_type)

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        far, indices = self.index._nearest(queries, k, f64)
        return far, self._by_id(indices)

    def _within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        lims, far, indices = self.index._within(queries, threshold)
        return lims, far, self._by_id(indices)

    def sa_code_size(self) -> int:
        """Bytes of a vector."""
        return int(self.index.sa_code_size())

    def sa_encode(self, x: Any, codes: Any = None) -> Any:
        """Vectors as bytes; written to codes where they are given."""
        return self.index.sa_encode(x, codes)

    def sa_decode(self, codes: Any, x: Any = None) -> Any:
        """Bytes as vectors; written to x where it is given."""
        return self.index.sa_decode(codes, x)

    def add_sa_codes(self, codes: Any, ids: Any) -> None:
        """Appends vectors given as bytes under these ids."""
        self.add_with_ids(self.index.sa_decode(codes), ids)


class IndexIDMap2(IndexIDMap):
    """`IndexIDMap` that gives vectors back by their ids."""

    def _vectors_of(self, keys: np.ndarray[Any, Any]) -> Any:
        return self.index._vectors_of(self._places(keys))

    def construct_rev_map(self) -> None:
        """Nothing to construct: ids are looked up as they are."""

    def check_consistency(self) -> None:
        """Nothing that could be inconsistent."""
