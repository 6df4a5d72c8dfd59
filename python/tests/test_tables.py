"""Frames, columns of lists, Arrow's arrays, views that overlap: searched; anything else refused by the name of its column."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable

import numpy as np
import pytest
from oracle import nearest, small

import kith
from kith import _arrays, _tables

POINTS, QUERIES = small(60, 5), small(7, 5, 1)
DISTANCES, INDICES = nearest(POINTS, QUERIES, 4)


def installed(name: str) -> Any:
    return pytest.importorskip(name, exc_type=ImportError)


def pandas_nullable(dtype: str) -> Callable[[np.ndarray], Any]:
    return lambda values: installed("pandas").DataFrame(values).astype(dtype)


def pandas_arrow(values: np.ndarray) -> Any:
    installed("pyarrow")
    return installed("pandas").DataFrame(values).astype("float[pyarrow]")


def pandas_mixed(values: np.ndarray) -> Any:
    pandas = installed("pandas")
    columns = [values[:, 0], values[:, 1].astype("f8"), values[:, 2].astype("i8"), pandas.array(values[:, 3], "UInt8"),
               pandas.array(values[:, 4], "Float32")]
    return pandas.DataFrame({str(i): column for i, column in enumerate(columns)})


def pandas_arrow_lists(values: np.ndarray) -> Any:
    pandas = installed("pandas")
    return pandas.Series(pandas.arrays.ArrowExtensionArray(arrow_fixed(values)), name="e")


def arrow_fixed(values: np.ndarray) -> Any:
    pyarrow = installed("pyarrow")
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values.ravel()), values.shape[1])


def arrow_slice(values: np.ndarray) -> Any:
    return arrow_fixed(np.concatenate([values + 1, values, values]))[len(values):2 * len(values)]


def arrow_chunks(values: np.ndarray) -> Any:
    return installed("pyarrow").chunked_array([arrow_fixed(values[:3]), arrow_fixed(values[3:])])


def arrow_lists(large: bool) -> Callable[[np.ndarray], Any]:
    def make(values: np.ndarray) -> Any:
        pyarrow = installed("pyarrow")
        of = (pyarrow.large_list if large else pyarrow.list_)(pyarrow.float32())
        return pyarrow.array([[0] * 5, *values.tolist()], of)[1:]
    return make


TABLES: dict[str, Callable[[np.ndarray], Any]] = {
    "pandas frame": lambda values: installed("pandas").DataFrame(values),
    "pandas column of arrays": lambda values: installed("pandas").Series(list(values)),
    "pandas column of lists": lambda values: installed("pandas").Series(values.tolist()),
    "pandas Float64": pandas_nullable("Float64"), "pandas Float32": pandas_nullable("Float32"),
    "pandas Int16": pandas_nullable("Int16"), "pandas UInt64": pandas_nullable("UInt64"),
    "pandas on pyarrow": pandas_arrow, "pandas mixed": pandas_mixed, "pandas lists on pyarrow": pandas_arrow_lists,
    "array of arrays": lambda values: installed("pandas").Series(list(values)).to_numpy(),
    "polars frame": lambda values: installed("polars").DataFrame(values),
    "polars mixed": lambda values: installed("polars").DataFrame(
        {str(i): values[:, i].astype(kind) for i, kind in enumerate(("f4", "f8", "i8", "u1", "f4"))}),
    "polars frame of List": lambda values: installed("polars").DataFrame({"e": values.tolist()}),
    "polars frame of Array": lambda values: installed("polars").DataFrame({"e": values}),
    "polars List": lambda values: installed("polars").Series("e", values.tolist()),
    "polars Array": lambda values: installed("polars").Series("e", values),
    "Arrow FixedSizeList": arrow_fixed, "Arrow slice": arrow_slice, "Arrow chunks": arrow_chunks,
    "Arrow List": arrow_lists(False), "Arrow LargeList": arrow_lists(True),
    "Arrow table": lambda values: installed("pyarrow").table({str(i): values[:, i] for i in range(5)}),
    "Arrow table of lists": lambda values: installed("pyarrow").table({"e": arrow_lists(False)(values)}),
    "pandas frame of lists": lambda values: installed("pandas").DataFrame({"e": values.tolist()}),
    "Arrow batch": lambda values: installed("pyarrow").record_batch({str(i): values[:, i] for i in range(5)}),
    "Arrow tensors": lambda values: installed("pyarrow").FixedShapeTensorArray.from_numpy_ndarray(values),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_searched(make: Callable[[np.ndarray], Any]) -> None:
    found = kith.search(make(POINTS), make(QUERIES), 4)
    assert type(found.indices) is np.ndarray
    np.testing.assert_array_equal(found.indices, INDICES)
    np.testing.assert_array_equal(found.distances, DISTANCES)
    np.testing.assert_array_equal(kith.Index(make(POINTS)).search(make(QUERIES), 4).indices, INDICES)
    if not isinstance(make(QUERIES), np.ndarray):
        np.testing.assert_array_equal(kith.topk(make(QUERIES), 2).values, kith.topk(QUERIES, 2).values)


def test_without_a_copy() -> None:
    values = np.arange(30, dtype=np.float32)
    pyarrow, polars, pandas = installed("pyarrow"), installed("polars"), installed("pandas")
    memory = pyarrow.array(values)
    for array in (pyarrow.FixedSizeListArray.from_arrays(memory, 5),
                  pyarrow.chunked_array([pyarrow.FixedSizeListArray.from_arrays(memory, 5)]),
                  pandas.Series(pandas.arrays.ArrowExtensionArray(pyarrow.FixedSizeListArray.from_arrays(memory, 5)))):
        assert np.shares_memory(_tables.of_table(array, "points"), memory.to_numpy())
    column = polars.Series("e", values.reshape(6, 5))
    assert np.shares_memory(_tables.of_table(column, "points"), column.to_numpy())
    frame = pandas.DataFrame(values.reshape(6, 5))
    assert np.shares_memory(_tables.of_table(frame, "points"), frame.to_numpy())


@pytest.mark.filterwarnings("ignore::kith.MissingValuesWarning")
def test_missing_values_are_nan() -> None:
    pandas, pyarrow, polars = installed("pandas"), installed("pyarrow"), installed("polars")
    rows = [[1.0, 2], None, [3, None], [4, 5]]
    for column in (pandas.Series(rows), pandas.Series([rows[0], pandas.NA, *rows[2:]]), pyarrow.array(rows),
                   pyarrow.array(rows, pyarrow.list_(pyarrow.float32(), 2)),
                   polars.Series(rows), polars.Series(rows, dtype=polars.Array(polars.Float32, 2)),
                   pandas.Series(pandas.arrays.ArrowExtensionArray(pyarrow.array(rows)))):
        found = kith.search(column, column, 1)
        assert found.report.nan_points == 2 and found.indices.ravel().tolist() == [0, -1, -1, 3]
    frames = [pandas.DataFrame({"a": pandas.array([True, None, False] if kind == "boolean" else [1, None, 3], kind),
                                 "b": [1.0, 2, 3]})
              for kind in ("Int64", "Float32", "boolean", "Int8", "int32[pyarrow]")]
    frames += [pandas.DataFrame({"a": pandas.Series([1, pandas.NA, 3], dtype=object), "b": [1.0, 2, 3]})]
    frames += [polars.DataFrame({"a": [1, None, 3], "b": [1.0, 2, 3]}), pyarrow.table({"a": [1, None, 3], "b": [1.0, 2, 3]})]
    for frame in frames:
        assert kith.search(frame, frame, 1).report.nan_points == 1
    with pytest.raises(ValueError, match="2\\*\\*53"):
        kith.graph(pandas.DataFrame({"a": pandas.array([2**60 + 1, None, 3], "Int64")}), 1)


def pandas() -> Any:
    return installed("pandas")


def polars() -> Any:
    return installed("polars")


def pyarrow() -> Any:
    return installed("pyarrow")


def refused() -> list[tuple[str, Callable[[], Any], str]]:
    names = ["a", "b", "c"]

    def frame(column: Any) -> Any:
        return pandas().DataFrame({"x": [1.0, 2, 3], "name": column})

    return [
        ("text", lambda: frame(names), "column 'name': no search in text; encode it"),
        ("category", lambda: frame(pandas().Categorical(names)), "column 'name': no search in categories; encode it"),
        ("date", lambda: frame(pandas().to_datetime([0, 1, 2])), r"column 'name': no search in elements datetime64\[ns\]; convert"),
        ("objects", lambda: frame([{}, {}, {}]), "column 'name': no search in objects .dict.; convert"),
        ("lists", lambda: frame([[1], [2], [3]]), "column 'name': no search in a column of lists among others; give the column"),
        ("complex column", lambda: frame([1j, 2, 3]), "column 'name': no search in elements complex128; convert"),
        ("large integers", lambda: frame([1, 2, 2**60 + 1]), r"column 'name': int64 of 2\*\*53 and more may not be exact"),
        ("lengths", lambda: pandas().Series([[1, 2], [3]], name="e"), "column 'e': row 1 has 1 values; expected 2"),
        ("polars lists", lambda: polars().DataFrame({"x": [1.0], "e": [[1.0, 2]]}), "column 'e': no search in a column of lists among others"),
        ("Arrow lists", lambda: pyarrow().table({"x": [1.0], "e": [[1.0, 2]]}), "column 'e': no search in a column of lists among others"),
        ("polars text", lambda: polars().DataFrame({"name": names}), "column 'name': no search in text"),
        ("polars category", lambda: polars().DataFrame({"name": polars().Series(names, dtype=polars().Categorical)}),
         "column 'name': no search in categories"),
        ("polars decimal", lambda: polars().DataFrame({"d": polars().Series([1, 2], dtype=polars().Decimal(5, 2))}),
         r"column 'd': no search in elements Decimal.*cast it"),
        ("polars 128 bits", lambda: polars().DataFrame({"i": polars().Series([1, 2], dtype=polars().Int128)}),
         "column 'i': no search in elements Int128; cast it"),
        ("polars lengths", lambda: polars().Series("e", [[1.0, 2], [3.0]]), "column 'e': row 1 has 1 values; expected 2"),
        ("polars lazy", lambda: polars().DataFrame({"a": [1]}).lazy(), r"a LazyFrame .* points.collect\(\)"),
        ("Arrow text", lambda: pyarrow().table({"name": names}), "column 'name': no search in text"),
        ("Arrow dictionary", lambda: pyarrow().array(names).dictionary_encode(), "no search in categories"),
        ("Arrow date", lambda: pyarrow().table({"t": pyarrow().array([1], pyarrow().date32())}), "column 't': no search in elements"),
        ("Arrow lengths", lambda: pyarrow().array([[1.0, 2], [3.0]]), "row 1 has 1 values; expected 2"),
        ("scipy", lambda: installed("scipy.sparse").csr_matrix(POINTS), r"no search in a sparse matrix \(csr_matrix\); give points.toarray\(\)"),
        ("AnnData", lambda: installed("anndata").AnnData(POINTS), r"no search in an AnnData; give .*obsm\['X_pca'\]"),
        ("strings", lambda: np.array([["a"]]), r"no search in elements <U1; convert them to numbers"),
        ("objects of numbers", lambda: POINTS.astype(object), r"no search in elements object; .*astype\(numpy.float64\)"),
        ("complex", lambda: POINTS * 1j, "no search in elements complex64; give real and imaginary parts"),
        ("longdouble", lambda: POINTS.astype(np.longdouble), "no search in elements float128; convert them"),
        ("float8", lambda: POINTS.astype(installed("ml_dtypes").float8_e4m3fn), "no search in elements float8_e4m3fn; convert"),
        ("torch float8", lambda: installed("torch").zeros(3, 2).to(installed("torch").float8_e5m2),
         r"no search in elements float8_e5m2; give points.to\(torch.bfloat16\)"),
        ("torch complex", lambda: installed("torch").zeros(3, 2) * 1j, "no search in elements complex64; give torch.view_as_real"),
        ("torch sparse", lambda: installed("torch").eye(3).to_sparse(), r"expected a dense tensor, got one of layout torch.sparse_coo; give points.to_dense\(\)"),
        ("records", lambda: np.zeros(3, "f4,f4"), "no search in elements .*; give one of its fields"),
        ("lists of lengths", lambda: [[1, 2], [3]], "setting an array element"),
        ("text alone", lambda: "abc", "expected an array"),
    ]


@pytest.mark.parametrize("make, said", [(make, said) for _, make, said in refused()], ids=[name for name, _, _ in refused()])
def test_refused_by_name(make: Callable[[], Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^points: {said}"):
        kith.search(make(), QUERIES, 1)


def test_traced_by_jax() -> None:
    jax = installed("jax")
    for transform in (jax.jit, jax.vmap):
        with pytest.raises(TypeError, match="^points: has no values while jax traces it"):
            transform(lambda x: kith.search(x, x, 1).indices)(jax.numpy.zeros((2, 3, 2)))


def test_dimensions_say_what_to_do() -> None:
    for call in (lambda x: kith.search(POINTS, x, 2), lambda x: kith.Index(POINTS).search(x, 2), lambda x: kith.radius(POINTS, x, 1)):
        with pytest.raises(ValueError, match=r"^queries: expected 2 dimensions, got 1; give one row as queries\[None\]"):
            call(QUERIES[0])
        with pytest.raises(ValueError, match="^queries: expected 2 dimensions, got 3; .*kith.search_batches"):
            call(QUERIES[None])
    with pytest.raises(ValueError, match=r"^points: expected 2 dimensions, got 1; .*points\[:, None\]"):
        kith.search(POINTS[:, 0], QUERIES, 2)
    with pytest.raises(ValueError, match="^points: expected 2 dimensions, got 3; .*kith.search_batches"):
        kith.graph(POINTS[None], 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_views_that_overlap(dtype: str) -> None:
    line = np.arange(40).astype(dtype)
    sliding = np.lib.stride_tricks.sliding_window_view(line, 5)
    wide = np.lib.stride_tricks.as_strided(line, (8, 6), (3 * line.itemsize, line.itemsize))
    for view in (sliding, wide, sliding.T, np.broadcast_to(line[:5], (9, 5)), np.broadcast_to(line[:9, None], (9, 5)),
                 np.broadcast_to(line[:1, None], (9, 5)), line[::-1].reshape(8, 5)):
        expected = kith.search(view.copy(), view[:3].copy(), 3)
        found = kith.search(view, view[:3], 3)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)
        np.testing.assert_array_equal(kith.graph(view, 2).indices, kith.graph(view.copy(), 2).indices)
    torch = pytest.importorskip("torch", exc_type=ImportError)
    line = torch.from_numpy(line)
    for view in (line.unfold(0, 5, 1), line.unfold(0, 5, 3), line[:5].expand(9, 5), line[:9, None].expand(9, 5),
                 line.as_strided((8, 6), (3, 1))):
        assert torch.equal(kith.search(view, view[:3], 3).indices, kith.search(view.clone(), view[:3].clone(), 3).indices)


class OnDevice:
    """An array that says where it lies and nothing else."""

    def __init__(self, shape: Any, strides: Any) -> None:
        self._shape, self._strides = shape, strides

    @property
    def __cuda_array_interface__(self) -> Any:
        return {"shape": self._shape, "strides": tuple(4 * step for step in self._strides), "typestr": "<f4", "data": (0, True),
                "version": 3}


@pytest.mark.parametrize("shape, strides, apart", [
    ((9, 5), (5, 1), True), ((9, 5), (7, 1), True), ((9, 5), (1, 9), True), ((9, 5), (1, 12), True), ((1, 5), (0, 1), True),
    ((9, 1), (1, 0), True), ((9, 1), (3, 7), True), ((0, 5), (0, 0), True), ((9, 5), (0, 1), False), ((9, 5), (1, 1), False),
    ((9, 5), (3, 1), False), ((9, 5), (1, 0), False), ((9, 5), (0, 0), False), ((9, 5), (-5, 1), False), ((9, 5), (10, 2), False),
    ((9, 1), (0, 1), False), ((1, 5), (5, 0), False)])
def test_what_a_device_has_in_place(shape: Any, strides: Any, apart: bool) -> None:
    assert _arrays._apart(shape, strides) == apart
    if not apart:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_arrays, "find_spec", lambda name: None)
            patch.setattr(_arrays, "sys", SimpleNamespace(modules={}))
            with pytest.raises(TypeError, match="^points: rows that overlap are copied by cupy or torch"):
                _arrays.readable(OnDevice(shape, strides), "points")


def test_a_torch_device() -> None:
    torch = installed("torch")
    no_device: dict[str, Any] = {"device": 0}
    found = kith.search(POINTS, QUERIES, 4, device=torch.device("cpu"))
    np.testing.assert_array_equal(found.indices, INDICES)
    with pytest.raises((ValueError, kith.DeviceError), match="^device: 'cuda:17'"):
        kith.search(POINTS, QUERIES, 4, device=torch.device("cuda:17"))
    with pytest.raises(TypeError, match="^device: expected a string"):
        kith.search(POINTS, QUERIES, 4, **no_device)


def test_a_radius_among_the_points() -> None:
    expected = kith.radius_graph(POINTS, 3)
    for found in (kith.radius(POINTS, None, 3), kith.Index(POINTS).radius(None, 3)):
        assert all((a == b).all() for a, b in zip(found, expected))
    expected = kith.radius_graph(POINTS, 3, include_self=True)
    for found in (kith.radius(POINTS, None, 3, include_self=True), kith.Index(POINTS).radius(None, 3, include_self=True)):
        assert all((a == b).all() for a, b in zip(found, expected))
