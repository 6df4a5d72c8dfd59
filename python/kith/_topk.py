"""topk: the largest or smallest values along a dimension."""
from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from . import _core
from ._arguments import _flag, _integer, _out, _settings
from ._arrays import array_interface, element_name, given
from ._kinds import _NUMPY, Kind, kind_of
from ._results import TopK
from ._search import Out
from ._tables import of_table


def topk(values: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *,  # noqa: A002
         out: Out = None, device: str = "auto", threads: int = 0, selector: str = "",
         stream: int | None = None) -> TopK:
    """The k largest (or smallest) values along a dimension, and where they are: torch.topk's arguments.

    Parameters
    ----------
    values : array of at least one dimension
        As in `search`. float16, bfloat16, float32 and float64 are read in place; integers are compared as float32 or
        float64 that hold the same values.
    k : int
        From 0 to the size of ``dim``.
    dim : int
        The dimension along which to select.
    largest : bool
        The largest values first, or the smallest.
    sorted : bool
        False permits any order within the result.
    out : (values, indices), optional
        Arrays of the result's shape to write to: of the values' type and library, and int64. Where ``dim`` is the last and
        they are contiguous nothing is copied.

    Returns
    -------
    TopK
        ``(values, indices)``, and ``.report``, which names the selector. Unlike torch's, the result is the same every time and everywhere: of equal values the
        smaller index comes first, and NaN comes last.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith
    >>> values, indices = kith.topk(numpy.array([3.0, 1.0, 2.0]), 2)
    >>> values, indices
    (array([3., 2.]), array([0, 2]))
    """
    kind = kind_of(values)
    array = values if type(values) is np.ndarray else _array_of(kind, values)
    if not hasattr(array, "shape"):
        raise TypeError(f"values: expected an array, got {type(values).__name__}")
    dims, k, dim = len(array.shape), _integer(k, "k"), _integer(dim, "dim")
    if "complex" in element_name(array, "values"):
        raise TypeError(f"values: complex numbers have no order ({element_name(array)})")
    if dims == 0 or not -dims <= dim < dims:
        raise ValueError(f"dim is {dim}: the values have {dims} dimensions")
    size = int(array.shape[dim])
    if not 0 <= k <= size:
        raise ValueError(f"k is {k}: expected 0 to {size}, the size of dimension {dim}")
    stream = kind.stream(array) if stream is None else stream
    if (dims != 2 or dim % 2 != 1) and not hasattr(array, "reshape"):
        raise TypeError(f"values: {type(array).__name__} has no reshape(); expected 2 dimensions, the last to select along")
    last = array if dim % dims == dims - 1 else _move_axis(array, dim, dims - 1)
    rows = math.prod(map(int, last.shape[:-1]))
    matrix, read = given(last if dims == 2 else last.reshape((rows, size)), "values", stream)
    name = element_name(matrix)
    if name not in _SELECTED:
        matrix = matrix.astype("float32") if hasattr(matrix, "astype") else matrix.float()
        name, read = element_name(matrix), array_interface(matrix, "values", stream)
    shape = (*last.shape[:-1], k)
    of_type = matrix is array or name == element_name(array)
    places = None if out is None else _topk_out(kind, array, out, _moved(shape, dims - 1, dim))
    in_place = places is not None and of_type and last is array and all(map(_contiguous, places))
    if places is not None and in_place:
        parts = [part if dims == 2 else part.reshape((rows, k)) for part in places]
    else:
        parts = [kind.empty(array, rows, k, dtype) for dtype in (name, "int64")]
    report = None
    if rows and k:
        report = _core.select(read, k, _flag(largest, "largest"), _flag(sorted, "sorted"),
                              _settings(False, device, 0, threads, "", "", stream, None, selector), parts[1], parts[0])
    if places is not None and in_place:
        return TopK(*places, report)
    found = [kind.finished(array, part) for part in parts]
    if dims != 2 or last is not array:
        found = [_move_axis(part.reshape(shape), dims - 1, dim) for part in found]
    if not of_type:
        found[0] = found[0].astype(array.dtype) if hasattr(found[0], "astype") else found[0].to(array.dtype)
    if places is None:
        if getattr(values, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
            found[0] = values.gather(dim, found[1])  # the same values, of which torch knows where they are from
        return TopK(found[0], found[1], report)
    for to, part in zip(places, found):
        to[...] = part
    return TopK(*places, report)


def _array_of(kind: Kind, values: Any) -> Any:
    """Itself, or in numpy's kind what has no methods of an array: lists, tables."""
    if isinstance(values, np.ndarray) or kind is not _NUMPY:
        return values
    values = of_table(values, "values")
    of_its_own = hasattr(values, "__dlpack__") or not hasattr(values, "__array__")
    return values if of_its_own and hasattr(values, "shape") and hasattr(values, "dtype") else np.asarray(values)


def _topk_out(kind: Kind, values: Any, out: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    selected, indices = _out(out, "values")
    for name, part, dtype in (("values", selected, element_name(values)), ("indices", indices, "int64")):
        if part is None or kind_of(part) is not kind or not kind.writable:
            raise TypeError(f"out: {name} of {type(part).__name__}; expected an array of the values' library to write to")
        if tuple(part.shape) != shape or element_name(part) != dtype:
            raise ValueError(f"out: {name} {element_name(part)} of shape {tuple(part.shape)}; expected {dtype} of {shape}")
        if not getattr(getattr(part, "flags", None), "writeable", True):
            raise TypeError(f"{name}: expected a writable array, got one that is read-only")
    return selected, indices


def _contiguous(array: Any) -> bool:
    flags = getattr(array, "flags", None)
    return bool(array.is_contiguous() if flags is None else flags.c_contiguous)


_SELECTED = ("float16", "bfloat16", "float32", "float64")


def _move_axis(array: Any, source: int, target: int) -> Any:
    if source % len(array.shape) == target % len(array.shape):
        return array
    if hasattr(array, "movedim"):
        return array.movedim(source, target)
    return array.transpose(_moved(tuple(range(len(array.shape))), source, target))


def _moved(axes: tuple[int, ...], source: int, target: int) -> tuple[int, ...]:
    rest = list(axes)
    rest.insert(target % len(axes), rest.pop(source % len(axes)))
    return tuple(rest)
