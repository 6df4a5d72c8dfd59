"""Arguments of a wrong type or out of range: errors name them; and none is cut short in silence."""
from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from oracle import small

import kith
import kith.groundtruth
import kith.information
import kith.shards

POINTS = small(20, 4)
IMAGE = np.random.default_rng(0).integers(0, 256, (40, 48), dtype=np.uint8)
TAKEN = np.array([[3, 1, 0, 0], [3, 1, 2, 0], [0, 0, 1, 4], [0, 0, 0, 5]])
EVEN = [[0, 10, 0, 10], [10, 10, 10, 10]]


def masked(values: Any) -> Any:
    return np.ma.masked_array(values, mask=np.arange(np.size(values)).reshape(np.shape(values)) == 1)


def search(**how: Any) -> Any:
    return kith.search(POINTS, POINTS, how.pop("k", 2), **how)


def topk(**how: Any) -> Any:
    return kith.topk(POINTS, how.pop("k", 2), **how)


def radius(r: Any = 1.0, **how: Any) -> Any:
    return kith.radius_counts(POINTS, None, r, **how)


def mahalanobis(**how: Any) -> Any:
    return search(metric="mahalanobis" if "inverse_covariance" in how else "seuclidean", **how)


def batches(batches: Any, k: Any = 1) -> Any:
    return kith.search_batches(POINTS, POINTS, batches, k)


def match(**how: Any) -> Any:
    return kith.match(POINTS, POINTS, **how)


def retrieve(**how: Any) -> Any:
    return kith.retrieve([[POINTS], [POINTS + 1]], 2, **how)


def image_features(image: Any = IMAGE, seed: Any = 0) -> Any:
    return kith.image_features(image, seed)


def recommend(preferences: Any = TAKEN, **how: Any) -> Any:
    return kith.recommend(preferences, 1, 1, **how)


def shard(first_point: Any = 0, k: Any = 2, **how: Any) -> Any:
    return kith.shards.search(POINTS, first_point, POINTS, k, **how)


def entropy(x: Any = POINTS[:, 0], **how: Any) -> Any:
    return kith.information.entropy(x, **how)


@pytest.mark.parametrize("call, how", [
    (search, {"f64": 1}), (search, {"f64": None}), (search, {"device": 0}), (search, {"p": "3"}), (search, {"p": 1j}),
    (search, {"p": True}), (search, {"p": np.complex64(2)}), (search, {"p": np.ones(1)}), (search, {"start": "a"}),
    (search, {"path": 3}), (search, {"isa": None}),
    (search, {"selector": b""}), (search, {"stream": "0"}), (search, {"packed_bits": None}), (search, {"formula": 3}),
    (search, {"k": True}), (search, {"threads": True}), (search, {"memory": np.True_}), (search, {"progress": 5}),
    (search, {"progress": "yes"}), (topk, {"largest": 1}), (topk, {"sorted": "no"}), (topk, {"k": True}), (topk, {"dim": 0.0}),
    (match, {"mutual": 1}), (match, {"ratio": "0.8"}), (retrieve, {"both_ways": 0}), (retrieve, {"form": 1}),
    (image_features, {"seed": 1.5}), (image_features, {"image": IMAGE * 1j}), (image_features, {"image": [["a"]]}),
    (recommend, {"epsilon": "a"}), (recommend, {"hold_out": 1}), (recommend, {"weight": None}), (recommend, {"seed": True}),
    (recommend, {"preferences": TAKEN * 1j}), (shard, {"first_point": 1.0}), (shard, {"k": True}), (shard, {"device": 0}),
    (radius, {"r": None}), (radius, {"r": "1"}), (radius, {"r": 1j}), (radius, {"r": np.full(20, 1j)}),
    (radius, {"r": ["1"] * 20}), (radius, {"open": 1}), (radius, {"include_self": 0}), (mahalanobis, {"inverse_covariance": "a"}),
    (mahalanobis, {"inverse_covariance": np.eye(4) * 1j}), (mahalanobis, {"variances": [None] * 4}),
    (batches, {"batches": [[0, 5.7, 0, 3]]}), (batches, {"batches": [[0, np.nan, 0, 3]]}),
    (batches, {"batches": EVEN, "k": True}),
    (entropy, {"x": 3.0}), (entropy, {"x": "abc"}), (entropy, {"bootstrap": True}), (entropy, {"k": True}),
])
def test_wrong_types(call: Callable[..., Any], how: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"^{[*how][-1]}: (expected|no search in)"):
        call(**how)


