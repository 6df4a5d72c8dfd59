"""Points within a radius that need not fit into memory: radius_blocks hands rows on as they are found, radius_csr writes them."""
from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import Any, Callable, Iterator, NamedTuple, Union

from . import _core
from ._arguments import Progress, _flag, _metric, _path, _rows, _settings
from ._arrays import array_interface, readable
from ._core import Report
from ._gradients import refuse_tracked
from ._kinds import kind_of
from ._missing import noted
from ._progress import callback_of
from ._radius import RadiusMethods, _int64, _radii, _split

Path = Union[str, "os.PathLike[str]"]


class _Block(NamedTuple):
    first: int
    distances: Any
    indices: Any
    offsets: Any


class RadiusBlock(_Block):
    """Rows of an answer that follow each other: ``for first, distances, indices, offsets in kith.radius_blocks(...)``.

    Row ``first + i`` is ``indices[offsets[i]:offsets[i + 1]]``, ordered by (distance, index), with its distances next to it.

    Attributes
    ----------
    first : int
        The query of the first row.
    distances, indices : arrays
        As those of `RadiusNeighbors`.
    offsets : array of shape (rows + 1,)
        int64; the first is 0.
    """

    __slots__ = ()

    def rows(self) -> list[tuple[Any, Any]]:
        """For each of its queries the (distances, indices), as views."""
        return _split(self.distances, self.indices, self.offsets)


def radius_blocks(points: Any, queries: Any, r: Any, *, open: bool = False, include_self: bool = False,  # noqa: A002
                  metric: str = "euclidean", p: float = 2.0, inverse_covariance: Any = None, variances: Any = None,
                  packed_bits: bool = False, formula: str | None = None, start: float = 0.0, f64: bool = False,
                  device: str = "auto", memory: int = 0, threads: int = 0, path: str = "", isa: str = "",
                  stream: int | None = None, progress: Progress = None, missing: str = "warn") -> Iterator[RadiusBlock]:
    """All points within a radius of each query, in blocks of rows as they are found.

    Parameters
    ----------
    points : array of shape (n, d)
        As in `search`.
    queries : array of shape (q, d), or None
        None: the points among themselves, each without itself unless ``include_self``.
    r, open
        As in `radius`.
    memory : int
        Bytes that a block may have, about, where no single row takes more; 0: 256 MiB. Next to the block that the caller
        has, one waits and one is being made. The search's own workspace has the same limit, and on a
        GPU needs some MiB at least.

    The other parameters: as in `radius`.

    Returns
    -------
    iterator of RadiusBlock
        All rows, in order, of the queries' kind on their device. The search goes on in a thread while the caller works; it
        ends where the iterator is closed or dropped. A child of ``fork()`` has not that thread: there the iterator raises
        RuntimeError.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Errors of the search come when the first block is asked for. Tensors that require a gradient are a ValueError:
        `radius` has gradients.

    Examples
    --------
    >>> import numpy, kith
    >>> points = numpy.arange(6.0).reshape(6, 1)
    >>> for block in kith.radius_blocks(points, None, 1):
    ...     print(block.first, block.indices, block.offsets)
    0 [1 0 2 1 3 2 4 3 5 4] [ 0  1  3  5  7  9 10]
    """
    like = points if queries is None else queries
    kind = kind_of(like)
    stream = kind.stream(like) if stream is None else stream
    refuse_tracked("radius_blocks", points=points, queries=queries)
    points = readable(points, "points")
    asked = None if queries is None else readable(queries, "queries")
    one, each = _radii(r, _rows(points, "points") if asked is None else _rows(asked, "queries"))
    open, include_self = _flag(open, "open"), _flag(include_self, "include_self")  # noqa: A001
    with_metric = _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, "euclidean")

    def search(to: Any, shown: Progress) -> Report:
        return _core.radius_blocks(
            array_interface(points, "points", stream),
            None if asked is None else array_interface(asked, "queries", stream), one, each, open, include_self,
            with_metric,
            _settings(f64, device, memory, threads, path, isa, stream, shown, missing=missing), to)

    return _blocks(search, kind, like, progress, lambda report: noted(report, missing, points, asked))


