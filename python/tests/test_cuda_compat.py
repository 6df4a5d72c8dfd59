"""Interfaces of other libraries on arrays of a CUDA device, and torch's operators there: skipped where there is none."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import nearest, small

import kith
from kith.compat import faiss
from kith.compat.cuvs import brute_force

torch = pytest.importorskip("torch", exc_type=ImportError)
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)
import kith.torch  # noqa: E402

POINTS, QUERIES = small(300, 6), small(9, 6, 1)
DISTANCES, INDICES = nearest(POINTS, QUERIES, 4)


def of_torch(values: np.ndarray) -> Any:
    return torch.from_numpy(values).cuda()


def of_cupy(values: np.ndarray) -> Any:
    return pytest.importorskip("cupy", exc_type=ImportError).asarray(values)


def on_host(array: Any) -> np.ndarray:
    return np.asarray(array.cpu() if isinstance(array, torch.Tensor) else array.get() if hasattr(array, "get") else array)


def test_knn_gpu_of_numpy() -> None:
    resources = faiss.StandardGpuResources()
    distances, indices = faiss.knn_gpu(resources, QUERIES, POINTS, 4)
    assert isinstance(distances, np.ndarray) and (distances.dtype, indices.dtype) == (np.float32, np.int64)
    np.testing.assert_array_equal(distances, DISTANCES)
    np.testing.assert_array_equal(indices, INDICES)
    out = np.empty((9, 4), np.float32), np.empty((9, 4), np.int64)
    faiss.knn_gpu(resources, QUERIES, POINTS, 4, D=out[0], I=out[1], device=0)
    np.testing.assert_array_equal(out[0], DISTANCES)
    np.testing.assert_array_equal(out[1], INDICES)


def test_knn_gpu_of_torch() -> None:
    resources = faiss.StandardGpuResources()
    points, queries = of_torch(POINTS), of_torch(QUERIES)
    distances, indices = faiss.knn_gpu(resources, queries, points, 4)
    assert distances.is_cuda and indices.is_cuda
    np.testing.assert_array_equal(distances.cpu(), DISTANCES)
    np.testing.assert_array_equal(indices.cpu(), INDICES)
    out = torch.empty((9, 4), device="cuda"), torch.empty((9, 4), dtype=torch.int64, device="cuda")
    found = faiss.knn_gpu(resources, queries, points, 4, D=out[0], I=out[1])
    assert found[0] is out[0] and found[1] is out[1]
    assert torch.equal(out[0], distances) and torch.equal(out[1], indices)
    products, places = faiss.knn_gpu(resources, queries, points, 4, metric=faiss.METRIC_INNER_PRODUCT)
    np.testing.assert_array_equal(products.cpu(), -np.sort(-(QUERIES @ POINTS.T))[:, :4])
    np.testing.assert_array_equal(np.take_along_axis(QUERIES @ POINTS.T, on_host(places), 1), products.cpu())


def test_by_pointers() -> None:
    distances, indices = np.empty((9, 4), np.float32), np.empty((9, 4), np.int64)
    args = faiss.GpuDistanceParams()
    args.k, args.dims, args.numVectors, args.numQueries = 4, 6, 300, 9
    args.vectors, args.queries = faiss.swig_ptr(np.ascontiguousarray(POINTS.T)), faiss.swig_ptr(of_torch(QUERIES))
    args.vectorsRowMajor = False
    args.outDistances, args.outIndices = faiss.swig_ptr(distances), faiss.swig_ptr(indices)
    faiss.bfKnn(faiss.StandardGpuResources(), args)
    np.testing.assert_array_equal(distances, DISTANCES)
    np.testing.assert_array_equal(indices, INDICES)
    every = faiss.pairwise_distance_gpu(faiss.StandardGpuResources(), QUERIES, POINTS)
    np.testing.assert_array_equal(every, faiss.pairwise_distances(QUERIES, POINTS))


def test_ids_and_bits() -> None:
    ids, bits = np.arange(300) * 7, np.random.default_rng(0).integers(0, 256, (300, 4)).astype(np.uint8)
    mapped, binary = faiss.IndexIDMap2(faiss.IndexFlatL2(6)), faiss.IndexBinaryFlat(32)
    mapped.add_with_ids(POINTS, ids)
    binary.add(bits)
    there = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, mapped)
    np.testing.assert_array_equal(there.search(QUERIES, 4)[1], ids[INDICES])
    np.testing.assert_array_equal(on_host(there.search(of_torch(QUERIES), 4)[1]), ids[INDICES])
    np.testing.assert_array_equal(faiss.index_gpu_to_cpu(there).reconstruct(14), POINTS[2])
    there = faiss.index_binary_cpu_to_gpu(faiss.StandardGpuResources(), 0, binary)
    for found, expected in zip((*there.search(bits[:5], 4), *there.range_search(bits[:5], 12)),
                               (*binary.search(bits[:5], 4), *binary.range_search(bits[:5], 12))):
        np.testing.assert_array_equal(found, expected)


def test_neighbors_of_torch() -> None:
    """Edges and balls on the device are those of the host."""
    x, y = torch.randn(200, 3), torch.randn(50, 3)
    of_x, of_y = torch.arange(200) // 100, torch.arange(50) // 25
    calls: list[tuple[Any, Any]] = [
        (kith.torch.radius, (x, y, 0.8, of_x, of_y)), (kith.torch.radius_graph, (x, 0.8, of_x)),
        (kith.torch.knn_graph, (x, 4, of_x)), (kith.torch.nearest, (x, y, of_x, of_y))]
    for function, arguments in calls:
        there = function(*(part.cuda() if isinstance(part, torch.Tensor) else part for part in arguments))
        assert there.is_cuda and torch.equal(there.cpu(), function(*arguments))
    p1, p2, lengths = torch.randn(3, 20, 3), torch.randn(3, 30, 3), torch.tensor([30, 2, 0])
    there = kith.torch.ball_query(p1.cuda(), p2.cuda(), lengths2=lengths.cuda(), K=5, radius=1.2)
    here = kith.torch.ball_query(p1, p2, lengths2=lengths, K=5, radius=1.2)
    for found, expected in zip(there, here):
        assert found is not None and found.is_cuda and torch.equal(found.cpu(), expected)


@pytest.mark.parametrize("make", [of_torch, of_cupy])
def test_cuvs(make: Any) -> None:
    points, queries = make(POINTS), make(QUERIES)
    for metric in ("sqeuclidean", "euclidean", "cosine", "inner_product"):
        index = brute_force.build(points, metric=metric)
        distances, neighbors = brute_force.search(index, queries, 4)
        assert not isinstance(distances, np.ndarray) and not isinstance(neighbors, np.ndarray)
        expected = kith.search(POINTS, QUERIES, 4, metric=metric, device="cpu")
        np.testing.assert_array_equal(on_host(neighbors), expected.indices)
        np.testing.assert_array_equal(on_host(distances), expected.distances)
    index = brute_force.build(points)
    out = make(np.empty((9, 4), np.int64)), make(np.empty((9, 4), np.float32))
    brute_force.search(index, queries, 4, neighbors=out[0], distances=out[1])
    np.testing.assert_array_equal(on_host(out[0]), INDICES)
    np.testing.assert_array_equal(on_host(out[1]), DISTANCES)


def test_operators() -> None:
    x = torch.randn(300, 5, generator=torch.Generator().manual_seed(0)).cuda()
    torch.library.opcheck(torch.ops.kith.search, (x, x[:5], 3))
    torch.library.opcheck(torch.ops.kith.topk, (x, 2, 0))
    distances, indices = torch.ops.kith.search(x, x[:5], 3, metric="euclidean")
    here = torch.ops.kith.search(x.cpu(), x[:5].cpu(), 3, metric="euclidean")
    assert distances.is_cuda and torch.equal(distances.cpu(), here[0]) and torch.equal(indices.cpu(), here[1])
    values, places = torch.ops.kith.topk(x, 4, 0)
    assert values.is_cuda and torch.equal(values, x.topk(4, 0).values) and torch.equal(x.gather(0, places), values)


def test_compiled_operators() -> None:
    """Compiled whole, without a break of the graph, on a stream of the caller's."""
    def step(points: Any, queries: Any) -> Any:
        distances, indices = torch.ops.kith.search(points * 2, queries + 1, 5)
        values, _ = torch.ops.kith.topk(-distances, 2)
        return indices + 1, values.exp()

    points, queries = torch.randn(500, 8, device="cuda"), torch.randn(40, 8, device="cuda")
    compiled = torch.compile(step, fullgraph=True)
    expected = step(points, queries)
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            found = compiled(points, queries)
        torch.cuda.current_stream().synchronize()
    assert torch.equal(found[0], expected[0])
    torch.testing.assert_close(found[1], expected[1])
