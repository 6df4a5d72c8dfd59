"""topk against a stable sort: torch's arguments, kith's order."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kith


def expected(values: np.ndarray, k: int, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    keys = values.astype(np.float64)
    order = np.argsort(-keys if largest else keys, axis=dim, kind="stable")
    indices = np.take(order, np.arange(k), axis=dim)
    return np.take_along_axis(values, indices, axis=dim), indices


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("largest", [True, False])
def test_types(dtype: str, largest: bool) -> None:
    values = np.random.default_rng(0).integers(0, 50, (5, 100)).astype(dtype)
    found = kith.topk(values, 7, largest=largest)
    for ours, theirs in zip(found, expected(values, 7, -1, largest)):
        np.testing.assert_array_equal(ours, theirs)
    assert found.values.dtype == values.dtype and found.indices.dtype == np.int64


@pytest.mark.parametrize("shape, dim", [((9,), 0), ((9, 4), 0), ((9, 4), 1), ((3, 9, 4), 1), ((3, 9, 4), -3), ((2, 3, 4, 5), 2)])
def test_dimensions(shape: tuple[int, ...], dim: int) -> None:
    values = np.random.default_rng(0).permutation(np.prod(shape)).reshape(shape).astype(np.float32)
    found = kith.topk(values, 2, dim)
    for ours, theirs in zip(found, expected(values, 2, dim, True)):
        np.testing.assert_array_equal(ours, theirs)


def test_as_torch() -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    values = torch.randperm(600).reshape(2, 3, 100).float()
    for kind in (values, values.half(), values.bfloat16(), values.double(), values.int()):
        for dim in (0, 1, 2):
            ours = kith.topk(kind.float().to(kind.dtype), 2, dim)
            assert ours.values.dtype == kind.dtype and ours.indices.shape == torch.topk(kind, 2, dim).indices.shape
            assert torch.equal(ours.values, torch.topk(kind, 2, dim).values)


def test_nan_comes_last() -> None:
    found = kith.topk(np.array([1, np.nan, 3, 2], np.float32), 4)
    np.testing.assert_array_equal(found.indices, [2, 3, 0, 1])


@pytest.mark.parametrize("values, k, how", [(np.zeros(3), 0, {}), (np.zeros(3), 4, {}), (np.zeros((3, 0)), 1, {}), (np.zeros(3), 1, {"dim": 1}),
                                            (np.float32(3), 1, {}), (np.zeros(3), 1, {"selector": "oracle"})])
def test_errors(values: Any, k: int, how: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        kith.topk(values, k, **how)


def test_no_rows() -> None:
    assert kith.topk(np.zeros((0, 5)), 2).indices.shape == (0, 2)
