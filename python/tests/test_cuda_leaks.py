"""Calls on arrays of a CUDA device that take no more of its memory, nor of the host's, the ten-thousandth time than before.

Looks at the free memory of the whole device: nothing else may work there meanwhile.
"""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
from oracle import small
from test_leaks import grown, refused

import kith

torch = pytest.importorskip("torch", exc_type=ImportError)
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)
import kith.torch  # noqa: E402
from kith.compat import faiss  # noqa: E402
from kith.compat.cuvs import brute_force  # noqa: E402

HOST = small(64, 3), small(32, 3, 1)
POINTS, QUERIES = (torch.from_numpy(values).cuda() for values in HOST)
OUT = torch.empty((32, 5), device="cuda"), torch.empty((32, 5), dtype=torch.int64, device="cuda")
INDEX = kith.Index(POINTS)
CLOUDS = torch.rand((2, 40, 3), device="cuda")
BATCHES = [[0, 30, 0, 16], [30, 34, 16, 16]]

# How often, and what; making an Index is some 30 calls of the driver.
CALLS: dict[str, tuple[int, Callable[[], Any]]] = {
    "search": (10_000, lambda: kith.search(POINTS, QUERIES, 5)),
    "search, out": (10_000, lambda: kith.search(POINTS, QUERIES, 5, out=OUT)),
    "search from the host": (2_000, lambda: kith.search(*HOST, 5, device="cuda")),
    "search, refused": (2_000, lambda: refused(lambda: kith.search(POINTS, QUERIES, 5, metric="nope"))),
    "search, cancelled": (500, lambda: refused(lambda: kith.search(POINTS, QUERIES, 5, progress=lambda *where: False))),
    "search_batches": (10_000, lambda: kith.search_batches(POINTS, QUERIES, BATCHES, 5)),
    "graph": (10_000, lambda: kith.graph(POINTS, 5)),
    "Index": (1_000, lambda: kith.Index(POINTS)),
    "Index.search": (10_000, lambda: INDEX.search(QUERIES, 5)),
    "Index.radius_counts": (10_000, lambda: INDEX.radius_counts(QUERIES, 2.0)),
    "radius": (10_000, lambda: kith.radius(POINTS, QUERIES, 2.0)),
    "distances": (10_000, lambda: kith.distances(POINTS, QUERIES)),
    "topk": (10_000, lambda: kith.topk(QUERIES, 2)),
    "knn_points": (10_000, lambda: kith.torch.knn_points(CLOUDS, CLOUDS, K=4)),
    "operator": (10_000, lambda: torch.ops.kith.search(POINTS, QUERIES, 5)),
    "faiss.knn_gpu": (10_000, lambda: faiss.knn_gpu(faiss.StandardGpuResources(), QUERIES, POINTS, 5)),
    "cuvs": (500, lambda: brute_force.search(brute_force.build(POINTS), QUERIES, 5)),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_leak(name: str) -> None:
    count, call = CALLS[name]
    for _ in range(count // 10):  # pools have their size
        call()
    torch.cuda.synchronize()
    allocated, free = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]
    size, objects = grown(call, 0, count)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= allocated
    assert free - torch.cuda.mem_get_info()[0] <= 2 << 20  # a page of the driver's; the least allocation is 512 bytes
    assert size < max(4 << 20, 250 * count) and objects < max(50, count // 20)


def test_many_calls_of_large_arrays() -> None:
    """Workspace goes back: 40 searches whose workspace is larger than what is left to leak."""
    points = torch.from_numpy(np.random.default_rng(0).random((200_000, 64), np.float32)).cuda()
    for _ in range(3):
        kith.search(points, points[:4096], 10)
    torch.cuda.synchronize()
    free = torch.cuda.mem_get_info()[0]
    for _ in range(40):
        kith.search(points, points[:4096], 10)
    torch.cuda.synchronize()
    assert free - torch.cuda.mem_get_info()[0] <= 2 << 20
