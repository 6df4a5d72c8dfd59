"""cuvs.neighbors.filters: no_filter."""
from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["Prefilter", "from_bitmap", "from_bitset", "no_filter"]


class Prefilter:
    """The result of `no_filter`: all points are searched."""


def no_filter() -> Prefilter:
    """A filter that leaves nothing out.

    Returns
    -------
    Prefilter

    Examples
    --------
    >>> import numpy
    >>> from kith.compat.cuvs import brute_force, filters
    >>> points = numpy.eye(3, dtype="float32")
    >>> brute_force.search(brute_force.build(points), points[:1], 1, prefilter=filters.no_filter())[1]
    array([[0]])
    """
    return Prefilter()


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"{name}: a prefilter that leaves points out is not there; leave them out before build()")


def from_bitmap(bitmap: Any) -> Prefilter:
    """Refused: a filter of each query's points.

    Parameters
    ----------
    bitmap : array of uint32
        Not looked at.

    Returns
    -------
    Prefilter

    Raises
    ------
    NotImplementedError

    Examples
    --------
    >>> from kith.compat.cuvs import filters
    >>> filters.from_bitmap(None)
    Traceback (most recent call last):
    NotImplementedError: from_bitmap: a prefilter that leaves points out is not there; leave them out before build()
    """
    _refuse("from_bitmap")


def from_bitset(bitset: Any) -> Prefilter:
    """Refused: a filter of the points of all queries.

    Parameters
    ----------
    bitset : array of uint32
        Not looked at.

    Returns
    -------
    Prefilter

    Raises
    ------
    NotImplementedError

    Examples
    --------
    >>> from kith.compat.cuvs import filters
    >>> filters.from_bitset(None)
    Traceback (most recent call last):
    NotImplementedError: from_bitset: a prefilter that leaves points out is not there; leave them out before build()
    """
    _refuse("from_bitset")
