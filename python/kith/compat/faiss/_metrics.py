"""faiss' metrics: their numbers, and how each is searched exactly."""
from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

import numpy as np

from ..._kinds import on_host

METRIC_INNER_PRODUCT = 0
METRIC_L2 = 1
METRIC_L1 = 2
METRIC_Linf = 3  # noqa: N816
METRIC_Lp = 4  # noqa: N816
METRIC_Canberra = 20  # noqa: N816
METRIC_BrayCurtis = 21  # noqa: N816
METRIC_JensenShannon = 22  # noqa: N816
METRIC_Jaccard = 23  # noqa: N816
METRIC_NaNEuclidean = 24  # noqa: N816
METRIC_GOWER = 25

_NAMES = {METRIC_INNER_PRODUCT: "inner_product", METRIC_L2: "sqeuclidean", METRIC_L1: "cityblock", METRIC_Linf: "chebyshev",
          METRIC_Canberra: "canberra", METRIC_BrayCurtis: "braycurtis"}
METRICS = (*_NAMES, METRIC_Lp, METRIC_JensenShannon, METRIC_Jaccard, METRIC_NaNEuclidean, METRIC_GOWER)

# The divergence of a pair that is not scaled to sum 1; a term of a coordinate 0 is 0.
_JENSEN_SHANNON = ("a + 0.5 * ((q == 0 ? 0 : q * log(q / (0.5 * (q + x)))) + (x == 0 ? 0 : x * log(x / (0.5 * (q + x)))))")

Change = Callable[[Any], Any]


def _same(values: Any) -> Any:
    return values


class Search(NamedTuple):
    """How kith searches a metric of faiss: its arguments, and its float64 distances from and to kith's."""

    arguments: dict[str, Any]
    to_faiss: Change = _same
    from_faiss: Callable[[float], float] = _same
    exact: bool = True  # both changes are: a radius of one is a radius of the other
    similarity: bool = False
    check: Callable[[Any, str], None] = lambda x, name: None


def _not_negative(x: Any, name: str) -> None:
    least = float(x.min()) if len(x) and x.shape[1] else 0.0
    if least < 0:
        raise ValueError(f"{name}: {least} in METRIC_Jaccard; expected coordinates of at least 0")


def is_similarity_metric(metric_type: int) -> bool:
    """True if larger values of a metric are nearer.

    Parameters
    ----------
    metric_type : int
        METRIC_L2, METRIC_INNER_PRODUCT, ...

    Returns
    -------
    bool

    Raises
    ------
    NotImplementedError
        For a number that is no metric.

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.is_similarity_metric(faiss.METRIC_INNER_PRODUCT), faiss.is_similarity_metric(faiss.METRIC_L2)
    (True, False)
    """
    return checked(metric_type) in (METRIC_INNER_PRODUCT, METRIC_Jaccard)


def checked(metric: Any) -> int:
    """The number of a metric."""
    if isinstance(metric, bool) or not isinstance(metric, (int, np.integer)) or metric not in METRICS:
        raise NotImplementedError(f"metric {metric}: expected one of {sorted(METRICS)}")
    return int(metric)


def worst(metric: int) -> float:
    """The distance of a neighbour that does not exist."""
    limits = np.finfo(np.float32)
    return float(limits.min if is_similarity_metric(metric) else limits.max)


def search_of(metric: int, metric_arg: float) -> Search:
    """How a metric is searched. `_pairs` has METRIC_GOWER, and METRIC_NaNEuclidean where a coordinate is missing."""
    if metric == METRIC_GOWER:
        return Search({})
    if metric == METRIC_NaNEuclidean:
        return Search({"metric": "sqeuclidean"})
    if metric in _NAMES:
        return Search({"metric": _NAMES[metric]}, similarity=metric == METRIC_INNER_PRODUCT)
    if metric == METRIC_JensenShannon:
        return Search({"formula": _JENSEN_SHANNON})
    if metric == METRIC_Jaccard:  # sum min / sum max = (1 - b) / (1 + b), with b the Bray-Curtis distance
        return Search({"metric": "braycurtis"}, lambda b: (1 - b) / (1 + b), lambda s: (1 - s) / (1 + s) if s > -1 else math.inf,
                      exact=False, similarity=True, check=_not_negative)
    p = float(metric_arg)
    if not math.isfinite(p):
        raise ValueError(f"metric_arg is {metric_arg}: expected a finite exponent of METRIC_Lp")
    if p == 1:
        return Search({"metric": "cityblock"})
    if p == 2:
        return Search({"metric": "sqeuclidean"})
    if p > 1:  # faiss leaves out the root
        return Search({"metric": "minkowski", "p": p}, lambda r: r**p, lambda t: max(t, 0.0)**(1 / p), exact=False)
    return Search({"formula": f"a + pow(fabs(q - x), {p!r})"})


def has_nan(x: Any) -> bool:
    """True if a coordinate is missing."""
    return bool(np.isnan(on_host(x)).any())
