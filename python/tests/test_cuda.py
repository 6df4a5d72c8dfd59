"""Arrays on a CUDA device: skipped where there is none."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import nearest, small

import kith

torch = pytest.importorskip("torch", exc_type=ImportError)
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

POINTS, QUERIES = small(300, 6), small(9, 6, 1)
DISTANCES, INDICES = nearest(POINTS, QUERIES, 4)


def on_device(values: np.ndarray) -> Any:
    return torch.from_numpy(values).cuda()


def cupy() -> Any:
    return pytest.importorskip("cupy", exc_type=ImportError)


class OnlyCudaArrayInterface:
    """numba's kind of array: __cuda_array_interface__ and a shape, no DLPack."""

    def __init__(self, tensor: Any) -> None:
        self._tensor, self.shape, self.dtype = tensor, tuple(tensor.shape), np.dtype("float32")
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64"])
def test_torch_types(dtype: str) -> None:
    points, queries = (on_device(values).to(getattr(torch, dtype)) for values in (POINTS, QUERIES))
    found = kith.search(points, queries, 4)
    assert found.indices.is_cuda and found.distances.is_cuda
    np.testing.assert_array_equal(found.indices.cpu(), INDICES)
    np.testing.assert_array_equal(found.distances.cpu(), DISTANCES)


def test_cupy() -> None:
    cp = cupy()
    found = kith.search(cp.asarray(POINTS), cp.asarray(QUERIES), 4)
    assert isinstance(found.indices, cp.ndarray)
    np.testing.assert_array_equal(found.indices.get(), INDICES)
    np.testing.assert_array_equal(found.distances.get(), DISTANCES)
    wide = cp.asarray(POINTS.astype(np.int64))
    np.testing.assert_array_equal(kith.search(wide, wide[:5], 3).indices.get()[:, 0], np.arange(5))


def test_cuda_array_interface() -> None:
    found = kith.search(OnlyCudaArrayInterface(on_device(POINTS)), OnlyCudaArrayInterface(on_device(QUERIES)), 4)
    np.testing.assert_array_equal(np.asarray(found.indices), INDICES)


def test_mixed_places() -> None:
    """Points and queries on different sides; the results lie with the queries."""
    on_host = kith.search(on_device(POINTS), QUERIES, 4)
    assert isinstance(on_host.indices, np.ndarray)
    np.testing.assert_array_equal(on_host.indices, INDICES)
    there = kith.search(POINTS, on_device(QUERIES), 4)
    assert there.indices.is_cuda
    np.testing.assert_array_equal(there.indices.cpu(), INDICES)
    alike = kith.search(on_device(POINTS), on_device(QUERIES), 4, device="cpu")
    np.testing.assert_array_equal(alike.indices.cpu(), INDICES)


def test_layouts() -> None:
    """Views of device memory: transposed, every other column, an offset."""
    wide = torch.zeros((300, 12), device="cuda")
    wide[:, ::2] = on_device(POINTS)
    for points in (on_device(np.ascontiguousarray(POINTS.T)).T, wide[:, ::2], torch.cat([wide, wide])[300:, ::2]):
        np.testing.assert_array_equal(kith.search(points, on_device(QUERIES), 4).indices.cpu(), INDICES)
    strided = cupy().asarray(wide)[:, ::2]
    np.testing.assert_array_equal(kith.search(strided, cupy().asarray(QUERIES), 4).indices.get(), INDICES)


def test_out() -> None:
    distances = torch.empty((9, 4), device="cuda")
    indices = torch.empty((9, 4), dtype=torch.int64, device="cuda")
    kith.search(on_device(POINTS), on_device(QUERIES), 4, out=(distances, indices))
    np.testing.assert_array_equal(indices.cpu(), INDICES)
    np.testing.assert_array_equal(distances.cpu(), DISTANCES)


def test_same_bits_as_the_cpu() -> None:
    rng = np.random.default_rng(7)
    points, queries = rng.standard_normal((5000, 33), np.float32), rng.standard_normal((100, 33), np.float32)
    for metric in ("sqeuclidean", "cosine", "cityblock", "jensenshannon", "canberra"):
        a, b = (abs(points), abs(queries)) if metric == "jensenshannon" else (points, queries)
        there = kith.search(on_device(a), on_device(b), 7, metric=metric)
        here = kith.search(a, b, 7, metric=metric, device="cpu")
        np.testing.assert_array_equal(there.indices.cpu(), here.indices)
        np.testing.assert_array_equal(there.distances.cpu().numpy().view(np.uint32), here.distances.view(np.uint32))


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_current_stream(library: str) -> None:
    """Work that the caller has queued on its stream comes before, what it queues afterwards comes after."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal((20000, 64), np.float32)
    expected = kith.search(values, values[:50], 5, device="cpu").indices
    for _ in range(5):
        if library == "torch":
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                points = torch.zeros((20000, 64), device="cuda")
                torch.cuda._sleep(20_000_000)
                points.copy_(torch.from_numpy(values).pin_memory(), non_blocking=True)
                found = kith.search(points, points[:50], 5)
                points.zero_()
                indices = found.indices.cpu().numpy()
        else:
            cp = cupy()
            stream = cp.cuda.Stream(non_blocking=True)
            with stream:
                points = cp.zeros((20000, 64), cp.float32)
                for _ in range(200):
                    points += 1.0
                points.set(values, stream=stream)
                found = kith.search(points, points[:50], 5)
                points.fill(0)
                indices = found.indices.get()
        np.testing.assert_array_equal(indices, expected)


def test_index_on_the_device() -> None:
    index = kith.Index(on_device(POINTS))
    found = index.search(on_device(QUERIES), 4)
    assert found.indices.is_cuda
    np.testing.assert_array_equal(found.indices.cpu(), INDICES)
    np.testing.assert_array_equal(index.search(QUERIES, 4).indices, INDICES)


def test_graph_and_topk() -> None:
    graph = kith.graph(on_device(POINTS), 3)
    np.testing.assert_array_equal(graph.indices.cpu(), kith.graph(POINTS, 3, device="cpu").indices)
    values = torch.randn((50, 4000), device="cuda")
    found, best = kith.topk(values, 20), torch.topk(values, 20)
    assert torch.equal(found.values, best.values)
    assert torch.equal(torch.gather(values, 1, found.indices), best.values)


def test_torch_functions() -> None:
    from kith.torch import knn_points
    p1, p2 = (torch.randn((4, 500, 3), device="cuda", requires_grad=True) for _ in range(2))
    found = knn_points(p1, p2, K=5)
    assert found.idx.is_cuda and found.dists.is_cuda
    exact = torch.cdist(p1.double(), p2.double()).square().topk(5, largest=False)
    torch.testing.assert_close(found.dists.double(), exact.values, rtol=1e-5, atol=1e-6)
    found.dists.sum().backward()
    slope = 2 * (p1[:, :, None] - torch.stack([p2[n][found.idx[n]] for n in range(4)])).sum(2)
    torch.testing.assert_close(p1.grad, slope.detach(), rtol=1e-4, atol=1e-4)


def test_errors_name_the_argument() -> None:
    with pytest.raises((TypeError, ValueError), match="queries"):
        kith.search(on_device(POINTS), on_device(QUERIES[:, :3].copy()), 4)
    with pytest.raises((kith.DeviceError, ValueError)):
        kith.search(on_device(POINTS), on_device(QUERIES), 4, device="cuda:99")
