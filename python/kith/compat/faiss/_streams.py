"""Where indexes are written to and read from: files, vectors of bytes, callbacks, as faiss names them."""
from __future__ import annotations

import os
from typing import IO, Any, Callable

import numpy as np

from ..._kinds import on_host
from ._swig import Pointer, UInt8Vector

_PIECE = 1 << 24  # bytes that are read at once: what a header claims is not allocated before it is there


class IOWriter:
    """The destination of bytes."""

    name: str = ""

    def write_bytes(self, b: Any) -> None:
        """Appends bytes."""
        raise NotImplementedError

    def flush(self) -> None:
        """Hands on what is held."""

    def __call__(self, ptr: Pointer, size: int, nitems: int) -> int:
        """Writes this many items of this many bytes; returns how many they were."""
        array = on_host(ptr.array)
        self.write_bytes(array.reshape(-1).view(np.uint8)[:size * nitems].tobytes())
        return nitems


class IOReader:
    """The source of bytes."""

    name: str = ""

    def read_bytes(self, totsz: int) -> bytes:
        """The next totsz bytes, or fewer where the end comes first."""
        raise NotImplementedError

    def __call__(self, ptr: Pointer, size: int, nitems: int) -> int:
        """Reads this many items of this many bytes; returns how many were there."""
        found = self.read_bytes(size * nitems)
        whole = len(found) // size if size else 0
        ptr.array.reshape(-1).view(np.uint8)[:whole * size] = np.frombuffer(found, np.uint8)[:whole * size]
        return whole


class VectorIOWriter(IOWriter):
    """Bytes in memory: `data` holds them."""

    def __init__(self) -> None:
        self._written = bytearray()

    @property
    def data(self) -> UInt8Vector:
        """The bytes, copied."""
        return UInt8Vector(np.frombuffer(bytes(self._written), np.uint8))

    def write_bytes(self, b: Any) -> None:
        """Appends bytes."""
        self._written += b


class VectorIOReader(IOReader):
    """Bytes in memory: those of `data`, into which `copy_array_to_vector` puts them."""

    def __init__(self) -> None:
        self.data = UInt8Vector()
        self.rp = 0  #: where it reads

    def read_bytes(self, totsz: int) -> bytes:
        """The next totsz bytes, or fewer where the end comes first."""
        piece = self.data._values[self.rp:self.rp + totsz].tobytes()
        self.rp += len(piece)
        return piece


class PyCallbackIOWriter(IOWriter):
    """Hands the bytes to a function.

    Parameters
    ----------
    f : callable
        Is called with ``bytes``.
    bs : int
        The most of one call.
    """

    def __init__(self, f: Callable[[bytes], Any], bs: int = 1024 * 1024) -> None:
        self._call, self._most = f, bs

    def write_bytes(self, b: Any) -> None:
        """Appends bytes."""
        view = memoryview(b)
        for first in range(0, len(view), self._most):
            self._call(bytes(view[first:first + self._most]))


class PyCallbackIOReader(IOReader):
    """Asks a function for the bytes.

    Parameters
    ----------
    f : callable
        Is called with a number of bytes and returns at most as many; none at the end.
    bs : int
        The most that one call asks for.
    """

    def __init__(self, f: Callable[[int], bytes], bs: int = 1024 * 1024) -> None:
        self._call, self._most = f, bs

    def read_bytes(self, totsz: int) -> bytes:
        """The next totsz bytes, or fewer where the end comes first."""
        found = bytearray()
        while len(found) < totsz:
            wanted = min(self._most, totsz - len(found))
            piece = self._call(wanted)
            if not piece:
                break
            if len(piece) > wanted:
                raise RuntimeError(f"PyCallbackIOReader: {len(piece)} bytes where at most {wanted} were asked for")
            found += piece
        return bytes(found)


class _File:
    """A file that is closed by `close`, or when nobody has it any longer."""

    def __init__(self, f: Any, mode: str) -> None:
        self.name = os.fspath(f)
        self._file: IO[bytes] = open(self.name, mode)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


class FileIOWriter(_File, IOWriter):
    """A file of that name."""

    def __init__(self, fname: Any) -> None:
        super().__init__(fname, "wb")

    def write_bytes(self, b: Any) -> None:
        """Appends bytes."""
        self._file.write(b)


class FileIOReader(_File, IOReader):
    """A file of that name."""

    def __init__(self, fname: Any) -> None:
        super().__init__(fname, "rb")

    def read_bytes(self, totsz: int) -> bytes:
        """The next totsz bytes, or fewer where the end comes first."""
        return self._file.read(totsz)


class BufferedIOWriter(IOWriter):
    """Collects bytes for another writer, which gets the last of them when this one goes or is flushed."""

    def __init__(self, writer: IOWriter, bsz: int = 1024 * 1024) -> None:
        self._writer, self._most, self._held = writer, bsz, bytearray()

    def write_bytes(self, b: Any) -> None:
        """Appends bytes."""
        self._held += b
        if len(self._held) >= self._most:
            self.flush()

    def flush(self) -> None:
        """Hands on what is held."""
        held, self._held = self._held, bytearray()
        if held:
            self._writer.write_bytes(bytes(held))

    def __del__(self) -> None:
        self.flush()


class BufferedIOReader(IOReader):
    """Reads from another reader by larger pieces."""

    def __init__(self, reader: IOReader, bsz: int = 1024 * 1024) -> None:
        self._reader, self._most, self._held = reader, bsz, b""

    def read_bytes(self, totsz: int) -> bytes:
        """The next totsz bytes, or fewer where the end comes first."""
        if len(self._held) < totsz:
            self._held += self._reader.read_bytes(max(self._most, totsz - len(self._held)))
        piece, self._held = self._held[:totsz], self._held[totsz:]
        return piece


def exactly(reader: IOReader, size: int, what: str) -> bytes:
    """size bytes, or RuntimeError; what is not there is not allocated."""
    found = bytearray()
    while len(found) < size:
        piece = reader.read_bytes(min(_PIECE, size - len(found)))
        if not piece:
            raise RuntimeError(f"{reader.name or 'index'}: ends after {len(found)} of the {size} bytes of {what}")
        found += piece
    return bytes(found)
