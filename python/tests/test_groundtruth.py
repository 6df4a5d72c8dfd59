"""Ground-truth jobs: interrupted, continued, spread over processes and merged they give the bits of one search."""
from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import small

import kith
import kith.groundtruth as jobs

POINTS, QUERIES = small(500, 6), small(60, 6, 1)
POINTS[7], POINTS[400], QUERIES[3, 2] = np.nan, POINTS[2], np.nan
CUT: dict[str, Any] = {"shard_rows": 120, "query_rows": 25}


def same(found: Any, expected: Any) -> None:
    """Bit by bit."""
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.distances.dtype == expected.distances.dtype
    assert found.distances.tobytes() == expected.distances.tobytes()


@pytest.mark.parametrize("how", [{}, {"metric": "euclidean"}, {"metric": "minkowski", "p": 3.0}, {"metric": "seuclidean"},
                                 {"metric": "inner_product"}, {"formula": "a + fabs(q - x)", "start": 1.0}])
def test_one_search(tmp_path: Path, how: dict[str, Any]) -> None:
    points, queries = (POINTS, QUERIES) if how.get("metric") != "seuclidean" else (small(500, 6), QUERIES)
    job = jobs.init(tmp_path, points, queries, 9, **how, **CUT)
    assert (job.points, job.queries, job.dimensions, job.k, job.graph, job.units) == (500, 60, 6, 9, False, 15)
    assert job == jobs.info(tmp_path)
    result = jobs.run(tmp_path)
    assert result.units == 15 and result.pairs == 30000 and result.status.complete
    for f64 in (False, True):
        same(jobs.merge(tmp_path, f64=f64), kith.search(points, queries, 9, f64=f64, **how))
    found = jobs.verify(tmp_path, sample=20)
    assert found.exact and found.complete and found.computed == 20 and not found.wrong


def test_graph(tmp_path: Path) -> None:
    job = jobs.init(tmp_path, POINTS, k=5, **CUT)
    assert job.graph and job.units == 5 * 20
    jobs.run(tmp_path)
    same(jobs.merge(tmp_path), kith.graph(POINTS, 5))
    assert jobs.verify(tmp_path, sample=10).exact


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint8, np.int32, np.bool_])
def test_types(tmp_path: Path, dtype: Any) -> None:
    points, queries = small(50, 6).astype(dtype), small(5, 6, 1).astype(dtype)
    jobs.init(tmp_path, points, queries, 4, shard_rows=20)
    jobs.run(tmp_path)
    same(jobs.merge(tmp_path), kith.search(points, queries, 4))


def test_files(tmp_path: Path) -> None:
    """Several files are one set of points."""
    for name, rows in (("a", POINTS[:200]), ("b", POINTS[200:]), ("q", QUERIES)):
        np.save(tmp_path / f"{name}.npy", rows)
    folder = tmp_path / "job"
    jobs.init(folder, [tmp_path / "a.npy", tmp_path / "b.npy"], str(tmp_path / "q.npy"), 9, **CUT)
    jobs.run(folder)
    same(jobs.merge(folder), kith.search(POINTS, QUERIES, 9))
    np.save(tmp_path / "b.npy", POINTS[200:] + 1)
    with pytest.raises(OSError, match="changed since the job was made"):
        jobs.verify(folder, sample=3)
    (folder / "units" / "s00000-q00000").unlink()
    (folder / "units" / "s00003-q00000").unlink()
    with pytest.raises(OSError, match="rows .* of .*b.npy: changed"):
        jobs.run(folder)


def test_units(tmp_path: Path) -> None:
    jobs.init(tmp_path, POINTS, QUERIES, 9, **CUT)
    every = jobs.units(tmp_path)
    assert every[0] == (0, 0) and every[-1] == (4, 2) and every[4].shard == 1 and len(every) == 15
    assert jobs.run_unit(tmp_path, every[4]) and not jobs.run_unit(tmp_path, every[4])
    assert jobs.units(tmp_path) == every[:4] + every[5:] and jobs.units(tmp_path, done=True) == every
    state = jobs.status(tmp_path)
    assert (state.done, state.units, state.complete, state.workers) == (1, 15, False, ())
    with pytest.raises(OSError, match="14 units of 15 not done"):
        jobs.merge(tmp_path)
    for unit in reversed(every):
        jobs.run_unit(tmp_path, unit)
    assert not jobs.units(tmp_path) and jobs.run(tmp_path).units == 0
    out = np.empty((60, 9), np.float64), np.empty((60, 9), np.int64)
    assert jobs.merge(tmp_path, f64=True, out=out).distances is out[0]
    same(jobs.merge(tmp_path, f64=True), kith.search(POINTS, QUERIES, 9, f64=True))
    np.testing.assert_array_equal(out[1], jobs.merge(tmp_path).indices)


