"""The kinds of arrays that callers have: results of the same kind on the same device, and the stream that they work on."""
from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, Protocol

import numpy as np


def loaded_torch() -> Any:
    """torch, where it has been imported; None also while another thread is at it, when it has no Tensor yet."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") else None


class Kind(Protocol):
    """A library of arrays."""

    writable: bool  # whether out= may be of it

    def empty(self, like: Any, rows: int, cols: int, dtype: str) -> Any:
        """A new array that the core can write to, for results that belong to `like`; dtype: int64, float32, ..."""

    def finished(self, like: Any, array: Any) -> Any:
        """The array of this kind that stands for what empty() gave."""

    def of_numpy(self, like: Any, array: Any) -> Any:
        """The values of a numpy array that nobody else has, next to `like`."""

    def place(self, like: Any) -> Any:
        """Something small that stands for `like` in these calls once that is gone."""

    def stream(self, like: Any) -> int:
        """The CUDA stream on which the caller works with `like`, as a number; 0: none or the default stream."""

    def wait(self, like: Any) -> None:
        """Until what was queued on that stream is done."""


class _Numpy:
    writable = True

    def empty(self, like: Any, rows: int, cols: int, dtype: str) -> Any:
        return np.empty((rows, cols), dtype)

    def finished(self, like: Any, array: Any) -> Any:
        return array

    def of_numpy(self, like: Any, array: Any) -> Any:
        return array

    def place(self, like: Any) -> Any:
        return None

    def stream(self, like: Any) -> int:
        return 0

    def wait(self, like: Any) -> None:
        return None


class _CudaArrayInterface(_Numpy):
    """Arrays of a GPU that say where they lie and nothing else (numba's): results are numpy's, or go to out=."""

    def stream(self, like: Any) -> int:
        described = getattr(like, "__cuda_array_interface__", None)
        stream = described.get("stream") if isinstance(described, dict) else None
        return 0 if stream in (None, 1) or not isinstance(stream, int) else stream  # 1: the default stream


class _Torch:
    writable = True

    def empty(self, like: Any, rows: int, cols: int, dtype: str) -> Any:
        torch = sys.modules["torch"]
        allocate = self._allocator(torch, like)
        if allocate is None:
            return like.new_empty((rows, cols), dtype=getattr(torch, dtype))
        return allocate((rows, cols), (cols, 1), getattr(torch, dtype))

    def _allocator(self, torch: Any, like: Any) -> Any:
        """Called by the code of torch.compile in place of new_empty(), which takes four times as long; it allocates on the
        current device. None: torch has none for such tensors."""
        if type(like) is torch.Tensor:
            try:
                if like.is_cpu:
                    return torch._C._dynamo.guards._empty_strided_cpu
                if like.is_cuda and torch._C._cuda_getDevice() == like.get_device():
                    return torch._C._dynamo.guards._empty_strided_cuda
            except AttributeError:
                pass
        return None

    def finished(self, like: Any, array: Any) -> Any:
        return array

    def of_numpy(self, like: Any, array: Any) -> Any:
        return sys.modules["torch"].from_numpy(array).to(like.device)

    def place(self, like: Any) -> Any:
        return like.new_empty(0)

    def stream(self, like: Any) -> int:
        if not like.is_cuda:
            return 0
        raw = getattr(sys.modules["torch"]._C, "_cuda_getCurrentRawStream", None)  # as Triton asks: no Stream is made
        if raw is not None:
            return int(raw(like.get_device()))
        return int(sys.modules["torch"].cuda.current_stream(like.device).cuda_stream)

    def wait(self, like: Any) -> None:
        if like.is_cuda:
            sys.modules["torch"].cuda.current_stream(like.device).synchronize()


class _Cupy:
    writable = True

    def empty(self, like: Any, rows: int, cols: int, dtype: str) -> Any:
        import cupy
        with cupy.cuda.Device(like.device):
            return cupy.empty((rows, cols), dtype)

    def finished(self, like: Any, array: Any) -> Any:
        return array

    def of_numpy(self, like: Any, array: Any) -> Any:
        import cupy
        with cupy.cuda.Device(like.device):
            return cupy.asarray(array)

    def place(self, like: Any) -> Any:
        return self.empty(like, 0, 0, "float32")

    def stream(self, like: Any) -> int:
        import cupy
        with cupy.cuda.Device(like.device):
            return int(cupy.cuda.get_current_stream().ptr)

    def wait(self, like: Any) -> None:
        import cupy
        with cupy.cuda.Device(like.device):
            cupy.cuda.get_current_stream().synchronize()


class _Jax(_Numpy):
    """jax's arrays are immutable: the core writes to host memory, from where the result goes to `like`'s device. Its
    streams are its own; it makes one of ours wait for them (DLPack)."""

    writable = False

    def finished(self, like: Any, array: Any) -> Any:
        import jax
        return jax.device_put(array, like.sharding if len(like.devices()) == 1 else None)

    def of_numpy(self, like: Any, array: Any) -> Any:
        return self.finished(like, array)

    def place(self, like: Any) -> Any:
        return self.finished(like, np.empty(0, np.float32))


_KINDS: dict[str, Kind] = {"torch": _Torch(), "cupy": _Cupy(), "jax": _Jax(), "jaxlib": _Jax()}
_NUMPY: Kind = _Numpy()
_CUDA_ARRAY_INTERFACE: Kind = _CudaArrayInterface()


@lru_cache(maxsize=64)
def _kind_of_type(of: type) -> Kind | None:
    for base in of.__mro__:
        kind = _KINDS.get(base.__module__.partition(".")[0])
        if kind is not None:
            return kind
    return None


def kind_of(values: Any) -> Kind:
    """Results for arrays of libraries that are not known here are numpy's."""
    if type(values) is np.ndarray:
        return _NUMPY
    of: Any = type(values)
    kind = _kind_of_type(of)
    if kind is not None:
        return kind
    return _CUDA_ARRAY_INTERFACE if hasattr(values, "__cuda_array_interface__") else _NUMPY


def on_host(array: Any) -> np.ndarray[Any, Any]:
    """A numpy array of the same values; of bfloat16, which numpy lacks, float32."""
    torch = loaded_torch()
    if torch is not None and isinstance(array, torch.Tensor):
        array = array.detach().cpu()
        array = (array.float() if array.dtype == torch.bfloat16 else array).numpy()
    elif type(array).__module__.partition(".")[0] == "cupy":
        array = array.get()
    host = np.asarray(array)
    if host.dtype.name == "bfloat16":
        return host.astype(np.float32)
    return np.ascontiguousarray(host.view(np.uint8) if host.dtype == np.bool_ else host)
