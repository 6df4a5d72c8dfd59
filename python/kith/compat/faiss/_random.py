"""faiss' random numbers, the same ones for the same seed: blocks of Mersenne twisters whose seeds are two draws of a first."""
from __future__ import annotations

from typing import Any

import numpy as np

_BLOCKS = 1024  # of arrays of this many elements and more


def _raw(seed: int) -> Any:
    """A function of n: the next n 32-bit numbers of std::mt19937."""
    generator = np.random.MT19937()
    generator._legacy_seeding(seed & 0xFFFFFFFF)
    return generator.random_raw


def _blocks(n: int, seed: int) -> Any:
    """(first, last, generator) of each block."""
    draw = _raw(seed)
    first, step = (int(v) & 0x7FFFFFFF for v in draw(2))
    blocks = 1 if n < _BLOCKS else _BLOCKS
    for j in range(blocks):
        yield j * n // blocks, (j + 1) * n // blocks, _raw(first + j * step)


def _normals(draw: Any, n: int) -> np.ndarray[Any, Any]:
    """Marsaglia's polar method: of points of the square, those inside the circle give two each."""
    kept = np.empty((0, 2))
    while 2 * len(kept) < n:
        points = 2.0 * (draw(2 * n + 16) / 4294967295.0).reshape(-1, 2) - 1
        squares = (points * points).sum(1)
        inside = squares < 1
        points, squares = points[inside], squares[inside]
        kept = np.concatenate([kept, points * np.sqrt(-2.0 * np.log(squares) / squares)[:, None]])
    return kept.ravel()[:n]


def _sized(shape: Any) -> tuple[Any, int]:
    size = int(np.prod(shape))
    if size < 0:
        raise ValueError(f"n is {shape}: expected sizes of at least 0")
    return shape, size


def _shaped(values: np.ndarray[Any, Any], shape: Any) -> np.ndarray[Any, Any]:
    shaped: np.ndarray[Any, Any] = values.reshape(shape)
    return shaped


def rand(n: Any, seed: int = 12345) -> np.ndarray[Any, Any]:
    """Uniform numbers from 0 to 1, those of faiss for this seed.

    Parameters
    ----------
    n : int or tuple
        Shape.
    seed : int
        Which ones.

    Returns
    -------
    array of float32

    Raises
    ------
    ValueError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.rand((2, 3)).shape
    (2, 3)
    """
    shape, size = _sized(n)
    values = np.empty(size, np.float32)
    for first, last, draw in _blocks(size, seed):
        values[first:last] = draw(last - first).astype(np.float32) / np.float32(4294967295.0)
    return _shaped(values, shape)


def randn(n: Any, seed: int = 12345) -> np.ndarray[Any, Any]:
    """Normal numbers, those of faiss for this seed.

    Parameters
    ----------
    n : int or tuple
        Shape.
    seed : int
        Which ones.

    Returns
    -------
    array of float32

    Raises
    ------
    ValueError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.randn(5, 1).dtype
    dtype('float32')
    """
    shape, size = _sized(n)
    values = np.empty(size, np.float32)
    for first, last, draw in _blocks(size, seed):
        values[first:last] = _normals(draw, last - first)
    return _shaped(values, shape)


def randint(n: Any, seed: int = 12345, vmax: int | None = None) -> np.ndarray[Any, Any]:
    """Integers from 0 on, those of faiss for this seed.

    Parameters
    ----------
    n : int or tuple
        Shape.
    seed : int
        Which ones.
    vmax : int, optional
        They are less than this.

    Returns
    -------
    array of int64

    Raises
    ------
    ValueError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> bool((faiss.randint(9, vmax=4) < 4).all())
    True
    """
    shape, size = _sized(n)
    values = np.empty(size, np.int64)
    for first, last, draw in _blocks(size, seed):
        pairs = (draw(2 * (last - first)).astype(np.int64) & 0x7FFFFFFF).reshape(-1, 2)
        values[first:last] = pairs[:, 0] | (pairs[:, 1] << 31)
    return _shaped(values if vmax is None else values % vmax, shape)


lrand = randint
