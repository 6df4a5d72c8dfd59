"""cuvs.distance: pairwise_distance."""
from __future__ import annotations

from typing import Any

from ..._distances import distances as _distances
from ._metrics import search_of
from .common import stream_of

__all__ = ["pairwise_distance"]


def _is_double(array: Any) -> bool:
    return str(getattr(array, "dtype", "")).split(".")[-1] == "float64"


def pairwise_distance(X: Any, Y: Any, out: Any = None, metric: str = "euclidean", p: float = 2.0,  # noqa: N803
                      resources: Any = None) -> Any:
    """The distance of each row of X to each row of Y.

    Parameters
    ----------
    X, Y : arrays of shape (m, d) and (n, d)
        As `kith.distances` takes queries and points.
    out : array of shape (m, n), optional
        To write to, in C or Fortran order: float32, or float64.
    metric : str
        One of cuVS' names.
    p : float
        The exponent of "minkowski" and "lp".
    resources : Resources, optional
        Whose stream the work is ordered on.

    Returns
    -------
    array of shape (m, n)
        float32, or float64 where X or Y is, of X' kind on its device; or `out`.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat.cuvs import pairwise_distance
    >>> pairwise_distance(numpy.zeros((1, 2), "float32"), numpy.array([[3, 4]], "float32"))
    array([[5.]], dtype=float32)
    """
    how, stream = search_of(metric, p), stream_of(resources)
    f64 = _is_double(out) if out is not None else _is_double(X) or _is_double(Y)
    if out is not None and how.finish is None and _in_rows(out):
        return _distances(Y, X, f64=f64, out=out, stream=stream, **how.arguments)
    values = _distances(Y, X, f64=f64 or how.finish is not None, stream=stream, **how.arguments)
    if how.finish is not None:
        values = how.finished(values, X.shape[1], f64)
    if out is None:
        return values
    if tuple(out.shape) != tuple(values.shape) or str(out.dtype) != str(values.dtype):
        raise ValueError(f"out: expected float32 or float64 of shape {tuple(values.shape)}, got {out.dtype} of {tuple(out.shape)}")
    out[...] = values
    return out


def _in_rows(array: Any) -> bool:
    """True if rows lie one after the other."""
    if hasattr(array, "is_contiguous"):
        return bool(array.is_contiguous())
    flags = getattr(array, "flags", None)
    return flags is None or bool(flags.c_contiguous)
