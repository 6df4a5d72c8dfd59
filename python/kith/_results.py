"""The results of calls: pairs that unpack as everyone's do, with the report next to them."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import _core
from ._core import Report


class _Pair(NamedTuple):
    distances: Any
    indices: Any


class Neighbors(_Pair):
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

    report: Report = None  # type: ignore[assignment]  # of a pair that another library has put together

    def __new__(cls, distances: Any, indices: Any, report: Report | None = None) -> Neighbors:
        pair = tuple.__new__(cls, (distances, indices))
        pair.report = report  # type: ignore[assignment]
        return pair

    def __reduce__(self) -> Any:
        return Neighbors, (self.distances, self.indices, self.report)

    def _replace(self, **parts: Any) -> Neighbors:
        return Neighbors(**{"distances": self.distances, "indices": self.indices, "report": self.report, **parts})


class Attempt(NamedTuple):
    """An attempt of a search: one strategy, and what it made of its queries (``Report.trace``)."""

    strategy: str
    """Its name: ``"tree"``, ``"gemm-i8"``, ``"rows"``, ... ``"exact"`` is the full scan."""
    queries: int
    """That it took; 0: it was declined, and `cause` says why."""
    certified: int
    """That it answered, with a certificate."""
    left: int
    """That it left to the next."""
    cause: str
    """Why most of these were left, in a word or two."""
    seconds: float
    """From the end of the attempt before."""


def restored_report(state: Any) -> Report:
    """For pickle, which needs a function of Python."""
    return _core.report_from(state)


class _Selected(NamedTuple):
    values: Any
    indices: Any


class TopK(_Selected):
    """The k largest or smallest values: ``values, indices = kith.topk(...)``.

    Attributes
    ----------
    values, indices : arrays of the shape of the input with k in place of the size of ``dim``
        For equal values the smaller index comes first; NaN comes last.
    report : Report or None
        Which selector ran, where, and what it cost; None where there was nothing to select.
    """

    report: Report | None = None

    def __new__(cls, values: Any, indices: Any, report: Report | None = None) -> TopK:
        pair = tuple.__new__(cls, (values, indices))
        pair.report = report
        return pair

    def __reduce__(self) -> Any:
        return TopK, (self.values, self.indices, self.report)

    def _replace(self, **parts: Any) -> TopK:
        return TopK(**{"values": self.values, "indices": self.indices, "report": self.report, **parts})
