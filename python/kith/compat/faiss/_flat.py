"""IndexFlat: vectors as they are, all of them searched."""
from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ..._kinds import on_host
from .._values import is_tensor
from ._arrays import Float32, WrongArgument, bytes_of_codes, copy_of, given_back, rows
from ._index import Index, known, removed, selected
from ._measured import Measured
from ._metrics import METRIC_INNER_PRODUCT, METRIC_L2, Search
from ._swig import Pointer, UInt8Vector, swig_ptr


class IndexFlatCodes(Index):
    """Indexes that hold vectors by codes of one size: here float32, as they are."""

    _device = "auto"  # where it searches

    def __init__(self, d: int, metric: int = METRIC_L2) -> None:
        super().__init__(d, metric)
        self._parts: list[Any] = []
        self._measured: Measured | None = None

    @property
    def ntotal(self) -> int:
        """Vectors that were added."""
        return sum(len(part) for part in self._parts)

    def _vectors(self) -> Any:
        if len(self._parts) > 1 and all(map(is_tensor, self._parts)) and len({part.device for part in self._parts}) == 1:
            self._parts = [sys.modules["torch"].cat(self._parts)]
        elif len(self._parts) != 1:
            self._parts = [np.concatenate([*map(on_host, self._parts), np.empty((0, self.d), np.float32)])]
        return self._parts[0]

    def _take(self, vectors: Any) -> None:
        self._parts, self._measured = [vectors] if len(vectors) else [], None

    def add(self, x: Any, numeric_type: int = Float32) -> None:
        """Adds vectors to the index: rows, whose indices go on from ntotal."""
        self._parts.append(copy_of(rows(x, self.d, "x", numeric_type)))
        self._measured = None

    def reset(self) -> None:
        """Forgets all vectors."""
        self._parts, self._measured = [], None

    def _how(self) -> Search | None:
        return None

    def _prepared(self) -> Measured:
        if self._measured is None or self._measured.key != (self.metric_type, self.metric_arg):
            self._measured = Measured(self._vectors(), self.metric_type, self.metric_arg, self._device, self._how())
        return self._measured

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        return self._prepared().nearest(queries, k, f64)

    def _within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        return self._prepared().within(queries, threshold)

    def _vectors_of(self, keys: np.ndarray[Any, Any]) -> Any:
        return selected(self._vectors(), known(keys, self.ntotal))

    def remove_ids(self, x: Any) -> int:
        """Forgets the vectors of these indices; the others move up. Returns how many they were."""
        kept = removed(self.ntotal, x)
        self._take(selected(self._vectors(), np.flatnonzero(kept)))
        return int(len(kept) - kept.sum())

    def check_compatible_for_merge(self, otherIndex: Any) -> None:  # noqa: N803
        """RuntimeError where `merge_from` cannot be."""
        if type(otherIndex) is not type(self) or (otherIndex.d, otherIndex.metric_type) != (self.d, self.metric_type):
            raise RuntimeError(f"merge_from: {otherIndex!r} is of another class, metric or number of dimensions than {self!r}")

    def merge_from(self, otherIndex: Any, add_id: int = 0) -> None:  # noqa: N803
        """Takes over the vectors of another index of the same kind, which is empty afterwards."""
        self.check_compatible_for_merge(otherIndex)
        if add_id:
            raise RuntimeError(f"add_id is {add_id}: the ids of {type(self).__name__} are 0, 1, ...")
        if otherIndex is self:
            raise RuntimeError("merge_from: an index cannot take over its own vectors")
        self._parts, self._measured = self._parts + otherIndex._parts, None
        otherIndex.reset()

    def permute_entries(self, perm: Any) -> None:
        """Vector i is what vector perm[i] was."""
        order = on_host(perm)
        if sorted(order.tolist()) != list(range(self.ntotal)):
            raise WrongArgument(f"perm: expected the numbers from 0 to {self.ntotal - 1}, each once")
        self._take(selected(self._vectors(), order))

    # Codes, which are the vectors' bytes.

    @property
    def code_size(self) -> int:
        """Bytes of a vector."""
        return 4 * self.d

    @property
    def codes(self) -> UInt8Vector:
        """The bytes of all vectors, copied."""
        return UInt8Vector(np.ascontiguousarray(on_host(self._vectors())).view(np.uint8).ravel())

    def get_xb(self) -> Pointer:
        """A pointer to the vectors, for `rev_swig_ptr`; it stands for a copy where they are a tensor's."""
        return swig_ptr(on_host(self._vectors()).reshape(-1))

    def sa_code_size(self) -> int:
        """Bytes of a vector."""
        return self.code_size

    def sa_encode(self, x: Any, codes: Any = None) -> Any:
        """Vectors as bytes; written to codes where they are given."""
        encoded = np.ascontiguousarray(on_host(rows(x, self.d, "x"))).view(np.uint8)
        return given_back(encoded if not is_tensor(x) else sys.modules["torch"].from_numpy(encoded), codes)

    def sa_decode(self, codes: Any, x: Any = None) -> Any:
        """Bytes as vectors; written to x where it is given."""
        decoded = bytes_of_codes(codes, self.code_size, "codes").view(np.float32)
        return given_back(decoded if not is_tensor(codes) else sys.modules["torch"].from_numpy(decoded), x)

    def add_sa_codes(self, codes: Any, ids: Any = None) -> None:
        """Appends vectors given as bytes."""
        if ids is not None:
            self.add_with_ids(None, ids)
        self.add(self.sa_decode(codes))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_measured": None}  # prepared again when it is needed


class IndexFlat(IndexFlatCodes):
    """Vectors that are searched exactly.

    Parameters
    ----------
    d : int
        Dimensions.
    metric : int
        METRIC_L2, METRIC_INNER_PRODUCT, ...

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> index = faiss.IndexFlatL2(2)
    >>> index.add(numpy.eye(2, dtype="float32"))
    >>> index.search(numpy.eye(2, dtype="float32")[:1], 2)
    (array([[0., 2.]], dtype=float32), array([[0, 1]]))
    """


class IndexFlatL2(IndexFlat):
    """`IndexFlat` of squared Euclidean distances."""

    def __init__(self, d: int) -> None:
        super().__init__(d, METRIC_L2)


class IndexFlatIP(IndexFlat):
    """`IndexFlat` of inner products, the largest first."""

    def __init__(self, d: int) -> None:
        super().__init__(d, METRIC_INNER_PRODUCT)


class IndexFlat1D(IndexFlatL2):
    """Numbers: `search` gives differences, not their squares. `continuous_update` means nothing: the order is kept."""

    continuous_update: bool = True

    def __init__(self, continuous_update: bool = True) -> None:
        super().__init__(1)
        self.continuous_update = bool(continuous_update)
        self._differences: tuple[Measured, Measured] | None = None

    def update_permutation(self) -> None:
        """Nothing to update."""

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        squares = self._prepared()
        if self._differences is None or self._differences[0] is not squares:
            how = Search({"metric": "euclidean"})
            self._differences = squares, Measured(self._vectors(), self.metric_type, self.metric_arg, self._device, how)
        far, indices = self._differences[1].nearest(queries, k, f64)
        far[indices < 0] = math.inf
        return far, indices

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_differences": None}
