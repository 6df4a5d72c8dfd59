"""The base of every index of vectors: faiss.Index, with faiss' arguments, errors and results."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..._kinds import on_host
from .._values import is_tensor
from ._arrays import (Float32, WrongArgument, beside, given_back, ids_of, in_outputs, missing, no_parameters, rows,
                      wanted)
from ._guarded import Guarded, Owned
from ._metrics import METRIC_L2, checked, worst


class Index(Guarded):
    """The class of all indexes, for ``isinstance`` and annotations.

    Attributes
    ----------
    d : int
        Dimensions.
    ntotal : int
        Vectors that were added.
    metric_type, metric_arg : int, float
        METRIC_L2, ...; the exponent of METRIC_Lp.
    is_trained, verbose : bool
        There is nothing to train, and nothing is printed.
    """

    d: int = 0
    metric_type: int = METRIC_L2
    metric_arg: float = 0.0
    is_trained: bool = True
    verbose: bool = False
    own_fields: bool = False
    referenced_objects: Any = None
    this: Any = Owned()
    thisown: bool = True

    def __init__(self, d: int = 0, metric: int = METRIC_L2) -> None:
        if isinstance(d, bool) or not isinstance(d, (int, np.integer)):
            raise TypeError(f"d: expected an integer, got {type(d).__name__}")
        if d < 0:
            raise WrongArgument(f"d is {d}: expected at least 0")
        self.d, self.metric_type = int(d), checked(metric)

    # The search of an index.

    @property
    def ntotal(self) -> int:
        """Vectors that were added."""
        raise self._not_there("ntotal")

    def _nearest(self, queries: Any, k: int, f64: bool = False) -> tuple[Any, Any]:
        """(D, I) of queries of the right shape, k at least 1; float64 distances where `f64` says so."""
        raise self._not_there("search")

    def _within(self, queries: Any, threshold: float) -> tuple[Any, Any, Any]:
        """(lims, D, I) by ascending index; there are queries and vectors."""
        raise self._not_there("range_search")

    def _vectors_of(self, keys: np.ndarray[Any, Any]) -> Any:
        """The vectors of these indices."""
        raise self._not_there("reconstruct")

    def _not_there(self, what: str) -> RuntimeError:
        return RuntimeError(f"{what} is not there for {type(self).__name__}")

    # The questions to it.

    def train(self, x: Any, numeric_type: int = Float32) -> None:
        """Nothing to train."""
        rows(x, self.d, "x", numeric_type)

    def add(self, x: Any, numeric_type: int = Float32) -> None:
        """Adds vectors to the index: rows, whose indices go on from ntotal."""
        raise self._not_there("add")

    def add_with_ids(self, x: Any, ids: Any, numeric_type: int = Float32) -> None:
        """Appends rows under ids of one's own: of an `IndexIDMap`."""
        raise RuntimeError(f"add_with_ids is not there for {type(self).__name__}: its ids are 0, 1, ...; IndexIDMap takes others")

    def reset(self) -> None:
        """Forgets all vectors."""
        raise self._not_there("reset")

    def search(self, x: Any, k: int, D: Any = None, I: Any = None, *, params: Any = None,  # noqa: E741, N803
               numeric_type: int = Float32) -> tuple[Any, Any]:
        """``(D, I)``: distances and indices of the k nearest, written to D and I where they are given."""
        no_parameters(params)
        queries, k = rows(x, self.d, "x", numeric_type), wanted(k)
        if not self.ntotal or not len(queries):
            found = missing(queries, len(queries), k, worst(self.metric_type))
        else:
            found = self._nearest(queries, k)
        D, I = in_outputs(found, (D, I))  # noqa: E741, N806
        return D, I

    def assign(self, x: Any, k: int = 1, labels: Any = None) -> Any:
        """The indices alone, written to labels where they are given."""
        return in_outputs(self.search(x, k)[1:], (labels,), ("labels",))[0]

    def range_search(self, x: Any, thresh: float, *, params: Any = None) -> tuple[Any, Any, Any]:
        """``(lims, D, I)``: of query i the vectors I[lims[i]:lims[i + 1]], by ascending index: those nearer than thresh
        (METRIC_INNER_PRODUCT: of a larger product) by float64 distances."""
        no_parameters(params)
        queries = rows(x, self.d, "x")
        threshold = float(np.float32(thresh))  # as faiss takes it
        if not self.ntotal or not len(queries) or threshold != threshold:
            lims = np.zeros(len(queries) + 1, np.int64 if is_tensor(queries) else np.uint64)
            return (beside(queries, lims), beside(queries, np.empty(0, np.float32)), beside(queries, np.empty(0, np.int64)))
        return self._within(queries, threshold)

    def search_and_reconstruct(self, x: Any, k: int, D: Any = None, I: Any = None, R: Any = None, *,  # noqa: E741, N803
                               params: Any = None) -> tuple[Any, Any, Any]:
        """``(D, I, R)``: R holds the vectors found, NaN where there is none."""
        distances, indices = self.search(x, k, D, I, params=params)
        keys = on_host(indices)
        found = np.full((*keys.shape, self.d), np.nan, np.float32)
        if (keys >= 0).any():
            found[keys >= 0] = on_host(self._vectors_of(keys[keys >= 0]))
        return distances, indices, in_outputs((beside(indices, found),), (R,), "R")[0]

    def reconstruct(self, key: int, x: Any = None) -> Any:
        """Vector `key`; written to x where it is given."""
        return given_back(self._vectors_of(np.array([int(key)]))[0], x)

    def reconstruct_batch(self, key: Any, x: Any = None) -> Any:
        """The vectors of these indices; written to x where it is given."""
        keys = on_host(key)
        return given_back(self._vectors_of(ids_of(keys, keys.size, "key")), x)

    def reconstruct_n(self, n0: int = 0, ni: int = -1, x: Any = None) -> Any:
        """ni vectors from n0 on, by default all; written to x where it is given."""
        end = self.ntotal if ni < 0 else n0 + ni
        if not 0 <= n0 <= end:
            raise RuntimeError(f"vectors {n0} to {end}: the index holds {self.ntotal}")
        return given_back(self._vectors_of(np.arange(n0, end)), x)

    def remove_ids(self, x: Any) -> int:
        """Forgets the vectors of these ids. Returns how many they were."""
        raise self._not_there("remove_ids")

    def check_compatible_for_merge(self, otherIndex: Any) -> None:  # noqa: N803
        """RuntimeError where `merge_from` cannot be."""
        raise self._not_there("merge_from")

    def merge_from(self, otherIndex: Any, add_id: int = 0) -> None:  # noqa: N803
        """Takes over the vectors of another index of the same kind, which is empty afterwards."""
        raise self._not_there("merge_from")

    def __repr__(self) -> str:
        return f"<kith.compat.faiss.{type(self).__name__}: {self.ntotal} vectors of {self.d} dimensions>"


def known(keys: np.ndarray[Any, Any], ntotal: int) -> np.ndarray[Any, Any]:
    """Indices that the index has."""
    if keys.size and not 0 <= keys.min() <= keys.max() < ntotal:
        raise RuntimeError(f"keys from {keys.min()} to {keys.max()}: the index holds {ntotal} vectors")
    return keys


def selected(vectors: Any, keys: np.ndarray[Any, Any]) -> Any:
    """Rows of numpy or torch."""
    if is_tensor(vectors):
        return vectors[sys.modules["torch"].from_numpy(keys).to(vectors.device)]
    return on_host(vectors)[keys]


def removed(n: int, x: Any) -> np.ndarray[Any, Any]:
    """Which of n rows stay when those of the ids x go."""
    ids = on_host(x)
    if ids.ndim != 1:
        raise WrongArgument(f"x: expected one dimension of ids, got shape {ids.shape}")
    ids = ids_of(ids, ids.size, "x")
    kept = np.ones(n, bool)
    kept[ids[(ids >= 0) & (ids < n)]] = False
    return kept
