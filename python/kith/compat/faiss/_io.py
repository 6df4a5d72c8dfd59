"""faiss' files of flat indexes: written as faiss reads them, read as faiss writes them.

An index is four letters that say which, a header (d, ntotal, two unused words, is_trained, metric, the metric's argument
after METRIC_L2) and its vectors; an index within another follows its header. Little-endian; vectors have their length
before them.
"""
from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ..._kinds import on_host
from ._arrays import WrongArgument
from ._binary import IndexBinary, IndexBinaryFlat, IndexBinaryIDMap, IndexBinaryIDMap2
from ._flat import IndexFlat, IndexFlatIP, IndexFlatL2
from ._gpu import GpuIndexBinaryFlat, GpuIndexFlat
from ._idmap import IndexIDMap, IndexIDMap2
from ._index import Index
from ._metrics import METRIC_INNER_PRODUCT, METRIC_L2, checked
from ._others import CODES
from ._streams import FileIOReader, FileIOWriter, IOReader, IOWriter, VectorIOReader, VectorIOWriter, exactly
from ._swig import UInt8Vector

IO_FLAG_READ_ONLY, IO_FLAG_ONDISK_SAME_DIR, IO_FLAG_SKIP_IVF_DATA, IO_FLAG_SKIP_PRECOMPUTE_TABLE = 2, 4, 8, 16
IO_FLAG_SKIP_STORAGE, IO_FLAG_MMAP, IO_FLAG_MMAP_IFC, IO_FLAG_PQ_SKIP_SDC_TABLE = 1, 8 | 0x646F0000, 1 << 9, 32

_UNUSED = 1 << 20
_HEADER = struct.Struct("<iqqqBi")  # d, ntotal, unused, unused, is_trained, metric
_BINARY_HEADER = struct.Struct("<iiqBi")  # d, code_size, ntotal, is_trained, metric


# ---------------------------------------------------------------- writing

