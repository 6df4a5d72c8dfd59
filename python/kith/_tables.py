"""Frames, columns of lists and Arrow's arrays as numpy's arrays, without a copy where their memory has rows; what cannot be
searched is refused by the name of its column, with what helps."""
from __future__ import annotations

import sys
from typing import Any, NoReturn

import numpy as np

from . import _core

_NUMBERS = "fiub"
_ENCODE = "encode it as numbers (pandas.get_dummies) or leave it out"


def of_table(array: Any, name: str) -> Any:
    """The numpy array that a table stands for; anything else as it is. `name` is what messages call it."""
    library = type(array).__module__.partition(".")[0]
    read = _LIBRARIES.get(library)
    if read is None:
        return array
    with _core.FloatState():  # numbers may change their type: where subnormal ones are read as 0, they would be converted to it
        return read(array, name)


def of_sequence(sequence: Any, name: str) -> Any:
    """Lists, and other host memory that is no array yet, as numpy's array."""
    try:
        with _core.FloatState():  # as of_table()
            return np.asanyarray(sequence)
    except ValueError as error:  # rows of several lengths
        raise ValueError(f"{name}: {error}") from None


def _refuse(name: str, what: str, remedy: str) -> NoReturn:
    raise TypeError(f"{name}: no search in {what}; {remedy}")


# ---------------------------------------------------------------- pandas

def _of_pandas(array: Any, name: str) -> Any:
    pandas = sys.modules["pandas"]
    if isinstance(array, pandas.DataFrame):
        kinds = set(array.dtypes)
        if len(kinds) == 1 and isinstance(next(iter(kinds)), np.dtype) and next(iter(kinds)).kind in _NUMBERS:
            return array.to_numpy()
        among = len(array.columns) > 1
        return _beside([_pandas_column(array.iloc[:, i], name, label, among) for i, label in enumerate(array.columns)],
                       len(array), name, array.columns)
    if isinstance(array, pandas.Series):
        return _pandas_column(array, name, array.name, False)
    if isinstance(array, pandas.api.extensions.ExtensionArray):
        return _pandas_column(pandas.Series(array), name, None, False)
    return np.asarray(array)


def _pandas_column(column: Any, name: str, label: Any, of_frame: bool) -> Any:
    """Numbers, or of a column by itself rows of numbers."""
    dtype, called = column.dtype, name if label is None else f"{name}: column {label!r}"
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow
        return _arrow_values(pyarrow.array(column.array), called, of_frame)
    if not isinstance(dtype, np.dtype):
        if hasattr(dtype, "categories"):
            _refuse(called, "categories", _ENCODE)
        if hasattr(dtype, "numpy_dtype") and dtype.numpy_dtype.kind in _NUMBERS:  # nullable
            if not column.isna().any():
                return column.to_numpy(dtype=dtype.numpy_dtype)
            return _with_gaps(column.fillna(dtype.numpy_dtype.type(0)).to_numpy(dtype=dtype.numpy_dtype),
                              column.isna().to_numpy(dtype=bool), called)
        if hasattr(dtype, "subtype"):  # sparse
            column = column.sparse.to_dense() if hasattr(column, "sparse") else column
            dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in _NUMBERS:
        return column.to_numpy()
    if dtype == object:
        return of_objects(column.to_numpy(), called, of_frame)
    if str(dtype) in ("str", "string") or str(dtype).startswith("string"):
        _refuse(called, "text", _ENCODE)
    _refuse(called, f"elements {dtype}", "convert it to numbers or leave it out")