@pytest.mark.parametrize("call, how, error", [
    (search, {"stream": -1}, ValueError), (search, {"threads": 2**40}, ValueError), (search, {"memory": 2**70}, ValueError),
    (search, {"p": 10**400}, ValueError), (search, {"k": 2**70}, ValueError), (topk, {"k": 2**62}, ValueError),
    (topk, {"k": 2**70}, ValueError), (image_features, {"seed": -1}, ValueError), (recommend, {"seed": -1}, ValueError),
    (recommend, {"seed": 2**64}, ValueError), (shard, {"first_point": 2**70}, ValueError), (shard, {"k": 2**62}, MemoryError),
    (batches, {"batches": EVEN, "k": 2**62}, MemoryError), (image_features, {"image": IMAGE[:20]}, ValueError),
    (image_features, {"image": IMAGE[:0]}, ValueError), (image_features, {"image": np.full((40, 40), np.nan)}, ValueError),
    (mahalanobis, {"variances": np.ones((2, 2))}, ValueError), (radius, {"r": [1, [2, 3]]}, ValueError),
    (radius, {"r": masked(np.ones(20))}, ValueError), (radius, {"r": np.ma.masked}, ValueError),
    (mahalanobis, {"inverse_covariance": masked(np.eye(4))}, ValueError),
    (mahalanobis, {"variances": masked(np.ones(4))}, ValueError),
    (batches, {"batches": masked(EVEN)}, ValueError), (recommend, {"preferences": masked(TAKEN)}, ValueError),
    (image_features, {"image": masked(IMAGE)}, ValueError),
    (recommend, {"preferences": np.full((2, 2), 2**60, np.uint64)}, ValueError),
])
def test_values_out_of_range(call: Callable[..., Any], how: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=f"^{[*how][-1]}(:| is )"):
        call(**how)


def test_bytes_are_said_as_numbers() -> None:
    with pytest.raises(TypeError, match=r"memory: expected a number of bytes, such as 8 << 30, got str \('8GiB'\)"):
        search(memory="8GiB")


def test_numbers_of_numpy() -> None:
    for how in ({"f64": np.True_}, {"p": np.float32(2)}, {"p": np.array(2)}, {"stream": np.int64(0)}, {"threads": np.uint8(1)},
                {"packed_bits": np.False_}, {"device": np.str_("cpu")}, {"k": np.int8(2)}):
        assert search(**how).indices.shape == (20, 2)
    assert search(f64=np.True_).distances.dtype == np.float64
    assert topk(largest=np.False_, dim=np.int64(0)).values.shape == (2, 4)
    assert match(mutual=np.True_, ratio=np.float32(0.9)).pairs.shape == (20, 2)
    assert len(retrieve(both_ways=np.True_).asked) == 2 and recommend(hold_out=np.True_).held_out is not None
    np.testing.assert_array_equal(radius(np.float32(1), open=np.True_).counts, radius(np.ones((20, 1)), open=True).counts)
    assert mahalanobis(variances=np.ones((1, 4))).indices.shape == (20, 2)
    assert batches(np.empty((0, 4))).indices.shape == (20, 1)


class Table:
    """As pandas' DataFrame and Series: a get() that is no device's, and a shape."""

    def __init__(self, values: np.ndarray) -> None:
        self._values, self.shape = values, values.shape
        if values.ndim == 1:
            self.dtype = values.dtype

    def get(self, key: Any, default: Any = None) -> Any:
        return default

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._values if dtype is None else self._values.astype(dtype)


def test_tables() -> None:
    np.testing.assert_array_equal(recommend(Table(TAKEN)).items, recommend().items)
    np.testing.assert_array_equal(kith.topk(Table(np.array([3.0, 1, 2])), 2).indices, [0, 2])
    np.testing.assert_array_equal(kith.topk(Table(TAKEN), 2).values, kith.topk(TAKEN, 2).values)


def test_sparse_rows_of_one_dimension() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="preferences: expected 2 dimensions, got 1"):
        recommend(sparse.coo_array(np.array([1.0, 0, 2])))
    with pytest.raises(ValueError, match="preferences: uint64 of 2"):
        recommend(sparse.csr_array(np.full((2, 2), 2**60, np.uint64)))
    with pytest.raises(TypeError, match="preferences: expected numbers, got complex128"):
        recommend(sparse.csr_array(TAKEN * 1j))


def test_outputs_that_are_read_only() -> None:
    values, indices = np.empty((20, 2), POINTS.dtype), np.empty((20, 2), np.int64)
    values.flags.writeable = False
    with pytest.raises(TypeError, match="^values: expected a writable array"):
        topk(out=(values, indices))


