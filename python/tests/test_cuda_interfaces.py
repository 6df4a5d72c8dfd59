"""Interfaces on a CUDA device: __cuda_array_interface__ without another library, jax's and others' streams, results of the
caller's kind, torch's operators, faiss' indexes. Skipped where there is no device."""
from __future__ import annotations

import ctypes
import subprocess
import sys
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


def jax_on_device() -> Any:
    jax = pytest.importorskip("jax", exc_type=ImportError)
    try:
        return jax, jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(str(error))


class Described:
    """numba's kind of array: __cuda_array_interface__ and a shape, nothing else."""

    def __init__(self, tensor: Any, **more: Any) -> None:
        self._tensor, self.shape = tensor, tuple(tensor.shape)
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "version": 3, **more}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"])
def test_every_type_by_cuda_array_interface(dtype: str) -> None:
    points, queries = (on_device(values).to(getattr(torch, dtype)) for values in (POINTS, QUERIES))
    wide = torch.zeros((300, 12), dtype=points.dtype, device="cuda")
    wide[:, ::2] = points
    by_columns = points.t().contiguous().t()
    apart = torch.zeros((600, 6), dtype=points.dtype, device="cuda")
    apart[::2] = points
    # The last one's columns lie apart: it is copied.
    layouts = [points, by_columns, apart[::2], torch.cat([points, points])[300:], wide[:, ::2]]
    for layout in layouts:
        found = kith.search(Described(layout), Described(queries), 4)
        assert isinstance(found.indices, np.ndarray)
        np.testing.assert_array_equal(found.indices, INDICES)
        np.testing.assert_array_equal(found.distances, DISTANCES)


def test_bool_and_read_only_by_cuda_array_interface() -> None:
    bits = on_device(POINTS) > 2
    np.testing.assert_array_equal(kith.graph(Described(bits), 3, metric="jaccard").indices,
                                  kith.graph(bits.cpu().numpy(), 3, metric="jaccard").indices)
    points = on_device(POINTS)
    data = points.data_ptr(), True
    np.testing.assert_array_equal(kith.search(Described(points, data=data), QUERIES, 4).indices, INDICES)
    distances, indices = torch.empty((9, 4), device="cuda"), torch.empty((9, 4), dtype=torch.int64, device="cuda")
    kith.search(points, Described(on_device(QUERIES)), 4, out=(Described(distances), Described(indices)))
    np.testing.assert_array_equal(indices.cpu(), INDICES)
    np.testing.assert_array_equal(distances.cpu(), DISTANCES)
    with pytest.raises(TypeError, match="read-only"):
        kith.search(points, QUERIES, 4, out=(None, Described(indices, data=(indices.data_ptr(), True))))


def test_no_other_library_is_asked() -> None:
    """Memory from the driver itself, in a process without torch and cupy."""
    code = '''
import ctypes, sys
import numpy as np
sys.modules["torch"] = sys.modules["cupy"] = None
import kith
cuda = ctypes.CDLL("libcuda.so.1")
def check(status): assert status == 0, status
context = ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
class Array:
    def __init__(self, values):
        self.data = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.data), ctypes.c_size_t(values.nbytes)))
        check(cuda.cuMemcpyHtoD_v2(self.data, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes)))
        self.shape = values.shape
        self.__cuda_array_interface__ = {"shape": values.shape, "typestr": values.dtype.str, "version": 3,
                                         "data": (self.data.value, False), "stream": 1}
values = np.random.default_rng(0).random((500, 7), np.float32)
expected = kith.search(values, values[:20], 5, device="cpu")
found = kith.search(Array(values), Array(values[:20]), 5)
assert "cuda" in found.report.device, found.report
assert (found.indices == expected.indices).all() and (found.distances == expected.distances).all()
values = np.random.default_rng(1).permutation(4000).reshape(4, 1000).astype(np.float16)
assert (kith.topk(Array(values), 9).indices == kith.topk(values, 9, device="cpu").indices).all()
print("right")
'''
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.strip() == "right", ran.stderr


def filled_late(values: np.ndarray, stream: Any) -> Any:
    """Points that a stream fills only after some 20 ms."""
    with torch.cuda.stream(stream):
        points = torch.zeros(values.shape, device="cuda")
        torch.cuda._sleep(40_000_000)
        points.copy_(torch.from_numpy(values).pin_memory(), non_blocking=True)
    return points


