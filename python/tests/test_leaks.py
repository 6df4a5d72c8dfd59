"""Calls, failing ones among them, that take no more memory the ten-thousandth time than after the first hundreds."""
from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from oracle import small

import kith
import kith.groundtruth
import kith.shards
from kith import information
from kith.compat import faiss
from kith.compat.cuvs import brute_force

POINTS, QUERIES = small(64, 3), small(32, 3, 1)
BITS = np.random.default_rng(0).integers(0, 256, (64, 4), dtype=np.uint8)
SERIES = np.random.default_rng(0).normal(size=(2, 24))
HOW: dict[str, Any] = {"device": "cpu", "threads": 1}  # of a device: test_cuda_leaks.py
BUILT = brute_force.build(POINTS)
INDEX = kith.Index(POINTS, **HOW)
FOUND = kith.search(POINTS, QUERIES, 5, **HOW)
MATRIX, BATCHES = np.empty((32, 64), np.float32), [[0, 30, 0, 16], [30, 34, 16, 16]]
OUT = np.empty((32, 5), np.float32), np.empty((32, 5), np.int64)

CALLS: dict[str, Callable[[], Any]] = {
    "search": lambda: kith.search(POINTS, QUERIES, 5, **HOW),
    "search, copied": lambda: kith.search(POINTS.astype(int).tolist()[:8], np.asfortranarray(QUERIES)[::2], 5, **HOW),
    "search, out": lambda: kith.search(POINTS, QUERIES, 5, out=OUT, **HOW),
    "search, progress": lambda: kith.search(POINTS, QUERIES, 5, **HOW, progress=lambda *where: True),
    "search, metrics": lambda: (kith.search(POINTS, QUERIES, 5, metric="mahalanobis", inverse_covariance=np.eye(3), **HOW),
                                kith.search(POINTS, QUERIES, 5, metric="seuclidean", **HOW),
                                kith.search(BITS, BITS, 2, metric="jaccard", packed_bits=True, **HOW)),
    "search, formula": lambda: kith.search(POINTS, QUERIES, 5, formula="a + fabs(q - x)", **HOW),
    "search, refused": lambda: refused(lambda: kith.search(POINTS, QUERIES, 0)),
    "search, refused by the core": lambda: refused(lambda: kith.search(POINTS, QUERIES, 5, metric="nope")),
    "search, cancelled": lambda: refused(lambda: kith.search(POINTS, QUERIES, 5, **HOW, progress=cancel)),
    "graph": lambda: kith.graph(POINTS, 5, include_self=True, f64=True, **HOW),
    "Index": lambda: kith.Index(POINTS, metric="cosine", **HOW),
    "Index, searched": lambda: (INDEX.search(QUERIES, 5, threads=1), INDEX.graph(3, threads=1), INDEX.radius(QUERIES, 2.0, threads=1)),
    "topk": lambda: kith.topk(QUERIES, 2, **HOW),
    "topk, columns": lambda: kith.topk(QUERIES, 9, dim=0, largest=False, **HOW),
    "search_batches": lambda: kith.search_batches(POINTS, QUERIES, BATCHES, 5, **HOW),
    "distances, out": lambda: kith.distances(POINTS, QUERIES, out=MATRIX, **HOW),
    "Index.radius_counts": lambda: (INDEX.radius_counts(QUERIES, 2.0, threads=1), INDEX.radius_counts(None, 2.0, threads=1)),
    "distances": lambda: kith.distances(POINTS, QUERIES, **HOW),
    "verify": lambda: kith.verify(POINTS, QUERIES, FOUND.indices, FOUND.distances, **HOW),
    "radius": lambda: kith.radius(POINTS, QUERIES, 2.0, **HOW),
    "radius, of each": lambda: kith.radius(POINTS, QUERIES, np.arange(32.0), **HOW),
    "radius_counts": lambda: kith.radius_counts(POINTS, None, 2.0, **HOW),
    "radius_graph": lambda: kith.radius_graph(POINTS, 2.0, **HOW),
    "match": lambda: kith.match(POINTS, QUERIES, ratio=0.9, mutual=True, **HOW),
    "variances": lambda: (kith.variances(POINTS), kith.inverse_covariance(POINTS)),
    "entropy": lambda: information.entropy(SERIES[0], **HOW),
    "kl_divergence": lambda: information.kl_divergence(SERIES[0], SERIES[1], form="ball", **HOW),
    "mutual_information": lambda: information.mutual_information(SERIES[0], SERIES[1], **HOW),
    "conditional_mutual_information": lambda: information.conditional_mutual_information(
        SERIES[0], SERIES[1], SERIES[0] ** 2, **HOW),
    "transfer_entropy": lambda: information.transfer_entropy(SERIES[0], SERIES[1], **HOW),
    "shards": lambda: kith.shards.finish(kith.shards.merge(kith.shards.search(POINTS[:40], 0, QUERIES, 5, **HOW),
                                                           kith.shards.search(POINTS[40:], 40, QUERIES, 5, **HOW))),
    "shards, radius": lambda: kith.shards.merge_radius(kith.shards.radius(POINTS[:40], 0, QUERIES, 2.0, **HOW),
                                                       kith.shards.radius(POINTS[40:], 40, QUERIES, 2.0, **HOW)),
}