def of_objects(objects: Any, called: str, of_frame: bool = False) -> Any:
    """Rows from an array of lists or arrays; None, NaN and pandas.NA among them are rows of NaN."""
    none = getattr(sys.modules.get("pandas"), "NA", None)
    there = np.array([one is not None and one is not none and not (isinstance(one, float) and one != one) for one in objects], bool)
    rows = objects[there]
    first: Any = rows[0] if len(rows) else None
    if not (isinstance(first, (list, tuple)) or hasattr(first, "__array__") and not isinstance(first, np.generic)):
        if first is not None and all(isinstance(one, (int, float, np.number)) for one in rows):
            return _with_gaps(np.array([one if ok else 0 for one, ok in zip(objects, there)]), ~there, called)
        what = "text" if isinstance(first, str) else f"objects ({type(first).__name__})"
        _refuse(called, what, _ENCODE if isinstance(first, str) else "convert them to numbers")
    if of_frame:
        _refuse(called, "a column of lists among others", "give the column by itself")
    width = len(first)
    for i, row in zip(np.flatnonzero(there), rows):
        if not hasattr(row, "__len__") or len(row) != width:
            raise ValueError(f"{called}: row {i} has {len(row) if hasattr(row, '__len__') else 'no'} values; expected {width}, as "
                             "the first has")
    stacked = np.stack([np.asarray(row) for row in rows])
    if stacked.dtype == object:
        stacked = np.array([[np.nan if value is None else value for value in row] for row in stacked])
    return stacked if there.all() else _rows_with_gaps(stacked, there, called)


# ---------------------------------------------------------------- Arrow

def _of_pyarrow(array: Any, name: str) -> Any:
    pyarrow = sys.modules["pyarrow"]
    if isinstance(array, (pyarrow.Table, pyarrow.RecordBatch)):
        among = array.num_columns > 1
        return _beside([_arrow_values(array.column(i), f"{name}: column {label!r}", among)
                        for i, label in enumerate(array.schema.names)], array.num_rows, name, array.schema.names)
    if isinstance(array, (pyarrow.Array, pyarrow.ChunkedArray)):
        return _arrow_values(array, name, False)
    return array


def _arrow_values(array: Any, called: str, of_frame: bool) -> Any:
    """Numbers, or of a column by itself rows of numbers."""
    import pyarrow
    if isinstance(array, pyarrow.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
        if isinstance(array, pyarrow.ChunkedArray):  # of a type whose chunks cannot be one
            array = pyarrow.concat_arrays(array.chunks)
    if isinstance(array, pyarrow.ExtensionArray):  # tensors of a fixed shape
        array = array.storage
    kind, types = array.type, pyarrow.types
    if types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind):
        if of_frame:
            _refuse(called, "a column of lists among others", "give the column by itself")
        return _arrow_rows(array, called)
    if types.is_dictionary(kind) or types.is_string(kind) or types.is_large_string(kind):
        _refuse(called, "categories" if types.is_dictionary(kind) else "text", _ENCODE)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        _refuse(called, f"elements {kind}", "cast it to float32 or float64, or leave it out")
    if array.null_count:
        values = array.fill_null(False if types.is_boolean(kind) else 0).to_numpy(zero_copy_only=False)
        return _with_gaps(values, array.is_null().to_numpy(zero_copy_only=False), called)
    return array.to_numpy(zero_copy_only=False)


def _arrow_rows(array: Any, called: str) -> Any:
    import pyarrow
    if pyarrow.types.is_fixed_size_list(array.type):
        width = array.type.list_size
    else:
        offsets = array.offsets.to_numpy()
        there = ~array.is_null().to_numpy(zero_copy_only=False)
        widths = np.diff(offsets)[there]
        width = int(widths[0]) if len(widths) else 0
        _same_width(widths, np.flatnonzero(there), called)
    values = _arrow_values(array.flatten(), called, True).reshape(len(array) - array.null_count, width)
    if not array.null_count:
        return values
    return _rows_with_gaps(values, ~array.is_null().to_numpy(zero_copy_only=False), called)


def _same_width(widths: Any, rows: Any, called: str) -> None:
    wrong: Any = np.flatnonzero(widths != widths[0]) if len(widths) else []
    if len(wrong):
        raise ValueError(f"{called}: row {rows[wrong[0]]} has {widths[wrong[0]]} values; expected {widths[0]}, as the first has")


# ---------------------------------------------------------------- polars

def _of_polars(array: Any, name: str) -> Any:
    polars = sys.modules["polars"]
    if isinstance(array, polars.LazyFrame):
        raise TypeError(f"{name}: a LazyFrame has no values yet; give {name}.collect()")
    if isinstance(array, polars.DataFrame):
        kinds = set(array.dtypes)
        if len(kinds) == 1 and _polars_number(next(iter(kinds))) and not sum(array.null_count().row(0)):
            return array.to_numpy()
        among = array.width > 1
        return _beside([_polars_column(column, f"{name}: column {column.name!r}", among) for column in array.get_columns()],
                       array.height, name, array.columns)
    if isinstance(array, polars.Series):
        return _polars_column(array, f"{name}: column {array.name!r}" if array.name else name, False)
    return array


