"""faiss' exact search: ``from kith.compat import faiss``.

`IndexFlatL2`, `IndexFlatIP`, `IndexFlat` with `search`, `range_search`, `search_and_reconstruct`, `remove_ids`, their twins of a
GPU (`GpuIndexFlatL2`, ..., `index_cpu_to_gpu`, `index_cpu_to_all_gpus`, `StandardGpuResources`), `knn`, `knn_gpu`,
`pairwise_distances`, `normalize_L2`, with faiss' arguments, types and order of results: float32 in, ``(D, I)`` out; distances of
`METRIC_L2` are squared. Vectors and queries may be torch's, on any device, as with ``faiss.contrib.torch_utils``, and then so
are the results. Equal distances come by ascending index, which faiss leaves open. The extremes differ as they do between faiss'
own functions: a neighbour that does not exist has index -1 and the largest float32 (`METRIC_INNER_PRODUCT`: the least) as its
distance.
"""
from __future__ import annotations

import sys
from typing import Any, Sequence

import numpy as np

from .. import _core
from .._distances import distances as _distances
from .._index import Index
from .._kinds import on_host
from .._search import search

METRIC_INNER_PRODUCT = 0
METRIC_L2 = 1
METRIC_L1 = 2
METRIC_Linf = 3  # noqa: N816
METRIC_Lp = 4  # noqa: N816
METRIC_Canberra = 20  # noqa: N816
METRIC_BrayCurtis = 21  # noqa: N816

_METRICS = {METRIC_INNER_PRODUCT: "inner_product", METRIC_L2: "sqeuclidean", METRIC_L1: "cityblock",
            METRIC_Linf: "chebyshev", METRIC_Canberra: "canberra", METRIC_BrayCurtis: "braycurtis"}

__all__ = ["METRIC_BrayCurtis", "METRIC_Canberra", "METRIC_INNER_PRODUCT", "METRIC_L1", "METRIC_L2", "METRIC_Linf", "METRIC_Lp",
           "GpuIndexFlat", "GpuIndexFlatConfig", "GpuIndexFlatIP", "GpuIndexFlatL2", "GpuMultipleClonerOptions", "IndexFlat",
           "IndexFlatIP", "IndexFlatL2", "StandardGpuResources", "get_num_gpus", "index_cpu_to_all_gpus", "index_cpu_to_gpu",
           "index_cpu_to_gpus_list", "index_gpu_to_cpu", "knn", "knn_gpu", "normalize_L2", "pairwise_distances"]


def _name(metric: int) -> str:
    if metric not in _METRICS:
        raise NotImplementedError(f"metric {metric}: expected one of {sorted(_METRICS)}")
    return _METRICS[metric]


def _is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _float32(x: Any) -> Any:
    """Arrays of a device, and tensors, where they lie; anything else of numpy."""
    if _is_tensor(x):
        return x.detach().float().contiguous()
    return x if hasattr(x, "__cuda_array_interface__") else np.ascontiguousarray(x, np.float32)


def _rows(x: Any, d: int, what: str) -> Any:
    array = _float32(x)
    if array.ndim != 2 or array.shape[1] != d:
        raise ValueError(f"{what}: expected shape (n, {d}), got {tuple(array.shape)}")
    return array


def _both(xq: Any, xb: Any) -> tuple[Any, Any]:
    xq = _float32(xq)
    if xq.ndim != 2:
        raise ValueError(f"xq: expected 2 dimensions, got {xq.ndim}")
    return xq, _rows(xb, xq.shape[1], "xb")


def _copy(array: Any) -> Any:
    return array.clone() if _is_tensor(array) else array.copy()


def _missing(like: Any, rows: int, k: int) -> tuple[Any, Any]:
    distances, indices = np.empty((rows, k), np.float32), np.full((rows, k), -1, np.int64)
    if not _is_tensor(like):
        return distances, indices
    return like.new_empty((rows, k)), sys.modules["torch"].from_numpy(indices).to(like.device)


