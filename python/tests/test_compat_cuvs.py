"""cuVS' interface: the same calls, and the distances of its kernels."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from images import fashion_mnist
from oracle import nearest, small

import kith
from kith.compat.cuvs import Resources, brute_force, filters, pairwise_distance
from kith.compat.cuvs.common import Resources as common_resources
from kith.compat.cuvs.distance import pairwise_distance as distance
from kith.compat.cuvs.neighbors import brute_force as neighbors_brute_force

POINTS, QUERIES = small(100, 8), small(9, 8, 1)
RANDOM = np.random.default_rng(5)


def test_cuvs_on_images() -> None:
    points, queries = fashion_mnist(3000, 100)[:2]
    for metric in ("sqeuclidean", "cosine", "l1"):
        distances, neighbors = brute_force.search(brute_force.build(points, metric=metric), queries, 10)
        expected = kith.search(points, queries, 10, metric="cityblock" if metric == "l1" else metric)
        np.testing.assert_array_equal(neighbors, expected.indices)
        np.testing.assert_array_equal(distances, expected.distances)


def test_search() -> None:
    index = brute_force.build(POINTS, metric="sqeuclidean")
    assert index.trained and len(index) == 100 and not brute_force.Index().trained
    expected, places = nearest(POINTS, QUERIES, 5)
    for prefilter in (None, filters.no_filter()):
        distances, neighbors = brute_force.search(index, QUERIES, 5, prefilter=prefilter)
        np.testing.assert_array_equal(neighbors, places)
        np.testing.assert_array_equal(distances, expected)
    out = np.empty((9, 5), np.int64), np.empty((9, 5), np.float32)
    brute_force.search(index, QUERIES, 5, *out)
    np.testing.assert_array_equal(out[0], places)
    for given in ({"neighbors": out[0] * 0}, {"distances": out[1] * 0}):
        (name, array), = given.items()
        found = brute_force.search(index, QUERIES, 5, **given)
        assert found[name == "neighbors"] is array
        np.testing.assert_array_equal(found[1], places)
        np.testing.assert_array_equal(found[0], expected)
    for refused in (lambda: brute_force.search(index, QUERIES, 5, prefilter=object()), lambda: filters.from_bitset(None),
                    lambda: filters.from_bitmap(None)):
        with pytest.raises(NotImplementedError, match="prefilter"):
            refused()
    with pytest.raises(ValueError, match="build"):
        brute_force.search(brute_force.Index(), QUERIES, 5)
    with pytest.raises(ValueError, match="metric"):
        brute_force.build(POINTS, metric="nearness")
    with pytest.raises(ValueError, match="neighbors: expected int64"):
        brute_force.search(index, QUERIES, 5, neighbors=np.empty((9, 5), np.int32))


def definition(metric: str, x: Any, y: Any) -> Any:
    """The values of cuVS' kernels, in float64."""
    x, y = x[:, None].astype(float), y[None].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        if metric == "kl_divergence":
            return 0.5 * np.where(x == 0, 0, x * (np.log(x) - np.where(y == 0, 0, np.log(np.where(y == 0, 1, y))))).sum(2)
        if metric == "jensenshannon":
            m = 0.5 * (x + y)
            terms = np.where(x == 0, 0, x * np.log(x / m)) + np.where(y == 0, 0, y * np.log(y / m))
            return np.sqrt(0.5 * terms.sum(2))
        if metric == "hellinger":
            return np.sqrt(np.maximum(1 - (np.sqrt(x) * np.sqrt(y)).sum(2), 0))
    return (x.shape[2] - (x * y).sum(2)) / x.shape[2]


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("metric", ["kl_divergence", "jensenshannon", "hellinger", "russellrao"])
def test_distances_of_its_own(metric: str, scaled: bool) -> None:
    points, queries = (RANDOM.random((rows, 6)) for rows in (60, 7))
    for rows in (points, queries):
        rows[RANDOM.random(rows.shape) < 0.2] = 0
        if scaled:
            rows /= rows.sum(1, keepdims=True)
    values = definition(metric, queries, points)
    np.testing.assert_allclose(pairwise_distance(queries, points, metric=metric), values, rtol=1e-12, atol=1e-7)
    points, queries = points.astype(np.float32), queries.astype(np.float32)
    values = definition(metric, queries, points)
    found = pairwise_distance(queries, points, metric=metric)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, values, rtol=1e-6, atol=1e-6)
    out = np.empty((7, 4), np.int64), np.empty((7, 4), np.float32)
    distances, neighbors = brute_force.search(brute_force.build(points, metric), queries, 4, *out)
    assert distances is out[1] and neighbors is out[0]
    np.testing.assert_allclose(distances, np.sort(values)[:, :4], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(values, neighbors, 1), distances, rtol=1e-6, atol=1e-6)


