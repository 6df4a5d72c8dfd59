"""Arrays as faiss takes and gives them: float32 rows, numpy's or torch's; errors that are both faiss' and kith's."""
from __future__ import annotations

import sys
from typing import Any, Sequence

import numpy as np

from ..._kinds import on_host
from .._values import as_defined, is_tensor

# faiss' NumericType.
Float32 = 0
Float16 = 1
UInt8 = 2
Int8 = 3

#: Whether vectors that are given back are torch's where nothing else says: contrib.torch_utils sets it, as faiss' does.
tensors_by_default = False


class WrongArgument(AssertionError, ValueError):
    """An error for which faiss has a bare AssertionError: shapes, types and numbers of arguments. A ValueError, too."""


@as_defined
def float32(x: Any) -> Any:
    """Arrays of a device, and tensors, where they lie; anything else of numpy."""
    if is_tensor(x):
        return x.detach().float().contiguous()
    return x if hasattr(x, "__cuda_array_interface__") else np.ascontiguousarray(x, np.float32)


def rows(x: Any, d: int, what: str, numeric_type: int = Float32) -> Any:
    """x as float32 of shape (n, d)."""
    if numeric_type not in (Float32, Float16):
        raise WrongArgument(f"numeric_type is {numeric_type}: expected Float32 or Float16")
    if numeric_type == Float16:
        x = x.half() if is_tensor(x) else np.asarray(on_host(x), np.float16)
    array = float32(x)
    if array.ndim != 2 or array.shape[1] != d:
        raise WrongArgument(f"{what}: expected shape (n, {d}), got {tuple(array.shape)}")
    return array


def both(xq: Any, xb: Any) -> tuple[Any, Any]:
    """Queries and vectors of as many dimensions."""
    xq = float32(xq)
    if xq.ndim != 2:
        raise WrongArgument(f"xq: expected 2 dimensions, got {xq.ndim}")
    return xq, rows(xb, xq.shape[1], "xb")


def bytes_of_codes(x: Any, code_size: int, what: str) -> np.ndarray[Any, Any]:
    """Packed bits: uint8 of shape (n, code_size)."""
    array = on_host(x)
    if array.dtype != np.uint8:
        raise TypeError(f"{what}: expected uint8, got {array.dtype}")
    if array.ndim != 2 or array.shape[1] != code_size:
        raise WrongArgument(f"{what}: expected shape (n, {code_size}), got {array.shape}")
    return np.ascontiguousarray(array)


def ids_of(x: Any, n: int, what: str = "ids") -> np.ndarray[Any, Any]:
    """n numbers as int64."""
    array = on_host(x)
    if array.shape != (n,):
        raise WrongArgument(f"{what}: expected shape ({n},), got {array.shape}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what}: expected integers, got {array.dtype}")
    return np.ascontiguousarray(array, np.int64)


def wanted(k: Any) -> int:
    """k, at least 1."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"k: expected an integer, got {type(k).__name__}")
    if k <= 0:
        raise WrongArgument(f"k is {k}: expected at least 1")
    return int(k)


def copy_of(array: Any) -> Any:
    """Values of the index' own."""
    return array.clone() if is_tensor(array) else array.copy()


def beside(like: Any, array: np.ndarray[Any, Any]) -> Any:
    """The values of a numpy array, as a tensor on its device where `like` is one."""
    return sys.modules["torch"].from_numpy(np.ascontiguousarray(array)).to(like.device) if is_tensor(like) else array


def missing(like: Any, n: int, k: int, worst: float) -> tuple[Any, Any]:
    """(D, I) of n queries that have no neighbour."""
    return beside(like, np.full((n, k), worst, np.float32)), beside(like, np.full((n, k), -1, np.int64))


def in_outputs(found: tuple[Any, ...], outputs: tuple[Any, ...], names: Sequence[str] = "DIR") -> tuple[Any, ...]:
    """The results, written to the arrays that were given for them."""
    result = []
    for name, given, values in zip(names, outputs, found):
        if given is not None:
            if tuple(given.shape) != tuple(values.shape) or given.dtype != values.dtype:
                raise WrongArgument(f"{name}: expected {values.dtype} of shape {tuple(values.shape)}, got {given.dtype} of "
                                    f"{tuple(given.shape)}")
            given[...] = values
        result.append(values if given is None else given)
    return tuple(result)


def given_back(vectors: Any, x: Any, shape: tuple[int, ...] | None = None) -> Any:
    """Vectors of an index for its caller: in x, else tensors where the index holds tensors or torch_utils is imported."""
    if x is not None:
        if tuple(x.shape) != tuple(vectors.shape if shape is None else shape):
            raise WrongArgument(f"x: expected shape {tuple(vectors.shape if shape is None else shape)}, got {tuple(x.shape)}")
        x[...] = beside(x, on_host(vectors))
        return x
    if is_tensor(vectors):
        return vectors.clone()
    host = np.array(on_host(vectors))
    return sys.modules["torch"].from_numpy(host) if tensors_by_default else host


def no_parameters(params: Any) -> None:
    """Search parameters belong to approximate indexes; selectors of ids are not there."""
    if params is not None:
        raise NotImplementedError(f"params: {type(params).__name__}; an exact search has no parameters, and no selector of ids")


def ascending(lims: Any, distances: Any, indices: Any, n: int) -> tuple[Any, Any, Any]:
    """Results of a range search by ascending index, as faiss lists them, from those by ascending distance."""
    if is_tensor(indices):
        torch = sys.modules["torch"]
        of_query = torch.repeat_interleave(torch.arange(len(lims) - 1, device=lims.device), lims.diff())
        order = (of_query * n + indices).argsort()
        return lims, distances[order], indices[order]
    xp = np if isinstance(indices, np.ndarray) else indices.__array_namespace__()
    of_query = xp.searchsorted(lims[1:], xp.arange(len(indices)), side="right")
    order = xp.argsort(of_query * n + indices)
    return lims.astype(np.uint64), distances[order], indices[order]
