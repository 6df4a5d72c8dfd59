"""The kinds of arrays that callers have: what the core reads of them, and results of the same kind and device."""
from __future__ import annotations

import sys
from array import array as _StandardArray
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from . import _core

# Host memory that is not an array yet.
_SEQUENCES = (list, tuple, memoryview, bytes, bytearray, _StandardArray)

# Integers that have no search of their own, and the type that holds each of their values.
_WIDER = {"int16": "float32", "uint16": "float32", "int32": "float64", "uint32": "float64", "int64": "float64",
          "uint64": "float64"}
_SEARCHED = frozenset(np.dtype(name) for name in ("float16", "float32", "float64", "int8", "uint8"))


class Kind(Protocol):
    """A library of arrays."""

    writable: bool  # whether out= may be of it

    def empty(self, like: Any, rows: int, cols: int, dtype: str) -> Any:
        """A new array that the core can write to, for results that belong to `like`; dtype: int64, float32, float64."""

    def finished(self, like: Any, array: Any) -> Any:
        """The array of this kind that stands for what empty() gave."""

    def stream(self, like: Any) -> int:
        """The CUDA stream on which the caller works with `like`, as a number; 0: none or the default stream."""


class _Numpy:
    writable = True

    def empty(self, like: Any, rows: int, cols: int, dtype: str) -> Any:
        return np.empty((rows, cols), dtype)

    def finished(self, like: Any, array: Any) -> Any:
        return array

    def stream(self, like: Any) -> int:
        return 0


class _Torch:
    writable = True

    def empty(self, like: Any, rows: int, cols: int, dtype: str) -> Any:
        torch = sys.modules["torch"]
        return like.new_empty((rows, cols), dtype=getattr(torch, dtype))

    def finished(self, like: Any, array: Any) -> Any:
        return array

    def stream(self, like: Any) -> int:
        if not like.is_cuda:
            return 0
        raw = getattr(sys.modules["torch"]._C, "_cuda_getCurrentRawStream", None)  # as Triton asks: no Stream is made
        if raw is not None:
            return int(raw(like.get_device()))
        return int(sys.modules["torch"].cuda.current_stream(like.device).cuda_stream)


class _Cupy:
    writable = True

    def empty(self, like: Any, rows: int, cols: int, dtype: str) -> Any:
        import cupy
        with cupy.cuda.Device(like.device):
            return cupy.empty((rows, cols), dtype)

    def finished(self, like: Any, array: Any) -> Any:
        return array

    def stream(self, like: Any) -> int:
        import cupy
        return int(cupy.cuda.get_current_stream().ptr)


class _Jax(_Numpy):
    """jax's arrays are immutable: the core writes to host memory, from where the result goes to `like`'s device."""

    writable = False

    def finished(self, like: Any, array: Any) -> Any:
        import jax
        return jax.device_put(array, like.sharding if len(like.devices()) == 1 else None)


_KINDS: dict[str, Kind] = {"torch": _Torch(), "cupy": _Cupy(), "jax": _Jax(), "jaxlib": _Jax()}
_NUMPY: Kind = _Numpy()


def kind_of(values: Any) -> Kind:
    """Results for arrays of libraries that are not known here are numpy's."""
    if type(values) is np.ndarray:
        return _NUMPY
    for base in type(values).__mro__:
        kind = _KINDS.get(base.__module__.partition(".")[0])
        if kind is not None:
            return kind
    return _NUMPY


def readable(array: Any, name: str) -> Any:
    """`array` as the core takes it: itself wherever it can, else a copy that holds the same values."""
    if type(array) is np.ndarray:
        return array if array.dtype in _SEARCHED else _numpy_readable(array, name)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch_readable(torch, array, name)
    if isinstance(array, (np.ndarray, *_SEQUENCES)):
        return _numpy_readable(np.asanyarray(array), name)
    if hasattr(array, "__dlpack__"):
        of_cupy = type(array).__module__.partition(".")[0] == "cupy"
        if of_cupy and array.ndim == 2 and array.itemsize not in array.strides:  # as torch's
            array = array.copy()
        return array if str(getattr(array, "dtype", "")) not in _WIDER else _widened(array, name)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_cuda_array_interface(array, name)
    if hasattr(array, "__array__"):  # tables
        return _numpy_readable(np.asarray(array), name)
    return array


def array_interface(array: Any, name: str) -> Any:
    """What the core is given: torch's tensors in numbers, since their DLPack takes longer than a small search."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor) or not (array.is_cpu or array.is_cuda):
        return array
    if not _TORCH_NAMES:
        _TORCH_NAMES.update({getattr(torch, name): name for name in _TORCH_TYPES if hasattr(torch, name)})
    dtype = _TORCH_NAMES.get(array.dtype)
    if dtype is None:
        return array
    try:
        data = array.data_ptr()
    except RuntimeError as error:
        raise TypeError(f"{name}: a tensor without memory ({type(array).__name__})") from error
    return _core.ArrayInterface(array, data, array.shape, array.stride(), dtype, array.get_device())


_TORCH_TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "bool", "int32", "int64")
_TORCH_NAMES: dict[Any, str] = {}


def _numpy_readable(array: np.ndarray[Any, Any], name: str) -> Any:
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            raise ValueError(f"{name}: masked values; fill them (a point with NaN is never returned)")
        array = array.data
    if array.dtype.name == "bfloat16":  # of ml_dtypes, which numpy cannot hand over
        return array.astype(np.float32)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(f"{name}: no search in elements {array.dtype}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    wider = _WIDER.get(array.dtype.name)
    return array if wider is None else _exactly(array, array.astype(wider), name)


def _torch_readable(torch: Any, array: Any, name: str) -> Any:
    if array.layout != torch.strided or array.is_nested:
        raise TypeError(f"{name}: expected a dense tensor, got one of layout {array.layout}")
    if array.requires_grad:
        array = array.detach()
    if array.is_conj() or array.is_neg():
        array = array.resolve_conj().resolve_neg()
    if array.is_cuda and array.ndim == 2 and 1 not in array.stride():  # of host memory the core makes the copy
        array = array.contiguous()
    wider = _WIDER.get(str(array.dtype).removeprefix("torch."))
    return array if wider is None else _exactly(array, array.to(getattr(torch, wider)), name)


def _widened(array: Any, name: str) -> Any:
    if type(array).__module__.partition(".")[0] == "cupy":
        return _exactly(array, array.astype(_WIDER[str(array.dtype)]), name)
    return _numpy_readable(np.asarray(array) if hasattr(array, "__array__") else np.from_dlpack(array), name)


def _from_cuda_array_interface(array: Any, name: str) -> Any:
    """Of arrays on a GPU without __dlpack__ (numba's): the same memory, as another library's array."""
    for library in ("cupy", "torch"):
        if library in sys.modules or find_spec(library):
            module = import_module(library)
            return module.asarray(array) if library == "cupy" else module.as_tensor(array, device="cuda")
    raise TypeError(f"{name}: {type(array).__name__} has no __dlpack__: install cupy or torch, which can give it one")


def _exactly(array: Any, wider: Any, name: str) -> Any:
    """`wider` has the values of `array`, or that is an error: from 2**53 on float64 may have rounded an integer."""
    if str(array.dtype).endswith("int64") and 0 not in tuple(array.shape) and abs(wider).max() >= 2**53:
        raise ValueError(f"{name}: {array.dtype} of 2**53 and more may not be exact in float64; convert it yourself")
    return wider
