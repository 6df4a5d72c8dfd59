"""faiss' other indexes and metrics: maps of ids, shards, replicas, packed bits; the same calls on ours and on faiss where it is."""
from __future__ import annotations

import pickle
from typing import Any, Callable

import numpy as np
import pytest
from test_compat import modules

from kith.compat import faiss as ours

RANDOM = np.random.default_rng(3)
POINTS, QUERIES = (RANDOM.random((rows, 6)).astype(np.float32) for rows in (90, 8))
BITS, ASKED = RANDOM.integers(0, 256, (80, 4)).astype(np.uint8), RANDOM.integers(0, 256, (6, 4)).astype(np.uint8)
IDS = RANDOM.permutation(1000)[:90].astype(np.int64)
BOTH = pytest.mark.parametrize("faiss", modules(), ids=lambda module: module.__name__)


def definition(metric: str, q: Any, x: Any, p: float) -> float:
    q, x = q.astype(float), x.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        m = 0.5 * (q + x)
        there = ~(np.isnan(q) | np.isnan(x))
        definitions: dict[str, Callable[[], Any]] = {
            "METRIC_L2": lambda: ((q - x)**2).sum(), "METRIC_INNER_PRODUCT": lambda: q @ x, "METRIC_L1": lambda: abs(q - x).sum(),
            "METRIC_Linf": lambda: abs(q - x).max(), "METRIC_Lp": lambda: (abs(q - x)**p).sum(),
            "METRIC_Canberra": lambda: (abs(q - x) / (abs(q) + abs(x))).sum(),
            "METRIC_BrayCurtis": lambda: abs(q - x).sum() / abs(q + x).sum(),
            "METRIC_JensenShannon": lambda: 0.5 * (q * np.log(q / m) + x * np.log(x / m)).sum(),
            "METRIC_Jaccard": lambda: np.minimum(q, x).sum() / np.maximum(q, x).sum(),
            "METRIC_NaNEuclidean": lambda: len(q) / there.sum() * ((q - x)[there]**2).sum() if there.any() else np.nan,
            "METRIC_GOWER": lambda: abs(q - x)[there].sum() / there.sum() if there.any() else np.nan}
        return float(definitions[metric]())


METRICS = [("METRIC_L2", 0.0), ("METRIC_INNER_PRODUCT", 0.0), ("METRIC_L1", 0.0), ("METRIC_Linf", 0.0), ("METRIC_Lp", 0.5),
           ("METRIC_Lp", 1.0), ("METRIC_Lp", 2.0), ("METRIC_Lp", 3.0), ("METRIC_Lp", 0.0), ("METRIC_Canberra", 0.0), ("METRIC_BrayCurtis", 0.0),
           ("METRIC_JensenShannon", 0.0), ("METRIC_Jaccard", 0.0), ("METRIC_NaNEuclidean", 0.0), ("METRIC_GOWER", 0.0)]


@BOTH
@pytest.mark.parametrize("metric, p", METRICS)
@pytest.mark.parametrize("missing", [False, True])
def test_metrics(faiss: Any, metric: str, p: float, missing: bool) -> None:
    points, queries = POINTS.copy(), QUERIES.copy()
    if missing:
        if metric not in ("METRIC_NaNEuclidean", "METRIC_GOWER"):
            return
        points[RANDOM.random(points.shape) < 0.3] = np.nan
        queries[RANDOM.random(queries.shape) < 0.3] = np.nan
        queries[2] = np.nan
    number = getattr(faiss, metric)
    values = np.array([[definition(metric, q, x, p) for x in points] for q in queries])
    np.testing.assert_allclose(faiss.pairwise_distances(queries, points, number, p), values, rtol=2e-5, atol=1e-6)
    order = np.argsort(-values if faiss.is_similarity_metric(number) else values, axis=1, kind="stable")
    best = np.take_along_axis(values, order, 1)[:, :5]
    index = faiss.IndexFlat(6, number)
    index.metric_arg = p
    index.add(points)
    knn = faiss.knn(queries, points, 5, number, p)
    for distances, indices in (index.search(queries, 5), knn):
        assert (distances.dtype, indices.dtype) == (np.float32, np.int64)
        there = ~np.isnan(best)
        np.testing.assert_allclose(distances[there], best[there], rtol=2e-5, atol=1e-6)
        if faiss is ours:
            np.testing.assert_array_equal(indices, np.where(there, order[:, :5], -1))
    if metric in ("METRIC_GOWER", "METRIC_NaNEuclidean") and faiss is not ours:
        return
    threshold = float(np.nanquantile(values, 0.3))
    lims, distances, indices = index.range_search(queries, threshold)
    near = values > np.float32(threshold) if faiss.is_similarity_metric(number) else values < np.float32(threshold)
    if faiss is ours or not faiss.is_similarity_metric(number):
        for i in range(len(queries)):
            part = slice(int(lims[i]), int(lims[i + 1]))
            np.testing.assert_array_equal(indices[part], np.flatnonzero(near[i]))  # by ascending id
            np.testing.assert_allclose(distances[part], values[i, near[i]], rtol=2e-5, atol=1e-6)


