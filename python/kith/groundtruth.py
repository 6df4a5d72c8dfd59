"""Ground truth in units: a search or a graph cut into units that any number of processes do, on any machines that see the
job's folder, interrupted and continued at any time. Merged, the units are the answer of one search, bit for bit.

>>> import numpy, tempfile, kith.groundtruth
>>> points = numpy.random.default_rng(0).random((1000, 8), numpy.float32)
>>> folder = tempfile.mkdtemp()
>>> job = kith.groundtruth.init(folder, points, points[:100], k=10, shard_rows=400)
>>> job.units
3
>>> kith.groundtruth.run(folder).status.complete                # in any number of processes
True
>>> distances, indices = kith.groundtruth.merge(folder)
>>> kith.verify(points, points[:100], indices, distances).exact
True

The folder is that of the command line's ``kith groundtruth``: either may go on with the other's job. The contents of the folder
holds, what workers owe each other and what happens when one dies is in docs/guide/jobs.md.
"""
from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _core
from ._arguments import Progress, _flag, _integer, _metric, _number, _out, _path, _rows, _settings, _text, _wrong
from ._arrays import readable
from ._containers import rows_of
from ._kinds import on_host
from ._results import Neighbors
from ._search import Out

__all__ = ["Job", "Result", "Status", "Unit", "Verification", "Worker", "info", "init", "merge", "run", "run_unit", "status",
           "units", "verify"]

Folder = Union[str, "os.PathLike[str]"]


class Job(NamedTuple):
    """The manifest's description of a job."""

    folder: str  #: as it was given
    id: str  #: drawn when the job was made
    graph: bool  #: the queries are the points, none of which is its own neighbour
    k: int  #: neighbours of each query
    dimensions: int  #: coordinates of a point
    metric: str  #: its name, or "formula"
    points: int  #: in all shards
    queries: int  #: in all blocks
    memory: int  #: bytes that a worker may take
    shards: int  #: of the points
    blocks: int  #: of the queries
    outside: tuple[str, ...]  #: files that the job reads and that are not in its folder, links followed

    @property
    def units(self) -> int:
        """Each shard with each block."""
        return self.shards * self.blocks


class Unit(NamedTuple):
    """A unit of a job: a shard of the points and a block of the queries."""

    shard: int
    block: int


class Worker(NamedTuple):
    """A worker that is at a unit, or that was when it was last heard of."""

    unit: str  #: "s00012-q00003": shard and block
    host: str  #: "": unknown
    pid: int
    share: float  #: of the unit, that is done
    silent_seconds: float  #: since it was last heard of
    stale: bool  #: taken for dead: another worker takes the unit over


class Status(NamedTuple):
    """How far a job is."""

    units: int  #: of the job
    done: int  #: of them
    pairs: float  #: of query and point, of the job
    pairs_done: float  #: those of units that are under way included
    pairs_per_second: float  #: of all workers; 0 while unknown
    seconds_left: Optional[float]  #: None while no rate is known
    workers: tuple[Worker, ...]  #: stale ones last

    @property
    def complete(self) -> bool:
        """True if all units are done: `merge` can be called."""
        return self.done == self.units


class Result(NamedTuple):
    """The result of `run`."""

    status: Status  #: of the job, at the end
    units: int  #: done here
    taken_over: int  #: of them, from workers that were taken for dead
    repeated: int  #: done by another worker meanwhile as well
    pairs: float  #: of the units that were done here
    seconds: float  #: that those took, reading included
    waited_seconds: float  #: for rows


class Verification(NamedTuple):
    """The result of `verify`."""

    exact: bool  #: no unit is damaged and no query of the sample wrong
    complete: bool  #: all units are done and whole
    missing: int  #: units that are not done
    damaged: list[str]  #: what is wrong with units that are not whole, and what became of them
    computed: int  #: queries of the sample that were compared
    left_out: int  #: of the sample, in blocks that are not complete
    wrong: list[int]  #: queries of the sample whose neighbours differ in a bit


def _table_format(format: str, header: bool | None, columns: str, skip: int, decimal: str) -> str:  # noqa: A002
    if header is not None and not isinstance(header, bool):
        raise TypeError(f"header: {type(header).__name__}; expected True, False or None")
    if decimal not in ("point", "comma"):
        raise ValueError(f"decimal: {decimal!r}; expected 'point' or 'comma'")
    return _core.table_format(_text(format, "format"), header, _integer(skip, "skip"), decimal == "comma", _text(columns, "columns"))


def _warn_of_table(path: str, format: str) -> None:  # noqa: A002
    """The reader's findings about a table in text."""
    if not (format.startswith("csv") or ".csv" in path or ".tsv" in path):
        return
    remark = _core.table_remark(path, format)
    if remark:
        warnings.warn(f"{path}: {remark}", stacklevel=3)


