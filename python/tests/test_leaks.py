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

POINTS, QUERIES = small(64, 3), small(32, 3, 1)
BITS = np.random.default_rng(0).integers(0, 256, (64, 4), dtype=np.uint8)
SERIES = np.random.default_rng(0).normal(size=(2, 24))
INDEX = kith.Index(POINTS, threads=1)
FOUND = kith.search(POINTS, QUERIES, 5)
OUT = np.empty((32, 5), np.float32), np.empty((32, 5), np.int64)

CALLS: dict[str, Callable[[], Any]] = {
    "search": lambda: kith.search(POINTS, QUERIES, 5, threads=1),
    "search, copied": lambda: kith.search(POINTS.astype(int).tolist()[:8], np.asfortranarray(QUERIES)[::2], 5, threads=1),
    "search, out": lambda: kith.search(POINTS, QUERIES, 5, out=OUT, threads=1),
    "search, progress": lambda: kith.search(POINTS, QUERIES, 5, threads=1, progress=lambda *where: True),
    "search, metrics": lambda: (kith.search(POINTS, QUERIES, 5, metric="mahalanobis", inverse_covariance=np.eye(3), threads=1),
                                kith.search(POINTS, QUERIES, 5, metric="seuclidean", threads=1),
                                kith.search(BITS, BITS, 2, metric="jaccard", packed_bits=True, threads=1)),
    "search, formula": lambda: kith.search(POINTS, QUERIES, 5, formula="a + fabs(q - x)", threads=1),
    "search, refused": lambda: refused(lambda: kith.search(POINTS, QUERIES, 0)),
    "search, refused by the core": lambda: refused(lambda: kith.search(POINTS, QUERIES, 5, metric="nope")),
    "search, cancelled": lambda: refused(lambda: kith.search(POINTS, QUERIES, 5, threads=1, progress=cancel)),
    "graph": lambda: kith.graph(POINTS, 5, include_self=True, f64=True, threads=1),
    "Index": lambda: kith.Index(POINTS, metric="cosine", threads=1),
    "Index, searched": lambda: (INDEX.search(QUERIES, 5, threads=1), INDEX.graph(3, threads=1), INDEX.radius(QUERIES, 2.0, threads=1)),
    "topk": lambda: kith.topk(QUERIES, 2, threads=1),
    "topk, columns": lambda: kith.topk(QUERIES, 9, dim=0, largest=False, threads=1),
    "distances": lambda: kith.distances(POINTS, QUERIES, threads=1),
    "verify": lambda: kith.verify(POINTS, QUERIES, FOUND.indices, FOUND.distances, threads=1),
    "radius": lambda: kith.radius(POINTS, QUERIES, 2.0, threads=1),
    "radius, of each": lambda: kith.radius(POINTS, QUERIES, np.arange(32.0), threads=1),
    "radius_counts": lambda: kith.radius_counts(POINTS, None, 2.0, threads=1),
    "radius_graph": lambda: kith.radius_graph(POINTS, 2.0, threads=1),
    "match": lambda: kith.match(POINTS, QUERIES, ratio=0.9, mutual=True, threads=1),
    "variances": lambda: (kith.variances(POINTS), kith.inverse_covariance(POINTS)),
    "entropy": lambda: information.entropy(SERIES[0], threads=1),
    "kl_divergence": lambda: information.kl_divergence(SERIES[0], SERIES[1], form="ball", threads=1),
    "mutual_information": lambda: information.mutual_information(SERIES[0], SERIES[1], threads=1),
    "transfer_entropy": lambda: information.transfer_entropy(SERIES[0], SERIES[1], threads=1),
    "shards": lambda: kith.shards.finish(kith.shards.merge(kith.shards.search(POINTS[:40], 0, QUERIES, 5, threads=1),
                                                           kith.shards.search(POINTS[40:], 40, QUERIES, 5, threads=1))),
}

OF_SEVERAL_CALLS = ("search, metrics", "Index, searched", "verify", "shards")


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
    """Bytes and objects of Python that so many calls after a warm-up have left behind."""
    for _ in range(warm_up):
        call()
    gc.collect()
    objects, before = sys.getallocatedblocks(), resident()
    for _ in range(count):
        call()
    gc.collect()
    return resident() - before, sys.getallocatedblocks() - objects


@pytest.mark.parametrize("name", CALLS)
def test_no_leak(name: str) -> None:
    count = 2_000 if name in OF_SEVERAL_CALLS else 10_000
    size, objects = grown(CALLS[name], count // 10, count)
    assert size < max(1 << 20, 250 * count) and objects < count // 20


def test_no_leak_in_groundtruth(tmp_path: Path) -> None:
    kith.groundtruth.init(tmp_path, POINTS, QUERIES, 5, shard_rows=32)

    def job() -> None:
        for unit in (tmp_path / "units").iterdir():
            unit.unlink()
        kith.groundtruth.run_unit(tmp_path, (0, 0), threads=1)
        kith.groundtruth.run(tmp_path, threads=1)
        kith.groundtruth.merge(tmp_path)
        kith.groundtruth.status(tmp_path)
        kith.groundtruth.verify(tmp_path, sample=2, threads=1)
        refused(lambda: kith.groundtruth.run_unit(tmp_path, (9, 9)))

    size, objects = grown(job, 20, 100)
    assert size < 10_000 * 100 and objects < 50
