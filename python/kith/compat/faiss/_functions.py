"""faiss' functions of arrays: knn, distances, the k smallest of rows, merged lists of neighbours."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._kinds import on_host
from .._values import is_tensor
from ..._topk import topk as _topk
from ._arrays import WrongArgument, beside, both, ids_of, missing, wanted
from ._measured import Measured, all_distances
from ._metrics import METRIC_L2, checked, worst


def knn(xq: Any, xb: Any, k: int, metric: int = METRIC_L2, metric_arg: float = 0.0) -> tuple[Any, Any]:
    """The k nearest rows of xb for each row of xq.

    Parameters
    ----------
    xq, xb : arrays of shape (q, d) and (n, d)
        An array of numpy or torch.
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
    return nearest(xq, xb, k, metric, metric_arg, "auto")


def nearest(xq: Any, xb: Any, k: int, metric: int, metric_arg: float, device: str) -> tuple[Any, Any]:
    """`knn` on a device."""
    xq, xb = both(xq, xb)
    k, metric = wanted(k), checked(metric)
    if not len(xq) or not len(xb):
        return missing(xq, len(xq), k, worst(metric))
    return Measured(xb, metric, metric_arg, device).nearest(xq, k)


def pairwise_distances(xq: Any, xb: Any, metric: int = METRIC_L2, metric_arg: float = 0.0) -> Any:
    """The distance of each row of xq to each row of xb; of METRIC_L2 the square.

    Parameters
    ----------
    xq, xb : arrays of shape (q, d) and (n, d)
        An array of numpy or torch.
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
    return all_distances(*both(xq, xb), metric, metric_arg)


def normalize_L2(x: np.ndarray[Any, Any]) -> None:  # noqa: N802
    """Divides each row by its norm, in place; rows of zeros stay.

    Parameters
    ----------
    x : numpy array of shape (n, d)
        float32.

    Raises
    ------
    ValueError, TypeError
        For an array that cannot be written to.

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


def _best(array: Any, k: int, largest: bool) -> tuple[Any, Any]:
    values = np.ascontiguousarray(on_host(array), np.float32)
    if values.ndim != 2:
        raise WrongArgument(f"array: expected 2 dimensions, got {values.ndim}")
    k, most = wanted(k), values.shape[1]
    limits = np.finfo(np.float32)
    distances = np.full((len(values), k), limits.min if largest else limits.max, np.float32)
    indices = np.full((len(values), k), -1, np.int64)
    if values.size:
        found = _topk(values, min(k, most), 1, largest)
        distances[:, :most], indices[:, :most] = found.values, found.indices
    return distances, indices


def kmin(array: Any, k: int) -> tuple[Any, Any]:
    """The k smallest values of each row.

    Parameters
    ----------
    array : array of shape (m, n)
        As float32.
    k : int
        At least 1.

    Returns
    -------
    (D, I)
        Arrays of shape (m, k): values as float32, and columns.

    Raises
    ------
    ValueError, TypeError, MemoryError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> faiss.kmin(numpy.array([[3, 1, 2]], "float32"), 2)[1]
    array([[1, 2]])
    """
    return _best(array, k, False)


def kmax(array: Any, k: int) -> tuple[Any, Any]:
    """The k largest values of each row.

    Parameters
    ----------
    array : array of shape (m, n)
        As float32.
    k : int
        At least 1.

    Returns
    -------
    (D, I)
        Arrays of shape (m, k): values as float32, and columns.

    Raises
    ------
    ValueError, TypeError, MemoryError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> faiss.kmax(numpy.array([[3, 1, 2]], "float32"), 2)[1]
    array([[0, 2]])
    """
    return _best(array, k, True)


def merge_knn_results(Dall: Any, Iall: Any, keep_max: bool = False) -> tuple[Any, Any]:  # noqa: N803
    """The nearest of several lists of neighbours.

    Parameters
    ----------
    Dall, Iall : arrays of shape (lists, q, k)
        Distances, each row in order, and indices, -1 of neighbours that do not exist.
    keep_max : bool
        Larger values are nearer.

    Returns
    -------
    (D, I)
        Arrays of shape (q, k), of the types of Dall and Iall. For equal distances the earlier list comes first.

    Raises
    ------
    ValueError
        AssertionError, too.

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> faiss.merge_knn_results(numpy.array([[[1, 4]], [[2, 3]]]), numpy.array([[[7, 8]], [[5, 6]]]))
    (array([[1, 2]]), array([[7, 5]]))
    """
    distances, indices = on_host(Dall), on_host(Iall)
    if distances.ndim != 3 or distances.shape != indices.shape:
        raise WrongArgument(f"Dall, Iall: expected (lists, q, k) of both, got {distances.shape} and {indices.shape}")
    lists, q, k = distances.shape
    flat_d, flat_i = (part.transpose(1, 0, 2).reshape(q, lists * k) for part in (distances, indices))
    return _merged(flat_d, flat_i, k, keep_max)