def test_damaged_unit(tmp_path: Path) -> None:
    jobs.init(tmp_path, POINTS, QUERIES, 9, **CUT)
    jobs.run(tmp_path)
    path = tmp_path / "units" / "s00002-q00001"
    raw = bytearray(path.read_bytes())
    raw[200] ^= 1
    path.write_bytes(raw)
    found = jobs.verify(tmp_path)
    assert not found.exact and not found.complete and "checksum" in found.damaged[0]
    assert jobs.units(tmp_path) == [(2, 1)] and jobs.run(tmp_path).units == 1
    same(jobs.merge(tmp_path), kith.search(POINTS, QUERIES, 9))


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="manifest"):
        jobs.info(tmp_path)
    for error, words, points, queries, how in (
            (ValueError, "k is 0", POINTS, QUERIES, {"k": 0}), (TypeError, "k: expected an integer", POINTS, None, {"k": 2.5}),
            (ValueError, "6 columns|queries: 5 columns", POINTS, QUERIES[:, :5], {}), (ValueError, "metric", POINTS, None, {"metric": "x"}),
            (ValueError, "2 dimensions", POINTS[0], None, {}), (MemoryError, "memory: 1.00 MiB", POINTS, None, {"memory": 1 << 20}),
            (OSError, "nothing.npy", "nothing.npy", None, {}), (ValueError, "files", POINTS, ["a.npy", "b.npy"], {}),
            (ValueError, "shard_rows", POINTS, None, {"shard_rows": -1}),
            (ValueError, "inverse_covariance", POINTS, None, {"metric": "mahalanobis", "inverse_covariance": np.eye(5)})):
        with pytest.raises(error, match=words):
            jobs.init(tmp_path, points, queries, **how)
    jobs.init(tmp_path, POINTS, QUERIES)
    with pytest.raises(ValueError, match="has a job already"):
        jobs.init(tmp_path, POINTS, QUERIES)
    for unit in ((5, 0), (0, 1), (-1, 0)):
        with pytest.raises(ValueError, match="unit: shard"):
            jobs.run_unit(tmp_path, unit)
    with pytest.raises(ValueError, match="lease: 0.1"):
        jobs.run(tmp_path, lease=0.1)
    with pytest.raises(ValueError, match="units is -1"):
        jobs.run(tmp_path, units=-1)
    with pytest.raises(ValueError, match="threads"):
        jobs.run(tmp_path, threads=-1)
    jobs.run(tmp_path)
    with pytest.raises(ValueError, match="indices"):
        jobs.merge(tmp_path, out=(np.empty((60, 10), np.float32), np.empty((60, 9), np.int64)))
    with pytest.raises(ValueError, match="out: no indices"):
        jobs.merge(tmp_path, out=(np.empty((60, 9), np.float32), None))


def test_progress_and_cancel(tmp_path: Path) -> None:
    calls: list[tuple[Any, ...]] = []
    jobs.init(tmp_path, POINTS, QUERIES, 9, progress=lambda *where: calls.append(where), **CUT)
    assert calls and calls[-1][3] in ("", "reading")
    with pytest.raises(kith.Cancelled):
        jobs.run(tmp_path, progress=lambda *where: False)
    assert jobs.status(tmp_path).workers == ()

    def fails(*where: Any) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        jobs.run(tmp_path, progress=fails)
    calls.clear()
    jobs.run(tmp_path, progress=lambda *where: calls.append(where))
    assert calls and all(done <= total * 1.001 for done, total, _, _ in calls)
    same(jobs.merge(tmp_path), kith.search(POINTS, QUERIES, 9))