def test_streams_of_arrays_that_say_theirs() -> None:
    """By __cuda_array_interface__ as well as by torch, whichever of the arguments comes late."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal((20000, 64), np.float32)
    expected = kith.search(values, values[:50], 5, device="cpu").indices
    queries = on_device(values[:50])
    torch.cuda.synchronize()
    for _ in range(3):
        stream, other = torch.cuda.Stream(), torch.cuda.Stream()
        late = filled_late(values, stream)
        found = kith.search(Described(late, stream=stream.cuda_stream), Described(queries, stream=1), 5)
        np.testing.assert_array_equal(found.indices, expected)
        late = filled_late(values, stream)
        with torch.cuda.stream(other):
            found = kith.search(Described(late, stream=stream.cuda_stream), queries, 5)
            np.testing.assert_array_equal(found.indices.cpu(), expected)
        late = filled_late(values, stream)
        with torch.cuda.stream(stream):
            np.testing.assert_array_equal(kith.search(late, values[:50], 5).indices, expected)
    assert all(np.array_equal(kith.search(Described(filled_late(values, s), stream=s.cuda_stream), values[:50], 5).indices,
                              expected) for s in (torch.cuda.Stream(), torch.cuda.Stream()))


def test_jax_is_waited_for() -> None:
    """Work that jax has queued comes before; torch's stream waits for it where the queries are torch's."""
    jax, device = jax_on_device()
    values = np.random.default_rng(3).standard_normal((20000, 64)).astype(np.float32)
    expected = kith.search(values, values[:50], 5, device="cpu").indices
    a = jax.device_put(np.ones((6000, 6000), np.float32), device)
    given = jax.device_put(values, device)

    def filled(x: Any, y: Any) -> Any:
        for _ in range(6):
            y = jax.numpy.tanh(y @ y * 1e-4)
        return x + 0 * y[0, 0]

    late = jax.jit(filled)
    for _ in range(3):
        points = late(given, a)
        found = kith.search(points, points[:50], 5)
        assert found.indices.devices() == {device}
        np.testing.assert_array_equal(np.asarray(found.indices), expected)
        points = late(given, a)
        with torch.cuda.stream(torch.cuda.Stream()):
            found = kith.search(points, on_device(values[:50]), 5)
            np.testing.assert_array_equal(found.indices.cpu(), expected)


@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
def test_every_result_is_of_the_callers_kind(library: str) -> None:
    if library == "jax":
        jax, device = jax_on_device()
        points, queries = (jax.device_put(values, device) for values in (POINTS, QUERIES))
    elif library == "cupy":
        points, queries = cupy().asarray(POINTS), cupy().asarray(QUERIES)
    else:
        points, queries = on_device(POINTS), on_device(QUERIES)

    def host(array: Any) -> np.ndarray:
        return array.get() if library == "cupy" else array.cpu().numpy() if library == "torch" else np.asarray(array)

    index, here = kith.Index(points), kith.Index(POINTS, device="cpu")
    pairs: list[tuple[Any, Any]] = [
        (index.graph(3), here.graph(3)), (index.radius(queries, 20), here.radius(QUERIES, 20)),
        (index.radius_graph(20), here.radius_graph(20)),
        (kith.radius(points, queries, 20), kith.radius(POINTS, QUERIES, 20, device="cpu")),
        (kith.radius_counts(points, queries, 20)[:1], kith.radius_counts(POINTS, QUERIES, 20, device="cpu")[:1]),
        (index.radius_counts(None, 20)[:1], here.radius_counts(None, 20)[:1]),
        (kith.match(points, queries), kith.match(POINTS, QUERIES, device="cpu")),
        (kith.topk(points, 3), kith.topk(POINTS, 3, device="cpu")),
        (next(index.radius_blocks(queries, 20))[1:], next(here.radius_blocks(QUERIES, 20))[1:])]
    for ours, expected in pairs:
        for part, values in zip(ours, expected):
            assert type(part) is type(points) or library == "jax"
            assert library != "torch" or part.is_cuda
            assert library != "jax" or part.devices() == {device}
            found = host(part)  # jax without its x64 mode keeps 32 bits
            np.testing.assert_array_equal(found, np.asarray(values, found.dtype) if library == "jax" else values)
    assert kith.verify(points, queries, *reversed(kith.search(points, queries, 4))).exact


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_topk_of_every_type(dtype: str) -> None:
    """Read in place: no memory of the size of the values is taken."""
    values = torch.randn((64, 100_000), device="cuda").to(getattr(torch, dtype))
    kith.topk(values[:2], 50)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    found = kith.topk(values, 50)
    assert torch.cuda.max_memory_allocated() - before < values.numel() * values.element_size() // 4
    best = torch.topk(values, 50)
    assert found.values.dtype == values.dtype and torch.equal(found.values, best.values)
    assert torch.equal(torch.gather(values, 1, found.indices), best.values)
    out = torch.empty_like(found.values), torch.empty_like(found.indices)
    assert kith.topk(values, 50, out=out).values is out[0] and torch.equal(out[1], found.indices)


def test_operators_on_the_device() -> None:
    import kith.torch as ours
    p1, p2 = (torch.randn((4, 300, 3), device="cuda") for _ in range(2))
    lengths = torch.tensor([300, 100, 1, 0], device="cuda")

    def loss(a: Any, b: Any) -> Any:
        found = ours.knn_points(a, b, lengths1=lengths, lengths2=lengths, K=6, return_nn=True)
        assert found.knn is not None
        return found.dists.sum() + found.knn.square().mean(), found.idx

    a, b = p1.clone().requires_grad_(), p2.clone().requires_grad_()
    value, idx = torch.compile(loss, fullgraph=True, backend="aot_eager")(a, b)
    value.backward()
    c, d = p1.clone().requires_grad_(), p2.clone().requires_grad_()
    eager, expected = loss(c, d)
    eager.backward()
    assert torch.equal(idx, expected) and idx.is_cuda
    torch.testing.assert_close(value, eager)
    torch.testing.assert_close(a.grad, c.grad)
    torch.testing.assert_close(b.grad, d.grad)
    here = ours.knn_points(p1.cpu(), p2.cpu(), lengths.cpu(), lengths.cpu(), K=6)
    assert torch.equal(expected.cpu(), here.idx)
    with torch.cuda.stream(torch.cuda.Stream()):
        mixed = ours.knn_points(p1, p2, lengths.cpu(), lengths.cpu(), K=6)
        assert torch.equal(mixed.idx.cpu(), here.idx) and torch.equal(mixed.dists.cpu(), here.dists)
    found = torch.ops.kith.search(p1[0], p2[0], 3, metric="euclidean")
    assert torch.equal(found[1].cpu(), kith.search(p1[0].cpu(), p2[0].cpu(), 3, metric="euclidean").indices)


def test_faiss_on_the_device() -> None:
    from kith.compat import faiss
    resources = faiss.StandardGpuResources()
    assert faiss.get_num_gpus() == torch.cuda.device_count()
    here = faiss.IndexFlatL2(6)
    here.add(POINTS)
    for there in (faiss.index_cpu_to_gpu(resources, 0, here), faiss.GpuIndexFlatL2(resources, here),
                  faiss.index_cpu_to_all_gpus(here)):
        np.testing.assert_array_equal(there.search(QUERIES, 4)[1], INDICES)
        for ours, expected in zip(there.range_search(QUERIES, 20.0), here.range_search(QUERIES, 20.0)):
            np.testing.assert_array_equal(ours, expected)
    tensors = faiss.GpuIndexFlatL2(resources, 6)
    tensors.add(on_device(POINTS[:100]))
    tensors.add(on_device(POINTS[100:]))
    distances, indices, vectors = tensors.search_and_reconstruct(on_device(QUERIES), 4)
    assert indices.is_cuda and vectors.is_cuda
    np.testing.assert_array_equal(indices.cpu(), INDICES)
    np.testing.assert_array_equal(vectors.cpu(), POINTS[INDICES])
    np.testing.assert_array_equal(tensors.reconstruct_n(0, 300).cpu(), POINTS)
    lims, _, ids = tensors.range_search(on_device(QUERIES), 20.0)
    np.testing.assert_array_equal(ids.cpu(), here.range_search(QUERIES, 20.0)[2])
    assert lims.is_cuda
    assert faiss.knn_gpu(resources, on_device(QUERIES), on_device(POINTS), 4)[1].is_cuda


def test_memory_of_nobody_is_refused() -> None:
    values = np.zeros((3, 4), np.float32)
    array = Described(on_device(values), data=(ctypes.addressof(ctypes.create_string_buffer(64)), False))
    with pytest.raises(kith.DeviceError, match="cuPointerGetAttribute"):
        kith.search(array, array, 1)