def test_halves() -> None:
    """By hand."""
    x, y = np.array([[0.5, 0.5]], np.float32), np.array([[0.25, 0.75]], np.float32)
    np.testing.assert_allclose(pairwise_distance(x, y, metric="kl_divergence"), [[0.0719205]], rtol=1e-6)
    np.testing.assert_allclose(pairwise_distance(x, np.array([[0, 1]], np.float32), metric="kl_divergence"), [[-0.3465736]], rtol=1e-6)


def test_types_and_orders() -> None:
    for dtype, expected in ((np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64)):
        x, y = QUERIES.astype(dtype), POINTS.astype(dtype)
        for metric in ("l1", "jensenshannon", "cosine"):
            found = pairwise_distance(abs(x), abs(y), metric=metric)
            assert found.dtype == expected
            for order in ("C", "F"):
                out = np.empty((9, 100), expected, order=order)
                assert pairwise_distance(abs(x), abs(y), out, metric=metric, resources=Resources()) is out
                np.testing.assert_array_equal(out, found)
    np.testing.assert_array_equal(pairwise_distance(QUERIES, POINTS, metric="l1"), kith.distances(POINTS, QUERIES, metric="cityblock"))
    with pytest.raises(ValueError, match="out: expected"):
        pairwise_distance(QUERIES, POINTS, np.empty((9, 99), np.float32, order="F"))
    with pytest.raises(ValueError, match="bitwise_hamming"):
        pairwise_distance(QUERIES, POINTS, metric="bitwise_hamming")
    assert distance is pairwise_distance and neighbors_brute_force is brute_force and common_resources is Resources
    Resources(stream=3).sync()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("metric", ["sqeuclidean", "minkowski", "hellinger"])
def test_saved(metric: str, dtype: Any, tmp_path: Path) -> None:
    points, queries = abs(POINTS).astype(dtype), abs(QUERIES).astype(dtype)
    index = brute_force.build(points, metric, 3.0)
    brute_force.save(tmp_path / "index.bin", index)
    back = brute_force.load(str(tmp_path / "index.bin"))
    assert back.trained and len(back) == 100
    for found, expected in zip(brute_force.search(back, queries, 5), brute_force.search(index, queries, 5)):
        np.testing.assert_array_equal(found, expected)
    whole = (tmp_path / "index.bin").read_bytes()
    for damaged in (b"", b"nothing", whole[:200], whole[:-30]):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(ValueError, match="not an index"):
            brute_force.load(tmp_path / "damaged")
    with pytest.raises(ValueError, match="build"):
        brute_force.save(tmp_path / "empty", brute_force.Index())
    with pytest.raises(OSError):
        brute_force.load(tmp_path / "absent")


def test_tensors() -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    points, queries = torch.from_numpy(abs(POINTS)), torch.from_numpy(abs(QUERIES))
    for metric in ("l2", "hellinger", "russellrao"):
        distances, neighbors = brute_force.search(brute_force.build(points, metric), queries, 3)
        plain = brute_force.search(brute_force.build(abs(POINTS), metric), abs(QUERIES), 3)
        assert distances.dtype == torch.float32 and neighbors.dtype == torch.int64
        np.testing.assert_array_equal(distances, plain[0])
        np.testing.assert_array_equal(neighbors, plain[1])
        out = torch.empty(100, 9, dtype=torch.float32).T
        assert pairwise_distance(queries, points, out, metric) is out
        np.testing.assert_array_equal(out, pairwise_distance(abs(QUERIES), abs(POINTS), metric=metric))