OF_SEVERAL_CALLS = ("search, metrics", "Index, searched", "Index.radius_counts", "verify", "shards", "shards, radius")


def cancel(*where: Any) -> bool:
    return False


def refused(call: Callable[[], Any]) -> None:
    try:
        call()
    except (ValueError, kith.Cancelled):
        pass


def resident() -> int:
    """Bytes of this process in memory: not the most there ever were, which an earlier test may have set."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grown(call: Callable[[], Any], warm_up: int, count: int) -> tuple[int, int]:
    """Bytes and objects of Python that this many calls after a warm-up have left."""
    for _ in range(warm_up):
        call()
    gc.collect()
    objects, before = sys.getallocatedblocks(), resident()
    for _ in range(count):
        call()
    gc.collect()
    return resident() - before, sys.getallocatedblocks() - objects


def assert_no_leak(call: Callable[[], Any], count: int) -> None:
    """A leak grows in every round; caches that fill slowly (torch's, of gradients) in the first."""
    for rounds_left in (2, 1, 0):
        size, objects = grown(call, count // 10, count)
        if size < max(1 << 20, 250 * count) and objects < count // 20:
            return
        assert rounds_left, f"{size} bytes and {objects} objects more after {count} calls"


@pytest.mark.parametrize("name", CALLS)
def test_no_leak(name: str) -> None:
    count = 2_000 if name in OF_SEVERAL_CALLS else 10_000
    assert_no_leak(CALLS[name], count)


@pytest.mark.parametrize("name", ["knn_points", "knn_points, gradients", "knn", "knn_graph", "radius", "ball_query", "operators"])
def test_no_leak_in_torch(name: str) -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    import kith.torch as ours
    clouds, batch = torch.rand((2, 40, 3)), torch.arange(64) // 32
    points, queries = torch.from_numpy(POINTS), torch.from_numpy(QUERIES)
    slopes = torch.rand((2, 40, 3), requires_grad=True)
    calls: dict[str, Callable[[], Any]] = {
        "knn_points": lambda: ours.knn_points(clouds, clouds, torch.tensor([40, 9]), K=4, return_nn=True),
        "knn_points, gradients": lambda: ours.knn_points(slopes, clouds, K=4).dists.sum().backward(),
        "knn": lambda: ours.knn(points, points, 4, batch, batch),
        "knn_graph": lambda: ours.knn_graph(points, 4, batch),
        "radius": lambda: ours.radius(points, points, 1.0, batch, batch),
        "ball_query": lambda: ours.ball_query(slopes, clouds, K=4, radius=0.5).dists.sum().backward(),
        "operators": lambda: (torch.ops.kith.search(points, queries, 5), torch.ops.kith.topk(queries, 2)),
    }
    assert_no_leak(calls[name], 2_000)


FLAT = faiss.IndexFlatL2(3)
FLAT.add(POINTS)
COMPAT: dict[str, Callable[[], Any]] = {
    "faiss.knn": lambda: faiss.knn(QUERIES, POINTS, 5),
    "faiss.IndexFlatL2": lambda: flat(faiss.IndexFlatL2(3)),
    "faiss, files": lambda: faiss.deserialize_index(faiss.serialize_index(FLAT)).search(QUERIES, 5),
    "faiss, refused": lambda: refused(lambda: faiss.IndexFlatL2(4).add(POINTS)),
    "faiss.normalize_L2": lambda: faiss.normalize_L2(POINTS + 1),
    "cuvs": lambda: brute_force.search(brute_force.build(POINTS), QUERIES, 5),
    "cuvs, out": lambda: brute_force.search(BUILT, QUERIES, 5, neighbors=OUT[1], distances=OUT[0]),
}


def flat(index: Any) -> None:
    index.add(POINTS)
    index.search(QUERIES, 5)
    index.reset()


@pytest.mark.parametrize("name", COMPAT)
def test_no_leak_in_compat(name: str) -> None:
    assert_no_leak(COMPAT[name], 2_000)


def test_no_leak_in_groundtruth(tmp_path: Path) -> None:
    kith.groundtruth.init(tmp_path, POINTS, QUERIES, 5, shard_rows=32)

    def job() -> None:
        for unit in (tmp_path / "units").iterdir():
            unit.unlink()
        kith.groundtruth.run_unit(tmp_path, (0, 0), **HOW)
        kith.groundtruth.run(tmp_path, **HOW)
        kith.groundtruth.merge(tmp_path)
        kith.groundtruth.status(tmp_path)
        kith.groundtruth.verify(tmp_path, sample=2, **HOW)
        refused(lambda: kith.groundtruth.run_unit(tmp_path, (9, 9)))

    size, objects = grown(job, 20, 100)
    assert size < 10_000 * 100 and objects < 50
