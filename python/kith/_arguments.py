"""Arguments that calls share, as the core takes them."""
from __future__ import annotations

from operator import index as index_of
from typing import Any, Callable, Union

import numpy as np

from . import _core
from ._progress import callback_of

Progress = Union[None, bool, Callable[[float, float, float, str], Any]]


def _integer(value: Any, name: str) -> int:
    try:
        return index_of(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}") from None


def _metric(metric: str, p: float, inverse_covariance: Any, variances: Any, packed_bits: bool, formula: str | None,
            start: float) -> _core.MetricSettings:
    if not isinstance(metric, str):
        raise TypeError(f"metric: expected a name, got {type(metric).__name__}")
    if formula is not None and not formula:
        raise ValueError("formula: expected an expression of a, q and x")
    if formula is not None and metric != "sqeuclidean":
        raise ValueError(f"metric: {metric!r} beside a formula; expected one of them")
    if inverse_covariance is not None:
        inverse_covariance = np.ascontiguousarray(inverse_covariance, np.float64)
    if variances is not None:
        variances = np.ascontiguousarray(variances, np.float64).reshape(-1, 1)
    return _core.MetricSettings(metric, p, inverse_covariance, variances, packed_bits, formula or "", start)


def _settings(f64: bool, device: str, memory: int, threads: int, path: str, isa: str, stream: int,
              progress: Progress, selector: str = "") -> _core.Settings:
    return _core.Settings(f64, device, _integer(memory, "memory"), _integer(threads, "threads"), path, selector, isa,
                          stream, callback_of(progress))


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
    if len(shape) != 2:
        raise ValueError(f"{name}: expected 2 dimensions, got {len(shape)}")
    return int(shape[0])
