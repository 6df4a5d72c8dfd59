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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_read_in_place(dtype: str) -> None:
    """As they are, of torch and of numpy: no copy in float32 is made, and what comes back is selected bits."""
    torch = pytest.importorskip("torch", exc_type=ImportError)
    values = torch.randn(5, 3000, generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype))
    values[2, 7] = float("nan")
    for largest in (False, True):
        found = kith.topk(values, 9, largest=largest)
        wide = kith.topk(values.float(), 9, largest=largest)
        assert found.values.dtype == values.dtype and torch.equal(found.indices, wide.indices)
        assert torch.equal(found.values.float(), wide.values)
    if dtype == "float16":
        array = values.numpy()
    else:
        ml_dtypes = pytest.importorskip("ml_dtypes", exc_type=ImportError)
        array = values.float().numpy().astype(ml_dtypes.bfloat16)
    found = kith.topk(array, 9)
    assert found.values.dtype == array.dtype
    np.testing.assert_array_equal(found.indices, kith.topk(values, 9).indices)
    np.testing.assert_array_equal(found.values.astype(np.float32), kith.topk(values, 9).values.float())


def test_out() -> None:
    values = np.random.default_rng(2).permutation(120).reshape(2, 3, 20).astype(np.float32)
    for dim in (-1, 0, 1):
        plain = kith.topk(values, 2, dim)
        out = np.empty(plain.values.shape, np.float32), np.empty(plain.values.shape, np.int64)
        found = kith.topk(values, 2, dim, out=out)
        assert found.values is out[0] and found.indices is out[1]
        apart = np.empty((*plain.values.shape, 2), np.float32)[..., 0], np.empty((*plain.values.shape, 2), np.int64)[..., 0]
        kith.topk(values, 2, dim, out=apart)
        for result in (out, apart):
            np.testing.assert_array_equal(result[0], plain.values)
            np.testing.assert_array_equal(result[1], plain.indices)
    numbers = values.astype(np.int16)
    out = np.empty((2, 3, 2), np.int16), np.empty((2, 3, 2), np.int64)
    kith.topk(numbers, 2, out=out)
    np.testing.assert_array_equal(out[0], kith.topk(values, 2).values)
    torch = pytest.importorskip("torch", exc_type=ImportError)
    tensor = torch.from_numpy(values).bfloat16()
    both = torch.empty((2, 3, 2), dtype=torch.bfloat16), torch.empty((2, 3, 2), dtype=torch.int64)
    kith.topk(tensor, 2, out=both)
    assert torch.equal(both[1], kith.topk(tensor, 2).indices) and torch.equal(both[0], kith.topk(tensor, 2).values)


def test_unsorted_is_a_set() -> None:
    values = np.random.default_rng(3).random((4, 5000))
    found = kith.topk(values, 300, sorted=False)
    np.testing.assert_array_equal(np.sort(found.indices), np.sort(kith.topk(values, 300).indices))
    np.testing.assert_array_equal(np.take_along_axis(values, found.indices, 1), found.values)


@pytest.mark.parametrize("out, error, words", [
    ((np.empty(2, np.float32), np.empty(2, np.int64)), ValueError, "values float32"),
    ((np.empty(3), np.empty(2, np.int64)), ValueError, "expected float64 of"),
    ((np.empty(2), np.empty(2, np.int32)), ValueError, "indices int32"),
    ((np.empty(2), None), ValueError, "no indices"),
    ((None, np.empty(2, np.int64)), TypeError, "values of NoneType"),
    (np.empty(3), TypeError, "expected \\(values, indices\\), got ndarray"),
])
def test_bad_outputs(out: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        kith.topk(np.zeros(5), 2, out=out)


def test_nan_comes_last() -> None:
    found = kith.topk(np.array([1, np.nan, 3, 2], np.float32), 4)
    np.testing.assert_array_equal(found.indices, [2, 3, 0, 1])


@pytest.mark.parametrize("values, k, how", [(np.zeros(3), -1, {}), (np.zeros(3), 4, {}), (np.zeros((3, 0)), 1, {}), (np.zeros(3), 1, {"dim": 1}),
                                            (np.float32(3), 1, {}), (np.zeros(3), 1, {"selector": "oracle"})])
def test_errors(values: Any, k: int, how: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        kith.topk(values, k, **how)


def test_no_rows() -> None:
    assert kith.topk(np.zeros((0, 5)), 2).indices.shape == (0, 2)