def init(folder: Folder, points: Any, queries: Any = None, k: int = 10, *, metric: str = "sqeuclidean", p: float = 2.0,
         inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, formula: str | None = None,
         start: float = 0.0, format: str = "", header: bool | None = None, columns: str = "", skip: int = 0,  # noqa: A002
         decimal: str = "point", memory: int = 0, shard_rows: int = 0, query_rows: int = 0, progress: Progress = None) -> Job:
    """Cut a search, or a graph, into units and write the manifest into a folder.

    Parameters
    ----------
    folder : path
        Made where it is not there.
    points : array of shape (n, d), path, or list of paths
        An array, as `kith.search` takes it, is written to a new file in the folder (``points-*.npy``). Files (npy, fbin, fvecs, u8bin,
        ...; ids count through them in their order) are read where they are, by each worker: they must stay as they are. HDF5
        (``FILE.hdf5/NAME``) and Parquet are read here, by h5py and pyarrow, and written to the folder as arrays are.
    queries : array of shape (q, d) or path, optional
        Likewise (``queries-*.npy``). None: a graph of the points, each one's neighbours among the others.
    k : int
        Neighbours of each, at least 1.
    metric, p, inverse_covariance, variances, packed_bits, formula, start
        As in `kith.search`. Parameters that ``"mahalanobis"`` and ``"seuclidean"`` are not given are estimated here, from all points.
    format : str
        The format of the files, where their names do not say.
    header, columns, skip, decimal
        How tables in text (csv) are read. ``header``: whether the first line names the columns. ``columns``: those to read, by
        place from 1 on or by name (``"2-"``, ``"1,4-6"``, ``"x,y"``). ``skip``: lines before the table. ``decimal``: ``"comma"``
        where 1,5 is 1.5. Settings that are not given are found out, with a warning that says it; a table that may be read in two ways is
        an error.
    memory : int
        Bytes that a worker may take, by which shards and blocks are cut; 0: 4 GiB.
    shard_rows : int
        Points of a shard at most, whatever memory it takes; 0: as memory permits.
    query_rows : int
        Queries of a block at most; 0: such that a unit has about 2**36 pairs.
    progress : bool or callable, optional
        As in `kith.search`, of bytes: every file is read once, for its checksums.

    Returns
    -------
    Job

    Raises
    ------
    ValueError, TypeError
        Naming the argument; where the folder has a job already.
    OSError
        Where a file cannot be read or the folder cannot be written to.
    MemoryError
        Where ``memory`` is too small for one row.

    Examples
    --------
    >>> import numpy, tempfile, kith.groundtruth
    >>> points = numpy.random.default_rng(0).random((100, 4), numpy.float32)
    >>> job = kith.groundtruth.init(tempfile.mkdtemp(), points, k=5, shard_rows=50, query_rows=25)
    >>> job.graph, job.shards, job.blocks, job.units
    (True, 2, 4, 8)
    """
    folder = _folder(folder)
    if _integer(k, "k") < 1:
        raise ValueError(f"k is {k}: expected at least 1")
    how = _metric(metric, p, inverse_covariance, variances, packed_bits, formula, start)
    format = _table_format(format, header, columns, skip, decimal)  # noqa: A001
    if (Path(folder) / "manifest.json").exists():
        raise ValueError(f"{folder}: has a job already; run goes on with it")
    written: list[str] = []
    try:
        base = _files(points, "points", folder, written)
        asked = [""] if queries is None else _files(queries, "queries", folder, written)
        if len(asked) > 1:
            raise ValueError(f"queries: {len(asked)} files; expected one")
        for path in base + [path for path in asked if path]:
            _warn_of_table(path, format)
        made = _core.groundtruth_init(folder, base, asked[0], queries is None, k, format, how,
                                      _integer(shard_rows, "shard_rows"), _integer(query_rows, "query_rows"),
                                      _settings(False, "auto", memory, 0, "", "", 0, progress))
    except BaseException:
        for path in written:
            os.unlink(path)
        raise
    return Job(**made)


def info(folder: Folder) -> Job:
    """The contents of the manifest in a folder.

    Parameters
    ----------
    folder : path
        The job's.

    Returns
    -------
    Job

    Raises
    ------
    OSError
        Where there is none, or a damaged one.

    Examples
    --------
    >>> import numpy, tempfile, kith.groundtruth
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.eye(4), numpy.eye(4)[:2], k=1)
    >>> kith.groundtruth.info(folder) == job
    True
    """
    return Job(**_core.groundtruth_info(_folder(folder)))