def _vector(writer: IOWriter, values: Any, unit: int = 1) -> None:
    """Its length, in elements or in fours of bytes, and its elements."""
    array = np.ascontiguousarray(values)
    writer.write_bytes(struct.pack("<Q", array.size // unit))
    writer.write_bytes(array.reshape(-1).view(np.uint8).data)


def _write_header(writer: IOWriter, index: Index) -> None:
    writer.write_bytes(_HEADER.pack(index.d, index.ntotal, _UNUSED, _UNUSED, True, index.metric_type))
    if index.metric_type > METRIC_L2:
        writer.write_bytes(struct.pack("<f", index.metric_arg))


def _write(index: Any, writer: IOWriter) -> None:
    if index is None:
        writer.write_bytes(b"null")
    elif isinstance(index, (GpuIndexFlat, GpuIndexBinaryFlat)):
        raise RuntimeError(f"don't know how to serialize {type(index).__name__}: index_gpu_to_cpu first")
    elif isinstance(index, IndexFlat):
        writer.write_bytes({METRIC_INNER_PRODUCT: b"IxFI", METRIC_L2: b"IxF2"}.get(index.metric_type, b"IxFl"))
        _write_header(writer, index)
        _vector(writer, np.ascontiguousarray(on_host(index._vectors()), "<f4"))
    elif isinstance(index, IndexIDMap):
        writer.write_bytes(b"IxM2" if isinstance(index, IndexIDMap2) else b"IxMp")
        _write_header(writer, index)
        _write(index.index, writer)
        _vector(writer, index._ids.astype("<i8"))
    elif isinstance(index, IndexBinaryFlat):
        writer.write_bytes(b"IBxF")
        writer.write_bytes(_BINARY_HEADER.pack(index.d, index.code_size, index.ntotal, True, index.metric_type))
        _vector(writer, index._codes())
    elif isinstance(index, IndexBinaryIDMap):
        writer.write_bytes(b"IBM2" if isinstance(index, IndexBinaryIDMap2) else b"IBMp")
        writer.write_bytes(_BINARY_HEADER.pack(index.d, index.code_size, index.ntotal, True, index.metric_type))
        _write(index.index, writer)
        _vector(writer, index._ids.astype("<i8"))
    else:
        raise RuntimeError(f"index: {type(index).__name__} has no file format")


def write_index(index: Any, fname: Any, io_flags: int = 0) -> None:
    """Writes an index, in faiss' own format.

    Parameters
    ----------
    index : IndexFlat, IndexIDMap, ...
        On the CPU; None is written as none.
    fname : str, path or IOWriter
        Where to.
    io_flags : int
        Mean nothing for vectors as they are.

    Raises
    ------
    RuntimeError, OSError, TypeError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> writer = faiss.VectorIOWriter()
    >>> faiss.write_index(faiss.IndexFlatL2(8), writer)
    >>> writer.data.size()
    45
    """
    if index is not None and not isinstance(index, (Index, IndexBinary)):
        raise TypeError(f"index: expected an index or None, got {type(index).__name__}")
    if isinstance(fname, IOWriter):
        _write(index, fname)
        return fname.flush()
    writer = FileIOWriter(fname)
    try:
        _write(index, writer)
    finally:
        writer.close()


write_index_binary = write_index


def serialize_index(index: Any, io_flags: int = 0) -> np.ndarray[Any, Any]:
    """An index as bytes.

    Parameters
    ----------
    index, io_flags
        As of `write_index`.

    Returns
    -------
    array of uint8

    Raises
    ------
    RuntimeError, TypeError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> bytes(faiss.serialize_index(faiss.IndexFlatIP(8))[:4])
    b'IxFI'
    """
    writer = VectorIOWriter()
    write_index(index, writer, io_flags)
    return writer.data._values


def serialize_index_binary(index: Any) -> np.ndarray[Any, Any]:
    """An index of packed bits as bytes.

    Parameters
    ----------
    index : IndexBinaryFlat, IndexBinaryIDMap, ...
        On the CPU.

    Returns
    -------
    array of uint8

    Raises
    ------
    RuntimeError, TypeError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> bytes(faiss.serialize_index_binary(faiss.IndexBinaryFlat(8))[:4])
    b'IBxF'
    """
    return serialize_index(index)


# ---------------------------------------------------------------- reading

class _Reader:
    """Numbers and vectors of a reader, each checked before it is believed."""

    def __init__(self, reader: IOReader) -> None:
        self.reader = reader

    def wrong(self, what: str) -> RuntimeError:
        return RuntimeError(f"{self.reader.name or 'index'}: {what}")

    def unpack(self, form: struct.Struct, what: str) -> tuple[Any, ...]:
        return form.unpack(exactly(self.reader, form.size, what))

    def vector(self, dtype: str, expected: int, what: str) -> np.ndarray[Any, Any]:
        """For this many elements, as the header said before."""
        size, = self.unpack(struct.Struct("<Q"), f"the length of {what}")
        if size != expected:
            raise self.wrong(f"{size} {what}; expected {expected}, by its header")
        return np.frombuffer(exactly(self.reader, expected * np.dtype(dtype).itemsize, what), dtype)

    def header(self) -> tuple[int, int, int, float]:
        d, ntotal, _, _, trained, metric = self.unpack(_HEADER, "the header")
        argument = self.unpack(struct.Struct("<f"), "the metric's argument")[0] if metric > METRIC_L2 else 0.0
        self.check(d, ntotal, trained)
        try:
            return d, ntotal, checked(metric), argument
        except NotImplementedError as error:
            raise self.wrong(str(error)) from None

    def check(self, d: int, ntotal: int, trained: int) -> None:
        if d < 0 or ntotal < 0 or ntotal * max(d, 1) > 2**60 or trained not in (0, 1):
            raise self.wrong(f"{ntotal} vectors of {d} dimensions, is_trained {trained}: no header of an index")

    def index(self) -> Any:
        code = exactly(self.reader, 4, "the kind of index")
        if code in (b"IxF2", b"IxFI", b"IxFl"):
            d, ntotal, metric, argument = self.header()
            here: Any = {b"IxF2": IndexFlatL2, b"IxFI": IndexFlatIP}[code](d) if code != b"IxFl" else IndexFlat(d, metric)
            if metric != here.metric_type:
                raise self.wrong(f"metric {metric} in an {code.decode()}; expected {here.metric_type}")
            here.metric_arg = argument
            here._take(self.vector("<f4", ntotal * d, "coordinates").reshape(ntotal, d))
            return here
        if code in (b"IxMp", b"IxM2"):
            d, ntotal, metric, _ = self.header()
            return self.mapped(IndexIDMap if code == b"IxMp" else IndexIDMap2, Index, d, ntotal, metric)
        if code == b"IBxF":
            d, code_size, ntotal, trained, metric = self.unpack(_BINARY_HEADER, "the header")
            self.check(d, ntotal, trained)
            if d % 8 or code_size != d // 8:
                raise self.wrong(f"{code_size} bytes of {d} bits; expected a multiple of 8 bits")
            binary = IndexBinaryFlat(d)
            binary._take(self.vector("u1", ntotal * code_size, "bytes of codes").reshape(ntotal, code_size))
            return binary
        if code in (b"IBMp", b"IBM2"):
            d, code_size, ntotal, trained, metric = self.unpack(_BINARY_HEADER, "the header")
            self.check(d, ntotal, trained)
            return self.mapped(IndexBinaryIDMap if code == b"IBMp" else IndexBinaryIDMap2, IndexBinary, d, ntotal, metric)
        if code == b"null":
            return None
        known = CODES.get(code.decode("latin-1"))
        raise self.wrong(f"{known} is another kind of index; expected one of vectors as they are" if known else
                         f"begins with {code!r}, no kind of index that faiss writes")

    def mapped(self, of: Any, within: Any, d: int, ntotal: int, metric: int) -> Any:
        inner = self.index()
        if not isinstance(inner, within) or (inner.d, inner.ntotal, inner.metric_type) != (d, ntotal, metric):
            raise self.wrong(f"{inner!r} within an index of ids of {ntotal} vectors of {d} dimensions, metric {metric}")
        ids = self.vector("<i8", ntotal, "ids").astype(np.int64)
        return of._around(inner, ids)


def read_index(fname: Any, io_flags: int = 0) -> Any:
    """An index that `write_index` wrote, or faiss: `IndexFlat` of any metric, in an `IndexIDMap` or not, or of packed bits.

    Parameters
    ----------
    fname : str, path or IOReader
        Where from.
    io_flags : int
        Mean nothing for vectors as they are.

    Returns
    -------
    IndexFlat, IndexIDMap, ...

    Raises
    ------
    RuntimeError, OSError
        RuntimeError of what is no index, and of other kinds of index, by name.

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.deserialize_index(faiss.serialize_index(faiss.IndexFlatL2(8))).d
    8
    """
    if isinstance(fname, IOReader):
        return _Reader(fname).index()
    reader = FileIOReader(fname)
    try:
        return _Reader(reader).index()
    finally:
        reader.close()


read_index_binary = read_index


def deserialize_index(data: Any, io_flags: int = 0) -> Any:
    """An index that `serialize_index` made bytes of.

    Parameters
    ----------
    data : array of uint8
        The bytes.
    io_flags : int
        As of `read_index`.

    Returns
    -------
    IndexFlat, IndexIDMap, ...

    Raises
    ------
    RuntimeError, ValueError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.deserialize_index(faiss.serialize_index(faiss.IndexFlatIP(8))).metric_type == faiss.METRIC_INNER_PRODUCT
    True
    """
    array = on_host(data)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise WrongArgument(f"data: expected one dimension of uint8, got {array.dtype} of shape {array.shape}")
    reader = VectorIOReader()
    reader.data = UInt8Vector(array)
    return read_index(reader, io_flags)


def deserialize_index_binary(data: Any) -> Any:
    """An index of packed bits that `serialize_index_binary` made bytes of.

    Parameters
    ----------
    data : array of uint8
        The bytes.

    Returns
    -------
    IndexBinaryFlat, IndexBinaryIDMap, ...

    Raises
    ------
    RuntimeError, ValueError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.deserialize_index_binary(faiss.serialize_index_binary(faiss.IndexBinaryFlat(16))).code_size
    2
    """
    return deserialize_index(data)