def _as_faiss(distances: Any, indices: Any, metric: int, outputs: tuple[Any, Any]) -> tuple[Any, Any]:
    limits = np.finfo(np.float32)
    distances[indices < 0] = float(limits.min if metric == METRIC_INNER_PRODUCT else limits.max)
    for name, given, found in zip("DI", outputs, (distances, indices)):
        if given is not None:
            if tuple(given.shape) != tuple(found.shape) or given.dtype != found.dtype:
                raise ValueError(f"{name}: expected {found.dtype} of shape {tuple(found.shape)}, got {given.dtype} of "
                                 f"{tuple(given.shape)}")
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

    _device = "auto"  # where it searches

    def __init__(self, d: int, metric: int = METRIC_L2) -> None:
        self.d = d
        self.metric_type = metric
        self.is_trained = True
        self.verbose = False
        self._metric = _name(metric)
        self._parts: list[Any] = []
        self._index: Index | None = None

    @property
    def ntotal(self) -> int:
        """Vectors that were added."""
        return sum(len(part) for part in self._parts)

    def train(self, x: Any) -> None:
        """Nothing to train."""

    def add(self, x: Any) -> None:
        """Appends rows; their indices go on from ntotal."""
        self._parts.append(_copy(_rows(x, self.d, "x")))
        self._index = None

    def reset(self) -> None:
        """Forgets all vectors."""
        self._parts = []
        self._index = None

    def remove_ids(self, x: Any) -> int:
        """Forgets the vectors of these indices; the others move up. Returns how many they were."""
        vectors = self._vectors()
        kept = np.ones(len(vectors), bool)
        ids = np.asarray(on_host(x), np.int64).ravel()
        kept[ids[(ids >= 0) & (ids < len(kept))]] = False
        self._parts = [vectors[sys.modules["torch"].from_numpy(kept).to(vectors.device) if _is_tensor(vectors) else kept]]
        self._index = None
        return int(len(kept) - kept.sum())

    def _vectors(self) -> Any:
        if len(self._parts) > 1 and all(map(_is_tensor, self._parts)) and len({part.device for part in self._parts}) == 1:
            self._parts = [sys.modules["torch"].cat(self._parts)]
        elif len(self._parts) != 1:
            self._parts = [np.concatenate([*map(on_host, self._parts), np.empty((0, self.d), np.float32)])]
        return self._parts[0]

    def _prepared(self) -> Index:
        if self._index is None:
            self._index = Index(self._vectors(), metric=self._metric, device=self._device)
        return self._index

    def search(self, x: Any, k: int, *, params: Any = None, D: Any = None, I: Any = None) -> tuple[Any, Any]:  # noqa: E741, N803
        """``(D, I)``: distances and indices of the k nearest, written to D and I where they are given."""
        _no_parameters(params)
        queries = _rows(x, self.d, "x")
        if not self.ntotal or not len(queries):
            return _as_faiss(*_missing(queries, len(queries), k), self.metric_type, (D, I))
        return _as_faiss(*self._prepared().search(queries, k), self.metric_type, (D, I))

    def range_search(self, x: Any, thresh: float, *, params: Any = None) -> tuple[Any, Any, Any]:
        """``(lims, D, I)``: of query i the vectors I[lims[i]:lims[i + 1]], those nearer than thresh (METRIC_INNER_PRODUCT: of
        a larger product), the nearest first. The comparison is that of float64 distances."""
        _no_parameters(params)
        queries = _rows(x, self.d, "x")
        r = float(np.float32(thresh))  # as faiss takes it
        if not self.ntotal or not len(queries) or r != r:
            lims = np.zeros(len(queries) + 1, np.uint64)
            return lims, np.empty(0, np.float32), np.empty(0, np.int64)
        if r < 0 and self.metric_type != METRIC_INNER_PRODUCT:
            r = 0.0  # of which an open ball holds nothing
        distances, indices, lims = self._prepared().radius(queries, r, open=True)
        return lims if _is_tensor(lims) else lims.astype(np.uint64), distances, indices

    def search_and_reconstruct(self, x: Any, k: int, *, params: Any = None, D: Any = None, I: Any = None,  # noqa: E741, N803
                               R: Any = None) -> tuple[Any, Any, Any]:  # noqa: N803
        """``(D, I, R)``: R holds the vectors found, NaN where there is none."""
        distances, indices = self.search(x, k, params=params, D=D, I=I)
        if self.ntotal:
            vectors = self._vectors()
            if _is_tensor(indices):
                torch = sys.modules["torch"]
                vectors = (vectors if _is_tensor(vectors) else torch.from_numpy(vectors)).to(indices.device)
            else:
                vectors = on_host(vectors)
            found = vectors[indices]
        else:
            found = distances[..., None] * np.ones(self.d, np.float32) if not _is_tensor(distances) else (
                distances[..., None].repeat(1, 1, self.d))
        found[indices < 0] = float("nan")
        if R is None:
            return distances, indices, found
        R[:] = found
        return distances, indices, R

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}  # prepared again when it is needed

    def assign(self, x: Any, k: int = 1) -> Any:
        """The indices alone."""
        return self.search(x, k)[1]

    def reconstruct(self, key: int, x: Any = None) -> Any:
        """Vector `key`, of numpy or written to x."""
        if not 0 <= key < self.ntotal:
            raise RuntimeError(f"key is {key}: the index holds {self.ntotal} vectors")
        return _given_back(self._vectors()[key], x)

    def reconstruct_n(self, n0: int = 0, ni: int = -1, x: Any = None) -> Any:
        """ni vectors from n0 on, by default all; written to x where it is given."""
        end = self.ntotal if ni < 0 else n0 + ni
        if not 0 <= n0 <= end <= self.ntotal:
            raise RuntimeError(f"vectors {n0} to {end}: the index holds {self.ntotal}")
        return _given_back(self._vectors()[n0:end], x)

    def reconstruct_batch(self, key: Any, x: Any = None) -> Any:
        """The vectors of these indices; written to x where it is given."""
        keys = np.asarray(on_host(key), np.int64)
        if keys.size and not 0 <= keys.min() <= keys.max() < self.ntotal:
            raise RuntimeError(f"keys from {keys.min()} to {keys.max()}: the index holds {self.ntotal} vectors")
        return _given_back(on_host(self._vectors())[keys], x)


