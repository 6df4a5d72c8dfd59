"""Search over chunks against one search, bit by bit, by every scheduler."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest
from chunks import CHUNKS, HOW, POINTS, QUERIES, REFUSED
from oracle import small

import kith
import kith.groundtruth

pytest.importorskip("dask")
import dask  # noqa: E402
import dask.array as da  # noqa: E402

import kith.dask  # noqa: E402


def same(found: Any, expected: Any) -> None:
    distances, indices = dask.compute(*found)
    for lazy, computed in zip(found, (distances, indices)):
        assert lazy.shape == computed.shape and lazy.dtype == computed.dtype == lazy._meta.dtype
        assert type(computed) is np.ndarray
    np.testing.assert_array_equal(indices, expected.indices)
    assert distances.dtype == expected.distances.dtype and distances.tobytes() == expected.distances.tobytes()


@pytest.mark.parametrize("how", HOW)
def test_search(how: dict[str, Any]) -> None:
    for k in (1, 120, 310):  # more than a chunk has, more than there are
        expected = kith.search(POINTS, QUERIES, k, **how)
        for rows, asked in CHUNKS[:3]:
            found = kith.dask.search(da.from_array(POINTS, (rows, -1)), da.from_array(QUERIES, (asked, -1)), k, **how)
            assert found.indices.chunks[0] == tuple(size for size in asked if size)
            same(found, expected)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("f64", [False, True])
def test_graph(include_self: bool, f64: bool) -> None:
    for k in (1, 9, 310):
        expected = kith.graph(POINTS, k, include_self=include_self, metric="euclidean", f64=f64)
        for rows, _ in CHUNKS:
            points = da.from_array(POINTS, (rows, -1))
            same(kith.dask.graph(points, k, include_self=include_self, metric="euclidean", f64=f64), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint8, np.int64])
def test_types(dtype: Any) -> None:
    points, queries = small(60, 5).astype(dtype), small(9, 5, 1).astype(dtype)
    found = kith.dask.search(da.from_array(points, (25, 2)), da.from_array(queries, (4, -1)), 5)  # columns in chunks, too
    same(found, kith.search(points, queries, 5))


def test_arrays_that_are_not_dasks() -> None:
    same(kith.dask.search(POINTS, da.from_array(QUERIES, (9, -1)), 5), kith.search(POINTS, QUERIES, 5))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_schedulers(scheduler: str) -> None:
    with dask.config.set(scheduler=scheduler, num_workers=3):
        points = da.from_array(POINTS, (70, -1)).persist()
        same(kith.dask.search(points * 2, da.from_array(QUERIES, (9, -1)) * 2, 7), kith.search(POINTS * 2, QUERIES * 2, 7))


def test_nothing_is_computed_until_it_is_asked_for() -> None:
    def fails(block: Any) -> Any:
        raise AssertionError("computed")

    points = da.from_array(POINTS, (70, -1)).map_blocks(fails, dtype=POINTS.dtype, meta=POINTS[:0])
    found = kith.dask.search(points, points, 3)
    assert found.distances.shape == (300, 3) and found.distances.dtype == np.float32 and found.indices.dtype == np.int64
    with pytest.raises(AssertionError, match="computed"):
        found.indices.compute(scheduler="synchronous")


@pytest.mark.parametrize("how, words", [
    *REFUSED, ({"queries": da.zeros((4, 6))}, "queries: 6 columns"), ({"queries": da.zeros(5)}, "2 dimensions"),
    ({"points": da.from_array(POINTS)[da.from_array(POINTS)[:, 0] > 2]}, "points: chunks of unknown size"),
])
def test_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        kith.dask.search(**{"points": POINTS, "queries": QUERIES, "k": 3, **how})


def test_groundtruth(tmp_path: Path) -> None:
    kith.groundtruth.init(tmp_path, POINTS, QUERIES, 9, shard_rows=60, query_rows=15)
    kith.groundtruth.run_unit(tmp_path, (1, 1))
    assert kith.dask.groundtruth(tmp_path).compute(scheduler="threads", num_workers=3) == 14
    assert kith.dask.groundtruth(tmp_path).compute() == 0
    np.testing.assert_array_equal(kith.groundtruth.merge(tmp_path).indices, kith.search(POINTS, QUERIES, 9).indices)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as connected:
        yield connected


def test_cluster(client: Any, tmp_path: Path) -> None:
    """Several processes, data that lie on them."""
    for rows, asked in CHUNKS:
        points, queries = da.from_array(POINTS, (rows, -1)).persist(), da.from_array(QUERIES, (asked, -1)).persist()
        same(kith.dask.search(points, queries, 9, metric="euclidean"), kith.search(POINTS, QUERIES, 9, metric="euclidean"))
        same(kith.dask.graph(points, 9, include_self=True), kith.graph(POINTS, 9, include_self=True))
    kith.groundtruth.init(tmp_path, POINTS, QUERIES, 9, shard_rows=60, query_rows=15)
    assert client.compute(kith.dask.groundtruth(tmp_path)).result(timeout=120) == 15
    assert kith.groundtruth.verify(tmp_path, sample=10).exact