def _merged(distances: Any, indices: Any, k: int, keep_max: bool) -> tuple[Any, Any]:
    order = np.lexsort((-distances if keep_max else distances, indices < 0))[:, :k]
    return np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)


class ResultHeap:
    """The nearest of results that come in parts: `D` and `I` after `finalize`.

    Parameters
    ----------
    nq, k : int
        Queries, and neighbours of each.
    keep_max : bool
        Larger values are nearer.
    """

    def __init__(self, nq: int, k: int, keep_max: bool = False) -> None:
        self.nq, self.k, self.keep_max = nq, wanted(k), keep_max
        limits = np.finfo(np.float32)
        self.D = np.full((nq, k), limits.min if keep_max else limits.max, np.float32)
        self.I = np.full((nq, k), -1, np.int64)  # noqa: E741

    def add_result(self, D: Any, I: Any) -> None:  # noqa: E741, N803
        """Results of all queries, in any order: arrays of shape (nq, m)."""
        self.add_result_subset(np.arange(self.nq), D, I)

    def add_result_subset(self, subset: Any, D: Any, I: Any) -> None:  # noqa: E741, N803
        """Results of the queries that `subset` names: arrays of shape (m, n), or I of shape (n,), the same of all."""
        of = on_host(subset)
        distances = np.asarray(on_host(D), np.float32)
        indices = np.asarray(on_host(I), np.int64)
        if indices.ndim == 1:
            indices = np.broadcast_to(indices, (len(distances), len(indices)))
        if distances.ndim != 2 or indices.shape != distances.shape or ids_of(of, len(distances), "subset").shape != of.shape:
            raise WrongArgument(f"D, I: expected ({len(of)}, n) of both, got {distances.shape} and {indices.shape}")
        # An index below 0 is a result like any other here, as there: what is not there yet is -1 at the worst distance.
        far, at = np.concatenate([self.D[of], distances], 1), np.concatenate([self.I[of], indices], 1)
        order = np.argsort(-far if self.keep_max else far, axis=1, kind="stable")[:, :self.k]
        self.D[of], self.I[of] = np.take_along_axis(far, order, 1), np.take_along_axis(at, order, 1)

    def finalize(self) -> None:
        """Nothing left to do: `D` and `I` are always in order."""


def eval_intersection(I1: Any, I2: Any) -> int:  # noqa: N803
    """How many indices two tables have in common, row by row.

    Parameters
    ----------
    I1, I2 : arrays of shape (q, k)
        Indices.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        AssertionError, too.

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> faiss.eval_intersection(numpy.array([[1, 2]]), numpy.array([[2, 3]]))
    1
    """
    one, other = on_host(I1), on_host(I2)
    if one.ndim != 2 or other.ndim != 2 or len(one) != len(other):
        raise WrongArgument(f"I1, I2: expected (q, k1) and (q, k2), got {one.shape} and {other.shape}")
    return sum(len(np.intersect1d(a, b)) for a, b in zip(one, other))


def written(found: tuple[Any, Any], outputs: tuple[Any, Any]) -> tuple[Any, Any]:
    """The results in arrays that a caller has, of which indices may be int32."""
    result = []
    for name, given, values in zip("DI", outputs, found):
        if given is None:
            result.append(values)
            continue
        types = ("int64", "int32") if name == "I" else ("float32",)
        if tuple(given.shape) != tuple(values.shape) or str(given.dtype).split(".")[-1] not in types:
            raise WrongArgument(f"{name}: expected {' or '.join(types)} of shape {tuple(values.shape)}, got {given.dtype} of "
                                f"{tuple(given.shape)}")
        given[...] = values if is_tensor(given) == is_tensor(values) else beside(given, on_host(values))
        result.append(given)
    return result[0], result[1]