def test_refused_values_of_metrics() -> None:
    with pytest.raises(ValueError, match="METRIC_Jaccard"):
        ours.knn(-QUERIES, POINTS, 1, ours.METRIC_Jaccard)
    with pytest.raises(ValueError, match="metric_arg"):
        ours.knn(QUERIES, POINTS, 1, ours.METRIC_Lp, np.inf)
    mixed = ours.pairwise_distances(np.array([[0.5, -1]]), np.array([[0.5, 0.5], [2, -1], [0.5, -2]]), ours.METRIC_GOWER)
    assert np.isnan(mixed[0, :2]).all() and mixed[0, 2] == 0.5
    with pytest.raises(NotImplementedError, match="metric 17"):
        ours.IndexFlat(6, 17)


@BOTH
@pytest.mark.parametrize("mapped", ["IndexIDMap", "IndexIDMap2"])
def test_ids(faiss: Any, mapped: str) -> None:
    plain = faiss.IndexFlatL2(6)
    index = getattr(faiss, mapped)(faiss.IndexFlatL2(6))
    with pytest.raises(RuntimeError, match="add"):
        index.add(POINTS)
    with pytest.raises(RuntimeError):
        plain.add_with_ids(POINTS, IDS)
    with pytest.raises(AssertionError):
        index.add_with_ids(POINTS, IDS[:-1])
    plain.add(POINTS)
    with pytest.raises(RuntimeError):
        getattr(faiss, mapped)(plain)  # not empty
    index.add_with_ids(POINTS[:40], IDS[:40])
    index.add_with_ids(POINTS[40:], IDS[40:].astype(np.int32))
    np.testing.assert_array_equal(faiss.vector_to_array(index.id_map), IDS)
    distances, found = index.search(QUERIES, 95)
    expected, places = plain.search(QUERIES, 95)
    np.testing.assert_array_equal(distances, expected)
    np.testing.assert_array_equal(found, np.where(places < 0, -1, IDS[places]))
    lims, _, inside = index.range_search(QUERIES, 0.5)
    assert inside.tolist() == IDS[plain.range_search(QUERIES, 0.5)[2]].tolist() and lims[-1] == len(inside)
    if mapped == "IndexIDMap2":
        np.testing.assert_array_equal(index.reconstruct(int(IDS[7])), POINTS[7])
        np.testing.assert_array_equal(index.reconstruct_batch(IDS[[5, 2]]), POINTS[[5, 2]])
        vectors = index.search_and_reconstruct(QUERIES, 3)[2]
        np.testing.assert_array_equal(vectors, POINTS[places[:, :3]])
        with pytest.raises(RuntimeError, match="not found"):
            index.reconstruct(5000)
    else:
        with pytest.raises(RuntimeError):
            index.reconstruct(int(IDS[7]))
    assert index.remove_ids(np.array([IDS[3], IDS[80], 5000])) == 2 and index.ntotal == 88
    assert IDS[3] not in index.search(POINTS[3:4], 88)[1]
    other = getattr(faiss, mapped)(faiss.IndexFlatL2(6))
    other.add_with_ids(POINTS[:2], np.array([1, 2]))
    index.merge_from(other, 7000)
    assert (index.ntotal, other.ntotal) == (90, 0) and 7001 in index.search(POINTS[:1], 2)[1]
    assert pickle.loads(pickle.dumps(index)).search(QUERIES, 4)[1].tolist() == index.search(QUERIES, 4)[1].tolist()


