"""The core's view of a caller's array: where it lies, or a copy; and when the work that fills it is done."""
from __future__ import annotations

import math
import reprlib
import sys
from array import array as _StandardArray
from importlib import import_module
from importlib.util import find_spec
from operator import index as index_of
from typing import Any

import numpy as np

from . import _core
from ._gradients import transformed
from ._kinds import kind_of, loaded_torch
from ._tables import of_objects, of_sequence, of_table

# Host memory that is not an array yet.
_SEQUENCES = (list, tuple, memoryview, bytes, bytearray, _StandardArray)

# Integers that have no search of their own, and the type that holds each of their values.
_WIDER = {"int16": "float32", "uint16": "float32", "int32": "float64", "uint32": "float64", "int64": "float64",
          "uint64": "float64"}
_SEARCHED = frozenset(np.dtype(name) for name in ("float16", "float32", "float64", "int8", "uint8"))
_NUMPYS = _SEARCHED | {np.dtype("int64")}  # those that the core meets most often, all of which numpy can hand over


def readable(array: Any, name: str) -> Any:
    """`array` as the core takes it: itself wherever it can, else a copy that holds the same values."""
    if type(array) is np.ndarray:
        return _whole(array) if array.dtype in _SEARCHED else _numpy_readable(array, name)
    torch = loaded_torch()
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch_readable(torch, array, name)
    if isinstance(array, _SEQUENCES):
        array = of_sequence(array, name)
    array = of_table(array, name)
    if isinstance(array, np.ndarray):
        return _numpy_readable(array, name)
    if hasattr(array, "__dlpack__"):
        if _of_cupy(array) and not _apart(array.shape, [step // array.itemsize for step in array.strides]):  # as torch's
            array = array.copy()
        return array if str(getattr(array, "dtype", "")) not in _WIDER else _widened(array, name)
    if hasattr(array, "__cuda_array_interface__"):
        return _on_device_readable(array, name)
    if hasattr(array, "__array__"):
        return _numpy_readable(np.asarray(array), name)
    if _has_buffer(array):  # ctypes, mmap
        return _numpy_readable(of_sequence(array, name), name)
    return array


def _has_buffer(array: Any) -> bool:
    try:
        memoryview(array).release()
    except (TypeError, BufferError):
        return False
    return True


def _apart(shape: Any, strides: Any) -> bool:
    """True if rows or columns are contiguous, and those next to them at least as far away (layout_of in matrix.h). A broadcast
    or a sliding view lies otherwise; of a device's memory it is copied before the core sees it."""
    if len(shape) != 2 or 0 in shape:
        return True
    (rows, cols), (down, along) = shape, strides
    return bool(((along == 1 or cols == 1) and (down >= cols or rows == 1))
                or ((down == 1 or rows == 1) and (along >= rows or cols == 1)))


def given(array: Any, name: str, stream: int) -> tuple[Any, Any]:
    """readable() of an input, and array_interface() of that; the core is asked once about each."""
    if type(array) is np.ndarray:
        array = readable(array, name)
        return array, array_interface(array, name, stream)
    described = _core.described(array, stream)
    if described is not None:
        return array, described
    read = readable(array, name)
    return read, _by_its_library(read, name, stream) if read is array else array_interface(read, name, stream)


def element_name(array: Any, name: str = "an array") -> str:
    """"float32", "bfloat16", ...: of any library's array, which messages call `name`."""
    dtype = getattr(array, "dtype", None)
    if dtype is None and hasattr(array, "__cuda_array_interface__"):
        dtype = _of_device(array, name)["typestr"]
    return str(dtype).removeprefix("torch.")


def array_interface(array: Any, name: str, stream: int | None = None, writable: bool = False) -> Any:
    """The description that the core is given. For a device's array the work that fills it is done before what is queued on `stream`;
    None: it is for the core to write to, which asks here for what is no plain tensor. torch's and cupy's are told in
    numbers, since their DLPack takes longer than a small search."""
    if type(array) is np.ndarray:
        return array if array.dtype in _NUMPYS else _in_numbers(array, name, writable)
    if stream is not None:
        described = _core.described(array, stream)
        if described is not None:
            return described
    return _by_its_library(array, name, stream, writable)


def _by_its_library(array: Any, name: str, stream: int | None, writable: bool = False) -> Any:
    """array_interface() of what the core cannot describe: no array of numpy's and no plain tensor."""
    torch = loaded_torch()
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch_interface(torch, array, name, stream)
    if _of_cupy(array):
        if stream is not None and kind_of(array).stream(array) != stream:
            kind_of(array).wait(array)
        size = array.itemsize
        return _core.ArrayInterface(array, array.data.ptr, array.shape, [step // size for step in array.strides],
                                    array.dtype.name, array.device.id)
    if hasattr(array, "__dlpack__"):
        return array if stream is None else _dlpack_of(array, stream)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_cuda_array_interface(array, name, stream, writable)
    return array


def _torch_interface(torch: Any, array: Any, name: str, stream: int | None) -> Any:
    if not (array.is_cpu or array.is_cuda):
        return array
    if not _TORCH_NAMES:
        _TORCH_NAMES.update({getattr(torch, name): name for name in _TORCH_TYPES if hasattr(torch, name)})
    dtype = _TORCH_NAMES.get(array.dtype)
    if dtype is None:
        return array
    try:
        data = array.data_ptr()
    except RuntimeError as error:
        if transformed(array):
            raise TypeError(f"{name}: has no memory within a transform of torch.func, which search, graph, search_batches, radius, "
                            "distances, match and kith.torch.knn_points alone know; call it outside") from error
        raise TypeError(f"{name}: a tensor without memory ({type(array).__name__})") from error
    if stream is not None and array.is_cuda and kind_of(array).stream(array) != stream:
        kind_of(array).wait(array)
    return _core.ArrayInterface(array, data, array.shape, array.stride(), dtype, array.get_device())


_TORCH_TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "bool", "int32", "int64")
_TORCH_NAMES: dict[Any, str] = {}


def _in_numbers(array: np.ndarray[Any, Any], name: str, writable: bool) -> Any:
    """Itself, but for what numpy cannot hand over: ml_dtypes' bfloat16."""
    if array.dtype.name != "bfloat16":
        return array
    if writable and not array.flags.writeable:
        raise TypeError(f"{name}: expected a writable array, got one that is read-only")
    size = array.itemsize
    if any(step % size for step in array.strides):
        raise ValueError(f"{name}: rows or columns that are no whole elements apart")
    return _core.ArrayInterface(array, array.ctypes.data, array.shape, [step // size for step in array.strides],
                                array.dtype.name, -1)


def _dlpack_of(array: Any, stream: int) -> Any:
    """The array, or of a CUDA device's the capsule, for which its library makes `stream` wait (jax knows no other way)."""
    ready = getattr(array, "block_until_ready", None)
    if array.__dlpack_device__()[0] not in _DLPACK_CUDA:
        if ready is not None:
            ready()  # jax works on while Python goes on
        return array
    waiting = stream if stream else 1  # 1: the default stream
    try:
        return array.__dlpack__(stream=waiting, max_version=(1, 0))
    except TypeError:  # from before versions
        return array.__dlpack__(stream=waiting)


_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def _of_device(array: Any, name: str) -> dict[str, Any]:
    """__cuda_array_interface__, whose members are those of its description: shape and strides tuples, the type numpy's."""
    described = array.__cuda_array_interface__
    try:
        shape, steps, (data, read_only) = tuple(map(index_of, described["shape"])), described.get("strides"), described["data"]
        steps = None if steps is None else tuple(map(index_of, steps))
        dtype = np.dtype(str(described["typestr"]))
        stream = index_of(described.get("stream") or 0)
        if any(size < 0 for size in shape) or steps is not None and len(steps) != len(shape) or stream < 0:
            raise ValueError("of other sizes")
        index_of(data or 0)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TypeError(f"{name}: expected shape, typestr and data of an array in its __cuda_array_interface__ ({type(array).__name__}), got "
                        f"{reprlib.repr(described)}") from error
    return {**described, "shape": shape, "strides": steps, "data": (data or 0, read_only), "typestr": dtype}


def _from_cuda_array_interface(array: Any, name: str, stream: int | None, writable: bool) -> Any:
    """Version 3 and before: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html"""
    described = _of_device(array, name)
    if described.get("mask") is not None:
        raise ValueError(f"{name}: masked values; fill them (a point with NaN is never returned)")
    data, read_only = described["data"]
    if writable and read_only:
        raise TypeError(f"{name}: expected a writable array, got one that is read-only")
    dtype = described["typestr"]
    if dtype.kind not in "fiub" or not dtype.isnative:
        raise TypeError(f"{name}: no search in elements {array.__cuda_array_interface__['typestr']!r} (bfloat16 is read by DLPack alone)")
    shape, steps = described["shape"], described["strides"]
    if steps is None:
        steps = [dtype.itemsize * math.prod(shape[axis + 1:]) for axis in range(len(shape))]
    if any(step % dtype.itemsize for step in steps):
        raise ValueError(f"{name}: rows or columns that are no whole elements apart")
    own = described.get("stream")
    device = _core.device_of(data) if data and math.prod(shape) else -1
    if stream is not None and own is not None and (0 if own == 1 else own) != stream:
        _core.wait_for_stream(own, device)
    return _core.ArrayInterface(array, data, shape, [step // dtype.itemsize for step in steps], dtype.name, device)


def _of_cupy(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "cupy"


def _numpy_readable(array: np.ndarray[Any, Any], name: str) -> Any:
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            raise ValueError(f"{name}: masked values; fill them (a point with NaN is never returned)")
        array = array.data
    if array.dtype.name == "bfloat16":  # of ml_dtypes
        return _whole(np.asarray(array))
    if array.dtype == object and array.ndim == 1:  # of lists or arrays
        array = of_objects(array, name)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise TypeError(f"{name}: no search in elements {array.dtype}; {_remedy(array.dtype)}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    wider = _WIDER.get(array.dtype.name)
    return _whole(array) if wider is None else _exactly(array, array.astype(wider), name)


def _remedy(dtype: np.dtype[Any]) -> str:
    if dtype.names is not None:
        return "give one of its fields, or numpy.lib.recfunctions.structured_to_unstructured of them"
    if dtype.kind == "c":
        return "give real and imaginary parts side by side: numpy.concatenate([x.real, x.imag], axis=1)"
    if dtype.kind in "OUS":
        return "convert them to numbers: .astype(numpy.float64)"
    return "convert them: .astype(numpy.float64), or numpy.float32, which search faster"


def _whole(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Itself, or a copy where rows or columns are no whole elements apart: a field of a structured array."""
    if array.flags.c_contiguous or not any(step % array.itemsize for step in array.strides):
        return array
    return np.ascontiguousarray(array)


def _torch_readable(torch: Any, array: Any, name: str) -> Any:
    if array.layout != torch.strided or array.is_nested:
        raise TypeError(f"{name}: expected a dense tensor, got one of layout {array.layout}; give {name}.to_dense()")
    if array.requires_grad:
        array = array.detach()
    if array.is_conj() or array.is_neg():
        array = array.resolve_conj().resolve_neg()
    if not array.is_cpu and not _apart(array.shape, array.stride()):  # of host memory the core makes the copy
        array = array.contiguous()
    element = str(array.dtype).removeprefix("torch.")
    if array.is_complex():
        raise TypeError(f"{name}: no search in elements {element}; give torch.view_as_real({name}).flatten(1)")
    if element.startswith(("float8", "float4")) or array.is_quantized:
        raise TypeError(f"{name}: no search in elements {element}; give {name}"
                        f"{'.dequantize()' if array.is_quantized else '.to(torch.bfloat16)'}")
    wider = _WIDER.get(element)
    return array if wider is None else _exactly(array, array.to(getattr(torch, wider)), name)


def _widened(array: Any, name: str) -> Any:
    if _of_cupy(array):
        return _exactly(array, array.astype(_WIDER[str(array.dtype)]), name)
    return _numpy_readable(np.asarray(array) if hasattr(array, "__array__") else np.from_dlpack(array), name)


def _on_device_readable(array: Any, name: str) -> Any:
    """An array that says where it lies on a device and nothing else: integers to convert and views to copy are for another library."""
    described = _of_device(array, name)
    shape, steps, size = described["shape"], described["strides"], described["typestr"].itemsize
    in_place = steps is None or any(step % size for step in steps) or _apart(shape, [step // size for step in steps])
    if in_place and element_name(array) not in _WIDER:
        return array
    for library in ("cupy", "torch"):
        if library in sys.modules or find_spec(library):
            module = import_module(library)
            return readable(module.asarray(array) if library == "cupy" else module.as_tensor(array, device="cuda"), name)
    if in_place:
        raise TypeError(f"{name}: elements {element_name(array)} are converted by cupy or torch, of which none is installed; "
                        f"give them as {_WIDER[element_name(array)]}")
    raise TypeError(f"{name}: rows that overlap are copied by cupy or torch, of which none is installed; give a contiguous copy")


def _exactly(array: Any, wider: Any, name: str) -> Any:
    """`wider` has the values of `array`, or that is an error: from 2**53 on float64 may have rounded an integer."""
    if (str(array.dtype).endswith("int64") and 0 not in tuple(array.shape)
            and max(wider.max(), -wider.min()) >= 2**53):  # without a third array
        raise ValueError(f"{name}: {array.dtype} of 2**53 and more may not be exact in float64; convert it yourself")
    return wider
