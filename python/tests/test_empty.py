"""No points, no queries, no neighbours asked for: empty results of the right shape, in every call and of every kind of array."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
from oracle import small

import kith
import kith.shards

POINTS = small(9, 4)
NONE = POINTS[:0]


def kinds() -> dict[str, Any]:
    return {"numpy": lambda values: values, "Fortran": np.asfortranarray, "float64": lambda values: values.astype(np.float64),
            "int64": lambda values: values.astype(np.int64), "uint8": lambda values: values.astype(np.uint8),
            "torch": lambda values: pytest.importorskip("torch", exc_type=ImportError).from_numpy(values.copy()),
            "jax": lambda values: pytest.importorskip("jax", exc_type=ImportError).numpy.asarray(values),
            "pandas": lambda values: pytest.importorskip("pandas").DataFrame(values),
            "polars": lambda values: pytest.importorskip("polars").DataFrame(values),
            "Arrow": lambda values: pytest.importorskip("pyarrow").table({str(i): values[:, i] for i in range(4)})}


EACH = pytest.mark.parametrize("make", kinds().values(), ids=kinds())


def of(array: Any) -> np.ndarray:
    return np.asarray(array)


@EACH
def test_no_queries(make: Any) -> None:
    points, none = make(POINTS), make(NONE)
    for found in (kith.search(points, none, 3), kith.Index(points).search(none, 3), kith.search(none, none, 3),
                  kith.search_batches(points, none, np.empty((0, 4), np.int64), 3)):
        assert found.distances.shape == found.indices.shape == (0, 3)
        assert of(found.distances).dtype == np.float32
        assert "int" in str(found.indices.dtype) and found.report.queries == 0
    assert of(kith.search(points, none, 3, f64=True).distances).dtype in (np.float64, np.float32)  # jax has its own
    for within in (kith.radius(points, none, 1), kith.Index(points).radius(none, 1), kith.radius(points, none, np.empty(0))):
        assert of(within.offsets).tolist() == [0] and len(within.distances) == len(within.indices) == 0 and within.rows() == []
    assert len(kith.radius_counts(points, none, 1).counts) == len(kith.Index(points).radius_counts(none, 1).counts) == 0
    assert sum(len(block.offsets) - 1 for block in kith.radius_blocks(points, none, 1)) == 0
    assert kith.distances(points, none).shape == (0, 9)


@EACH
def test_no_points(make: Any) -> None:
    queries, none = make(POINTS), make(NONE)
    for found in (kith.search(none, queries, 2), kith.Index(none).search(queries, 2),
                  kith.search_batches(none, queries, [[0, 0, 0, 9]], 2)):
        assert (of(found.indices) == -1).all() and np.isposinf(of(found.distances)).all() and found.indices.shape == (9, 2)
    assert np.isneginf(of(kith.search(none, queries, 2, metric="inner_product").distances)).all()
    for graph in (kith.graph(none, 2), kith.Index(none).graph(2), kith.graph(none, 2, include_self=True)):
        assert graph.indices.shape == graph.distances.shape == (0, 2)
    for within in (kith.radius(none, queries, 1), kith.Index(none).radius(queries, 1)):
        assert of(within.offsets).tolist() == [0] * 10 and len(within.indices) == 0
    assert of(kith.radius_graph(none, 1).offsets).tolist() == [0]
    assert of(kith.radius_counts(none, queries, 1).counts).tolist() == [0] * 9
    assert kith.distances(none, queries).shape == (9, 0)


@EACH
def test_matches(make: Any) -> None:
    for a, b in ((POINTS, NONE), (NONE, POINTS), (NONE, NONE)):
        for how in ({}, {"mutual": True}, {"ratio": 0.8}):
            found = kith.match(make(a), make(b), **how)
            assert found.pairs.shape == (0, 2) and found.distances.shape == (0,)


def test_topk() -> None:
    for values in (POINTS, POINTS.astype(np.int32), small(4, 6).reshape(2, 3, 4)):
        shape = (*values.shape[:-1], 0)
        found = kith.topk(values, 0)
        assert found.values.shape == found.indices.shape == shape
        assert found.values.dtype == values.dtype and found.indices.dtype == np.int64
        assert kith.topk(values, 0, dim=0).values.shape == (0, *values.shape[1:])
        out = np.empty(shape, values.dtype), np.empty(shape, np.int64)
        assert kith.topk(values, 0, out=out).indices is out[1]
    for k in (0, 3):
        assert kith.topk(NONE, k).values.shape == (0, k)
    assert kith.topk(np.empty((3, 0), np.float32), 0).values.shape == (3, 0)
    torch = pytest.importorskip("torch", exc_type=ImportError)
    for values in (torch.zeros(3, 4), torch.zeros(0, 4), torch.zeros(2, 0), torch.zeros(2, 3, 4, requires_grad=True)):
        ours, theirs = kith.topk(values, 0), torch.topk(values, 0)
        assert ours.values.shape == theirs.values.shape and ours.indices.dtype == torch.int64
    jax = pytest.importorskip("jax", exc_type=ImportError)
    assert kith.topk(jax.numpy.zeros((3, 4)), 0).values.shape == (3, 0)
    with pytest.raises(ValueError, match="^k is 5: expected 0 to 4"):
        kith.topk(POINTS, 5)


def test_out() -> None:
    out = np.empty((0, 3), np.float32), np.empty((0, 3), np.int64)
    assert kith.search(POINTS, NONE, 3, out=out).indices is out[1]
    out = np.empty((9, 3), np.float32), np.empty((9, 3), np.int64)
    kith.search(NONE, POINTS, 3, out=out)
    assert (out[1] == -1).all() and np.isposinf(out[0]).all()


def test_shards() -> None:
    parts = [kith.shards.search(POINTS[a:b], a, POINTS, 3) for a, b in ((0, 4), (4, 4), (4, 9))]
    found, expected = kith.shards.finish(kith.shards.merge(*parts)), kith.search(POINTS, POINTS, 3)
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert kith.shards.search(POINTS, 0, NONE, 3).indices.shape == (0, 3)
    within = kith.shards.merge_radius(*[kith.shards.radius(POINTS[a:b], a, POINTS, 3) for a, b in ((0, 4), (4, 4), (4, 9))])
    np.testing.assert_array_equal(within.indices, kith.radius(POINTS, POINTS, 3).indices)
    assert kith.shards.radius_counts(NONE, 0, POINTS, 3).counts.tolist() == [0] * 9


def test_gradients() -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    points, none = torch.from_numpy(POINTS).requires_grad_(), torch.zeros(0, 4, requires_grad=True)
    for found in (kith.search(points, none, 2), kith.search(none, points, 2), kith.graph(none, 2), kith.radius(points, none, 1)):
        assert found.distances.requires_grad
        slopes = torch.autograd.grad(found.distances.sum(), (points, none), allow_unused=True)
        assert not any(part is not None and part.any() for part in slopes)
    pytest.importorskip("kith.torch")
    for of, asked in ((points, none), (none, points)):
        distances = torch.ops.kith.search(of, asked, 2)[0]
        assert distances.shape == (len(asked), 2)
        torch.autograd.grad(distances.sum(), (of, asked))
        moved = torch.func.jvp(lambda a, b: kith.search(a, b, 2).distances, (of.detach(), asked.detach()),
                               (of.detach(), asked.detach()))[1]
        assert moved.shape == (len(asked), 2) and not moved.any()


def test_what_stays_an_error() -> None:
    """No coordinates, and no neighbours asked for."""
    calls: list[Callable[[], Any]] = [
        lambda: kith.search(POINTS[:, :0], POINTS[:, :0], 1), lambda: kith.search(NONE, NONE, 0),
        lambda: kith.search(NONE, small(3, 5), 1)]
    for call in calls:
        with pytest.raises(ValueError):
            call()


def test_dask() -> None:
    array = pytest.importorskip("dask.array")
    import kith.dask
    found = kith.dask.search(array.from_array(NONE), array.from_array(POINTS), 2)
    assert (found.indices.compute() == -1).all() and np.isposinf(found.distances.compute()).all()
    found = kith.dask.search(array.from_array(POINTS), array.from_array(NONE), 2)
    assert found.indices.compute().shape == (0, 2)
