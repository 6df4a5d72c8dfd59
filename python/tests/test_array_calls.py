"""Every call x kind of array x type x layout on the CPU, against the definition: what `search` takes, all take."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
from oracle import nearest, small
from test_arrays import LAYOUTS, OnlyDlpack, installed

import kith

POINTS, QUERIES = small(40, 5, 2), small(8, 5, 3)
DISTANCES, INDICES = nearest(POINTS, QUERIES, 4)
GRAPH = nearest(POINTS, POINTS, 3, skip_self=True)
SQUARES = ((QUERIES[:, None] - POINTS[None]) ** 2).sum(2)
WITHIN = SQUARES <= 20
BEST = np.argsort(-POINTS, axis=1, kind="stable")[:, :2]

CALLS: dict[str, tuple[Callable[[Any, Any], Any], tuple[Any, ...]]] = {
    "search": (lambda x, q: kith.search(x, q, 4), (DISTANCES, INDICES)),
    "search_batches": (lambda x, q: kith.search_batches(x, q, [[0, 40, 0, 8]], 4), (DISTANCES, INDICES)),
    "graph": (lambda x, q: kith.graph(x, 3), GRAPH),
    "Index.search": (lambda x, q: kith.Index(x).search(q, 4), (DISTANCES, INDICES)),
    "Index.graph": (lambda x, q: kith.Index(x).graph(3), GRAPH),
    "topk": (lambda x, q: kith.topk(x, 2), (np.take_along_axis(POINTS, BEST, 1), BEST)),
    "distances": (lambda x, q: (kith.distances(x, q),), (SQUARES,)),
    "radius": (lambda x, q: kith.radius(x, q, np.sqrt(20))[2:], (np.concatenate([[0], WITHIN.sum(1).cumsum()]),)),
    "radius_counts": (lambda x, q: (kith.radius_counts(x, q, np.sqrt(20)).counts,), (WITHIN.sum(1),)),
    "verify": (lambda x, q: (kith.verify(x, q, INDICES).exact,), (True,)),
    "match": (lambda x, q: (kith.match(q, x).pairs[:, 1],), (INDICES[:, 0],)),
}
TYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def check(call: str, points: Any, queries: Any) -> None:
    run, expected = CALLS[call]
    for part, want in zip(run(points, queries), expected):
        if hasattr(part, "detach"):
            part = part.detach().double()  # numpy has no bfloat16
        np.testing.assert_array_equal(np.asarray(part).astype(np.float64), np.asarray(want, np.float64))


def numpy_of(values: np.ndarray, dtype: str) -> Any:
    return values.astype(getattr(installed("ml_dtypes"), dtype) if dtype == "bfloat16" else dtype)


def torch_of(values: np.ndarray, dtype: str) -> Any:
    torch = installed("torch")
    return torch.from_numpy(values).to(getattr(torch, dtype))


def jax_of(values: np.ndarray, dtype: str) -> Any:
    jax = installed("jax")
    return jax.numpy.asarray(values).astype(getattr(jax.numpy, dtype) if jax.config.jax_enable_x64 or dtype not in (
        "float64", "int64", "uint64") else dtype.replace("64", "32"))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("make", [numpy_of, torch_of, jax_of])
def test_types(make: Callable[[np.ndarray, str], Any], call: str, dtype: str) -> None:
    check(call, make(POINTS, dtype), make(QUERIES, dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_numpy(layout: str, call: str, dtype: str) -> None:
    make = LAYOUTS[layout]
    check(call, make(POINTS.astype(dtype)), make(QUERIES.astype(dtype)))


def torch_layouts(torch: Any) -> dict[str, Callable[[Any], Any]]:
    return {
        "an offset": lambda a: torch.cat([a[:2], a])[2:],
        "rows apart": lambda a: torch.nn.functional.pad(a, (1, 2))[:, 1:-2],
        "columns apart": lambda a: a.repeat_interleave(2, 1)[:, ::2],
        "both apart": lambda a: a.repeat_interleave(3, 1).repeat_interleave(2, 0)[::2, ::3],
        "by columns": lambda a: a.T.contiguous().T,
        "by columns, apart": lambda a: torch.nn.functional.pad(a.T, (0, 3)).contiguous()[:, :-3].T,
        "a gradient": lambda a: a.requires_grad_() if a.is_floating_point() else a,
        "negated lazily": lambda a: torch._neg_view(-a) if a.dtype not in (torch.uint8,) else a,
    }


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32"])
@pytest.mark.parametrize("call", CALLS)
def test_layouts_of_torch(call: str, dtype: str) -> None:
    torch = installed("torch")
    for make in torch_layouts(torch).values():
        check(call, make(torch_of(POINTS, dtype)), make(torch_of(QUERIES, dtype)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "uint8", "int32"])
@pytest.mark.parametrize("call", CALLS)
def test_layouts_of_jax(call: str, dtype: str) -> None:
    """jax' arrays are dense; what comes of slices, transposes and jitted functions, in whatever order it keeps them."""
    jax = installed("jax")
    for make in (lambda a: jax.numpy.repeat(a, 2, 1)[:, ::2], lambda a: a.T.T, jax.jit(lambda a: (a + a) // a.dtype.type(2))):
        check(call, make(jax_of(POINTS, dtype)), make(jax_of(QUERIES, dtype)))


def buffer(values: np.ndarray) -> Any:
    """No array: memory with a shape and a type, which owns its bytes."""
    code: Any = values.dtype.char
    return memoryview(bytearray(values.tobytes())).cast(code, list(values.shape))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("call", CALLS)
def test_buffers(call: str, dtype: str) -> None:
    check(call, buffer(POINTS.astype(dtype)), buffer(QUERIES.astype(dtype)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8"])
@pytest.mark.parametrize("call", [call for call in CALLS if call not in ("topk", "verify")])
def test_dlpack_alone(call: str, dtype: str) -> None:
    check(call, OnlyDlpack(POINTS.astype(dtype)), OnlyDlpack(QUERIES.astype(dtype)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "uint8"])
def test_topk_along_each_dimension(dtype: str) -> None:
    torch = installed("torch")
    values = torch_of(POINTS.reshape(5, 8, 5), dtype)
    for layout in (values, values.transpose(0, 2).contiguous().transpose(0, 2), values[:, ::2]):
        for dim in range(3):
            for largest in (True, False):
                found = kith.topk(layout, 2, dim, largest)
                best = torch.topk(layout.double(), 2, dim, largest)
                assert found.values.dtype == values.dtype and torch.equal(found.values.double(), best.values)
                assert torch.equal(layout.gather(dim, found.indices), found.values)
