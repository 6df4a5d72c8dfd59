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


def host(array: Any) -> Any:
    return array.cpu() if isinstance(array, torch.Tensor) else array.get() if hasattr(array, "get") else array


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


def zeros(library: str, shape: tuple[int, int], dtype: str) -> Any:
    if library == "torch":
        return torch.zeros(shape, dtype=getattr(torch, dtype), device="cuda")
    return cupy().zeros(shape, dtype)


def laid_out(library: str, values: np.ndarray, dtype: str, layout: str) -> Any:
    """The values in device memory of that library, type and layout."""
    rows, cols = values.shape
    first, step, apart = {"dense": (0, 1, 0), "an offset": (2, 1, 0), "rows apart": (0, 1, 3), "columns apart": (0, 2, 0),
                          "by columns": (0, 1, 0)}[layout]
    shape = (rows + first, cols * step + apart)
    if layout == "by columns":
        array = zeros(library, (cols, rows), dtype).T
    else:
        array = zeros(library, shape, dtype)[first:, :cols * step:step]
    array[...] = on_device(values) if library == "torch" else cupy().asarray(values).astype(dtype)
    return array


@pytest.mark.parametrize("layout", ["dense", "an offset", "rows apart", "columns apart", "by columns"])
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_types_and_layouts(library: str, layout: str) -> None:
    """Every type in every layout, points and queries, against the oracle; both metrics that clouds have, too."""
    types = ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"]
    for dtype in [*types, "bfloat16"] if library == "torch" else [*types, "uint16", "uint32", "uint64"]:
        points, queries = (laid_out(library, values, dtype, layout) for values in (POINTS, QUERIES))
        found = kith.search(points, queries, 4)
        assert isinstance(found.indices, torch.Tensor if library == "torch" else cupy().ndarray)
        together = kith.search_batches(points, queries, [[0, len(POINTS), 0, len(QUERIES)]], 4)
        for result in (found, together):
            distances, indices = (part.cpu() if library == "torch" else part.get() for part in result)
            np.testing.assert_array_equal(indices, INDICES, err_msg=dtype)
            np.testing.assert_array_equal(distances, DISTANCES, err_msg=dtype)


def test_jax() -> None:
    jax = pytest.importorskip("jax", exc_type=ImportError)
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(str(error))
    points, queries = (jax.device_put(values, device) for values in (POINTS, QUERIES))
    found = kith.search(points, queries, 4)
    assert found.indices.devices() == {device}
    np.testing.assert_array_equal(np.asarray(found.indices), INDICES)
    np.testing.assert_array_equal(np.asarray(found.distances), DISTANCES)


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


@pytest.mark.parametrize("norm", [1, 2])
def test_clouds(norm: int) -> None:
    """One launch of all clouds: the bits of a search of each, ties, NaN, lengths and clouds without points among them."""
    from kith.torch import knn_points
    generator = torch.Generator().manual_seed(norm)
    for d, k, whole in ((3, 16, False), (3, 40, True), (8, 5, True), (33, 5, False)):
        p1, p2 = (torch.randn((5, rows, d), generator=generator) for rows in (150, 1300))
        if whole:
            p1, p2 = p1.round(), p2.round()
        p2[1, 7, 0] = p1[2, 3, 1] = float("nan")
        p2[3, 9, 2] = p1[3, 4, 1] = float("inf")
        lengths1, lengths2 = torch.tensor([150, 149, 150, 20, 0]), torch.tensor([1300, 1025, 3, 1300, 0])
        found = knn_points(p1.cuda(), p2.cuda(), lengths1.cuda(), lengths2.cuda(), norm=norm, K=k)
        assert found.idx.is_cuda
        for n, (rows, points) in enumerate(zip(lengths1.tolist(), lengths2.tolist())):
            dists, idx = torch.zeros((150, k)), torch.zeros((150, k), dtype=torch.int64)
            if rows:
                alone = kith.search(p2[n, :points], p1[n, :rows], k, metric="sqeuclidean" if norm == 2 else "cityblock",
                                    device="cpu")
                missing = alone.indices < 0
                dists[:rows], idx[:rows] = alone.distances.masked_fill(missing, 0), alone.indices.masked_fill(missing, 0)
            assert torch.equal(found.idx[n].cpu(), idx)
            np.testing.assert_array_equal(found.dists[n].cpu().numpy().view(np.uint32), dists.numpy().view(np.uint32))