SLOW = "a + pow(fabs(q - x), 1.5) + exp(sqrt(fabs(q * x)))"


def slow_job(folder: Path) -> tuple[Any, Any]:
    points, queries = small(1500, 64), small(160, 64, 1)
    jobs.init(folder, points, queries, 5, formula=SLOW, shard_rows=375, query_rows=40)
    return points, queries


def test_ctrl_c(tmp_path: Path) -> None:
    slow_job(tmp_path)
    program = ("import kith.groundtruth, os, signal, sys\n"
               "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
               "def interrupt(*where): os.kill(os.getpid(), signal.SIGINT)\n"
               "kith.groundtruth.run(sys.argv[1], threads=1, device='cpu', progress=interrupt)\n")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGINT and "KeyboardInterrupt" in done.stderr
    assert not os.listdir(tmp_path / "claims") and not jobs.status(tmp_path).complete


def test_killed_workers(tmp_path: Path) -> None:
    """Four workers next to each other, of which two are killed: the others take over what they left."""
    points, queries = slow_job(tmp_path)
    program = "import kith.groundtruth, sys; kith.groundtruth.run(sys.argv[1], threads=1, device='cpu')"
    workers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(4)]
    while not jobs.status(tmp_path).done and all(worker.poll() is None for worker in workers):
        time.sleep(0.05)
    for worker in workers[:2]:
        worker.kill()
    assert [worker.wait(timeout=300) for worker in workers[2:]] == [0, 0]
    for worker in workers[:2]:
        worker.wait()
    same(jobs.merge(tmp_path), kith.search(points, queries, 5, formula=SLOW))


def _in_a_child(folder: Path, results: Any) -> None:
    results.put(jobs.run(folder).units)


def test_fork_after_use(tmp_path: Path) -> None:
    jobs.init(tmp_path, POINTS, QUERIES, 9, **CUT)
    jobs.run(tmp_path, units=3)
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=_in_a_child, args=(tmp_path, results))
    child.start()
    assert results.get(timeout=120) == 12
    child.join()
    same(jobs.merge(tmp_path), kith.search(POINTS, QUERIES, 9))


