"""What calls return: pairs that unpack as everyone's do, with the report beside them."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

from ._core import Report


class Neighbors(namedtuple("Neighbors", ("distances", "indices"))):
    """The k nearest points of each query: ``distances, indices = kith.search(...)``.

    Attributes
    ----------
    distances : array of shape (queries, k)
        float32, or float64 with ``f64=True``; each row in ascending order (``inner_product``: descending). A missing
        neighbour is at infinity.
    indices : array of shape (queries, k)
        int64; of equal distances the smaller index comes first. A missing neighbour is -1.
    report : Report
        How the answer was reached and what it cost.
    """

    distances: Any
    indices: Any
    report: Report

    def __new__(cls, distances: Any, indices: Any, report: Report) -> Neighbors:
        pair = super().__new__(cls, distances, indices)
        pair.report = report
        return pair

    def __getnewargs__(self) -> Any:  # pickle and copy
        return (self.distances, self.indices, self.report)


class TopK(namedtuple("TopK", ("values", "indices"))):
    """The k largest or smallest values: ``values, indices = kith.topk(...)``.

    Attributes
    ----------
    values, indices : arrays of the shape of the input with k in place of the size of ``dim``
        Of equal values the smaller index comes first; NaN comes last.
    """

    values: Any
    indices: Any
    __slots__ = ()