def radius_csr(file: Path, points: Any, queries: Any, r: Any, *, open: bool = False, include_self: bool = False,  # noqa: A002
               metric: str = "euclidean", p: float = 2.0, inverse_covariance: Any = None, variances: Any = None,
               packed_bits: bool = False, formula: str | None = None, start: float = 0.0, f64: bool = False,
               device: str = "auto", memory: int = 0, threads: int = 0, path: str = "", isa: str = "",
               stream: int | None = None, progress: Progress = None, missing: str = "warn") -> Report:
    """All points within a radius of each query, written as they are found to a sparse matrix file.

    Parameters
    ----------
    file : path
        A file for ``scipy.sparse.load_npz``: a csr matrix of queries x points, whose data are the distances in the order of
        each row. It appears whole, at the end; as much again is needed on the disk until then, and next to no memory.
    points, queries, r, memory
        As in `radius_blocks`.

    The other parameters: as in `radius`.

    Returns
    -------
    Report

    Raises
    ------
    ValueError, TypeError, MemoryError, OSError, DeviceError, Cancelled
        OSError where the file cannot be written.

    Examples
    --------
    >>> import numpy, kith, tempfile
    >>> points = numpy.arange(6.0).reshape(6, 1)
    >>> kith.radius_csr(tempfile.mkdtemp() + "/near.npz", points, None, 1).queries
    6
    """
    like = points if queries is None else queries
    kind = kind_of(like)
    stream = kind.stream(like) if stream is None else stream
    points = readable(points, "points")
    asked = None if queries is None else readable(queries, "queries")
    one, each = _radii(r, _rows(points, "points") if asked is None else _rows(asked, "queries"))
    open, include_self = _flag(open, "open"), _flag(include_self, "include_self")  # noqa: A001
    report = _core.radius_blocks(
        array_interface(points, "points", stream),
        None if asked is None else array_interface(asked, "queries", stream), one, each, open, include_self,
        _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start, "euclidean"),
        _settings(f64, device, memory, threads, path, isa, stream, progress, missing=missing), _path(file, "file"))
    return noted(report, missing, points, asked)


class RadiusBlockMethods(RadiusMethods):
    """As above, for an Index."""

    def radius_blocks(self, queries: Any, r: Any, *, open: bool = False, include_self: bool = False,  # noqa: A002
                      f64: bool = False, memory: int = 0, threads: int = 0, path: str = "", isa: str = "",
                      stream: int | None = None, progress: Progress = None, missing: str = "warn") -> Iterator[RadiusBlock]:
        """All of the Index's points within a radius of each query, as `kith.radius_blocks` gives them.

        Parameters
        ----------
        queries : array of shape (q, d), or None
            None: the points among themselves.
        r : float or array of shape (q,) or (n,)
            As in `kith.radius`.
        open, include_self, f64, memory, threads, path, isa, stream, progress, missing
            As in `kith.radius_blocks`.

        Returns
        -------
        iterator of RadiusBlock

        Raises
        ------
        ValueError, TypeError, MemoryError, DeviceError, Cancelled
            As in `kith.radius_blocks`.

        Examples
        --------
        >>> import numpy, kith
        >>> [block.indices for block in kith.Index(numpy.array([[0.0], [1.0], [3.0]])).radius_blocks(None, 1)]
        [array([1, 0])]
        """
        like, kind = (self._place, self._kind) if queries is None else (queries, kind_of(queries))
        stream = kind.stream(like) if stream is None else stream
        asked = None if queries is None else readable(queries, "queries")
        one, each = _radii(r, len(self) if asked is None else _rows(asked, "queries"))
        open, include_self = _flag(open, "open"), _flag(include_self, "include_self")  # noqa: A001

        refuse_tracked("radius_blocks", points=self._source.kept, queries=queries)

        def search(to: Any, shown: Progress) -> Report:
            return self._core.radius_blocks(
                None if asked is None else array_interface(asked, "queries", stream), one, each, open, include_self,
                _settings(f64, "auto", memory, threads, path, isa, stream, shown, missing=missing), to)

        return _blocks(search, kind, like, progress, lambda report: noted(report, missing, None, asked, self._nan_points))

    def radius_csr(self, file: Path, queries: Any, r: Any, *, open: bool = False, include_self: bool = False,  # noqa: A002
                   f64: bool = False, memory: int = 0, threads: int = 0, path: str = "", isa: str = "",
                   stream: int | None = None, progress: Progress = None, missing: str = "warn") -> Report:
        """They are written to a sparse matrix file, as `kith.radius_csr` does.

        Parameters
        ----------
        file : path
            As in `kith.radius_csr`.
        queries : array of shape (q, d), or None
            None: the points among themselves.
        r : float or array of shape (q,) or (n,)
            As in `kith.radius`.
        open, include_self, f64, memory, threads, path, isa, stream, progress, missing
            As in `kith.radius_blocks`.

        Returns
        -------
        Report

        Raises
        ------
        ValueError, TypeError, MemoryError, OSError, DeviceError, Cancelled
            As in `kith.radius_csr`.

        Examples
        --------
        >>> import numpy, kith, tempfile
        >>> index = kith.Index(numpy.array([[0.0], [1.0], [3.0]]))
        >>> index.radius_csr(tempfile.mkdtemp() + "/near.npz", None, 1).queries
        3
        """
        like, kind = (self._place, self._kind) if queries is None else (queries, kind_of(queries))
        stream = kind.stream(like) if stream is None else stream
        asked = None if queries is None else readable(queries, "queries")
        one, each = _radii(r, len(self) if asked is None else _rows(asked, "queries"))
        open, include_self = _flag(open, "open"), _flag(include_self, "include_self")  # noqa: A001
        report = self._core.radius_blocks(
            None if asked is None else array_interface(asked, "queries", stream), one, each, open, include_self,
            _settings(f64, "auto", memory, threads, path, isa, stream, progress, missing=missing), _path(file, "file"))
        return noted(report, missing, None, asked, self._nan_points)