@BOTH
def test_ids_one_by_one(faiss: Any) -> None:
    index, one = faiss.IndexIDMap2(faiss.IndexFlatL2(6)), np.empty(1, np.int64)
    for i, id_ in enumerate(IDS):  # the array is the caller's, who goes on to write to it
        one[0] = id_
        index.add_with_ids(POINTS[i:i + 1], one)
    np.testing.assert_array_equal(faiss.vector_to_array(index.id_map), IDS)
    np.testing.assert_array_equal(index.reconstruct(int(IDS[7])), POINTS[7])
    index.remove_ids(IDS[7:8])
    with pytest.raises(RuntimeError, match="not found"):
        index.reconstruct(int(IDS[7]))
    index.add_with_ids(POINTS[3:4], IDS[7:8])
    np.testing.assert_array_equal(index.reconstruct(int(IDS[7])), POINTS[3])
    index.reset()
    assert index.ntotal == 0 and index.id_map.size() == 0


def test_ids_are_sorted_once() -> None:
    index = ours.IndexIDMap2(ours.IndexFlatL2(6))
    index.add_with_ids(POINTS, IDS)
    index.reconstruct(int(IDS[0]))
    first = index._sorted
    index.reconstruct(int(IDS[1]))
    assert first is not None and index._sorted is first


@BOTH
def test_permuted(faiss: Any) -> None:
    index, order = faiss.IndexFlatL2(6), np.roll(np.arange(90), 7)
    index.add(POINTS)
    index.permute_entries(order)
    np.testing.assert_array_equal(index.reconstruct_n(), POINTS[order])
    with pytest.raises(AssertionError):
        index.permute_entries(order[:-1])


@BOTH
def test_merged(faiss: Any) -> None:
    one, other = faiss.IndexFlatL2(6), faiss.IndexFlatL2(6)
    one.add(POINTS[:50])
    other.add(POINTS[50:])
    one.merge_from(other)
    assert (one.ntotal, other.ntotal) == (90, 0)
    np.testing.assert_array_equal(one.reconstruct_n(), POINTS)
    for wrong in (faiss.IndexFlatIP(6), faiss.IndexFlatL2(5)):
        with pytest.raises(RuntimeError):
            one.merge_from(wrong)


@BOTH
def test_shards_and_replicas(faiss: Any) -> None:
    plain = faiss.IndexFlatIP(6)
    plain.add(POINTS)
    shards, replicas = faiss.IndexShards(6, True), faiss.IndexReplicas(6)
    for first in range(0, 90, 30):
        part, whole = faiss.IndexFlatIP(6), faiss.IndexFlatIP(6)
        part.add(POINTS[first:first + 30])
        whole.add(POINTS)
        shards.add_shard(part)
        replicas.addIndex(whole)
    assert (shards.ntotal, replicas.ntotal, shards.count(), shards.at(1).ntotal) == (90, 90, 3, 30)
    for index in (shards, replicas):
        for found, expected in zip(index.search(QUERIES, 7), plain.search(QUERIES, 7)):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(RuntimeError):
        shards.add_shard(faiss.IndexFlatIP(5))
    with pytest.raises(RuntimeError):
        shards.add(POINTS)  # ids go on, and vectors are there
    mapped = faiss.IndexShards(6, False, False)
    for _ in range(3):
        mapped.add_shard(faiss.IndexIDMap(faiss.IndexFlatIP(6)))
    mapped.add_with_ids(POINTS, IDS)
    np.testing.assert_array_equal(mapped.search(QUERIES, 7)[1], IDS[plain.search(QUERIES, 7)[1]])


