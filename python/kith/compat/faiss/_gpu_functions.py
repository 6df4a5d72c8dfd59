"""faiss' functions that run on a GPU: knn_gpu, distances, and both by pointers."""
from __future__ import annotations

from typing import Any

from ..._kinds import on_host
from .._values import is_tensor
from ._arrays import both, in_outputs
from ._functions import nearest, written
from ._guarded import Guarded
from ._measured import all_distances
from ._metrics import METRIC_L2
from ._swig import Pointer, rev_swig_ptr

# faiss' DistanceDataType and IndicesDataType.
DistanceDataType_F32, DistanceDataType_F16, DistanceDataType_BF16 = 1, 2, 3
IndicesDataType_I64, IndicesDataType_I32 = 1, 2


def knn_gpu(res: Any, xq: Any, xb: Any, k: int, D: Any = None, I: Any = None, metric: int = METRIC_L2,  # noqa: E741, N803
            device: int = -1, use_cuvs: bool = False, vectorsMemoryLimit: int = 0, queriesMemoryLimit: int = 0,  # noqa: N803
            ) -> tuple[Any, Any]:
    """`knn` on a GPU.

    Parameters
    ----------
    res : StandardGpuResources
        Not needed.
    xq, xb, k, metric
        As in `knn`; arrays may lie on that GPU, and then the results do.
    D, I : arrays of shape (q, k), optional
        To write to: float32, and int64 or int32.
    device : int
        Which GPU; -1: the first.
    use_cuvs, vectorsMemoryLimit, queriesMemoryLimit
        Mean nothing: memory is looked after.

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
    return written(nearest(xq, xb, k, metric, 0.0, _where(device)), (D, I))


def _where(device: int) -> str:
    return "cuda" if device < 0 else f"cuda:{device}"


def pairwise_distance_gpu(res: Any, xq: Any, xb: Any, D: Any = None, metric: int = METRIC_L2,  # noqa: N803
                          device: int = -1) -> Any:
    """`pairwise_distances` on a GPU.

    Parameters
    ----------
    res : StandardGpuResources
        Not needed.
    xq, xb, metric
        As in `pairwise_distances`; arrays may lie on that GPU, and then the result does.
    D : array of shape (q, n), optional
        To write to: float32.
    device : int
        Which GPU; -1: the first.

    Returns
    -------
    array of shape (q, n)

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
    ...     D = faiss.pairwise_distance_gpu(faiss.StandardGpuResources(), x, x)
    """
    return in_outputs((all_distances(*both(xq, xb), metric, 0.0, _where(device)),), (D,))[0]


class GpuDistanceParams(Guarded):
    """The request of `bfKnn`: pointers of `swig_ptr`, and what they point to."""

    metric: int = METRIC_L2
    metricArg: float = 0.0  # noqa: N815
    k: int = 0
    dims: int = 0
    vectors: Pointer | None = None
    vectorType: int = DistanceDataType_F32  # noqa: N815
    vectorsRowMajor: bool = True  # noqa: N815
    numVectors: int = 0  # noqa: N815
    vectorNorms: Any = None  # noqa: N815
    queries: Pointer | None = None
    queryType: int = DistanceDataType_F32  # noqa: N815
    queriesRowMajor: bool = True  # noqa: N815
    numQueries: int = 0  # noqa: N815
    outDistances: Pointer | None = None  # noqa: N815
    outIndices: Pointer | None = None  # noqa: N815
    outIndicesType: int = IndicesDataType_I64  # noqa: N815
    ignoreOutDistances: bool = False  # noqa: N815
    device: int = -1
    use_cuvs: bool = False


def _matrix(pointer: Any, n: int, d: int, row_major: bool, name: str) -> Any:
    if pointer is None:
        raise ValueError(f"args.{name}: none; expected what swig_ptr gives")
    flat = rev_swig_ptr(pointer, n * d)
    return flat.reshape(n, d) if row_major else flat.reshape(d, n).T


def bfKnn(res: Any, args: GpuDistanceParams) -> None:  # noqa: N802
    """The k nearest vectors of each query on a GPU, or with k -1 all distances, by pointers.

    Parameters
    ----------
    res : StandardGpuResources
        Not needed.
    args : GpuDistanceParams
        Arrays and what is asked for; results are written to ``outDistances`` and ``outIndices``.

    Raises
    ------
    ValueError, NotImplementedError, MemoryError, DeviceError
        DeviceError where there is no such GPU.

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> x, D, I = numpy.eye(2, dtype="float32"), numpy.empty((2, 1), "float32"), numpy.empty((2, 1), "int64")
    >>> args = faiss.GpuDistanceParams()
    >>> args.k, args.dims, args.numVectors, args.numQueries = 1, 2, 2, 2
    >>> args.vectors = args.queries = faiss.swig_ptr(x)
    >>> args.outDistances, args.outIndices = faiss.swig_ptr(D), faiss.swig_ptr(I)
    >>> if faiss.get_num_gpus():
    ...     faiss.bfKnn(faiss.StandardGpuResources(), args)
    """
    queries = _matrix(args.queries, args.numQueries, args.dims, args.queriesRowMajor, "queries")
    vectors = _matrix(args.vectors, args.numVectors, args.dims, args.vectorsRowMajor, "vectors")
    if args.k == -1:
        found: tuple[Any, ...] = (all_distances(*both(queries, vectors), args.metric, args.metricArg, _where(args.device)),)
        outputs = [(args.outDistances, "outDistances")]
    else:
        found = nearest(queries, vectors, args.k, args.metric, args.metricArg, _where(args.device))
        outputs = [(None if args.ignoreOutDistances else args.outDistances, "outDistances"), (args.outIndices, "outIndices")]
    for values, (pointer, name) in zip(found, outputs):
        if pointer is None and name == "outDistances" and args.ignoreOutDistances:
            continue
        rows, columns = values.shape
        out = _matrix(pointer, rows, columns, True, name)
        out[...] = values if is_tensor(out) == is_tensor(values) else on_host(values)


bruteForceKnn = bfKnn  # noqa: N816
