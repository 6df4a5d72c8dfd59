"""Rows within a radius as they are found: kith.radius_blocks, kith.radius_csr, and DBSCAN that holds no more than a block."""
from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kith

GENERATOR = np.random.default_rng(4)
POINTS = GENERATOR.integers(-3, 4, (3000, 3)).astype(np.float32)
QUERIES = GENERATOR.integers(-3, 4, (500, 3)).astype(np.float32)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "kith.radius_blocks"]


@pytest.mark.parametrize("f64", [False, True])
@pytest.mark.parametrize("memory, device", [(0, "auto"), (1 << 16, "cpu")])  # a GPU's workspace is some MiB
def test_blocks_are_the_rows(memory: int, device: str, f64: bool) -> None:
    index = kith.Index(POINTS, device=device)
    for queries, include_self in ((QUERIES, False), (None, False), (None, True)):
        whole = (kith.radius(POINTS, QUERIES, 3, f64=f64) if queries is not None else
                 kith.radius_graph(POINTS, 3, include_self=include_self, f64=f64))
        how: dict[str, Any] = {"include_self": include_self, "memory": memory, "f64": f64, "threads": 2}  # each takes some of it
        for blocks in (kith.radius_blocks(POINTS, queries, 3, device=device, **how), index.radius_blocks(queries, 3, **how)):
            rows, count, number = [], 0, 0
            for block in blocks:
                first, distances, indices, offsets = block
                assert first == count and offsets[0] == 0 and offsets[-1] == len(indices) == len(distances)
                assert distances.dtype == whole.distances.dtype and indices.dtype == offsets.dtype == np.int64
                count, number = count + len(offsets) - 1, number + 1
                rows += block.rows()
            assert count == len(whole.offsets) - 1 and (number > 1 or not memory)
            for (distances, indices), (d, i) in zip(rows, whole.rows()):
                np.testing.assert_array_equal(indices, i)
                np.testing.assert_array_equal(distances, d)


def test_blocks_end_with_their_reader() -> None:
    blocks = kith.radius_blocks(POINTS, None, 9, memory=1 << 16, device="cpu", threads=2)
    next(blocks)
    assert threads()
    blocks.close()  # type: ignore[attr-defined]
    assert not threads()
    for block in kith.radius_blocks(POINTS, None, 9, memory=1 << 16, device="cpu", threads=2):
        assert block.first == 0
        break
    gc.collect()
    assert not threads()
    never = kith.radius_blocks(POINTS, None, 9)
    assert not threads()
    del never


def test_blocks_of_tensors() -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    for _, distances, indices, offsets in kith.radius_blocks(POINTS, torch.from_numpy(QUERIES), 3):
        assert isinstance(indices, torch.Tensor) and isinstance(distances, torch.Tensor) and isinstance(offsets, torch.Tensor)


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="500 queries"):
        kith.radius_blocks(POINTS, QUERIES, np.ones(3))
    with pytest.raises(ValueError, match="at least 0"):
        next(kith.radius_blocks(POINTS, QUERIES, -1))
    many = np.tile(POINTS, (40, 1))
    with pytest.raises(kith.Cancelled):
        list(kith.radius_blocks(many, many, 1, metric="euclidean", path="exact", device="cpu", progress=lambda *_: False))
    with pytest.raises(ZeroDivisionError):
        list(kith.radius_blocks(many, many, 1, metric="euclidean", path="exact", device="cpu", progress=lambda *_: 1 / 0))
    with pytest.raises(OSError):
        kith.radius_csr(tmp_path / "absent" / "near.npz", POINTS, QUERIES, 3)
    with pytest.raises(ValueError, match="at least 0"):
        kith.radius_csr(tmp_path / "near.npz", POINTS, QUERIES, -1)
    assert not list(tmp_path.iterdir()) and not threads()


def test_csr(tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    index = kith.Index(POINTS, metric="euclidean")
    file = tmp_path / "near.npz"
    for queries in (QUERIES, None):
        whole = (kith.radius(POINTS, QUERIES, 2, metric="euclidean", f64=True) if queries is not None else
                 kith.radius_graph(POINTS, 2, metric="euclidean", f64=True))
        for report in (kith.radius_csr(file, POINTS, queries, 2, metric="euclidean", f64=True),
                       index.radius_csr(str(file), queries, 2, f64=True)):
            assert report.queries == len(whole.offsets) - 1
            written = sparse.load_npz(file)
            np.testing.assert_array_equal(written.data, whole.distances)
            np.testing.assert_array_equal(written.indices, whole.indices)
            np.testing.assert_array_equal(written.indptr, whole.offsets)
            assert written.shape == (len(whole.offsets) - 1, len(POINTS))


@pytest.mark.parametrize("kept_bytes", [0, 1 << 30])
def test_density_clusters(kept_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn's labels, also those of points that several clusters reach, from blocks however small."""
    cluster = pytest.importorskip("sklearn.cluster")
    from kith import _density
    small_blocks = kith.Index.radius_blocks
    monkeypatch.setattr(kith.Index, "radius_blocks", lambda self, *a, **how: small_blocks(self, *a, **{**how, "threads": 2}, memory=1 << 15))
    generator = np.random.default_rng(7)
    for case in range(12):
        points = generator.integers(0, 60, (600, 2)).astype(float)
        weights = generator.integers(0, 3, 600).astype(float) if case % 3 == 2 else None
        eps, least = (1.0, 3) if case % 2 else (2.3, 5)
        theirs = cluster.DBSCAN(eps=eps, min_samples=least).fit(points, sample_weight=weights)
        index = kith.Index(points, metric="euclidean", device="cpu")
        core, labels = _density.density_clusters(index, eps, least, weights, 0, kept_bytes)
        np.testing.assert_array_equal(np.flatnonzero(core), theirs.core_sample_indices_)
        np.testing.assert_array_equal(labels, theirs.labels_)
    nothing = _density.density_clusters(kith.Index(np.arange(9.0)[:, None] * 9, metric="euclidean", device="cpu"), 1, 2)
    assert not nothing[0].any() and (nothing[1] == -1).all()


@pytest.mark.parametrize("left", ["iter(blocks)", "blocks", "[blocks]"])
def test_the_interpreter_ends_with_an_iterator_that_is_left_over(left: str) -> None:
    program = ("import kith, numpy\n"
               "points = numpy.arange(100000.0).reshape(-1, 1)\n"
               "blocks = kith.radius_blocks(points, None, 10, memory=1 << 16, device='cpu', threads=2)\n"
               f"left = {left}\n"
               "print(next(blocks).first)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


@pytest.mark.parametrize("child", ["next(blocks)", "blocks.close(); raise RuntimeError('forked')", "del blocks; raise RuntimeError('forked')"])
def test_a_child_of_a_fork_has_no_iterator_of_its_parents(child: str) -> None:
    program = ("import kith, numpy, os, signal, sys\n"
               "points = numpy.arange(100000.0).reshape(-1, 1)\n"
               "blocks = kith.radius_blocks(points, None, 10, memory=1 << 16, device='cpu', threads=2)\n"
               "rows = len(next(blocks).offsets) - 1\n"
               "pid = os.fork()\n"
               "if not pid:\n"
               "    signal.alarm(30)\n"
               "    try:\n"
               f"        {child}\n"
               "    except RuntimeError as error:\n"
               "        sys.exit(0 if 'forked' in str(error) else 1)\n"
               "    sys.exit(2)\n"
               "status = os.waitpid(pid, 0)[1]\n"
               "print(status, rows + sum(len(block.offsets) - 1 for block in blocks))\n")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=90)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 100000\n", "")
