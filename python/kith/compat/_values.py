"""Arrays of results, whatever library they are of."""
from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar, cast

import numpy as np

from .. import _core
from .._kinds import loaded_torch

Call = TypeVar("Call", bound=Callable[..., Any])


def as_defined(call: Call) -> Call:
    """All that numpy or torch compute in the call is rounded to nearest, with subnormal numbers, as distances are: whatever
    floating-point state the caller's thread is in."""
    @functools.wraps(call)
    def within(*arguments: Any, **named: Any) -> Any:
        with _core.FloatState():
            return call(*arguments, **named)

    return cast(Call, within)


def is_tensor(x: Any) -> bool:
    """For torch."""
    torch = loaded_torch()
    return torch is not None and isinstance(x, torch.Tensor)


def rounded(values: Any) -> Any:
    """float64 as float32, of numpy, torch or another library."""
    if is_tensor(values):
        return values.float()
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def not_negative(values: Any) -> Any:
    """0 in place of what is below it."""
    return values.clamp(min=0) if is_tensor(values) else values.clip(0, None)
