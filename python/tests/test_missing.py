"""Rows that hold a NaN: counted, warned of, refused, or ignored, in every call and of every kind of array."""
from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import kith
import kith.shards

RNG = np.random.default_rng(0)
X = RNG.random((50, 4), np.float32)
Q = RNG.random((9, 4), np.float32)
NAN_X, NAN_Q = X.copy(), Q.copy()
NAN_X[[3, 17, 17], [0, 1, 3]] = np.nan
NAN_Q[4, 2] = -np.nan

# Name, call, what the message begins with.
CALLS: list[tuple[str, Callable[..., Any], str]] = [
    ("search", lambda **how: kith.search(NAN_X, NAN_Q, 3, **how), "2 of 50 rows of points and 1 of 9 rows of queries"),
    ("only points", lambda **how: kith.search(NAN_X, Q, 3, **how), "2 of 50 rows of points hold"),
    ("graph", lambda **how: kith.graph(NAN_X, 3, **how), "2 of 50 rows of points"),
    ("batches", lambda **how: kith.search_batches(NAN_X, NAN_Q, [[0, 50, 0, 9]], 3, **how), "2 of 50 rows of points and 1"),
    ("Index", lambda **how: kith.Index(NAN_X, **how), "2 of 50 rows of points"),
    ("Index.search", lambda **how: kith.Index(X).search(NAN_Q, 3, **how), "1 of 9 rows of queries"),
    ("Index.radius", lambda **how: kith.Index(X).radius(NAN_Q, 1, **how), "1 of 9 rows of queries"),
    ("Index.radius_counts", lambda **how: kith.Index(X).radius_counts(NAN_Q, 1, **how), "1 of 9 rows of queries"),
    ("Index.radius_blocks", lambda **how: list(kith.Index(X).radius_blocks(NAN_Q, 1, **how)), "1 of 9 rows of queries"),
    ("radius", lambda **how: kith.radius(NAN_X, NAN_Q, 1, **how), "2 of 50 rows of points and 1 of 9 rows of queries"),
    ("radius_graph", lambda **how: kith.radius_graph(NAN_X, 1, **how), "2 of 50 rows of points"),
    ("radius_counts", lambda **how: kith.radius_counts(NAN_X, NAN_Q, 1, **how), "2 of 50 rows of points and 1"),
    ("radius_blocks", lambda **how: list(kith.radius_blocks(NAN_X, None, 1, **how)), "2 of 50 rows of points"),
    ("match", lambda **how: kith.match(NAN_X, NAN_Q, **how), "2 of 50 rows of a and 1 of 9 rows of b"),
    ("shards.search", lambda **how: kith.shards.search(NAN_X, 0, NAN_Q, 3, **how), "2 of 50 rows of shard and 1"),
    ("shards.graph", lambda **how: kith.shards.graph(NAN_X, 0, Q, 0, 3, **how), "2 of 50 rows of shard"),
    ("shards.radius", lambda **how: kith.shards.radius(NAN_X, 0, NAN_Q, 1, **how), "2 of 50 rows of shard and 1"),
    ("shards.radius_graph", lambda **how: kith.shards.radius_graph(NAN_X, 0, Q, 0, 1, **how), "2 of 50 rows of shard"),
    ("shards.radius_counts", lambda **how: kith.shards.radius_counts(NAN_X, 0, Q, 1, **how), "2 of 50 rows of shard"),
]


