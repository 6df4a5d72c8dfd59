"""Every kind of array that is installed x type x layout, against the oracle."""
from __future__ import annotations

import array
import ctypes
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from oracle import nearest, small

import kith
from kith import _arrays, _core

POINTS, QUERIES = small(60, 5), small(7, 5, 1)
DISTANCES, INDICES = nearest(POINTS, QUERIES, 4)
TYPES = ["float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def installed(name: str) -> Any:
    return pytest.importorskip(name, exc_type=ImportError)


def numpy_of(values: np.ndarray, dtype: str) -> Any:
    return values.astype(dtype)


def torch_of(values: np.ndarray, dtype: str) -> Any:
    torch = installed("torch")
    if dtype.startswith("uint") and dtype != "uint8":
        return torch.from_numpy(values.astype(dtype)) if hasattr(torch, dtype) else torch.from_numpy(values)
    return torch.from_numpy(values.astype(np.float32)).to(getattr(torch, dtype))


def jax_of(values: np.ndarray, dtype: str) -> Any:
    return installed("jax").numpy.asarray(values.astype(dtype))


class OnlyDlpack:
    """Somebody's array: DLPack and a shape."""

    def __init__(self, values: np.ndarray) -> None:
        self._values, self.shape = values, values.shape

    def __dlpack__(self, **how: Any) -> Any:
        return self._values.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("make", [numpy_of, torch_of, jax_of])
def test_types(make: Callable[[np.ndarray, str], Any], dtype: str) -> None:
    points, queries = make(POINTS, dtype), make(QUERIES, dtype)
    found = kith.search(points, queries, 4)
    assert type(found.indices) is type(queries) or dtype in str(type(queries))
    np.testing.assert_array_equal(np.asarray(found.indices), INDICES)
    np.testing.assert_array_equal(np.asarray(found.distances), DISTANCES)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_types(dtype: str) -> None:
    torch = installed("torch")
    points = torch.from_numpy(POINTS).to(getattr(torch, dtype))
    np.testing.assert_array_equal(kith.search(points, points[:7], 3).indices, kith.search(POINTS, POINTS[:7], 3).indices)


def test_ml_dtypes() -> None:
    ml_dtypes = installed("ml_dtypes")
    found = kith.search(POINTS.astype(ml_dtypes.bfloat16), QUERIES.astype(ml_dtypes.bfloat16), 4)
    np.testing.assert_array_equal(found.indices, INDICES)
    memory = bytes(2 * 7 * 4)
    values = np.frombuffer(memory, ml_dtypes.bfloat16).reshape(7, 4)
    with pytest.raises(TypeError, match="values: expected a writable array"):
        kith.topk(QUERIES.astype(ml_dtypes.bfloat16), 4, out=(values, np.empty((7, 4), np.int64)))
    assert memory == bytes(56)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int32", "uint8"])
def test_fields_of_records(dtype: str) -> None:
    element = np.dtype(installed("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype)
    records = np.zeros(POINTS.shape, [("x", element), ("tag", np.uint8)])
    records["x"] = POINTS
    np.testing.assert_array_equal(kith.search(records["x"], QUERIES, 4).indices, INDICES)


def test_a_copy_lets_other_threads_run() -> None:
    """A thread that waits for the GIL has it only where it is let go: a result of a wrong shape is refused after the copy."""
    points = np.zeros((20000, 512), np.float32)
    wrong = np.empty((2, 2), np.float32), np.empty((2, 2), np.int64)
    interval = sys.getswitchinterval()

    def let_go(given: np.ndarray, tries: int) -> bool:
        gate, ran = threading.Semaphore(0), threading.Event()

        def work() -> None:
            gate.acquire()
            ran.set()

        thread = threading.Thread(target=work)
        thread.start()
        sys.setswitchinterval(1000)
        try:
            gate.release()
            for _ in range(tries):
                with pytest.raises(ValueError, match="indices"):
                    kith.search(given, points[:1], 1, out=wrong, device="cpu")
                if ran.is_set():
                    return True
        finally:
            sys.setswitchinterval(interval)
            thread.join()
        return False

    assert let_go(points[::-1], 200)
    assert not let_go(points, 5)  # nothing to copy


def test_mixed_kinds_give_the_kind_of_the_queries() -> None:
    torch = installed("torch")
    assert isinstance(kith.search(POINTS, torch.from_numpy(QUERIES), 4).indices, torch.Tensor)
    assert isinstance(kith.search(torch.from_numpy(POINTS), QUERIES, 4).indices, np.ndarray)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fortran": np.asfortranarray,
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "rows apart": lambda a: np.repeat(a, 2, axis=0)[::2],
    "columns apart": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "both apart": lambda a: np.repeat(np.repeat(a, 3, axis=1), 2, axis=0)[::2, ::3],
    "rows backwards": lambda a: a[::-1].copy()[::-1],
    "columns backwards": lambda a: a[:, ::-1].copy()[:, ::-1],
    "fortran, rows apart": lambda a: np.asfortranarray(np.repeat(a, 2, axis=0))[::2],
    "a part": lambda a: np.pad(a, 2)[2:-2, 2:-2],
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "unaligned rows": lambda a: np.frombuffer(b"x" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
    "masked nothing": lambda a: np.ma.array(a),
    "matrix": lambda a: np.asmatrix(a),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, dtype: str) -> None:
    make = LAYOUTS[layout]
    found = kith.search(make(POINTS.astype(dtype)), make(QUERIES.astype(dtype)), 4)
    np.testing.assert_array_equal(found.indices, INDICES)
    np.testing.assert_array_equal(found.distances, DISTANCES)


def test_broadcast() -> None:
    same = np.broadcast_to(POINTS[:1], (9, 5))
    np.testing.assert_array_equal(kith.graph(same, 2).distances, np.zeros((9, 2)))


def test_others() -> None:
    for make in (lambda a: a.tolist(), OnlyDlpack, lambda a: memoryview(a)):
        np.testing.assert_array_equal(kith.search(make(POINTS), make(QUERIES), 4).indices, INDICES)


def ctypes_of(values: np.ndarray) -> Any:
    """An array of ctypes, as multiprocessing.RawArray has: a buffer without strides."""
    of_rows: Any = getattr(ctypes, {"f": "c_float", "d": "c_double"}[values.dtype.char])
    for size in values.shape[::-1]:
        of_rows = of_rows * size
    return of_rows.from_buffer_copy(values.tobytes())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_buffers_without_strides(dtype: str) -> None:
    points, queries = ctypes_of(POINTS.astype(dtype)), ctypes_of(QUERIES.astype(dtype))
    for given, asked in ((points, queries), (points, QUERIES), (POINTS, queries)):
        np.testing.assert_array_equal(kith.search(given, asked, 4).indices, INDICES)
        np.testing.assert_array_equal(kith.Index(given).search(asked, 4).indices, INDICES)
        np.testing.assert_array_equal(kith.radius(given, asked, 1.5, metric="euclidean").indices,
                                      kith.radius(POINTS, QUERIES, 1.5, metric="euclidean").indices)
        np.testing.assert_array_equal(kith.distances(given, asked), kith.distances(POINTS, QUERIES))
    np.testing.assert_array_equal(kith.graph(points, 4).indices, kith.graph(POINTS, 4).indices)
    np.testing.assert_array_equal(kith.topk(points, 4).indices, kith.topk(POINTS.astype(dtype), 4).indices)
    out = ctypes_of(np.zeros((7, 4), np.float32)), np.empty((7, 4), np.int64)
    assert kith.search(points, queries, 4, out=out).distances is out[0]
    np.testing.assert_array_equal(np.asarray(out[0]), DISTANCES)


def test_the_core_reads_buffers_without_strides() -> None:
    """It computes them; what calls it may hand over a buffer as it is."""
    index = _core.Index(ctypes_of(POINTS), _core.MetricSettings("sqeuclidean", 2.0, None, None, False, "", 0.0),
                        _core.Settings(False, "cpu", 0, 0, "", "", "", 0, None, "ignore"))
    assert (index.size, index.dimensions) == POINTS.shape


def test_masked_values_are_refused() -> None:
    with pytest.raises(ValueError, match="points: masked"):
        kith.search(np.ma.masked_less(POINTS, 1), QUERIES, 4)


def test_bool_is_uint8() -> None:
    bits = POINTS > 2
    np.testing.assert_array_equal(kith.graph(bits, 3, metric="jaccard").indices,
                                  kith.graph(bits.astype(np.uint8), 3, metric="jaccard").indices)


def test_empty() -> None:
    with pytest.raises(ValueError, match="points: 0 columns"):
        kith.search(np.empty((3, 0), np.float32), np.empty((3, 0), np.float32), 2)


def test_no_copy_of_results() -> None:
    distances, indices = np.empty((7, 4), np.float32), np.empty((7, 4), np.int64)
    found = kith.search(POINTS, QUERIES, 4, out=(distances, indices))
    assert found.distances is distances and found.indices is indices
    np.testing.assert_array_equal(indices, INDICES)
    kith.search(POINTS, QUERIES, 4, out=(None, indices))


def test_missing_values() -> None:
    points, queries = POINTS.copy(), QUERIES.copy()
    points[3, 2] = queries[1, 0] = np.nan
    found = kith.search(points, queries, 60)
    assert (found.indices != 3).all() and (found.indices[1] == -1).all()
    assert (found.indices[0, -1], found.distances[0, -1]) == (-1, np.inf)


@pytest.mark.parametrize("points, error, words", [
    (np.zeros(5, np.float32), ValueError, "2 dimensions"),
    (np.zeros((2, 3, 4), np.float32), ValueError, "2 dimensions"),
    (np.zeros((3, 5), np.complex64), TypeError, "complex64"),
    (np.zeros((3, 5), "U3"), TypeError, "<U3"),
    (np.zeros((3, 5), object), TypeError, "object"),
    (np.full((3, 5), 2**60 + 1), ValueError, "2**53"),
    (np.full((3, 5), 2**53 + 1), ValueError, "2**53"),
    (np.int64(3), ValueError, "2 dimensions"),
    (np.zeros((3, 0), np.int64), ValueError, "columns"),
    (array.array("f", [1, 2, 3]), ValueError, "2 dimensions"),
    ((ctypes.c_float * 20)(), ValueError, "expected 2 dimensions, got 1"),
    ((ctypes.c_void_p * 20)(), ValueError, ""),
    ("points", TypeError, "expected an array"),
    (None, TypeError, "expected an array"),
    (np.zeros((3, 4), np.float32), ValueError, "columns"),
])
def test_errors_name_the_argument(points: Any, error: type[Exception], words: str) -> None:
    for arguments, name in (((points, QUERIES, 1), "points"), ((POINTS, points, 1), "queries")):
        with pytest.raises(error) as caught:
            kith.search(*arguments)
        assert words in str(caught.value) and (name in str(caught.value) or "queries" in str(caught.value))


@pytest.mark.parametrize("out, error", [
    ((np.empty((7, 4), np.float64), np.empty((7, 4), np.int64)), TypeError),
    ((np.empty((7, 4), np.float32), np.empty((7, 4), np.int32)), TypeError),
    ((np.empty((7, 3), np.float32), np.empty((7, 4), np.int64)), ValueError),
    ((np.empty((7, 8), np.float32)[:, ::2], np.empty((7, 4), np.int64)), ValueError),
    ((np.frombuffer(bytes(112), np.float32).reshape(7, 4), np.empty((7, 4), np.int64)), TypeError),
    ((np.empty((7, 4), np.float32), None), ValueError),
    ((np.empty((7, 8), np.int64).view(np.float32)[:, :4], np.empty((7, 4), np.int64)), ValueError),
])
def test_bad_outputs(out: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        kith.search(POINTS, QUERIES, 4, out=out)


@pytest.mark.parametrize("out, error, words", [
    ((np.empty((7, 4), np.float32), None), ValueError, "out: no indices"),
    (np.empty((7, 4), np.int64), TypeError, "out: expected \\(distances, indices\\), got ndarray"),
    (3, TypeError, "out: expected \\(distances, indices\\), got int"),
])
def test_outputs_that_are_no_pair(out: Any, error: type[Exception], words: str) -> None:
    index = kith.Index(POINTS)
    calls: list[Callable[[], Any]] = [
        lambda: kith.search(POINTS, QUERIES, 4, out=out), lambda: index.search(QUERIES, 4, out=out),
        lambda: kith.graph(POINTS, 4, out=out), lambda: index.graph(4, out=out)]
    for call in calls:
        with pytest.raises(error, match=words):
            call()


def test_outputs_that_overlap() -> None:
    square = np.random.default_rng(0).random((300, 8), np.float32)
    with pytest.raises(ValueError, match="overlaps"):
        kith.search(square, square, 8, out=(square, np.empty((300, 8), np.int64)))
    ids = np.empty((7, 4), np.int64)
    with pytest.raises(ValueError, match="overlaps"):
        kith.search(POINTS, QUERIES, 4, f64=True, out=(ids.view(np.float64), ids))


def test_jaxs_arrays_are_not_written_to() -> None:
    jax = installed("jax")
    out = jax.numpy.zeros((7, 4), "float32"), np.empty((7, 4), np.int64)
    with pytest.raises(TypeError, match="jax"):
        kith.search(POINTS, QUERIES, 4, out=out)
    found = kith.search(POINTS, jax.numpy.asarray(QUERIES), 4, out=(None, out[1]))
    assert found.indices is out[1]
    doubled = jax.tree_util.tree_map(lambda part: part * 2, kith.search(POINTS, jax.numpy.asarray(QUERIES), 4))
    np.testing.assert_array_equal(doubled.indices, 2 * INDICES)


def test_torchs_other_tensors() -> None:
    torch = installed("torch")
    queries = torch.from_numpy(QUERIES)
    with pytest.raises(TypeError, match="queries: expected a dense tensor"):
        kith.search(POINTS, queries.to_sparse(), 4)
    with pytest.raises(TypeError, match="queries"):
        kith.search(POINTS, queries.to("meta"), 4)
    np.testing.assert_array_equal(kith.search(POINTS, queries.requires_grad_(), 4).indices, INDICES)


def views_of(torch: Any, values: np.ndarray) -> dict[str, Any]:
    """Tensors of the same values that lie or are read in ways of their own."""
    own = type("Own", (torch.Tensor,), {})
    whole = torch.from_numpy(values)
    wide = torch.zeros((len(values), 2 * values.shape[1]), dtype=whole.dtype)
    wide[:, ::2] = whole
    negated = torch.complex(torch.zeros_like(whole), -whole).conj().imag  # of which the memory holds the opposite
    assert negated.is_neg()
    return {"whole": whole, "by columns": whole.t().contiguous().t(), "strided": wide[:, ::2], "negated": negated,
            "behind others": torch.cat([whole, whole])[len(values):], "integers": whole.int(),
            "of a gradient": whole.clone().requires_grad_(),
            "a parameter": torch.nn.Parameter(whole.clone()), "a subclass": whole.clone().as_subclass(own),
            "lazily copied": torch._lazy_clone(whole.clone()) if hasattr(torch, "_lazy_clone") else whole}


def test_torchs_views() -> None:
    torch = installed("torch")
    points, queries = views_of(torch, POINTS), views_of(torch, QUERIES)
    for name in queries:
        found = kith.search(points[name], queries[name], 4)
        assert isinstance(found.indices, torch.Tensor), name
        assert found.distances.requires_grad == (points[name].requires_grad or queries[name].requires_grad), name
        assert found.distances.dtype == torch.float32 and found.indices.is_contiguous(), name
        np.testing.assert_array_equal(found.indices.numpy(), INDICES, name)
        np.testing.assert_array_equal(found.distances.detach().numpy(), DISTANCES, name)
        values, order = kith.topk(queries[name], 3)
        expected = kith.topk(QUERIES, 3)
        np.testing.assert_array_equal(values.detach().numpy(), expected.values, name)
        np.testing.assert_array_equal(order.numpy(), expected.indices, name)


def asked_about(array: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The core is asked for a description where `array` is an input."""
    asked: list[Any] = []

    class Core:
        ArrayInterface = _core.ArrayInterface

        @staticmethod
        def described(array: Any, stream: int) -> Any:
            asked.append(array)
            return _core.described(array, stream)

    with monkeypatch.context() as context:
        context.setattr(_arrays, "_core", Core)
        _arrays.given(array, "queries", 0)
    return asked


def test_the_core_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not asked_about(QUERIES, monkeypatch)
    others: list[Any] = [OnlyDlpack(QUERIES), QUERIES.tolist(), QUERIES.data, QUERIES.view(np.matrix)]
    for array in others:
        assert [each is array for each in asked_about(array, monkeypatch)] == [True], type(array)


def test_the_core_is_asked_once_about_a_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, tensor in views_of(installed("torch"), QUERIES).items():
        asked = asked_about(tensor, monkeypatch)
        assert asked[0] is tensor and len(asked) == len({id(each) for each in asked}), name


def test_torch_without_dlpacks_functions() -> None:
    """As older torch: tensors are described and allocated by their methods."""
    torch = installed("torch")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch is one")
    code = """
import torch
del torch.Tensor.__dlpack_c_exchange_api__, torch._C._dynamo.guards._empty_strided_cpu
import test_arrays
test_arrays.test_torchs_views()
test_arrays.test_torchs_other_tensors()
assert test_arrays.kith._core.described(torch.zeros(2, 2), 0) is None
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert ran.returncode == 0, ran.stderr


def test_torchs_results_are_tensors_like_others() -> None:
    torch = installed("torch")
    queries = torch.from_numpy(QUERIES)
    found = kith.search(POINTS, queries, 4)
    for part in found:
        assert type(part) is torch.Tensor and part.storage_offset() == 0 and part.stride() == (4, 1)
        part.resize_(3, 5).zero_()  # a tensor that owns its memory
    with torch.inference_mode():
        assert kith.search(POINTS, queries, 4).distances.is_inference()
    with pytest.raises(RuntimeError, match="allocate"):
        kith.search(POINTS, queries, 2**44)
    with torch.device("meta"):  # where tensors are made by default
        np.testing.assert_array_equal(kith.search(POINTS, queries, 4).indices.numpy(), INDICES)


@pytest.mark.parametrize("name, wrong", [
    ("out", lambda torch: (None, torch.zeros((7, 4)))),
    ("out", lambda torch: (None, torch.zeros((7, 8), dtype=torch.int64)[:, ::2])),
    ("out", lambda torch: (None, torch.zeros((7, 5), dtype=torch.int64))),
    ("out", lambda torch: (None, torch.zeros(28, dtype=torch.int64))),
    ("threads", lambda torch: torch.tensor([1, 2])), ("threads", lambda torch: 4097), ("threads", lambda torch: -1),
    ("memory", lambda torch: True), ("stream", lambda torch: -1), ("p", lambda torch: torch.zeros(3)),
    ("start", lambda torch: "0"), ("packed_bits", lambda torch: 1), ("f64", lambda torch: 0), ("path", lambda torch: None),
    ("metric", lambda torch: 3)])
def test_wrong_arguments_beside_tensors(name: str, wrong: Callable[[Any], Any]) -> None:
    torch = installed("torch")
    with pytest.raises((TypeError, ValueError), match="indices: expected" if name == "out" else f"^{name}"):
        kith.search(torch.from_numpy(POINTS), torch.from_numpy(QUERIES), 4, **{name: wrong(torch)})


def test_numbers_of_other_types_are_arguments() -> None:
    numbers: dict[str, Any] = {"p": 2, "threads": np.int64(1), "memory": np.uint8(0), "f64": np.bool_(False),
                               "packed_bits": np.bool_(False), "start": np.float32(0)}
    found = kith.search(POINTS, QUERIES, np.int32(4), **numbers)
    np.testing.assert_array_equal(found.indices, INDICES)