def _given_back(vectors: Any, x: Any) -> Any:
    if x is None:
        return np.array(on_host(vectors))
    if tuple(x.shape) != tuple(vectors.shape):
        raise ValueError(f"x: expected shape {tuple(vectors.shape)}, got {tuple(x.shape)}")
    x[...] = on_host(vectors)
    return x


def _no_parameters(params: Any) -> None:
    if params is not None:
        raise NotImplementedError("params: no search parameters are known to an exact search")


class IndexFlatL2(IndexFlat):
    """`IndexFlat` of squared Euclidean distances."""

    def __init__(self, d: int) -> None:
        super().__init__(d, METRIC_L2)


class IndexFlatIP(IndexFlat):
    """`IndexFlat` of inner products, the largest first."""

    def __init__(self, d: int) -> None:
        super().__init__(d, METRIC_INNER_PRODUCT)


class StandardGpuResources:
    """Accepted wherever faiss wants one, and nothing else: memory and streams are looked after. Work is ordered on the
    current stream of the queries' library."""

    def noTempMemory(self) -> None:  # noqa: N802
        """Nothing to set."""

    def setTempMemory(self, size: int) -> None:  # noqa: N802
        """Nothing to set."""

    def setPinnedMemory(self, size: int) -> None:  # noqa: N802
        """Nothing to set."""

    def setDefaultNullStreamAllDevices(self) -> None:  # noqa: N802
        """Nothing to set."""


class GpuIndexFlatConfig:
    """Where a `GpuIndexFlat` lies. Filters choose their own precision: the answers are exact whatever is said here."""

    def __init__(self) -> None:
        self.device = 0
        self.useFloat16 = False
        self.use_cuvs = False


class GpuMultipleClonerOptions:
    """Accepted by `index_cpu_to_all_gpus`. Vectors that are sharded and vectors that are replicated give the same answers."""

    def __init__(self) -> None:
        self.shard = False
        self.useFloat16 = False


class GpuIndexFlat(IndexFlat):
    """`IndexFlat` on one GPU.

    Parameters
    ----------
    resources : StandardGpuResources
        Not needed.
    dims : int or IndexFlat
        Dimensions, or the index whose vectors it takes.
    metric : int
        METRIC_L2, METRIC_INNER_PRODUCT, ...
    config : GpuIndexFlatConfig, optional
        Which GPU.
    """

    def __init__(self, resources: Any, dims: Any, metric: int = METRIC_L2, config: GpuIndexFlatConfig | None = None) -> None:
        of = dims if isinstance(dims, IndexFlat) else None
        super().__init__(dims if of is None else of.d, metric if of is None else of.metric_type)
        self._device = f"cuda:{0 if config is None else config.device}"
        if of is not None and of.ntotal:
            self._parts = [_copy(of._vectors())]

    def copyTo(self, index: IndexFlat) -> None:  # noqa: N802
        """Gives its vectors to an index of the CPU."""
        index.d, index.metric_type, index._metric, index._index = self.d, self.metric_type, self._metric, None
        index._parts = [self.reconstruct_n()] if self.ntotal else []