def test_parts_of_shards() -> None:
    part = shard()
    for call in (kith.shards.merge, kith.shards.finish):
        with pytest.raises(TypeError, match=r"^part(s\[0\]|ial): expected Partial, got list"):
            call([part, part])  # type: ignore[arg-type]
    lists = kith.shards.Partial(part.indices.tolist(), np.asfortranarray(part.keys), part.dimensions)
    np.testing.assert_array_equal(kith.shards.merge(lists, part).indices, part.indices)
    with pytest.raises(TypeError, match="^partial.indices: expected integers"):
        kith.shards.finish(part._replace(indices=part.keys))


def test_names_and_paths_with_a_nul(tmp_path: Path) -> None:
    """No name is cut at one, and no file of a shorter name is read or written."""
    job: Any = kith.groundtruth
    of: Any

    def plan(**how: Any) -> Any:
        return kith.plan(9, 9, 9, 2, **how)

    def graph(**how: Any) -> Any:
        return kith.graph(POINTS, 2, **how)

    for of, names in ((search, ("metric", "device", "path", "selector", "isa", "formula")), (graph, ("metric", "device", "isa")),
                      (plan, ("metric", "machine", "type"))):
        for name in names:
            with pytest.raises(ValueError, match=f"^{name}: .*NUL"):
                of(**{name: "cpu\0"})
    file = str(tmp_path / "near\0.npz")
    calls: list[Callable[..., Any]] = [lambda: kith.radius_csr(file, POINTS, None, 1.0),
                                       lambda: kith.Index(POINTS).radius_csr(file, None, 1.0)]
    for call in calls:
        with pytest.raises(ValueError, match="^file: .*NUL"):
            call()
    job.init(tmp_path / "job", POINTS, k=1)
    folder, asked = f"{tmp_path / 'job'}\0b", str(tmp_path / "points.npy")
    np.save(asked, POINTS)
    calls = [job.run, job.status, job.info, job.verify, job.merge, lambda at: job.run_unit(at, (0, 0)), lambda at: job.units(at),
             lambda at: job.init(at, POINTS, k=1)]
    for call in calls:
        with pytest.raises(ValueError, match="^folder: .*NUL"):
            call(folder)
    for how, name in (({"points": asked + "\0"}, "points"), ({"points": [asked, asked + "\0"]}, "points"),
                      ({"points": asked, "queries": asked + "\0"}, "queries"), ({"points": asked, "format": "npy\0"}, "format")):
        with pytest.raises(ValueError, match=f"^{name}: .*NUL"):
            job.init(tmp_path / "other", k=1, **how)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "other") == ["job", "points.npy"]


def test_results_that_fit_nowhere() -> None:
    index = kith.Index(POINTS)
    for call in (lambda k: kith.search(POINTS, POINTS, k), lambda k: kith.graph(POINTS, k), lambda k: index.search(POINTS, k),
                 lambda k: kith.shards.search(POINTS, 0, POINTS, k)):
        for k in (2**48, 2**60):
            with pytest.raises(MemoryError, match=f"^k is {k}"):
                call(k)


class OnDevice:
    """An array that says where it lies on a device, and its shape."""

    shape = 3, 4

    def __init__(self, described: Any) -> None:
        self.__cuda_array_interface__ = described


@pytest.mark.parametrize("change", [
    {"shape": "x"}, {"shape": None}, {"shape": 3}, {"shape": (-1, 4)}, {"typestr": "zz"}, {"typestr": None}, {"data": None}, {"data": 7},
    {"data": ("a", False)}, {"strides": (4,)}, {"strides": "ab"}, {"stream": "x"}, "shape", "typestr", "data", None])
def test_malformed_device_arrays(change: Any) -> None:
    described: Any = {"shape": (3, 4), "typestr": "<f4", "data": (4096, False), "version": 3}
    if isinstance(change, dict):
        described.update(change)
    elif change is None:
        described = 3
    else:
        del described[change]
    array = OnDevice(described)
    for call, name in ((lambda: kith.search(array, POINTS, 1), "points"), (lambda: kith.search(POINTS, array, 1), "queries"),
                       (lambda: kith.graph(array, 1), "points"), (lambda: kith.Index(array), "points"),
                       (lambda: kith.distances(POINTS, array), "queries"), (lambda: kith.topk(array, 1), "values")):
        with pytest.raises(TypeError, match=f"{name}.*__cuda_array_interface__"):
            call()


def test_arrays_without_memory() -> None:
    array = OnDevice({"shape": (3, 4), "typestr": "<f4", "data": (0, False), "version": 3})
    for call, name in ((lambda: kith.search(array, POINTS, 1), "points"), (lambda: kith.search(POINTS, array, 1), "queries"),
                       (lambda: kith.graph(array, 1), "points"), (lambda: kith.topk(array, 1), "values")):
        with pytest.raises(ValueError, match=f"^{name}: expected memory"):
            call()


