"""True if torch is to differentiate what is asked for, and then how: `_derivatives` has the rest, which needs torch."""
from __future__ import annotations

import sys
import weakref
from typing import Any, Callable, NamedTuple

import numpy as np

from ._kinds import loaded_torch


class Form(NamedTuple):
    """The sources of distances: the arguments of a search that say so."""

    metric: str
    p: float = 2.0
    inverse_covariance: Any = None
    variances: Any = None
    formula: Any = None


def tracked(*arrays: Any) -> bool:
    """True if torch follows one of the arrays: it requires a gradient, or a transform of torch.func is at work on it."""
    torch = loaded_torch()
    if torch is None:
        return False
    for array in arrays:
        if type(array) is np.ndarray or not isinstance(array, torch.Tensor):
            continue
        if array.requires_grad:
            if torch.is_grad_enabled():
                return True
        elif transformed(array):
            return True
    return False


def transformed(tensor: Any) -> bool:
    """By torch.func, or within a dual_level of torch.autograd.forward_ad; older torch has neither."""
    torch = sys.modules["torch"]
    functorch = getattr(torch._C, "_functorch", None)
    return (functorch is not None and functorch.is_functorch_wrapped_tensor(tensor)
            or getattr(torch.autograd.forward_ad, "_current_level", -1) >= 0)


def refuse_tracked(what: str, **arrays: Any) -> None:
    """For a call whose results torch cannot follow."""
    for name, array in arrays.items():
        if tracked(array):
            raise ValueError(f"{name}: requires a gradient, which {what} would drop; give {name}.detach(), or call it under "
                             "torch.no_grad()")


def refuse_parameters(**parameters: Any) -> None:
    """For a metric: no gradient reaches them."""
    for name, parameter in parameters.items():
        if getattr(parameter, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
            raise ValueError(f"{name}: requires a gradient, and only points and queries have one; give {name}.detach()")


class Source:
    """The tensor that an Index was made of, for gradients: kept where the points require one themselves, else as long as the caller
    keeps it."""

    def __init__(self, points: Any) -> None:
        self.kept = points if tracked(points) else None
        try:
            self._points: Any = weakref.ref(points)
        except TypeError:  # a list
            self._points = None
        self._version = _version(points)

    def array(self) -> Any:
        """The points; a ValueError where they are gone or changed."""
        points = None if self._points is None else self._points()
        if points is None:
            raise ValueError("queries: require a gradient, for which the points are needed that the Index was made of, and they "
                             "are gone; keep them in a variable, or give queries.detach()")
        if _version(points) != self._version:
            raise ValueError("points: changed in place since the Index was made of them, which gradients would not know; make "
                             "an Index of what they are now")
        return points


def _version(array: Any) -> Any:
    try:
        return getattr(array, "_version", None)
    except RuntimeError:  # of torch.inference_mode, which counts no changes
        return None


def neighbors(call: Callable[[Any, Any], Any], points: Any, queries: Any, form: Form, out: Any = None) -> Any:
    """The results of `call(points, queries)`, named tuples that begin with distances and indices (of a row's length k), whose
    distances torch can differentiate."""
    return _derived("neighbors", call, points, queries, form, out)


def radius(call: Callable[[Any, Any], Any], points: Any, queries: Any, form: Form) -> Any:
    """Likewise of distances, indices and offsets."""
    return _derived("radius", call, points, queries, form)


def batches(call: Callable[[Any, Any], Any], points: Any, queries: Any, form: Form, table: Any, out: Any = None) -> Any:
    """Likewise of `neighbors` within the batches of a table."""
    return _derived("batches", call, points, queries, form, out, table)


def matrix(call: Callable[[Any, Any], Any], points: Any, queries: Any, form: Form, out: Any = None) -> Any:
    """Likewise of all distances."""
    return _derived("matrix", call, points, queries, form, out)


def matches(call: Callable[[Any, Any], Any], points: Any, queries: Any, form: Form) -> Any:
    """Likewise of pairs of (query, point) and their distances, in this order."""
    return _derived("matches", call, points, queries, form)


def _derived(kind: str, call: Callable[[Any, Any], Any], points: Any, queries: Any, form: Form, out: Any = None,
             table: Any = None) -> Any:
    if out is not None:
        raise ValueError("out: no gradient reaches an array that is given; leave out= away, or give points and queries that "
                         "need none (.detach())")
    from . import _derivatives
    return _derivatives.derived(kind, call, points, queries, form, table)
