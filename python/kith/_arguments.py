"""Arguments that calls share, as the core takes them."""
from __future__ import annotations

import os
import reprlib
from operator import index as index_of
from typing import Any, Callable, Union

import numpy as np

from . import _core
from ._arrays import _exactly, element_name
from ._gradients import refuse_parameters
from ._kinds import loaded_torch, on_host
from ._progress import callback_of
from ._tables import of_table

# The choices about rows that hold a NaN.
MISSING = ("warn", "raise", "ignore")

Progress = Union[None, bool, Callable[[float, float, float, str], Any]]


def _wrong(value: Any, name: str, expected: str) -> TypeError:
    return TypeError(f"{name}: expected {expected}, got {type(value).__name__} ({reprlib.repr(value)})")


def _integer(value: Any, name: str, least: float = -2**63, most: float = 2**63 - 1, expected: str = "an integer") -> int:
    """By default one that the core can be handed; True and False are none."""
    number: int = value
    if type(value) is not int:
        try:
            if isinstance(value, bool):
                raise TypeError
            number = index_of(value)
        except TypeError:
            raise _wrong(value, name, expected) from None
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}: expected " + (f"at least {least}" if number < least else f"at most {most}"))
    return number


def _bytes(value: Any, name: str) -> int:
    return _integer(value, name, expected="a number of bytes, such as 8 << 30")


def _wanted(k: Any, rows: int) -> int:
    """k, the neighbours of each of this many rows."""
    wanted = _integer(k, "k", 1)
    if wanted * rows >= 2**53:
        raise MemoryError(_too_many(wanted, rows))
    return wanted


def _too_many(k: int, rows: int) -> str:
    return f"k is {k}: so many neighbours of each of {rows} rows do not fit into memory"


def _flag(value: Any, name: str) -> bool:
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    raise _wrong(value, name, "True or False")


def _text(value: Any, name: str, expected: str = "a string") -> str:
    if not isinstance(value, str):
        raise _wrong(value, name, expected)
    if "\0" in value:  # where a C string ends
        raise ValueError(f"{name}: {value!r} has a NUL character; expected {expected} without one")
    return value


def _path(value: Any, name: str) -> str:
    """The name of a file or a folder, as the core takes it."""
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise _wrong(value, name, "a path") from None
    return _text(path, name, "a path")


def _one_of(value: Any, name: str, names: tuple[str, ...]) -> int:
    """Which of the names it is."""
    if _text(value, name, "a name") not in names:
        raise ValueError(f"{name}: {value!r}; expected one of {', '.join(names)}")
    return names.index(value)


def _number(value: Any, name: str) -> float:
    if type(value) is float:
        return value
    if type(value) is not int:
        _refuse_masked(value, name)
        if (isinstance(value, (bool, np.bool_, str, bytes, bytearray, complex)) or "complex" in element_name(value, name)
                or getattr(value, "ndim", None)):
            raise _wrong(value, name, "a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _wrong(value, name, "a number") from None
    except OverflowError:
        raise ValueError(f"{name}: {reprlib.repr(value)}; expected a number that float64 holds") from None


def _refuse_masked(array: Any, name: str) -> None:
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(f"{name}: masked values; fill them")


def _host(array: Any, name: str, kinds: str = "fiu", expected: str = "numbers") -> np.ndarray[Any, Any]:
    """A numpy array, C-contiguous, of the values of any library's or of a list's; all there, and of such kinds."""
    _refuse_masked(array, name)
    if "complex" in element_name(array, name):
        raise TypeError(f"{name}: expected {expected}, got {element_name(array)}")
    try:
        host = on_host(of_table(array, name))
    except (TypeError, ValueError) as error:  # rows of several lengths, sparse tensors
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{name}: {error}") from None
    if host.dtype.kind not in kinds and host.size:
        raise TypeError(f"{name}: expected {expected}, got {host.dtype}")
    return host


def _float64(array: Any, name: str) -> np.ndarray[Any, Any]:
    host = _host(array, name)
    with _core.FloatState():  # where subnormal numbers are read as 0, they would be converted to it
        wider: np.ndarray[Any, Any] = _exactly(host, host.astype(np.float64, copy=False), name)
    return wider


def _metric(metric: str | None, p: float, inverse_covariance: Any, variances: Any, packed_bits: bool,
            formula: str | None, start: float, usual: str | None = "sqeuclidean") -> _core.MetricSettings:
    """usual: the function's default, next to which a formula may stand; None: the metric may be left alone."""
    if formula is None and inverse_covariance is None and variances is None and (metric is not None or usual is None):
        try:
            return _core.MetricSettings(metric, p, None, None, packed_bits, "", start)
        except TypeError:  # numbers of other types, or an argument that the checks name
            pass
    refuse_parameters(inverse_covariance=inverse_covariance, variances=variances)
    if metric is not None or usual is not None:
        _text(metric, "metric", "a name")
    if formula is not None and not _text(formula, "formula"):
        raise ValueError("formula: expected an expression of a, q and x")
    if formula is not None and metric != usual:
        raise ValueError(f"metric: {metric!r} beside a formula; expected one of them")
    if inverse_covariance is not None:
        inverse_covariance = _float64(inverse_covariance, "inverse_covariance")
    if variances is not None:
        variances = _float64(variances, "variances")
        if variances.size not in variances.shape:
            raise ValueError(f"variances: expected one number of each column, got shape {variances.shape}")
        variances = variances.reshape(-1, 1)
    return _core.MetricSettings(metric, _number(p, "p"), inverse_covariance, variances, _flag(packed_bits, "packed_bits"),
                                formula or "", _number(start, "start"))


def _device(device: Any) -> str:
    """A torch.device by its name."""
    torch = loaded_torch()
    if torch is not None and isinstance(device, torch.device):
        return str(device)
    return _text(device, "device")


def _settings(f64: bool, device: str, memory: int, threads: int, path: str, isa: str, stream: int,
              progress: Progress, selector: str = "", missing: str = "ignore") -> _core.Settings:
    shown = None if progress is None else callback_of(progress)
    if type(device) is not str:
        device = _device(device)
    try:
        return _core.Settings(f64, device, memory, threads, path, selector, isa, stream, shown, missing)
    except TypeError:  # as of _metric
        pass
    return _core.Settings(_flag(f64, "f64"), _text(device, "device"), _bytes(memory, "memory"),
                          _integer(threads, "threads", 0, 4096), _text(path, "path"), _text(selector, "selector"),
                          _text(isa, "isa"), _integer(stream, "stream", 0, 2**64 - 1), shown,
                          MISSING[_one_of(missing, "missing", MISSING)])


def _out(out: Any, first: str = "distances") -> tuple[Any, Any]:
    """The arrays that a caller wants written to."""
    try:
        distances, indices = out
    except (TypeError, ValueError):
        raise TypeError(f"out: expected ({first}, indices), got {type(out).__name__}") from None
    if indices is None:
        raise ValueError(f"out: no indices; expected ({first}, indices), of which only the distances may be None")
    return distances, indices


def _rows(array: Any, name: str) -> int:
    shape = getattr(array, "shape", None)
    if shape is None:
        raise TypeError(f"{name}: expected an array, got {type(array).__name__}")
    if len(shape) == 1:
        raise ValueError(f"{name}: expected 2 dimensions, got 1; give one row as {name}[None], values of one coordinate as "
                         f"{name}[:, None]")
    if len(shape) != 2:
        raise ValueError(f"{name}: expected 2 dimensions, got {len(shape)}; many searches at once are kith.search_batches")
    return int(shape[0])
