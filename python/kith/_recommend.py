"""recommend: what users with much the same preferences have, and a user lacks."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import Progress, _flag, _float64, _host, _integer, _metric, _number, _one_of, _rows, _settings
from ._core import Report
from ._kinds import kind_of

_FORMS = ("shares", "as-given")
_WEIGHTS = ("inverse", "uniform")
_DEFAULT_COUNT = 10


class Recommendations(NamedTuple):
    """The result of `recommend`.

    Attributes
    ----------
    items : array of shape (users, count)
        int64: those that the user lacks, of the highest predictions above 0; -1 where there are no more.
    predictions : array of shape (users, count)
        float64, of these items; 0 where there are none.
    held_out : array of shape (users,) or None
        With ``hold_out=True`` the item of each user that was left out, -1 of users with fewer than two.
    judged : int
        Users of whom one was.
    hit_rate : float
        The share of these whose item is among those recommended.
    popular_hit_rate : float
        The share whose item is among those of the largest sum over all users that they lack.
    report : Report
        The report of the neighbours' search.
    """

    items: np.ndarray[Any, Any]
    predictions: np.ndarray[Any, Any]
    held_out: np.ndarray[Any, Any] | None
    judged: int
    hit_rate: float
    popular_hit_rate: float
    report: Report


def _sparse(preferences: Any) -> tuple[int, int, Any, Any, Any]:
    """Users, items, and offsets, ids and values of rows whose columns ascend."""
    if hasattr(preferences, "tocsr"):
        _rows(preferences, "preferences")
        rows = preferences.tocsr()
        if not rows.has_canonical_format:  # which scipy finds out where it isn't known
            rows = rows.copy()
            rows.sum_duplicates()
        users, items = rows.shape
        offsets, ids, values = rows.indptr, rows.indices, rows.data
    else:
        dense = _host(preferences, "preferences")
        _rows(dense, "preferences")
        users, items = dense.shape
        row, ids = np.nonzero(dense)
        values = dense[row, ids]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=users))])
    contiguous = np.ascontiguousarray
    return users, items, contiguous(offsets, np.int64), contiguous(ids, np.int64), _float64(values, "preferences")


def recommend(preferences: Any, k: int = 100, count: int | None = None, *, form: str = "shares", weight: str = "inverse",
              epsilon: float = 1e-3, hold_out: bool = False, seed: int = 0, metric: str = "hellinger", p: float = 2.0,
              inverse_covariance: Any = None, variances: Any = None, formula: str | None = None, start: float = 0.0,
              users_at_once: int = 0, device: str = "auto", threads: int = 0, memory: int = 0, path: str = "",
              progress: Progress = None) -> Recommendations:
    """The items that the k users of the nearest preferences have, and a user lacks (Kato and Hosino 2009).

    The prediction of an item is the mean of its values in the neighbours' vectors, weighted by nearness; neighbours are
    exact, sums are of float64 in the neighbours' order: the same bits on any device.

    Parameters
    ----------
    preferences : sparse matrix or array of shape (users, items)
        Users' preferences for items: counts, ratings; 0 is none. Sparse matrices of scipy, or arrays.
    k : int
        The neighbours of each user.
    count : int, optional
        The items to recommend to each, at most as many as there are; 10, or all of fewer, where it is not given.
    form : str
        ``"shares"``: a user's vector are the shares of the items in the sum of all that the user took; ``"as-given"``: the
        values. Either is rounded to float32.
    weight : str
        ``"inverse"``: a neighbour at distance x has the weight ``1 / (x + epsilon)``; ``"uniform"``: all have the same.
    hold_out : bool
        Leave out one item, chosen by ``seed``, of each user that has two or more, and say for how many it is recommended.
    users_at_once : int
        Users whose vectors are dense at once; 0: all, or as many as ``memory`` (half of what is free) permits. Never changes
        the answer; far fewer than all take several times as long.
    metric, p, inverse_covariance, variances, formula, start, device, threads, memory, path, progress
        As in `graph`.

    Returns
    -------
    Recommendations

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled

    Examples
    --------
    >>> import numpy, kith
    >>> taken = numpy.array([[3, 1, 0, 0], [3, 1, 2, 0], [0, 0, 1, 4], [0, 0, 0, 5]])
    >>> kith.recommend(taken, k=1, count=2).items   # of the first user, whose nearest is the second: item 2
    array([[ 2, -1],
           [-1, -1],
           [-1, -1],
           [ 2, -1]])
    """
    users, items, offsets, ids, values = _sparse(preferences)
    told, predictions, held_out, judged, hit_rate, popular, report = _core.recommend(
        users, items, offsets, ids, values, _integer(k, "k"),
        min(_DEFAULT_COUNT, max(items, 1)) if count is None else _integer(count, "count"),
        bool(_one_of(form, "form", _FORMS)), bool(_one_of(weight, "weight", _WEIGHTS)), _number(epsilon, "epsilon"),
        _flag(hold_out, "hold_out"), _integer(seed, "seed", 0, 2**64 - 1), _integer(users_at_once, "users_at_once"),
        _metric(metric, p, inverse_covariance, variances, False, formula, start, "hellinger"),
        _settings(True, device, memory, threads, path, "", kind_of(values).stream(values), progress))
    return Recommendations(told.view(np.int64), predictions, None if held_out is None else held_out.view(np.int64), judged,
                           hit_rate, popular, report)
