"""The part of faiss' C++ side that scripts use: pointers to arrays, std::vectors, and settings that an exact search does not need."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from ... import __version__ as kith_version
from ..._kinds import on_host
from .._values import is_tensor
from ._arrays import WrongArgument
from ._guarded import Guarded

# For faiss' interface, which this follows.
FAISS_VERSION_MAJOR, FAISS_VERSION_MINOR, FAISS_VERSION_PATCH = 1, 15, 1


class Pointer:
    """The result of `swig_ptr`: the array that it points into."""

    def __init__(self, array: Any) -> None:
        self.array = array


def swig_ptr(a: Any) -> Pointer:
    """A pointer to the elements of an array, for the functions that take one.

    Parameters
    ----------
    a : array
        An array of numpy or torch, C-contiguous; stays where it is.

    Returns
    -------
    Pointer

    Raises
    ------
    ValueError, TypeError

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> faiss.rev_swig_ptr(faiss.swig_ptr(numpy.arange(3)), 2)
    array([0, 1])
    """
    if not is_tensor(a) and not isinstance(a, np.ndarray):
        raise TypeError(f"a: expected an array of numpy or torch, got {type(a).__name__}")
    if not (a.is_contiguous() if is_tensor(a) else a.flags.c_contiguous):
        raise ValueError("array is not C-contiguous")
    return Pointer(a)


def rev_swig_ptr(ptr: Pointer, n: int) -> Any:
    """The first n elements that a pointer points to, in place.

    Parameters
    ----------
    ptr : Pointer
        Pointers of `swig_ptr`, or ``data()`` of a vector.
    n : int
        How many.

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    ValueError, TypeError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.rev_swig_ptr(faiss.Float32Vector().data(), 0)
    array([], dtype=float32)
    """
    if not isinstance(ptr, Pointer):
        raise TypeError(f"ptr: expected what swig_ptr gives, got {type(ptr).__name__}")
    flat = ptr.array.reshape(-1)
    if not 0 <= n <= len(flat):
        raise ValueError(f"n is {n}: expected at most {len(flat)}, all that there is")
    return flat[:n]


class _Vector:
    """A std::vector."""

    dtype: np.dtype[Any] = np.dtype(np.uint8)

    def __init__(self, values: Any = ()) -> None:
        self._values = np.array(values, self.dtype).reshape(-1)

    @property
    def _values(self) -> np.ndarray[Any, Any]:
        """The elements, in place; after them is room for more."""
        return self._room[:self._size]

    @_values.setter
    def _values(self, values: np.ndarray[Any, Any]) -> None:
        self._room, self._size = values, len(values)

    def size(self) -> int:
        """Elements."""
        return self._size

    __len__ = size

    def at(self, i: int) -> Any:
        """Element i."""
        return self._values[i].item()

    __getitem__ = at

    def push_back(self, value: Any) -> None:
        """Appends an element."""
        if self._size == len(self._room):
            self._room = np.concatenate([self._room, np.zeros(max(1, self._size), self.dtype)])
        self._room[self._size] = value
        self._size += 1

    def resize(self, n: int) -> None:
        """Cuts off, or appends zeros."""
        self._values = np.concatenate([self._values[:n], np.zeros(max(0, n - len(self._values)), self.dtype)])

    def clear(self) -> None:
        """Forgets all elements."""
        self._values = self._values[:0]

    def swap(self, other: _Vector) -> None:
        """Exchanges the elements with those of another vector."""
        self._values, other._values = other._values, self._values

    def data(self) -> Pointer:
        """A pointer to the elements."""
        return Pointer(self._values)


class Float32Vector(_Vector):
    """A std::vector of float32."""

    dtype = np.dtype(np.float32)


class Float64Vector(_Vector):
    """A std::vector of float64."""

    dtype = np.dtype(np.float64)


class Int8Vector(_Vector):
    """A std::vector of int8."""

    dtype = np.dtype(np.int8)


class Int16Vector(_Vector):
    """A std::vector of int16."""

    dtype = np.dtype(np.int16)


class Int32Vector(_Vector):
    """A std::vector of int32."""

    dtype = np.dtype(np.int32)


class Int64Vector(_Vector):
    """A std::vector of int64."""

    dtype = np.dtype(np.int64)


class UInt8Vector(_Vector):
    """A std::vector of uint8."""

    dtype = np.dtype(np.uint8)


class UInt16Vector(_Vector):
    """A std::vector of uint16."""

    dtype = np.dtype(np.uint16)


class UInt32Vector(_Vector):
    """A std::vector of uint32."""

    dtype = np.dtype(np.uint32)


class UInt64Vector(_Vector):
    """A std::vector of uint64."""

    dtype = np.dtype(np.uint64)


FloatVector, DoubleVector, CharVector, IntVector, ByteVector = Float32Vector, Float64Vector, Int8Vector, Int32Vector, UInt8Vector
LongVector = LongLongVector = Int64Vector
Uint64Vector = UInt64Vector


def vector_to_array(v: Any) -> np.ndarray[Any, Any]:
    """The elements of a vector, copied.

    Parameters
    ----------
    v : Float32Vector, Int64Vector, ...
        Members `codes`, `id_map`, `VectorIOWriter.data`.

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    TypeError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.vector_to_array(faiss.Int64Vector())
    array([], dtype=int64)
    """
    if not isinstance(v, _Vector):
        raise TypeError(f"v: expected a vector, got {type(v).__name__}")
    values: np.ndarray[Any, Any] = v._values.copy()
    return values


def copy_array_to_vector(a: Any, v: Any) -> None:
    """Sets the elements of a vector.

    Parameters
    ----------
    a : array of shape (n,)
        An array of the vector's type.
    v : Float32Vector, Int64Vector, ...
        Its contents are gone.

    Raises
    ------
    ValueError, TypeError
        AssertionError, too.

    Examples
    --------
    >>> import numpy
    >>> from kith.compat import faiss
    >>> vector = faiss.Int64Vector()
    >>> faiss.copy_array_to_vector(numpy.array([3, 1]), vector)
    >>> vector.size()
    2
    """
    if not isinstance(v, _Vector):
        raise TypeError(f"v: expected a vector, got {type(v).__name__}")
    array = on_host(a)
    if array.ndim != 1 or array.dtype != v.dtype:
        raise WrongArgument(f"a: expected one dimension of {v.dtype}, got {array.dtype} of shape {array.shape}")
    v._values = array.copy()


# ---------------------------------------------------------------- settings

_threads = os.cpu_count() or 1


def omp_set_num_threads(num_threads: int) -> None:
    """Remembered for `omp_get_max_threads`, and nothing else: the answer never depends on threads, and a search takes all.

    Parameters
    ----------
    num_threads : int
        At least 1.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.omp_set_num_threads(2)
    >>> faiss.omp_get_max_threads()
    2
    """
    global _threads
    if num_threads < 1:
        raise ValueError(f"num_threads is {num_threads}: expected at least 1")
    _threads = int(num_threads)


def omp_get_max_threads() -> int:
    """The number that `omp_set_num_threads` was given, else the processors.

    Returns
    -------
    int

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.omp_get_max_threads() >= 1
    True
    """
    return _threads


def popcount64(x: int) -> int:
    """How many bits are set.

    Parameters
    ----------
    x : int
        An integer of 64 bits.

    Returns
    -------
    int

    Raises
    ------
    TypeError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.popcount64(7)
    3
    """
    return (int(x) & 0xFFFFFFFFFFFFFFFF).bit_count()


def swig_version() -> int:
    """The version of SWIG whose interface this follows, as SWIG writes it.

    Returns
    -------
    int

    Examples
    --------
    >>> from kith.compat import faiss
    >>> hex(faiss.swig_version())
    '0x40300'
    """
    return 0x040300


def get_compile_options() -> str:
    """The name of this build.

    Returns
    -------
    str

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.get_compile_options().split()[0]
    'kith'
    """
    return f"kith {kith_version} "


class _Variables(Guarded):
    """faiss.cvar: constants and thresholds. Setting one changes nothing: no answer depends on them."""

    distance_compute_blas_threshold: int = 20
    distance_compute_blas_query_bs: int = 4096
    distance_compute_blas_database_bs: int = 1024
    distance_compute_min_k_reservoir: int = 100
    bucket_sort_verbose: int = 0


cvar = _Variables()


class SIMDConfig:
    """faiss' choice of an instruction set. Its level is always NONE: kith chooses by itself, and its bits never change."""

    @staticmethod
    def is_simd_level_available(level: int) -> bool:
        """For SIMDLevel_NONE alone."""
        return level == SIMDLevel_NONE

    @staticmethod
    def get_level() -> int:
        """SIMDLevel_NONE."""
        return SIMDLevel_NONE

    get_dispatched_level = get_level

    @staticmethod
    def set_level(level: int) -> None:
        """RuntimeError but of SIMDLevel_NONE."""
        if level != SIMDLevel_NONE:
            raise RuntimeError(f"SIMD level {level}: kith has SIMDLevel_NONE alone, and chooses instructions by itself")


(SIMDLevel_NONE, SIMDLevel_AVX2, SIMDLevel_AVX512, SIMDLevel_AVX512_SPR, SIMDLevel_ARM_NEON, SIMDLevel_ARM_SVE,
 SIMDLevel_RISCV_RVV) = range(7)