class GpuIndexFlatL2(GpuIndexFlat):
    """`GpuIndexFlat` of squared Euclidean distances."""

    def __init__(self, resources: Any, dims: Any, config: GpuIndexFlatConfig | None = None) -> None:
        super().__init__(resources, dims, METRIC_L2, config)


class GpuIndexFlatIP(GpuIndexFlat):
    """`GpuIndexFlat` of inner products, the largest first."""

    def __init__(self, resources: Any, dims: Any, config: GpuIndexFlatConfig | None = None) -> None:
        super().__init__(resources, dims, METRIC_INNER_PRODUCT, config)


def get_num_gpus() -> int:
    """CUDA devices that this process sees.

    Returns
    -------
    int

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.get_num_gpus() >= 0
    True
    """
    return _core.device_count()


def index_cpu_to_gpu(provider: Any, device: int, index: IndexFlat, options: Any = None) -> GpuIndexFlat:
    """The index' vectors in one of that GPU.

    Parameters
    ----------
    provider : StandardGpuResources
        Not needed.
    device : int
        Which GPU; what is absent is a `kith.DeviceError` of the first search.
    index : IndexFlat
        Is copied.
    options
        Not needed.

    Returns
    -------
    GpuIndexFlat

    Raises
    ------
    MemoryError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, faiss.IndexFlatL2(8)).d
    8
    """
    config = GpuIndexFlatConfig()
    config.device = device
    return GpuIndexFlat(provider, index, config=config)


def index_cpu_to_gpus_list(index: IndexFlat, co: Any = None, gpus: Sequence[int] | None = None, ngpu: int = -1) -> GpuIndexFlat:
    """The index' vectors in one that searches on several GPUs together.

    Parameters
    ----------
    index : IndexFlat
        Is copied.
    co : GpuMultipleClonerOptions, optional
        Not needed.
    gpus : sequence of int, optional
        Which; by default all, or the first ``ngpu``.
    ngpu : int
        How many, where gpus are not named; -1: all.

    Returns
    -------
    GpuIndexFlat

    Raises
    ------
    MemoryError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_cpu_to_gpus_list(faiss.IndexFlatL2(8), gpus=[0, 1]).ntotal
    0
    """
    there = GpuIndexFlat(None, index)
    if gpus is None:
        gpus = range(ngpu) if ngpu > 0 else ()
    there._device = "cuda:" + (",".join(map(str, gpus)) or "all")
    return there


def index_cpu_to_all_gpus(index: IndexFlat, co: Any = None, ngpu: int = -1) -> GpuIndexFlat:
    """The index' vectors in one that searches on all GPUs together.

    Parameters
    ----------
    index, co, ngpu
        As in `index_cpu_to_gpus_list`.

    Returns
    -------
    GpuIndexFlat

    Raises
    ------
    MemoryError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_cpu_to_all_gpus(faiss.IndexFlatIP(8)).metric_type == faiss.METRIC_INNER_PRODUCT
    True
    """
    return index_cpu_to_gpus_list(index, co, None, ngpu)


def index_gpu_to_cpu(index: GpuIndexFlat) -> IndexFlat:
    """Its vectors in an index of the CPU.

    Parameters
    ----------
    index : GpuIndexFlat
        Is copied.

    Returns
    -------
    IndexFlat

    Raises
    ------
    MemoryError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_gpu_to_cpu(faiss.GpuIndexFlatL2(faiss.StandardGpuResources(), 8)).ntotal
    0
    """
    here = IndexFlat(index.d, index.metric_type)
    index.copyTo(here)
    return here