def test_batches() -> None:
    rng = np.random.default_rng(5)
    points, queries = rng.integers(0, 4, (400, 3)).astype(np.float32), rng.integers(0, 4, (90, 3)).astype(np.float32)
    batches = [[0, 100, 0, 40], [50, 350, 45, 45]]
    here = kith.search_batches(points, queries, batches, 6, metric="euclidean", device="cpu")
    there = kith.search_batches(on_device(points), on_device(queries), batches, 6, metric="euclidean")
    assert there.report.path == "batches"
    np.testing.assert_array_equal(there.indices.cpu(), here.indices)
    np.testing.assert_array_equal(there.distances.cpu(), here.distances)


def test_knn_of_batches() -> None:
    from kith.torch import knn
    generator = torch.Generator().manual_seed(9)
    x, y = torch.randn((500, 3), generator=generator), torch.randn((200, 3), generator=generator)
    batch_x, batch_y = torch.arange(500) // 130, torch.arange(200) // 51
    for cosine in (False, True):
        here = knn(x, y, 7, batch_x, batch_y, cosine)
        there = knn(x.cuda(), y.cuda(), 7, batch_x.cuda(), batch_y.cuda(), cosine)
        assert there.is_cuda and torch.equal(there.cpu(), here)


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_radius(library: str) -> None:
    """Within a radius of device arrays: the rows, bits and counts of the CPU, one radius or one of each query."""
    rng = np.random.default_rng(8)
    points, queries = (rng.integers(-4, 5, (rows, 3)).astype(np.float32) for rows in (3000, 70))
    x, y = (on_device(values) if library == "torch" else cupy().asarray(values) for values in (points, queries))
    index = kith.Index(x, metric="euclidean")
    for r in (0.0, 2.0, rng.random(70) * 4):
        for opened in (False, True):
            how: dict[str, Any] = {"metric": "euclidean", "open": opened}
            here = kith.radius(points, queries, r, device="cpu", **how)
            for found in (kith.radius(x, y, r, **how), index.radius(y, r, open=opened)):
                for part, want in zip(found, here):
                    np.testing.assert_array_equal(host(part), want)
                assert found.report.device.startswith("cuda")
            for counts in (kith.radius_counts(x, y, r, **how), index.radius_counts(y, r, open=opened)):
                np.testing.assert_array_equal(host(counts.counts), np.diff(here.offsets))
    graph, own = kith.radius_graph(x, 1.5, metric="euclidean"), kith.radius_graph(points, 1.5, metric="euclidean", device="cpu")
    for part, want in zip(graph, own):
        np.testing.assert_array_equal(host(part), want)
    for part, want in zip(index.radius_graph(1.5), own):
        np.testing.assert_array_equal(host(part), want)
    np.testing.assert_array_equal(host(kith.radius_counts(x, None, 1.5, metric="euclidean").counts), np.diff(own.offsets))


def test_distances() -> None:
    for metric in ("sqeuclidean", "cosine", "cityblock"):
        found = kith.distances(on_device(POINTS), on_device(QUERIES), metric=metric)
        assert found.is_cuda and found.shape == (9, 300)
        np.testing.assert_array_equal(found.cpu(), kith.distances(POINTS, QUERIES, metric=metric, device="cpu"))
    out = torch.empty((9, 300), dtype=torch.float64, device="cuda")
    assert kith.distances(on_device(POINTS), on_device(QUERIES), f64=True, out=out) is out
    np.testing.assert_array_equal(out.cpu(), ((QUERIES[:, None] - POINTS[None]) ** 2).sum(2))
    kernels = [path.name for path in kith.paths() if path.takes_selector]
    for kernel in set(kernels) - {"cublas"}:
        found = kith.distances(on_device(POINTS), on_device(QUERIES), path=kernel)
        np.testing.assert_allclose(found.cpu(), ((QUERIES[:, None] - POINTS[None]) ** 2).sum(2), rtol=1e-4)


def test_information() -> None:
    """An estimate of device arrays is that of the host's, but for the last bits of a logarithm."""
    from kith import information
    x, y, z = np.random.default_rng(1).normal(size=(3, 1500, 1))
    calls: list[Any] = [
        lambda a, b, c: information.entropy(a), lambda a, b, c: information.kl_divergence(a, b, form="ball"),
        lambda a, b, c: information.mutual_information(a, b), information.conditional_mutual_information,
        lambda a, b, c: information.transfer_entropy(a, b)]
    for call in calls:
        there = call(*(on_device(part) for part in (x, y, z)))
        here = call(x, y, z)
        np.testing.assert_allclose(there[:2], here[:2], rtol=1e-9, atol=1e-12)
        assert there[2:] == here[2:]


def test_errors_name_the_argument() -> None:
    with pytest.raises((TypeError, ValueError), match="queries"):
        kith.search(on_device(POINTS), on_device(QUERIES[:, :3].copy()), 4)
    with pytest.raises((kith.DeviceError, ValueError)):
        kith.search(on_device(POINTS), on_device(QUERIES), 4, device="cuda:99")