def test_files_of_the_user_stay(tmp_path: Any) -> None:
    mine = tmp_path / "points.npy"
    np.save(mine, np.arange(12.0).reshape(4, 3))
    mapped = np.load(mine, mmap_mode="r")
    with pytest.raises(ValueError, match="queries|columns"):
        kith.groundtruth.init(tmp_path, mapped, np.zeros((2, 5)), k=1)
    assert [path.name for path in tmp_path.iterdir()] == ["points.npy"]
    kith.groundtruth.init(tmp_path, mapped, k=1)
    kith.groundtruth.run(tmp_path)
    np.testing.assert_array_equal(np.load(mine), np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(kith.groundtruth.merge(tmp_path).indices, kith.graph(mapped, 1).indices)


def test_strict(tmp_path: Path) -> None:
    """Files of a job that others made lie in its folder, or it is refused."""
    within, beside = tmp_path / "within", tmp_path / "beside"
    assert jobs.init(within, POINTS, QUERIES, 3, **CUT).outside == ()
    assert jobs.run(within, strict=True).status.complete and jobs.verify(within, strict=True).exact
    np.save(tmp_path / "points.npy", POINTS)
    assert jobs.init(beside, tmp_path / "points.npy", QUERIES, 3, **CUT).outside == (str(tmp_path / "points.npy"),)
    for call in (jobs.run, jobs.verify, lambda folder, strict: jobs.run_unit(folder, (0, 0), strict=strict)):
        with pytest.raises(OSError, match="points.npy"):
            call(beside, strict=True)


@pytest.mark.parametrize("part", ["manifest.json", "units/s00000-q00000", "claims/s00000-q00000"])
def test_pipes_are_not_waited_for(tmp_path: Path, part: str) -> None:
    jobs.init(tmp_path, POINTS, QUERIES, 3, **CUT)
    (tmp_path / part).unlink(missing_ok=True)
    os.mkfifo(tmp_path / part)
    if part.startswith("claims"):
        assert [worker.stale for worker in jobs.status(tmp_path).workers] == [True]
        assert jobs.run(tmp_path).status.complete
        return
    for call in (jobs.run, jobs.verify, jobs.merge):
        with pytest.raises(OSError, match="pipe|regular file"):
            call(tmp_path)


def test_tables_in_text(tmp_path: Path) -> None:
    table = tmp_path / "points.csv"
    rows = [[0.5, 0.25], [2, 3], [4, 5]]
    table.write_text(",0,1\n0,0.5,0.25\n1,2.0,3.0\n2,4.0,5.0\n")  # as pandas' to_csv()
    expected = kith.graph(np.array(rows, np.float32), 1)

    def found(name: str, **how: Any) -> Any:
        job = jobs.init(tmp_path / name, table, k=1, **how)
        assert job.dimensions == 2
        jobs.run(tmp_path / name)
        return jobs.merge(tmp_path / name)

    with pytest.warns(UserWarning, match="line 1 names the columns; column 1, without a name, is left out"):
        same(found("found_out"), expected)
    same(found("said", header=True, columns="2-"), expected)
    table.write_text("2 points\nx;y\n0,5;0,25\n2;3\n4;5\n")
    same(found("comma", skip=1, header=True, columns="x,y", decimal="comma"), expected)
    table.write_text("0,1\n0.5,0.25\n2.0,3.0\n4.0,5.0\n")
    with pytest.raises(OSError, match="--header yes or --header no"):
        jobs.init(tmp_path / "ambiguous", table, k=1)
    same(found("header", header=True), expected)
    for how, message in (({"header": "yes"}, "header: str"), ({"decimal": ","}, "decimal: ','"), ({"skip": -1}, "skip: -1")):
        with pytest.raises((TypeError, ValueError), match=message):
            jobs.init(tmp_path / "refused", table, k=1, **how)


def test_hdf5_and_parquet(tmp_path: Path) -> None:
    """By h5py and pyarrow, written into the folder as arrays are."""
    h5py, arrow, parquet = (pytest.importorskip(name) for name in ("h5py", "pyarrow", "pyarrow.parquet"))
    points, queries = (np.random.default_rng(seed).random((rows, 4), np.float32) for seed, rows in ((0, 90), (1, 7)))
    exact = kith.search(points, queries, 3)
    with h5py.File(tmp_path / "both.hdf5", "w") as file:
        file["train"], file["test"], file["other"] = points, queries, points[:5]
    parquet.write_table(arrow.table({f"c{i}": column for i, column in enumerate(points.T)}), tmp_path / "points.parquet")
    both = str(tmp_path / "both.hdf5")
    for name, base in (("a", both), ("b", f"{both}/train"), ("c", tmp_path / "points.parquet")):
        job = jobs.init(tmp_path / name, base, both, k=3)
        assert (job.points, job.queries, job.outside) == (90, 7, ())
        jobs.run(tmp_path / name)
        assert (jobs.merge(tmp_path / name).indices == exact.indices).all()
    job = jobs.init(tmp_path / "d", [f"{both}/other", f"{both}/train"], both, k=3)
    assert job.points == 95
    with pytest.raises(ValueError, match="has no data set 'tain'; expected one of other, test, train"):
        jobs.init(tmp_path / "e", f"{both}/tain", both)
    with pytest.raises(OSError, match="nothing.h5: no such HDF5 file"):
        jobs.init(tmp_path / "e", str(tmp_path / "nothing.h5"), both)
    with pytest.raises(ValueError, match="expected the name of a Parquet file and nothing behind it"):
        jobs.init(tmp_path / "e", f"{tmp_path}/points.parquet/c0", both)


@pytest.mark.parametrize(("file", "package", "extra"), [("a.hdf5", "h5py", "hdf5"), ("a.parquet", "pyarrow", "arrow")])
def test_packages_that_read_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, package: str, extra: str) -> None:
    (tmp_path / file).touch()
    pytest.importorskip(package)
    with pytest.raises(OSError, match=f"{file}: .*(0 bytes|signature)"):
        jobs.init(tmp_path / "job", str(tmp_path / file))
    for module in {package, *(module for module in sys.modules if module.startswith(f"{package}."))}:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"^points: .*{file} is read by {package}, which is not installed: pip install kith-knn\[{extra}\]"):
        jobs.init(tmp_path / "job", str(tmp_path / file))