class _Closed(BaseException):
    """Nobody wants the next block."""


class _Handover:
    """One block at a time, from the thread that searches to the caller's: in the process that has that thread."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: list[Any] = []
        self.closed = False

    def put(self, thing: Any) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.closed or not self._waiting)
            if self.closed:
                raise _Closed
            self._waiting.append(thing)
            self._changed.notify_all()

    def get(self) -> Any:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            self._changed.notify_all()
            return self._waiting.pop()

    def was_forked(self) -> bool:
        """True if this is a child, whose parent has the thread and perhaps the lock."""
        return os.getpid() != self._process

    def end(self, thread: threading.Thread) -> None:
        """Nobody wants more: the thread's search is cancelled, and waited for."""
        if self.was_forked():
            return
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        thread.join()


def _blocks(search: Callable[[Any, Progress], Report], kind: Any, like: Any, progress: Progress,
            ended: Callable[[Report], Any]) -> Iterator[RadiusBlock]:
    """The blocks that `search` finds, whose report goes to `ended`."""
    handover = _Handover()
    shown = callback_of(progress)

    def go_on(*where: Any) -> Any:
        if handover.closed:
            return False
        return None if shown is None else shown(*where)

    def work() -> None:
        end: Any
        try:
            end = search(lambda *block: handover.put(block), go_on)
        except BaseException as error:  # noqa: BLE001  # which belongs to the caller's thread
            end = error
        try:
            handover.put(end)
        except _Closed:
            pass

    if sys.is_finalizing():
        raise RuntimeError("radius_blocks: the interpreter is ending")
    thread = threading.Thread(target=work, name="kith.radius_blocks", daemon=True)
    thread.start()
    _SEARCHING[handover] = thread
    try:
        while True:
            if handover.was_forked():
                raise RuntimeError("radius_blocks: this iterator was begun before the process was forked, and its search "
                                   "goes on in the parent alone; begin another in the child")
            block = handover.get()
            if isinstance(block, Report):
                ended(block)
                return
            if isinstance(block, BaseException):
                raise block
            first, distances, indices, offsets = block
            yield RadiusBlock(first, kind.of_numpy(like, distances), kind.of_numpy(like, _int64(indices)),
                              kind.of_numpy(like, _int64(offsets)))
    finally:
        handover.end(thread)
        _SEARCHING.pop(handover, None)


_SEARCHING: dict[_Handover, threading.Thread] = {}


@atexit.register
def _end() -> None:
    """Iterators that are left over: a thread that is at work when the interpreter ends could not be joined any more."""
    for handover, thread in list(_SEARCHING.items()):
        handover.end(thread)
