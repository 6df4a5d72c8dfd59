"""Results of the caller's kind, arrays that speak only DLPack or __cuda_array_interface__, and modules that load at first use."""
from __future__ import annotations

import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest
from oracle import nearest, small

import kith
from kith._arrays import array_interface, readable
from kith.compat import faiss

POINTS, QUERIES = small(60, 5), small(7, 5, 1)
DISTANCES, INDICES = nearest(POINTS, QUERIES, 4)


def installed(name: str) -> Any:
    return pytest.importorskip(name, exc_type=ImportError)


def kinds() -> list[tuple[str, Any]]:
    return [("numpy", np.asarray), ("torch", lambda a: installed("torch").from_numpy(a)),
            ("jax", lambda a: installed("jax").numpy.asarray(a))]


@pytest.mark.parametrize("library, of", kinds(), ids=[name for name, _ in kinds()])
def test_every_result_is_of_the_callers_kind(library: str, of: Any) -> None:
    points, queries = of(POINTS), of(QUERIES)
    index = kith.Index(points)
    results: list[Any] = [
        *kith.search(points, queries, 4), *kith.graph(points, 3), *index.search(queries, 4), *index.graph(3),
        *kith.radius(points, queries, 9), *kith.radius_graph(points, 9), kith.radius_counts(points, queries, 9).counts,
        kith.radius_counts(points, None, 9).counts, *index.radius(queries, 9), *index.radius_graph(9),
        index.radius_counts(queries, 9).counts, index.radius_counts(None, 9).counts, *kith.match(points, queries),
        kith.distances(points, queries), *kith.topk(points, 2)]
    for block in [*kith.radius_blocks(points, queries, 9), *index.radius_blocks(None, 9)]:
        results += block[1:]
    for result in results:
        assert type(result) is type(points) or library == "jax" and "jax" in type(result).__module__
    expected = kith.radius(POINTS, QUERIES, 9)
    for ours, theirs in zip(kith.radius(points, queries, 9), expected):
        np.testing.assert_array_equal(np.asarray(ours), theirs)
    found = kith.radius(points, queries, 9)
    for (distances, indices), (d, i) in zip(found.rows(), expected.rows()):
        np.testing.assert_array_equal(np.asarray(distances), d)
        np.testing.assert_array_equal(np.asarray(indices), i)
    if "scipy" in sys.modules or installed("scipy"):
        assert (abs(found.csr(60) - expected.csr(60))).nnz == 0
    np.testing.assert_array_equal(np.asarray(index.graph(3).indices), kith.graph(POINTS, 3).indices)
    assert kith.verify(points, queries, *reversed(kith.search(points, queries, 4))).exact


def test_an_index_does_not_keep_the_points() -> None:
    torch = installed("torch")
    points = torch.from_numpy(POINTS.copy())
    import weakref
    gone = weakref.ref(points)
    index = kith.Index(points)
    del points
    assert gone() is None and isinstance(index.graph(2).indices, torch.Tensor)


class Elsewhere:
    """An array that says that it lies on a CUDA device; the stream that it is asked to make wait is kept."""

    def __init__(self, values: Any, versions: bool = True) -> None:
        self._values, self.shape, self.dtype, self.versions = values, values.shape, values.dtype, versions
        self.asked: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: Any = None, **how: Any) -> Any:
        if how and not self.versions:
            raise TypeError("from before versions")
        self.asked.append(stream)
        return self._values.__dlpack__(**how)


@pytest.mark.parametrize("versions", [True, False])
def test_dlpack_makes_the_stream_of_the_call_wait(versions: bool) -> None:
    points, queries = Elsewhere(POINTS, versions), Elsewhere(QUERIES, versions)
    np.testing.assert_array_equal(kith.search(points, queries, 4, device="cpu").indices, INDICES)
    assert points.asked == queries.asked == [1]  # the default stream
    array_interface(points, "points", 77)
    assert points.asked == [1, 77]


class OnDevice:
    """__cuda_array_interface__ of host memory."""

    def __init__(self, values: Any, **more: Any) -> None:
        self.shape = values.shape
        self.__cuda_array_interface__ = {"shape": values.shape, "typestr": values.dtype.str, "version": 3, "strides": None,
                                         "data": (values.ctypes.data, False), **more}


def test_cuda_array_interface_is_checked() -> None:
    for more, error, words in (({"mask": np.ones(3)}, ValueError, "points: masked"),
                               ({"typestr": "<V2"}, TypeError, "points: no search in elements '<V2'"),
                               ({"typestr": ">f4"}, TypeError, "points: no search in elements '>f4'"),
                               ({"strides": (21, 4)}, ValueError, "points: rows or columns")):
        with pytest.raises(error, match=words):
            array_interface(OnDevice(POINTS, **more), "points", 0)
    with pytest.raises(TypeError, match="out: expected a writable array"):
        array_interface(OnDevice(POINTS, data=(POINTS.ctypes.data, True)), "out", writable=True)


def test_cuda_array_interface_asks_the_driver_where_it_lies() -> None:
    from kith import _core
    if _core.device_count():
        pytest.skip("tests/test_cuda_interfaces.py has arrays on the device that there is")
    with pytest.raises(kith.DeviceError, match="cuPointerGetAttribute"):
        kith.search(OnDevice(POINTS), OnDevice(QUERIES), 4)


def test_bfloat16_of_numpy_is_not_copied() -> None:
    ml_dtypes = installed("ml_dtypes")
    for points in (POINTS.astype(ml_dtypes.bfloat16), np.asfortranarray(POINTS.astype(ml_dtypes.bfloat16))):
        assert readable(points, "points") is points
        np.testing.assert_array_equal(kith.search(points, QUERIES, 4).indices, INDICES)
        np.testing.assert_array_equal(kith.search(points[::2], QUERIES, 4).indices, nearest(POINTS[::2], QUERIES, 4)[1])


def test_modules_load_at_their_first_use() -> None:
    code = ("import sys, kith\n"
            "assert not [m for m in sys.modules if m in ('kith.groundtruth', 'kith.information', 'kith.compat.faiss', 'torch')]\n"
            "assert callable(kith.groundtruth.init) and callable(kith.shards.merge) and kith.information.entropy\n"
            "assert kith.compat.faiss.IndexFlatL2 and kith.compat.cuvs.brute_force\n"
            "assert {'groundtruth', 'torch', 'search'} <= set(dir(kith)) and not hasattr(kith, 'nothing')\n"
            "sys.modules['torch'] = None\n"
            "assert not hasattr(kith, 'torch')\n"
            "try: kith.torch\n"
            "except AttributeError as error: assert 'kith.torch needs a package' in str(error)\n")
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kith.nothing
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kith.compat.nothing


@pytest.mark.parametrize("call", [
    lambda x: kith.search(x, x.tolist(), 2), lambda x: kith.graph(x, 2), lambda x: kith.radius(x, None, 0.5),
    lambda x: kith.radius_counts(x, x, np.full(len(x), 0.5)), lambda x: kith.distances(x, x), lambda x: kith.topk(x, 2),
    lambda x: kith.verify(x, x, kith.search(x, x, 2)), lambda x: kith.search(x, x, 2, metric="seuclidean", variances=[1.0, 2.0]),
    lambda x: kith.Index(x.tolist()).search(x, 2), lambda x: kith.match(x, x), lambda x: faiss.knn(x, x, 2)])
def test_while_torch_is_being_imported(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another thread: the module is there, and next to nothing in it."""
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    call(np.random.default_rng(0).random((20, 2), np.float32))