def _polars_number(kind: Any) -> bool:
    # A decimal is numeric as well, and numpy has no integers of 128 bits.
    return bool(kind.is_integer() and not str(kind).endswith("128") or kind.is_float())


def _polars_column(column: Any, called: str, of_frame: bool) -> Any:
    import polars
    kind = column.dtype
    if isinstance(kind, (polars.List, polars.Array)):
        if of_frame:
            _refuse(called, "a column of lists among others", "give the column by itself")
        there = column.is_not_null().to_numpy()
        rows = column if there.all() else column.drop_nulls()
        if isinstance(kind, polars.List):
            widths = rows.list.len().to_numpy()
            _same_width(widths, np.flatnonzero(there), called)
            width = int(widths[0]) if len(widths) else 0
            rows = rows.list.to_array(width)
        else:
            width = kind.size
        flat = rows.explode() if width else polars.Series([], dtype=kind.inner)
        values = _polars_column(flat, called, True).reshape(len(rows), width)
        return values if there.all() else _rows_with_gaps(values, there, called)
    if kind in (polars.Categorical, polars.String) or isinstance(kind, (polars.Categorical, polars.Enum)):
        _refuse(called, "text" if kind == polars.String else "categories", _ENCODE)
    if not (_polars_number(kind) or kind == polars.Boolean):
        _refuse(called, f"elements {kind}", "cast it to Float32 or Float64, or leave it out")
    if column.null_count():
        filled = column.fill_null(False if kind == polars.Boolean else 0)
        return _with_gaps(filled.to_numpy(), column.is_null().to_numpy(), called)
    return column.to_numpy()


# ---------------------------------------------------------------- others

def _of_scipy(array: Any, name: str) -> Any:
    if hasattr(array, "toarray"):
        _refuse(name, f"a sparse matrix ({type(array).__name__})",
                f"give {name}.toarray() if it fits into memory (kith.sklearn and kith.recommend take sparse matrices)")
    return array


def _of_anndata(array: Any, name: str) -> Any:
    if hasattr(array, "obsm"):
        _refuse(name, "an AnnData", "give one of its matrices, such as .obsm['X_pca'] or .X")
    return array


def _of_jax(array: Any, name: str) -> Any:
    if isinstance(array, sys.modules["jax"].core.Tracer):
        raise TypeError(f"{name}: has no values while jax traces it (jit, vmap, grad); call kith outside of the traced function, "
                        "or by jax.pure_callback within")
    return array


_LIBRARIES = {"pandas": _of_pandas, "pyarrow": _of_pyarrow, "polars": _of_polars, "scipy": _of_scipy,
              "anndata": _of_anndata, "jax": _of_jax, "jaxlib": _of_jax}


# ---------------------------------------------------------------- numbers

def _float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that holds a NaN next to all of its values."""
    if dtype.kind == "f":
        return dtype
    return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)


def _exact(values: Any, dtype: np.dtype[Any], called: str) -> Any:
    from ._arrays import _exactly
    wider = values.astype(dtype, copy=False)
    return _exactly(values, wider, called) if dtype.kind == "f" and values.dtype.kind in "iu" else wider


def _with_gaps(values: Any, gaps: Any, called: str) -> Any:
    """Numbers with NaN where there is none."""
    filled = _exact(values, _float_type(values.dtype), called)
    filled = filled if filled is not values and filled.flags.writeable else filled.copy()
    filled[gaps] = np.nan
    return filled


def _rows_with_gaps(rows: Any, there: Any, called: str) -> Any:
    filled = np.full((len(there), rows.shape[1]), np.nan, _float_type(rows.dtype))
    filled[there] = _exact(rows, filled.dtype, called)
    return filled


def _beside(columns: list[Any], rows: int, name: str, labels: Any) -> Any:
    """Columns of several types in one that holds them all; one of lists by itself has its rows."""
    if not columns:
        return np.empty((rows, 0), np.float32)
    if len(columns) == 1 and columns[0].ndim == 2:
        return columns[0]
    widest = np.result_type(*columns)
    return np.stack([_exact(column, widest, f"{name}: column {label!r}") for column, label in zip(columns, labels)], axis=1)
