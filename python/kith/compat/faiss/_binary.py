"""Packed bits, searched by Hamming distance: IndexBinaryFlat, its maps of ids, and knn_hamming."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._index import Index as KithIndex
from ..._kinds import on_host
from ..._search import search as _search
from ._arrays import WrongArgument, ascending, bytes_of_codes, given_back, in_outputs, no_parameters, wanted
from ._guarded import Guarded, Owned
from ._idmap import MappedIds
from ._index import known, removed
from ._metrics import METRIC_L2
from ._swig import UInt8Vector

_FARTHEST = 2**31 - 1  # the distance of a neighbour that does not exist


def _bits(shares: Any, d: int) -> np.ndarray[Any, Any]:
    """Hamming distances, which kith reports as shares of the bits, as numbers of bits."""
    bits: np.ndarray[Any, Any] = np.rint(shares * d).astype(np.int32)
    return bits


class IndexBinary(Guarded):
    """The class of all indexes of packed bits; vectors are rows of d / 8 bytes.

    Attributes
    ----------
    d, code_size : int
        Bits, and bytes, of a vector.
    ntotal : int
        Vectors that were added.
    """

    d: int = 0
    metric_type: int = METRIC_L2
    is_trained: bool = True
    verbose: bool = False
    own_fields: bool = False
    referenced_objects: Any = None
    this: Any = Owned()
    thisown: bool = True

    def __init__(self, d: int) -> None:
        if d < 0 or d % 8:
            raise WrongArgument(f"d is {d}: expected a multiple of 8 bits")
        self.d = int(d)

    @property
    def code_size(self) -> int:
        """Bytes of a vector."""
        return self.d // 8

    @property
    def ntotal(self) -> int:
        """Vectors that were added."""
        raise self._not_there("ntotal")

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        """(D, I) of queries of the right shape, k at least 1."""
        raise self._not_there("search")

    def _within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        """(lims, D, I) by ascending index; there are queries and vectors."""
        raise self._not_there("range_search")

    def _vectors_of(self, keys: np.ndarray[Any, Any]) -> Any:
        """The vectors of these indices."""
        raise self._not_there("reconstruct")

    def _not_there(self, what: str) -> RuntimeError:
        return RuntimeError(f"{what} is not there for {type(self).__name__}")

    def train(self, x: Any) -> None:
        """Nothing to train."""
        bytes_of_codes(x, self.code_size, "x")

    def add_with_ids(self, x: Any, ids: Any) -> None:
        """Appends rows under ids of one's own: of an `IndexBinaryIDMap`."""
        raise RuntimeError(f"add_with_ids is not there for {type(self).__name__}; IndexBinaryIDMap takes ids")

    def search(self, x: Any, k: int, *, params: Any = None) -> tuple[Any, Any]:
        """``(D, I)``: numbers of different bits as int32, and indices, of the k nearest."""
        no_parameters(params)
        queries, k = bytes_of_codes(x, self.code_size, "x"), wanted(k)
        if not self.ntotal or not len(queries):
            return np.full((len(queries), k), _FARTHEST, np.int32), np.full((len(queries), k), -1, np.int64)
        return self._nearest(queries, k)

    def assign(self, x: Any, k: int = 1, labels: Any = None) -> Any:
        """The indices alone, written to labels where they are given."""
        return in_outputs(self.search(x, k)[1:], (labels,), ("labels",))[0]

    def range_search(self, x: Any, thresh: float, *, params: Any = None) -> tuple[Any, Any, Any]:
        """``(lims, D, I)``: of query i the vectors I[lims[i]:lims[i + 1]] of fewer different bits than thresh, by ascending
        index."""
        no_parameters(params)
        queries = bytes_of_codes(x, self.code_size, "x")
        if not self.ntotal or not len(queries):
            return np.zeros(len(queries) + 1, np.uint64), np.empty(0, np.float32), np.empty(0, np.int64)
        return self._within(queries, float(thresh))

    def reconstruct(self, key: int) -> Any:
        """Vector `key`."""
        return given_back(self._vectors_of(np.array([int(key)]))[0], None)

    def reconstruct_n(self, n0: int = 0, ni: int = -1, x: Any = None) -> Any:
        """ni vectors from n0 on, by default all; written to x where it is given."""
        end = self.ntotal if ni < 0 else n0 + ni
        if not 0 <= n0 <= end:
            raise RuntimeError(f"vectors {n0} to {end}: the index holds {self.ntotal}")
        return given_back(self._vectors_of(np.arange(n0, end)), x)

    def __repr__(self) -> str:
        return f"<kith.compat.faiss.{type(self).__name__}: {self.ntotal} vectors of {self.d} bits>"