def test_shards_answer_as_one_index() -> None:
    """Ties and equal float32 distances among them, in any kind of query."""
    points = np.round(POINTS * 3).astype(np.float32)
    plain, shards = ours.IndexFlatL2(6), ours.IndexShards(6)
    plain.add(points)
    for first, last in ((0, 20), (20, 20), (20, 21), (21, 90)):
        part = ours.IndexFlatL2(6)
        part.add(points[first:last])
        shards.add_shard(part)
    for found, expected in zip((*shards.search(QUERIES, 95), *shards.range_search(QUERIES, 4.0), shards.reconstruct_n(15, 20)),
                               (*plain.search(QUERIES, 95), *plain.range_search(QUERIES, 4.0), plain.reconstruct_n(15, 20))):
        np.testing.assert_array_equal(found, expected)
    shards.removeIndex(shards.at(0))
    assert shards.ntotal == 70


@BOTH
def test_packed_bits(faiss: Any) -> None:
    values = np.bitwise_count(ASKED[:, None] ^ BITS[None]).sum(2)
    index = faiss.IndexBinaryFlat(32)
    index.add(BITS)
    distances, indices = index.search(ASKED, 82)
    assert (distances.dtype, indices.dtype, index.code_size) == (np.int32, np.int64, 4)
    np.testing.assert_array_equal(distances[:, :80], np.sort(values))
    np.testing.assert_array_equal(np.take_along_axis(values, indices[:, :80], 1), distances[:, :80])
    assert (indices[:, 80:] == -1).all() and (distances[:, 80:] == 2**31 - 1).all()
    for threshold in (0, 1, 14, 40):
        lims, distances, indices = index.range_search(ASKED, threshold)
        for i in range(6):
            part = slice(int(lims[i]), int(lims[i + 1]))
            np.testing.assert_array_equal(indices[part], np.flatnonzero(values[i] < threshold))
            np.testing.assert_array_equal(distances[part], values[i, values[i] < threshold])
    np.testing.assert_array_equal(index.reconstruct(5), BITS[5])
    for variant in ("hc", "mc"):
        np.testing.assert_array_equal(faiss.knn_hamming(ASKED, BITS, 5, variant)[0], np.sort(values)[:, :5])
    mapped = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(32))
    mapped.add_with_ids(BITS, IDS[:80])
    np.testing.assert_array_equal(mapped.search(ASKED, 5)[0], np.sort(values)[:, :5])
    np.testing.assert_array_equal(mapped.reconstruct(int(IDS[9])), BITS[9])
    assert index.remove_ids(np.array([0, 5])) == 2 and index.ntotal == 78
    with pytest.raises((TypeError, AssertionError)):
        index.add(BITS.astype(float))
    with pytest.raises(AssertionError):
        index.add(BITS[:, :3])


@BOTH
def test_described(faiss: Any) -> None:
    for text, outer, inner in (("Flat", "IndexFlat", ""), ("IDMap,Flat", "IndexIDMap", "IndexFlat"),
                               ("IDMap2,Flat", "IndexIDMap2", "IndexFlat"), ("Flat,IDMap", "IndexIDMap", "IndexFlat")):
        index = faiss.index_factory(6, text, faiss.METRIC_INNER_PRODUCT)
        assert type(faiss.downcast_index(index)).__name__ == outer
        assert not inner or type(faiss.downcast_index(index.index)).__name__ == inner
    assert faiss.index_factory(6, "Flat").metric_type == faiss.METRIC_L2
    assert faiss.index_factory(6, "Flat", faiss.METRIC_L1).metric_type == faiss.METRIC_L1
    assert faiss.index_binary_factory(32, "BFlat").d == 32
    with pytest.raises(RuntimeError):
        faiss.index_factory(6, "Nothing")


@BOTH
def test_differences(faiss: Any) -> None:
    index = faiss.IndexFlat1D()
    index.add(POINTS[:, :1])
    distances, indices = index.search(QUERIES[:, :1], 3)
    values = abs(QUERIES[:, :1].astype(float) - POINTS[:, 0][None])
    np.testing.assert_allclose(distances, np.sort(values)[:, :3], rtol=1e-5)
    np.testing.assert_array_equal(indices, values.argsort(1)[:, :3])
    index.add(QUERIES[:1, :1])
    assert len(index.range_search(QUERIES[:1, :1], 1e-12)[1]) and index.search(QUERIES[:1, :1], 1)[0][0, 0] == 0
