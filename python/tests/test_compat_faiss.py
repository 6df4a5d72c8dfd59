"""faiss' other calls, the same ones on ours and on faiss where it is installed; torch's tensors; the GPU's names."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import small
from test_compat import modules

import kith
from kith.compat import faiss as ours

POINTS, QUERIES = small(100, 8), small(9, 8, 1)
BOTH = pytest.mark.parametrize("faiss", modules(), ids=lambda module: module.__name__)


@BOTH
@pytest.mark.parametrize("metric", ["METRIC_L2", "METRIC_INNER_PRODUCT", "METRIC_L1", "METRIC_Linf"])
def test_range_search(faiss: Any, metric: str) -> None:
    index = faiss.IndexFlat(8, getattr(faiss, metric))
    index.add(POINTS)
    differences = QUERIES[:, None].astype(float) - POINTS[None]
    values = {"METRIC_L2": (differences**2).sum(2), "METRIC_INNER_PRODUCT": QUERIES.astype(float) @ POINTS.T,
              "METRIC_L1": abs(differences).sum(2), "METRIC_Linf": abs(differences).max(2)}[metric]
    for threshold in (float(np.sort(values.ravel())[200]), 0.0, -1.0, float(values.max()), float(values.max()) + 1):
        if faiss is not ours and threshold <= 0 and metric == "METRIC_Linf":
            continue
        lims, distances, indices = index.range_search(QUERIES, threshold)
        assert (lims.dtype, distances.dtype, indices.dtype) == (np.uint64, np.float32, np.int64) and len(lims) == 10
        near = values > threshold if metric == "METRIC_INNER_PRODUCT" else values < threshold
        for i in range(9):
            first, last = int(lims[i]), int(lims[i + 1])
            np.testing.assert_array_equal(np.sort(indices[first:last]), np.flatnonzero(near[i]))
            np.testing.assert_array_equal(distances[first:last], values[i, indices[first:last]].astype(np.float32))


@BOTH
def test_reconstructed(faiss: Any) -> None:
    index = faiss.IndexFlatL2(8)
    index.add(POINTS)
    distances, indices, vectors = index.search_and_reconstruct(QUERIES, 101)
    np.testing.assert_array_equal(distances, index.search(QUERIES, 101)[0])
    np.testing.assert_array_equal(vectors[:, :100], POINTS[indices[:, :100]])
    assert np.isnan(vectors[:, 100]).all()
    np.testing.assert_array_equal(index.reconstruct_batch(np.array([3, 1, 3])), POINTS[[3, 1, 3]])
    given = np.zeros((2, 8), np.float32)
    index.reconstruct(7, given[0])
    index.reconstruct_n(5, 1, given[1:])
    np.testing.assert_array_equal(given, POINTS[[7, 5]])
    index.reconstruct_batch(np.array([3, 1]), given)
    np.testing.assert_array_equal(given, POINTS[[3, 1]])


@BOTH
def test_nothing_to_search(faiss: Any) -> None:
    for queries, points in ((QUERIES[:0], POINTS), (QUERIES, POINTS[:0])):
        distances, indices = faiss.knn(queries, points, 2)
        assert distances.shape == indices.shape == (len(queries), 2) and (indices == -1).all()
        assert (distances == np.finfo(np.float32).max).all()
        assert faiss.pairwise_distances(queries, points).shape == (len(queries), len(points))
    index = faiss.IndexFlatL2(8)
    index.add(POINTS)
    lims, _, indices = index.range_search(QUERIES, float("nan"))
    assert not lims.any() and not len(indices)


@BOTH
def test_removed(faiss: Any) -> None:
    index = faiss.IndexFlatL2(8)
    index.add(POINTS[:50])
    index.add(POINTS[50:])
    gone = np.array([7, 99, 7, 3, 500])
    assert index.remove_ids(gone) == 3 and index.ntotal == 97
    left = np.delete(POINTS, [7, 99, 3], axis=0)
    np.testing.assert_array_equal(index.reconstruct_n(0, 97), left)
    expected = faiss.IndexFlatL2(8)
    expected.add(left)
    np.testing.assert_array_equal(index.search(QUERIES, 5)[0], expected.search(QUERIES, 5)[0])


@BOTH
@pytest.mark.parametrize("metric", ["METRIC_L2", "METRIC_INNER_PRODUCT", "METRIC_L1", "METRIC_Lp"])
def test_pairwise_distances(faiss: Any, metric: str) -> None:
    found = faiss.pairwise_distances(QUERIES, POINTS, getattr(faiss, metric), 3)
    differences = abs(QUERIES[:, None].astype(float) - POINTS[None])
    expected = {"METRIC_L2": (differences**2).sum(2), "METRIC_INNER_PRODUCT": QUERIES.astype(float) @ POINTS.T,
                "METRIC_L1": differences.sum(2), "METRIC_Lp": (differences**3).sum(2)}[metric]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_nothing_in_an_index() -> None:
    index = ours.IndexFlatL2(8)
    assert [len(part) for part in index.range_search(QUERIES, 5.0)] == [10, 0, 0]
    distances, indices, vectors = index.search_and_reconstruct(QUERIES, 2)
    assert (indices == -1).all() and np.isnan(vectors).all() and vectors.shape == (9, 2, 8)
    assert index.remove_ids(np.array([0])) == 0


def test_tensors() -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    points, queries = torch.from_numpy(POINTS), torch.from_numpy(QUERIES)
    plain = ours.IndexFlatL2(8)
    plain.add(POINTS)
    for parts in ((points[:40], points[40:]), (points[:40], POINTS[40:])):
        index = ours.IndexFlatL2(8)
        for part in parts:
            index.add(part)
        for k in (5, 101):
            distances, indices = index.search(queries, k)
            assert isinstance(indices, torch.Tensor) and (distances.dtype, indices.dtype) == (torch.float32, torch.int64)
            np.testing.assert_array_equal(distances, plain.search(QUERIES, k)[0])
            np.testing.assert_array_equal(indices, plain.search(QUERIES, k)[1])
        lims, distances, indices = index.range_search(queries, 40.0)
        for found, expected in zip((lims, distances, indices), plain.range_search(QUERIES, 40.0)):
            assert isinstance(found, torch.Tensor)
            np.testing.assert_array_equal(found.numpy(), expected.astype(found.numpy().dtype))
        vectors = index.search_and_reconstruct(queries, 101)[2]
        np.testing.assert_array_equal(vectors[:, :100], plain.search_and_reconstruct(QUERIES, 101)[2][:, :100])
        assert bool(vectors[:, 100].isnan().all())
        np.testing.assert_array_equal(index.reconstruct(7), POINTS[7])
        assert index.remove_ids(torch.tensor([2, 98])) == 2 and index.ntotal == 98
    out = torch.empty(9, 5), torch.empty(9, 5, dtype=torch.int64)
    assert ours.IndexFlatL2(8).search(queries, 5, D=out[0], I=out[1])[0] is out[0] and bool((out[1] == -1).all())
    assert isinstance(ours.knn(queries, points, 3)[1], torch.Tensor)
    assert isinstance(ours.pairwise_distances(queries, points), torch.Tensor)


def test_the_names_of_a_gpu() -> None:
    """Whatever the machine: vectors are taken over, and only a search asks for the device."""
    resources = ours.StandardGpuResources()
    resources.setTempMemory(1 << 20)
    resources.noTempMemory()
    here = ours.IndexFlatIP(8)
    here.add(POINTS)
    config = ours.GpuIndexFlatConfig()
    config.device = 99
    for there in (ours.index_cpu_to_gpu(resources, 99, here), ours.GpuIndexFlatIP(resources, here, config),
                  ours.index_cpu_to_gpus_list(here, gpus=[99])):
        assert (there.ntotal, there.d, there.metric_type) == (100, 8, ours.METRIC_INNER_PRODUCT)
        back = ours.index_gpu_to_cpu(there)
        np.testing.assert_array_equal(back.search(QUERIES, 3)[1], here.search(QUERIES, 3)[1])
        with pytest.raises(kith.DeviceError):
            there.search(QUERIES, 3)
    assert ours.index_cpu_to_all_gpus(here)._device == "cuda:all"
    assert ours.index_cpu_to_all_gpus(here, ngpu=2)._device == "cuda:0,1"
    empty = ours.GpuIndexFlatL2(resources, 8)
    assert (empty.ntotal, empty.metric_type, ours.get_num_gpus() >= 0) == (0, ours.METRIC_L2, True)