class IndexBinaryFlat(IndexBinary):
    """Packed bits that are searched exactly by Hamming distance.

    Parameters
    ----------
    d : int
        Bits of a vector, a multiple of 8.

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> index = faiss.IndexBinaryFlat(8)
    >>> index.add(numpy.array([[0], [3]], "uint8"))
    >>> index.search(numpy.array([[1]], "uint8"), 2)
    (array([[1, 1]], dtype=int32), array([[0, 1]]))
    """

    # How faiss searches; the answer is the same.
    use_heap: bool = True
    query_batch_size: int = 32
    approx_topk_mode: int = 0
    _device = "auto"

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self._parts: list[Any] = []
        self._index: KithIndex | None = None

    @property
    def ntotal(self) -> int:
        """Vectors that were added."""
        return sum(len(part) for part in self._parts)

    @property
    def xb(self) -> UInt8Vector:
        """The bytes of all vectors, copied."""
        return UInt8Vector(self._codes())

    def _codes(self) -> np.ndarray[Any, Any]:
        if len(self._parts) != 1:
            self._parts = [np.concatenate([*self._parts, np.empty((0, self.code_size), np.uint8)])]
        codes: np.ndarray[Any, Any] = self._parts[0]
        return codes

    def _take(self, codes: np.ndarray[Any, Any]) -> None:
        self._parts, self._index = [codes] if len(codes) else [], None

    def add(self, x: Any) -> None:
        """Adds vectors to the index: rows, whose indices go on from ntotal."""
        self._parts.append(bytes_of_codes(x, self.code_size, "x").copy())
        self._index = None

    def reset(self) -> None:
        """Forgets all vectors."""
        self._parts, self._index = [], None

    def _prepared(self) -> KithIndex:
        if self._index is None:
            self._index = KithIndex(self._codes(), metric="hamming", packed_bits=True, device=self._device)
        return self._index

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        shares, indices = self._prepared().search(queries, k, f64=True)
        return np.where(indices < 0, _FARTHEST, _bits(np.where(indices < 0, 0, shares), self.d)).astype(np.int32), indices

    def _within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        # Numbers of bits are whole: those below the threshold are at most half a bit below the next whole number.
        most = max(np.ceil(threshold) - 0.5, 0.0) / self.d
        shares, indices, lims = self._prepared().radius(queries, most, f64=True, open=threshold <= 0)
        return ascending(lims, _bits(shares, self.d).astype(np.float32), indices, self.ntotal)

    def _vectors_of(self, keys: np.ndarray[Any, Any]) -> Any:
        return self._codes()[known(keys, self.ntotal)]

    def remove_ids(self, x: Any) -> int:
        """Forgets the vectors of these indices; the others move up. Returns how many they were."""
        kept = removed(self.ntotal, x)
        self._take(self._codes()[kept])
        return int(len(kept) - kept.sum())

    def check_compatible_for_merge(self, otherIndex: Any) -> None:  # noqa: N803
        """RuntimeError where `merge_from` cannot be."""
        if type(otherIndex) is not type(self) or otherIndex.d != self.d:
            raise RuntimeError(f"merge_from: {otherIndex!r} is of another class or number of bits than {self!r}")

    def merge_from(self, otherIndex: Any, add_id: int = 0) -> None:  # noqa: N803
        """Takes over the vectors of another index of the same kind, which is empty afterwards."""
        self.check_compatible_for_merge(otherIndex)
        if add_id:
            raise RuntimeError(f"add_id is {add_id}: the ids of {type(self).__name__} are 0, 1, ...")
        if otherIndex is self:
            raise RuntimeError("merge_from: an index cannot take over its own vectors")
        self._parts, self._index = self._parts + otherIndex._parts, None
        otherIndex.reset()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}  # prepared again when it is needed


class IndexBinaryIDMap(MappedIds, IndexBinary):
    """Ids of one's own for the vectors of an index of packed bits, which is empty."""

    def __init__(self, index: Any) -> None:
        self._take_index(index, IndexBinary)
        super().__init__(index.d)

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        far, indices = self.index._nearest(queries, k, f64)
        return far, self._by_id(indices)

    def _within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        lims, far, indices = self.index._within(queries, threshold)
        return lims, far, self._by_id(indices)


class IndexBinaryIDMap2(IndexBinaryIDMap):
    """`IndexBinaryIDMap` that gives vectors back by their ids."""

    def _vectors_of(self, keys: np.ndarray[Any, Any]) -> Any:
        return self.index._vectors_of(self._places(keys))

    def construct_rev_map(self) -> None:
        """Nothing to construct: ids are looked up as they are."""

    def check_consistency(self) -> None:
        """Nothing that could be inconsistent."""


def knn_hamming(xq: Any, xb: Any, k: int, variant: str = "hc") -> tuple[Any, Any]:
    """The k nearest rows of packed bits for each row of others.

    Parameters
    ----------
    xq, xb : arrays of uint8, shape (q, d / 8) and (n, d / 8)
        Queries and vectors.
    k : int
        At least 1.
    variant : str
        "hc" or "mc", which mean the same here.

    Returns
    -------
    (D, I)
        Arrays of shape (q, k): numbers of different bits as int32, and int64.

    Raises
    ------
    ValueError, TypeError, NotImplementedError, MemoryError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> faiss.knn_hamming(numpy.array([[1]], "uint8"), numpy.array([[0], [7]], "uint8"), 2)
    (array([[1, 2]], dtype=int32), array([[0, 1]]))
    """
    if variant not in ("hc", "mc"):
        raise NotImplementedError(f"variant: {variant!r}; expected 'hc' or 'mc'")
    queries = on_host(xq)
    if queries.ndim != 2:
        raise WrongArgument(f"xq: expected 2 dimensions, got {queries.ndim}")
    queries = bytes_of_codes(queries, queries.shape[1], "xq")
    vectors, k = bytes_of_codes(xb, queries.shape[1], "xb"), wanted(k)
    if not len(queries) or not len(vectors):
        return np.full((len(queries), k), _FARTHEST, np.int32), np.full((len(queries), k), -1, np.int64)
    shares, indices = _search(vectors, queries, k, metric="hamming", packed_bits=True, f64=True)
    far = np.where(indices < 0, _FARTHEST, _bits(np.where(indices < 0, 0, shares), 8 * queries.shape[1]))
    return far.astype(np.int32), indices
