"""Search over chunks in Ray's object store against one search, bit by bit, by several worker processes."""
from __future__ import annotations

import doctest
import itertools
from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
from chunks import CHUNKS, HOW, POINTS, QUERIES, REFUSED
from oracle import small

import kith
import kith.groundtruth

ray = pytest.importorskip("ray")

import kith.ray  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    yield
    ray.shutdown()


def cut(rows: Any, sizes: tuple[int, ...]) -> list[Any]:
    return [ray.put(rows[first:first + size]) for first, size in zip([0, *itertools.accumulate(sizes)], sizes)]


def same(found: Any, expected: Any, sizes: tuple[int, ...]) -> None:
    for refs, whole in zip(found, expected):
        parts = ray.get(refs)
        assert [part.shape for part in parts] == [(size, whole.shape[1]) for size in sizes]
        together = np.concatenate(parts)
        assert together.dtype == whole.dtype and together.tobytes() == whole.tobytes()


@pytest.mark.parametrize("how", HOW)
def test_search(how: dict[str, Any]) -> None:
    for (rows, asked), k in zip(CHUNKS[:3], (1, 120, 310)):  # more than a chunk has, more than there are
        same(kith.ray.search(cut(POINTS, rows), cut(QUERIES, asked), k, **how), kith.search(POINTS, QUERIES, k, **how), asked)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("f64", [False, True])
def test_graph(include_self: bool, f64: bool) -> None:
    for (rows, _), k in zip(CHUNKS, (1, 9, 310, 1)):
        expected = kith.graph(POINTS, k, include_self=include_self, metric="euclidean", f64=f64)
        same(kith.ray.graph(cut(POINTS, rows), k, include_self=include_self, metric="euclidean", f64=f64), expected, rows)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint8, np.int64])
def test_types(dtype: Any) -> None:
    points, queries = small(60, 5).astype(dtype), small(9, 5, 1).astype(dtype)
    same(kith.ray.search(cut(points, (25, 35)), queries, 5), kith.search(points, queries, 5), (9,))


def test_chunks_that_tasks_make() -> None:
    make = ray.remote(lambda first: POINTS[first:first + 100] * 2)
    found = kith.ray.search([make.remote(first) for first in (0, 100, 200)], [QUERIES[:9], QUERIES[9:]], 7)
    same(found, kith.search(POINTS * 2, QUERIES, 7), (9, 31))


@pytest.mark.parametrize("how, words", [
    *REFUSED, ({"queries": np.zeros((4, 6))}, "queries: 6 columns"), ({"queries": np.zeros(5)}, "2 dimensions"),
    ({"queries": []}, "queries: expected at least one chunk"),
    ({"points": [POINTS, POINTS[:, :4]]}, "points: 4 columns in chunk 1; expected 5"),
])
def test_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        kith.ray.search(**{"points": POINTS, "queries": QUERIES, "k": 3, **how})


def test_options() -> None:
    found = kith.ray.search(POINTS, QUERIES, 3, options={"num_cpus": 2, "max_retries": 0}, threads=2)
    same(found, kith.search(POINTS, QUERIES, 3), (40,))
    with pytest.raises(ValueError, match="nothing"):
        kith.ray.search(POINTS, QUERIES, 3, options={"nothing": 1})


def test_groundtruth(tmp_path: Path) -> None:
    kith.groundtruth.init(tmp_path, POINTS, QUERIES, 9, shard_rows=60, query_rows=15)
    kith.groundtruth.run_unit(tmp_path, (1, 1))
    assert ray.get(kith.ray.groundtruth(tmp_path)) == 14
    assert ray.get(kith.ray.groundtruth(tmp_path)) == 0
    np.testing.assert_array_equal(kith.groundtruth.merge(tmp_path).indices, kith.search(POINTS, QUERIES, 9).indices)


def test_docstrings() -> None:
    assert doctest.testmod(kith.ray).failed == 0
