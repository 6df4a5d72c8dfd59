"""faiss' exact search: ``from kith.compat import faiss``.

`IndexFlatL2`, `IndexFlatIP`, `IndexFlat`, `knn`, `knn_gpu`, `normalize_L2` with faiss' arguments, types and order of
results: float32 in, ``(D, I)`` out; distances of `METRIC_L2` are squared. Equal distances come by ascending index, which
faiss leaves open. The extremes differ as they do between faiss' own functions: a neighbour that does not exist has index -1
and the largest float32 (`METRIC_INNER_PRODUCT`: the least) as its distance.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from .._search import Index, search

METRIC_INNER_PRODUCT = 0
METRIC_L2 = 1
METRIC_L1 = 2
METRIC_Linf = 3  # noqa: N816
METRIC_Lp = 4  # noqa: N816
METRIC_Canberra = 20  # noqa: N816
METRIC_BrayCurtis = 21  # noqa: N816

_METRICS = {METRIC_INNER_PRODUCT: "inner_product", METRIC_L2: "sqeuclidean", METRIC_L1: "cityblock",
            METRIC_Linf: "chebyshev", METRIC_Canberra: "canberra", METRIC_BrayCurtis: "braycurtis"}

__all__ = ["METRIC_BrayCurtis", "METRIC_Canberra", "METRIC_INNER_PRODUCT", "METRIC_L1", "METRIC_L2", "METRIC_Linf",
           "IndexFlat", "IndexFlatIP", "IndexFlatL2", "StandardGpuResources", "knn", "knn_gpu", "normalize_L2"]


def _name(metric: int) -> str:
    if metric not in _METRICS:
        raise NotImplementedError(f"metric {metric}: expected one of {sorted(_METRICS)}")
    return _METRICS[metric]


def _rows(x: Any, d: int, what: str) -> np.ndarray[Any, Any]:
    array = np.ascontiguousarray(x, np.float32)
    if array.ndim != 2 or array.shape[1] != d:
        raise ValueError(f"{what}: expected shape (n, {d}), got {array.shape}")
    return array


def _as_faiss(distances: Any, indices: Any, metric: int, outputs: tuple[Any, Any]) -> tuple[Any, Any]:
    worst = np.finfo(np.float32).min if metric == METRIC_INNER_PRODUCT else np.finfo(np.float32).max
    distances[indices < 0] = worst
    for name, given, found in zip("DI", outputs, (distances, indices)):
        if given is not None:
            if given.shape != found.shape or given.dtype != found.dtype:
                raise ValueError(f"{name}: expected {found.dtype} of shape {found.shape}, got {given.dtype} of {given.shape}")
            given[:] = found
    return (distances if outputs[0] is None else outputs[0], indices if outputs[1] is None else outputs[1])


class IndexFlat:
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

    def __init__(self, d: int, metric: int = METRIC_L2) -> None:
        self.d = d
        self.metric_type = metric
        self.is_trained = True
        self.verbose = False
        self._metric = _name(metric)
        self._parts: list[np.ndarray[Any, Any]] = []
        self._index: Index | None = None

    @property
    def ntotal(self) -> int:
        """Vectors that were added."""
        return sum(len(part) for part in self._parts)

    def train(self, x: Any) -> None:
        """Nothing to train."""

    def add(self, x: Any) -> None:
        """Appends rows; their indices go on from ntotal."""
        self._parts.append(_rows(x, self.d, "x").copy())
        self._index = None

    def reset(self) -> None:
        """Forgets all vectors."""
        self._parts = []
        self._index = None

    def _vectors(self) -> np.ndarray[Any, Any]:
        if len(self._parts) != 1:
            self._parts = [np.concatenate(self._parts) if self._parts else np.empty((0, self.d), np.float32)]
        return self._parts[0]

    def search(self, x: Any, k: int, *, params: Any = None, D: Any = None, I: Any = None) -> tuple[Any, Any]:  # noqa: E741, N803
        """``(D, I)``: distances and indices of the k nearest, written to D and I where they are given."""
        if params is not None:
            raise NotImplementedError("params: no search parameters are known to an exact search")
        queries = _rows(x, self.d, "x")
        vectors = self._vectors()
        if not len(vectors) or not len(queries):
            missing = np.empty((len(queries), k), np.float32), np.full((len(queries), k), -1, np.int64)
            return _as_faiss(*missing, self.metric_type, (D, I))
        if self._index is None:
            self._index = Index(vectors, metric=self._metric)
        return _as_faiss(*self._index.search(queries, k), self.metric_type, (D, I))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}  # prepared again when it is needed

    def assign(self, x: Any, k: int = 1) -> Any:
        """The indices alone."""
        return self.search(x, k)[1]

    def reconstruct(self, key: int) -> np.ndarray[Any, Any]:
        """Vector `key`."""
        if not 0 <= key < self.ntotal:
            raise RuntimeError(f"key is {key}: the index holds {self.ntotal} vectors")
        return np.array(self._vectors()[key])

    def reconstruct_n(self, n0: int = 0, ni: int = -1) -> np.ndarray[Any, Any]:
        """ni vectors from n0 on, by default all."""
        end = self.ntotal if ni < 0 else n0 + ni
        if not 0 <= n0 <= end <= self.ntotal:
            raise RuntimeError(f"vectors {n0} to {end}: the index holds {self.ntotal}")
        return np.array(self._vectors()[n0:end])


class IndexFlatL2(IndexFlat):
    """`IndexFlat` of squared Euclidean distances."""

    def __init__(self, d: int) -> None:
        super().__init__(d, METRIC_L2)


class IndexFlatIP(IndexFlat):
    """`IndexFlat` of inner products, the largest first."""

    def __init__(self, d: int) -> None:
        super().__init__(d, METRIC_INNER_PRODUCT)


def knn(xq: Any, xb: Any, k: int, metric: int = METRIC_L2, metric_arg: float = 0.0) -> tuple[Any, Any]:
    """``(D, I)`` of the k nearest rows of xb for each row of xq."""
    xq, xb = np.asarray(xq, np.float32), np.asarray(xb, np.float32)
    if metric == METRIC_Lp:  # faiss leaves out the root
        found = search(xb, xq, k, metric="minkowski", p=metric_arg, f64=True)
        return _as_faiss((found.distances**metric_arg).astype(np.float32), found.indices, metric, (None, None))
    return _as_faiss(*search(xb, xq, k, metric=_name(metric)), metric, (None, None))


class StandardGpuResources:
    """Accepted by `knn_gpu`, and nothing else: memory and streams are looked after."""


def knn_gpu(res: Any, xq: Any, xb: Any, k: int, D: Any = None, I: Any = None, metric: int = METRIC_L2,  # noqa: E741, N803
            device: int = -1, **_: Any) -> tuple[Any, Any]:
    """`knn` on a GPU (`device` -1: the first). Arrays may be torch's on that GPU, and then are the results."""
    found = search(xb, xq, k, metric=_name(metric), device="cuda" if device < 0 else f"cuda:{device}")
    if isinstance(found.indices, np.ndarray):
        return _as_faiss(found.distances, found.indices, metric, (D, I))
    for given, part in zip((D, I), found):
        if given is not None:
            given[:] = part
    return (found.distances if D is None else D, found.indices if I is None else I)


def normalize_L2(x: np.ndarray[Any, Any]) -> None:  # noqa: N802
    """Divides each row by its norm, in place; rows of zeros stay."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    np.divide(x, norms, out=x, where=norms > 0)