def run(folder: Folder, *, units: int = 0, wait: bool = True, lease: float = 60.0, strict: bool = False, device: str = "auto",
        memory: int = 0, threads: int = 0, path: str = "", isa: str = "", progress: Progress = None) -> Result:
    """A worker: do units until none is left, next to any number of others.

    May be interrupted or killed at any time and started again, here or elsewhere: a unit that is done stays done, and one
    that a worker left is taken over. Ctrl-C gives the unit back.

    Parameters
    ----------
    folder : path
        The result of the job.
    units : int
        End after this many; 0: when all are done.
    wait : bool
        For units that others are at, in case they die.
    lease : float
        Seconds, 0.5 to 86400, after which others take this worker for dead where it is not heard of.
    strict : bool
        Refuse a job that reads files outside its folder (`Job.outside`), such as one that others made.
    device, memory, threads, path, isa
        For the searches, as in `kith.search`; ``memory`` 0: a share of the job's.
    progress : bool or callable, optional
        As in `kith.search`, of the pairs of all workers.

    Returns
    -------
    Result

    Raises
    ------
    OSError
        Where an input has changed since `init`, naming the rows, the folder cannot be written to, or a file is outside it
        and ``strict`` is set.
    ValueError
        Where ``units`` is negative or ``lease`` out of range.
    MemoryError, DeviceError, Cancelled

    Examples
    --------
    >>> import numpy, tempfile, kith.groundtruth
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.eye(4), k=1, shard_rows=2)
    >>> kith.groundtruth.run(folder, units=1).status.done
    1
    >>> kith.groundtruth.run(folder).units
    1
    """
    found = _core.groundtruth_run(_folder(folder), _integer(units, "units"), _flag(wait, "wait"), _number(lease, "lease"),
                                  _flag(strict, "strict"), _settings(False, device, memory, threads, path, isa, 0, progress))
    return Result(**{**found, "status": _status(found["status"])})