@pytest.mark.parametrize("call, said", [(call, said) for _, call, said in CALLS], ids=[name for name, _, _ in CALLS])
def test_every_call(call: Callable[..., Any], said: str) -> None:
    with pytest.warns(kith.MissingValuesWarning, match=f"^{said}") as told:
        call()
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.raises(ValueError, match=r"^\w+: \d of \d+ rows holds? a NaN; expected none"):
        call(missing="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(missing="ignore")
    with pytest.raises(ValueError, match="^missing: 'drop'; expected one of warn, raise, ignore"):
        call(missing="drop")
    with pytest.raises(TypeError, match="^missing: expected a name"):
        call(missing=None)


def test_files(tmp_path: Path) -> None:
    calls: list[Callable[..., Any]] = [
        lambda **how: kith.radius_csr(tmp_path / "a.npz", NAN_X, None, 1, **how),
        lambda **how: kith.Index(X).radius_csr(tmp_path / "a.npz", NAN_Q, 1, **how)]
    for csr in calls:
        with pytest.warns(kith.MissingValuesWarning) as told:
            csr()
        assert told[0].filename == __file__
        with pytest.raises(ValueError, match="a NaN"):
            csr(missing="raise")


@pytest.mark.filterwarnings("ignore::kith.MissingValuesWarning")
def test_reports() -> None:
    report = kith.search(NAN_X, NAN_Q, 3).report
    assert (report.nan_points, report.nan_queries) == (2, 1)
    assert "nan_points=2, nan_queries=1" in repr(report)
    again = pickle.loads(pickle.dumps(report))
    assert (again.nan_points, again.nan_queries) == (2, 1)
    report = kith.search(NAN_X, NAN_Q, 3, missing="ignore").report
    assert report.nan_points is None and report.nan_queries is None and "nan_points=None" in repr(report)
    index = kith.Index(NAN_X)
    for report, queries in ((index.search(Q, 3).report, 0), (index.search(NAN_Q, 3).report, 1), (index.graph(3).report, 2),
                            (kith.graph(X, 3).report, 0), (index.radius_counts(None, 1).report, 2)):
        assert (report.nan_points, report.nan_queries) == (0 if queries == 0 and report.queries == 50 else 2, queries)


def test_an_index_says_it_once() -> None:
    with pytest.warns(kith.MissingValuesWarning):
        index = kith.Index(NAN_X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index.search(Q, 3), index.graph(3), index.radius(Q, 1), index.radius_graph(1), index.radius_counts(None, 1)


@pytest.mark.filterwarnings("ignore::kith.MissingValuesWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int8", "uint8", "int32"])
@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_arrays(library: str, dtype: str) -> None:
    """Infinities and the largest numbers are none; every NaN is one, in any layout."""
    module = pytest.importorskip(library, exc_type=ImportError)
    values = np.zeros((40, 6), np.float32)
    rows = 0
    if "int" not in dtype:
        values[0], values[1], values[2] = np.inf, -np.inf, 65504
        values[[5, 5, 30], [0, 5, 3]] = np.nan
        values[7, 1] = np.array(0xFFC00001, np.uint32).view(np.float32)
        rows = 3
    if library == "numpy":
        array: Any = values.astype(pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype)
    elif library == "torch":
        array = module.from_numpy(values).to(getattr(module, dtype))
    else:
        array = module.numpy.asarray(values).astype(dtype)
    layouts = [array, array[:, ::1]]
    if library != "jax":
        layouts += [array[:, :6:2], array[::2], array.T.copy().T if library == "numpy" else array.t().contiguous().t()]
    if library == "numpy":
        layouts += [array[::-1], np.broadcast_to(array[5], (40, 6))]
    for i, given in enumerate(layouts):
        is_nan = np.isnan(np.asarray(given.float() if library == "torch" else given.astype("float32")))
        assert i > 1 or is_nan.any(1).sum() == rows
        assert kith.search(given, given, 1).report.nan_points == is_nan.any(1).sum()
        assert kith.Index(given).search(given, 1).report.nan_queries == is_nan.any(1).sum()


@pytest.mark.filterwarnings("ignore::kith.MissingValuesWarning")
@pytest.mark.parametrize("order", ["C", "F"])
def test_many_rows_by_several_threads(order: Any) -> None:
    points = np.zeros((400_000, 16), np.float32, order=order)
    rows = np.unique(np.random.default_rng(1).integers(0, len(points), 1000))
    points[rows, rows % 16] = np.nan
    points[rows, 3] = np.nan
    for threads in (1, 2, 5):
        assert kith.Index(points[:, :16], threads=threads).search(points[:1], 1).report.nan_points == len(rows)


@pytest.mark.filterwarnings("ignore::kith.MissingValuesWarning")
def test_of_devices() -> None:
    """The rows of a device's arrays are counted during the search."""
    torch = pytest.importorskip("torch", exc_type=ImportError)
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    whole = torch.from_numpy(X).cuda()
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        points = torch.from_numpy(NAN_X).to(dtype).cuda()
        with pytest.warns(kith.MissingValuesWarning, match="^2 of 50 rows of points"):
            report = kith.search(points, whole.to(dtype), 3).report
        assert (report.nan_points, report.nan_queries) == (2, 0)
        with pytest.raises(ValueError, match="^queries: 2 of 50 rows hold a NaN"):
            kith.search(whole.to(dtype), points, 3, missing="raise")
        assert kith.search(points, whole.to(dtype), 3, missing="ignore").report.nan_points is None
    assert kith.search(whole.mul(10).to(torch.int8), whole.mul(10).to(torch.int8), 3).report.nan_points == 0


def test_estimated_parameters() -> None:
    kept = np.delete(NAN_X, [3, 17], axis=0)
    for estimate in (kith.variances, kith.inverse_covariance):
        with pytest.warns(kith.MissingValuesWarning, match="^2 of 50 rows of points hold a NaN and are left out") as told:
            found = estimate(NAN_X)
        assert told[0].filename == __file__
        np.testing.assert_array_equal(found, estimate(kept))
        with pytest.raises(ValueError, match="^points: 2 of 50 rows hold a NaN"):
            estimate(NAN_X, missing="raise")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            estimate(NAN_X, missing="ignore"), estimate(X)


def test_estimators_are_scikit_learns() -> None:
    pytest.importorskip("sklearn")
    from kith.sklearn import DBSCAN, KNeighborsTransformer, NearestNeighbors
    for make in (NearestNeighbors, KNeighborsTransformer, DBSCAN):
        with pytest.raises(ValueError, match="NaN"):
            make().fit(NAN_X)
    with pytest.raises(ValueError, match="NaN"):
        NearestNeighbors().fit(X).kneighbors(NAN_Q)
    found = NearestNeighbors(n_neighbors=1, metric="nan_euclidean").fit(NAN_X).kneighbors(NAN_X[3:4], return_distance=False)
    assert found[0, 0] == 3