def test_ground_truth(tmp_path: Path) -> None:
    for points, name in ((POINTS[:0], "points: 0 rows"), (POINTS[:, :0], "points: 0 columns")):
        with pytest.raises(ValueError, match=name):
            kith.groundtruth.init(tmp_path / "none", points, k=1)
    kith.groundtruth.init(tmp_path, POINTS, k=1)
    for unit in (99, (0, 0, 0), (0, "0"), (True, 0)):
        with pytest.raises(TypeError, match="^unit: expected"):
            kith.groundtruth.run_unit(tmp_path, unit)  # type: ignore[arg-type]
    job: Any = kith.groundtruth
    wrong: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (job.run, {"wait": 1}), (job.run, {"lease": "60"}), (job.run, {"units": True}), (job.units, {"done": 1}),
        (job.merge, {"f64": 1}), (job.verify, {"isa": 1}), (job.status, {"folder": 3})]
    for call, how in wrong:
        with pytest.raises(TypeError, match=f"^{[*how][0]}: expected"):
            call(**{"folder": tmp_path, **how})


def test_replaced_rows_keep_their_report() -> None:
    found = kith.radius(POINTS, POINTS, 1.0)
    assert found._replace(indices=None).report is found.report
    assert pickle.loads(pickle.dumps(found._replace(offsets=found.offsets))).report.queries == 20


class TestTorch:
    def test_complex_values(self) -> None:
        torch = pytest.importorskip("torch", exc_type=ImportError)
        with pytest.raises(TypeError, match="^values: complex numbers have no order"):
            kith.topk(torch.ones(4, dtype=torch.complex64), 2)
        for call, name in ((radius, "r"), (recommend, "preferences"), (image_features, "image")):
            with pytest.raises(TypeError, match=f"^{name}: expected numbers, got complex64"):
                call(torch.ones((20, 1), dtype=torch.complex64))

    def test_topk_has_gradients(self) -> None:
        torch = pytest.importorskip("torch", exc_type=ImportError)
        values = torch.from_numpy(POINTS.astype(np.float32)).requires_grad_()
        for dim in (0, 1):
            found, expected = kith.topk(values, 2, dim), torch.topk(values, 2, dim)
            weights = torch.arange(found.values.numel(), dtype=torch.float32).reshape(found.values.shape)
            np.testing.assert_array_equal(torch.autograd.grad((found.values * weights).sum(), values)[0],
                                          torch.autograd.grad((values.gather(dim, found.indices) * weights).sum(), values)[0])
            assert torch.equal(found.values, expected.values)
        with torch.no_grad():
            assert not kith.topk(values, 2).values.requires_grad

    def test_preferences_that_require_a_gradient(self) -> None:
        torch = pytest.importorskip("torch", exc_type=ImportError)
        taken = torch.tensor(TAKEN, dtype=torch.float32, requires_grad=True)
        np.testing.assert_array_equal(recommend(taken).items, recommend().items)

    def test_clouds(self) -> None:
        torch = pytest.importorskip("torch", exc_type=ImportError)
        import kith.torch as ours
        p = torch.ones(2, 5, 3)
        for how, name in (({"lengths1": [5, 5]}, "lengths1"), ({"lengths2": torch.ones(2)}, "lengths2"), ({"K": True}, "K"),
                          ({"K": 1.5}, "K"), ({"p1": POINTS}, "p1")):
            with pytest.raises(TypeError, match=f"^{name}: expected"):
                ours.knn_points(**{"p1": p, "p2": p, **how})
        for batch in ([0] * 5, torch.zeros(5)):
            with pytest.raises(TypeError, match="^batch: expected"):
                ours.knn(p[0], p[0], 2, batch, batch)
        with pytest.raises(TypeError, match="^x: expected a tensor"):
            ours.knn(POINTS, p[0], 2)


@pytest.mark.parametrize("call", ("search", "graph", "Index.search", "Index.graph"))
def test_a_k_of_which_no_result_could_be_held(call: str) -> None:
    points = np.zeros((8, 2), np.float32)
    whose: Any = kith.Index(points) if call.startswith("Index.") else kith
    given = ([] if whose is not kith else [points]) + ([points] if call.endswith("search") else [])
    with pytest.raises(MemoryError, match="k"):
        getattr(whose, call.rpartition(".")[2])(*given, 2**62)


def test_include_self_is_a_flag() -> None:
    points = np.zeros((8, 2), np.float32)
    index = kith.Index(points)
    for call in (lambda x: kith.graph(points, 2, include_self=x), lambda x: index.graph(2, include_self=x),
                 lambda x: list(kith.radius_blocks(points, None, 1, include_self=x)),
                 lambda x: list(index.radius_blocks(None, 1, include_self=x))):
        call(np.True_)
        with pytest.raises(TypeError, match="include_self"):
            call("yes")