def units(folder: Folder, *, done: bool = False) -> list[Unit]:
    """The units that are not done, shard by shard; with ``done`` all of them. For whoever schedules them by other means.

    Parameters
    ----------
    folder : path
        The job's.
    done : bool
        Those that are done as well.

    Returns
    -------
    list of Unit

    Raises
    ------
    OSError
        Where there is no job, or a damaged one.

    Examples
    --------
    >>> import numpy, tempfile, kith.groundtruth
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.eye(4), k=1, shard_rows=2)
    >>> kith.groundtruth.units(folder)
    [Unit(shard=0, block=0), Unit(shard=1, block=0)]
    >>> [kith.groundtruth.run_unit(folder, unit) for unit in kith.groundtruth.units(folder)]
    [True, True]
    >>> kith.groundtruth.units(folder)
    []
    """
    folder = _folder(folder)
    done = _flag(done, "done")
    blocks = info(folder).blocks
    return [Unit(number // blocks, number % blocks) for number, is_done in
            enumerate(_core.groundtruth_status(folder)["units_done"]) if done or not is_done]


def run_unit(folder: Folder, unit: tuple[int, int], *, lease: float = 60.0, strict: bool = False, device: str = "auto",
             memory: int = 0, threads: int = 0, path: str = "", isa: str = "", progress: Progress = None) -> bool:
    """Do one unit: anywhere that sees the folder, in any order, any number of times, with the same bytes each time.

    Parameters
    ----------
    unit : (shard, block)
        One of `units`.
    folder, lease, strict, device, memory, threads, path, isa, progress
        As in `run`.

    Returns
    -------
    bool
        False where the unit was done already.

    Raises
    ------
    ValueError
        Where the job has no such unit. Else as `run`.

    Examples
    --------
    >>> import numpy, tempfile, kith.groundtruth
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.eye(4), k=1)
    >>> kith.groundtruth.run_unit(folder, (0, 0)), kith.groundtruth.run_unit(folder, (0, 0))
    (True, False)
    """
    try:
        shard, block = unit
    except (TypeError, ValueError):
        raise _wrong(unit, "unit", "(shard, block)") from None
    return _core.groundtruth_run_unit(_folder(folder), _integer(shard, "unit"), _integer(block, "unit"), _number(lease, "lease"),
                                      _flag(strict, "strict"), _settings(False, device, memory, threads, path, isa, 0, progress))


def status(folder: Folder) -> Status:
    """How far a job is, and who is at it.

    Parameters
    ----------
    folder : path
        The job's.

    Returns
    -------
    Status

    Raises
    ------
    OSError
        Where there is no job, or a damaged one.

    Examples
    --------
    >>> import numpy, tempfile, kith.groundtruth
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.eye(4), k=1)
    >>> found = kith.groundtruth.status(folder)
    >>> found.done, found.units, found.complete, found.workers
    (0, 1, False, ())
    """
    return _status(_core.groundtruth_status(_folder(folder)))


def verify(folder: Folder, *, sample: int = 0, strict: bool = False, device: str = "auto", memory: int = 0, threads: int = 0,
           path: str = "", isa: str = "", progress: Progress = None) -> Verification:
    """True if all units are done and whole, and a sample of the queries exact.

    Reads every unit that is done; one that is damaged is renamed, so that `run` does it again.

    Parameters
    ----------
    sample : int
        This many queries, evenly spaced, are computed again by a full scan and compared bit by bit: reads all points.
    folder, strict, device, memory, threads, path, isa, progress
        As in `run`.

    Returns
    -------
    Verification

    Raises
    ------
    OSError
        Where an input has changed or a unit cannot be read.

    Examples
    --------
    >>> import numpy, tempfile, kith.groundtruth
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.eye(4), k=1)
    >>> kith.groundtruth.verify(folder).missing
    1
    >>> result = kith.groundtruth.run(folder)
    >>> found = kith.groundtruth.verify(folder, sample=2)
    >>> found.exact, found.complete, found.computed
    (True, True, 2)
    """
    return Verification(**_core.groundtruth_verify(_folder(folder), _integer(sample, "sample"), _flag(strict, "strict"),
                                                   _settings(False, device, memory, threads, path, isa, 0, progress)))


def merge(folder: Folder, *, f64: bool = False, out: Out = None, progress: Progress = None) -> Neighbors:
    """The neighbours that one search of everything would have found.

    Parameters
    ----------
    folder : path
        For a job of which all units are done.
    f64 : bool
        Distances as float64 in place of float32.
    out : (distances, indices), optional
        numpy arrays to write to, of shape (q, k), such as ``numpy.lib.format.open_memmap`` makes: float32 (``f64``: float64)
        and int64; distances may be None. One block of queries is in memory at a time.
    progress : bool or callable, optional
        As in `kith.search`, of blocks.

    Returns
    -------
    Neighbors
        ``(distances, indices)``, numpy arrays of shape (q, k); ``.report`` is None.

    Raises
    ------
    OSError
        Where units are not done or damaged; the latter are renamed, so that `run` does them again.

    Examples
    --------
    >>> import numpy, tempfile, kith.groundtruth
    >>> folder = tempfile.mkdtemp()
    >>> job = kith.groundtruth.init(folder, numpy.array([[0.0], [1.0], [3.0]]), k=1)
    >>> result = kith.groundtruth.run(folder)
    >>> kith.groundtruth.merge(folder).indices
    array([[1],
           [0],
           [1]])
    """
    folder, f64 = _folder(folder), _flag(f64, "f64")
    job = info(folder)
    if out is None:
        out = (np.empty((job.queries, job.k), np.float64 if f64 else np.float32), np.empty((job.queries, job.k), np.int64))
    distances, indices = _out(out)
    _core.groundtruth_merge(folder, _settings(f64, "auto", 0, 0, "", "", 0, progress), indices, distances)
    return Neighbors(distances, indices)


def _folder(folder: Any) -> str:
    return _path(folder, "folder")


def _status(found: dict[str, Any]) -> Status:
    workers = tuple(Worker(*worker) for worker in found["workers"])
    return Status(**{name: value for name, value in found.items() if name not in ("workers", "units_done")}, workers=workers)


def _files(rows: Any, name: str, folder: str, written: list[str]) -> list[str]:
    """The paths, or that of the array, which is written into the folder: a new file, added to `written`."""
    if isinstance(rows, (str, os.PathLike)):
        path = os.fspath(rows)
        _path(path, name)
        held = rows_of(path, name) if isinstance(path, str) else None
        return [path] if held is None else _written(held, name, folder, written)
    if isinstance(rows, Sequence) and rows and all(isinstance(row, (str, os.PathLike)) for row in rows):
        return [path for row in rows for path in _files(row, name, folder, written)]
    return _written(rows, name, folder, written)


def _written(rows: Any, name: str, folder: str, written: list[str]) -> list[str]:
    array = on_host(readable(rows, name))
    if _rows(array, name) < 1:
        raise ValueError(f"{name}: 0 rows; expected at least 1")
    if array.shape[1] < 1:
        raise ValueError(f"{name}: 0 columns; expected at least 1")
    os.makedirs(folder, exist_ok=True)
    file, path = tempfile.mkstemp(".npy", f"{name}-", folder)
    written.append(path)
    with os.fdopen(file, "wb") as out:
        np.save(out, array)
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, 0o666 & ~mask)  # for workers of other users, as any file that is written
    return [path]