def knn(xq: Any, xb: Any, k: int, metric: int = METRIC_L2, metric_arg: float = 0.0) -> tuple[Any, Any]:
    """The k nearest rows of xb for each row of xq.

    Parameters
    ----------
    xq, xb : arrays of shape (q, d) and (n, d)
        Of numpy or torch.
    k : int
        At least 1.
    metric : int
        METRIC_L2, METRIC_INNER_PRODUCT, ...
    metric_arg : float
        The exponent of METRIC_Lp, whose root is left out.

    Returns
    -------
    (D, I)
        Arrays of shape (q, k): float32 and int64.

    Raises
    ------
    ValueError, NotImplementedError, MemoryError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> faiss.knn(numpy.eye(2, dtype="float32"), numpy.eye(2, dtype="float32"), 1)[1]
    array([[0],
           [1]])
    """
    xq, xb = _both(xq, xb)
    if not len(xq) or not len(xb):
        return _as_faiss(*_missing(xq, len(xq), k), metric, (None, None))
    if metric == METRIC_Lp:  # faiss leaves out the root
        found = search(xb, xq, k, metric="minkowski", p=metric_arg, f64=True)
        powers = found.distances**metric_arg
        return _as_faiss(powers.float() if _is_tensor(powers) else powers.astype(np.float32), found.indices, metric, (None, None))
    return _as_faiss(*search(xb, xq, k, metric=_name(metric)), metric, (None, None))


def knn_gpu(res: Any, xq: Any, xb: Any, k: int, D: Any = None, I: Any = None, metric: int = METRIC_L2,  # noqa: E741, N803
            device: int = -1, **_: Any) -> tuple[Any, Any]:
    """`knn` on a GPU.

    Parameters
    ----------
    res : StandardGpuResources
        Not needed.
    xq, xb, k, metric
        As in `knn`; arrays may lie on that GPU, and then the results do.
    D, I : arrays of shape (q, k), optional
        To write to: float32 and int64.
    device : int
        Which GPU; -1: the first.

    Returns
    -------
    (D, I)

    Raises
    ------
    ValueError, NotImplementedError, MemoryError, DeviceError
        DeviceError where there is no such GPU.

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> x = numpy.eye(2, dtype="float32")
    >>> if faiss.get_num_gpus():
    ...     D, I = faiss.knn_gpu(faiss.StandardGpuResources(), x, x, 1)
    """
    where = "cuda" if device < 0 else f"cuda:{device}"
    xq, xb = _both(xq, xb)
    if not len(xq) or not len(xb):
        return _as_faiss(*_missing(xq, len(xq), k), metric, (D, I))
    return _as_faiss(*search(xb, xq, k, metric=_name(metric), device=where), metric, (D, I))


def pairwise_distances(xq: Any, xb: Any, metric: int = METRIC_L2, metric_arg: float = 0.0) -> Any:
    """The distance of each row of xq to each row of xb; of METRIC_L2 the square.

    Parameters
    ----------
    xq, xb : arrays of shape (q, d) and (n, d)
        Of numpy or torch.
    metric : int
        METRIC_L2, METRIC_INNER_PRODUCT, ...
    metric_arg : float
        The exponent of METRIC_Lp, whose root is left out.

    Returns
    -------
    array of shape (q, n)
        float32.

    Raises
    ------
    ValueError, NotImplementedError, MemoryError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> faiss.pairwise_distances(numpy.eye(2, dtype="float32"), numpy.eye(2, dtype="float32"))
    array([[0., 2.],
           [2., 0.]], dtype=float32)
    """
    xq, xb = _both(xq, xb)
    if not len(xq) or not len(xb):
        return xq.new_empty((len(xq), len(xb))) if _is_tensor(xq) else np.empty((len(xq), len(xb)), np.float32)
    if metric == METRIC_Lp:
        powers = _distances(xb, xq, metric="minkowski", p=metric_arg, f64=True)**metric_arg
        return powers.float() if _is_tensor(powers) else powers.astype(np.float32)
    return _distances(xb, xq, metric=_name(metric))


def normalize_L2(x: np.ndarray[Any, Any]) -> None:  # noqa: N802
    """Divides each row by its norm, in place; rows of zeros stay.

    Parameters
    ----------
    x : numpy array of shape (n, d)
        float32.

    Raises
    ------
    ValueError, TypeError
        Of an array that cannot be written to.

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> x = numpy.array([[3, 4], [0, 0]], "float32")
    >>> faiss.normalize_L2(x)
    >>> x
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    np.divide(x, norms, out=x, where=norms > 0)
